"""Nothing tells how many runs a search had, and no held-out row decides on more than its score."""

import logging
import math
import re
import warnings

import joblib
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateGMM,
    PrivateMean,
    PrivatePipeline,
    PrivateStandardScaler,
    PublicFit,
    RowMap,
    config_context,
)
from skdp.exceptions import LowAccuracyWarning
from skdp.gate._curator import replaced_curator
from skdp.mechanisms._repeats import trials_of
from skdp.model_selection import AccuracyScorer, PrivateSearchCV, RowScorer
from skdp.model_selection._budgets import search_budgets
from tests._curators import CannedCurator, FixedKeys

X = np.random.default_rng(0).normal(size=(120, 2)) + np.repeat([[0.0], [40.0]], 60, axis=0)
TRIM = {"trim": [False, True]}


class TalkingMean(PrivateMean):
    """Warns and logs whenever it is fitted, as a cautious author would write it."""

    def _release(self, table):
        warnings.warn("a fit begins", stacklevel=2)
        return super()._release(table)


def loud_pipeline(folder=None):
    """Return a pipeline in which everything that can tell of a fit is told to."""
    flag = Binarizer(threshold=20.0)
    union = FeatureUnion([("flag", flag), ("same", "passthrough")], verbose=True, n_jobs=2)
    columns = ColumnTransformer([("both", union, [0, 1])], verbose=True)
    inside = Pipeline([("columns", columns)], verbose=True, memory=folder)
    near = PublicFit(KMeans(2, n_init=1, verbose=1), np.random.default_rng(1).normal(size=(30, 4)))
    steps = [("inside", inside), ("near", near), ("scale", PrivateStandardScaler())]
    return PrivatePipeline([*steps, ("mean", FriendlyCoreKMeans(2, n_init=1))], verbose=True)


def traces(search, k, monkeypatch, capfd, caplog):
    """Return everything that a search of k runs leaves beside its result."""
    monkeypatch.setattr("skdp.mechanisms._repeats.Trials.draw", lambda self, entropy: k)
    stream = np.random.mtrand._rand  # what steps without a seed draw from
    stream.seed(0)
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as seen, joblib.parallel_config(verbose=10):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", LowAccuracyWarning)  # of the winner, which is released
        with caplog.at_level(logging.DEBUG):
            search.fit(X)
    out = capfd.readouterr()
    told = [str(w.message) for w in seen], [r.message for r in caplog.records]
    times = re.compile(r"[\d.]+(s|min)\b")  # of the trial before the runs
    return *(times.sub("", text) for text in (out.out, out.err)), told, stream.randint(2**31)


@pytest.mark.slow
def test_a_search_that_tells_how_many_runs_it_had_breaks_its_promise():
    """Runs release N(0, 1) or N(mu, 1), and their scores are these numbers."""
    trials = trials_of(1.0, 10.0)
    mu = search_budgets(1.0, 1e-6, trials, 10, 0.0).run.mu
    x, step = np.linspace(-12, 12, 20_001, retstep=True)
    sums = np.array([0, *trials._sums], dtype=np.float64)
    law = {k: p for k, p in enumerate(np.diff(sums) / sums[-1], 1) if p > 0}

    def best(k, mean):
        return k * norm.cdf(x - mean) ** (k - 1) * norm.pdf(x - mean)

    gaps = [p * (best(k, 0.0) - math.e * best(k, mu)) for k, p in law.items()]
    told = sum(np.maximum(gap, 0).sum() for gap in gaps) * step
    hidden = np.maximum(sum(gaps), 0).sum() * step
    assert told > 1e-3
    assert hidden < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator, candidates",
    [
        (PrivatePipeline([("mean", FriendlyCoreKMeans(n_init=1))], verbose=True), "mean__n_init"),
        (loud_pipeline(), "mean__n_init"),
        (TalkingMean(), "radius"),
    ],
    ids=["pipeline", "containers", "warnings"],
)
def test_nothing_is_left_of_the_number_of_runs(estimator, candidates, monkeypatch, capfd, caplog):
    candidates = {candidates: [1, 2] if "n_init" in candidates else [None]}
    search = PrivateSearchCV(estimator, candidates, mean_trials=3)
    few, many = (traces(search, k, monkeypatch, capfd, caplog) for k in (1, 6))
    assert few == many


@pytest.mark.slow
def test_nothing_is_written_to_disks_and_ledgers(tmp_path):
    own = PrivacyLedger(1e6, 0.5, composition="basic")
    book = PrivacyLedger(1e6, 0.5, composition="basic")
    estimator = loud_pipeline(str(tmp_path)).set_params(mean__ledger=own)
    PrivateSearchCV(estimator, {"mean__n_init": [1, 2]}, mean_trials=3, ledger=book).fit(X)
    assert not [*tmp_path.iterdir()]
    assert [entry.kind for entry in book.entries()].count("charge") == 1
    assert not [entry for entry in own.entries() if entry.kind == "charge"]


def test_a_candidate_cannot_turn_the_noise_on(monkeypatch, capfd):
    pipe = PrivatePipeline([("mean", FriendlyCoreKMeans(2, n_init=1))])
    search = PrivateSearchCV(pipe, {"verbose": [True]}, mean_trials=2)
    capfd.readouterr()
    assert search.fit(X).best_estimator_.verbose is False
    assert capfd.readouterr() == ("", "")


# One row on which a function fails


def held_key(held):
    """Return a key whose row is held out, or trained on."""
    keys = (k for k in range(1000) if (_coin(k) < 0.25 * 2.0**64) == held)
    return next(keys)


def _coin(key):
    return float(FixedKeys([key]).keys(0, 1, use="holdout")[0])


def outcome(search, rows, keys):
    """Return the class of what a search raises, or None."""
    coins = FixedKeys(keys)
    curator = replaced_curator(lambda plan, _: CannedCurator(plan, coins=coins))
    with curator, config_context(invalid_rows="ignore"):
        try:
            search.fit(rows)
        except Exception as error:
            return type(error)
    return None


def _refuses(Z):
    if np.any(np.abs(np.asarray(Z, dtype=float)) > 1e8):
        raise RuntimeError("too large")
    return Z


def _score(model, x, y):
    _refuses(x)
    return 0.5


class Nearest(FriendlyCoreKMeans):
    """Predicts, but not far away."""

    def predict(self, X):
        """Return the nearest centre."""
        return super().predict(_refuses(np.asarray(X)))


def searches():
    mapped = RowMap(_refuses)
    settings = {"mean_trials": 2, "random_state": 0}
    pipe = PrivatePipeline([("map", mapped), ("k", FriendlyCoreKMeans(2, n_init=1))])
    mixture = PrivatePipeline([("map", mapped), ("k", PrivateGMM(2, n_init=1, max_iter=1))])
    by_rows = {"mean_trials": 2, "random_state": 0, "scoring": RowScorer(_score, 0.0, 1.0)}
    yield "row scorer", PrivateSearchCV(PrivateMean(), TRIM, **by_rows)
    yield "distance", PrivateSearchCV(pipe, {"k__n_init": [1]}, **settings)
    yield "log-density", PrivateSearchCV(mixture, {"k__n_init": [1]}, **settings)
    classes = {**settings, "scoring": RowScorer(lambda m, x, y: float(m.predict(x)[0]), 0.0, 1.0)}
    yield "predict", PrivateSearchCV(Nearest(2, n_init=1), {"n_init": [1]}, **classes)


@pytest.mark.cases(3)
@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("held", [True, False], ids=["held out", "trained on"])
@pytest.mark.parametrize("search", [s for _, s in searches()], ids=[name for name, _ in searches()])
def test_a_row_on_which_a_function_fails_does_not_end_the_search(search, held):
    keys = np.random.default_rng(1).integers(0, 2**63, len(X)).astype(np.uint64)
    without = outcome(search, X, keys)
    worse = np.insert(X, 7, 1e9, axis=0)
    assert outcome(search, worse, np.insert(keys, 7, held_key(held))) is without is None


def test_a_row_without_a_score_counts_as_the_lowest():
    seen = []
    scorer = RowScorer(_score, 0.0, 1.0)
    rows = np.vstack([X[:5], [[1e9, 0.0]], X[5:9]])
    for table in (np.delete(rows, 5, axis=0), rows):
        seen.append(scorer.prepare(None, table, None, None)(None))
    assert np.isnan(seen[1][5])
    assert (np.delete(seen[1], 5) == seen[0]).all()


def test_accuracy_of_a_row_that_cannot_be_predicted_is_none():
    class Model:
        def predict(self, x):
            return _refuses(x)[:, 0] > 20

    rows, y = np.array([[0.0], [30.0], [1e9]]), np.array([False, True, True])
    scores = AccuracyScorer().prepare(None, rows, y, None)(Model())
    assert scores[:2].tolist() == [1.0, 1.0] and np.isnan(scores[2])


def test_no_target_chooses_the_type_of_all_targets():
    X, seen = np.random.default_rng(0).normal(size=(60, 1)), set()

    def look(model, x, y):
        seen.add(type(y))
        return 0.5

    scoring = RowScorer(look, 0, 1, uses_target=True)
    search = PrivateSearchCV(PrivateMean(), {"method": ["auto"]}, scoring=scoring, mean_trials=2)

    def types(y):
        seen.clear()
        search.fit(X, y)
        return set(seen)

    assert types([1] * 60) == types([1] * 59 + [0.5]) == {np.float64}
    assert types(["a"] * 60) == types(["a"] * 59 + ["Zebra"]) == {str, int}  # int: made up
    with pytest.raises(ValueError, match="of its own") as told:
        search.fit(X, [1] * 59 + ["Smith"])
    assert "Smith" not in str(told.value)
    for y in ([1] * 60, [1] * 59 + ["Smith"]):
        with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="of its own"):
            search.fit(X, y)
    pandas = pytest.importorskip("pandas")
    assert int in types(pandas.Series([1] * 60, dtype="Int64"))
    assert int in types(pandas.Series([1] * 59 + [None], dtype="Int64"))
