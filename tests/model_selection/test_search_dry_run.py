"""What parameters and columns tell is said before anything is charged, and no row is looked at."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterSampler
from sklearn.preprocessing import OneHotEncoder

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateGMM,
    PrivateMean,
    PrivatePCA,
    PrivatePipeline,
    PrivateStandardScaler,
    RowMap,
)
from skdp.exceptions import BudgetExceeded
from skdp.model_selection import DistanceScorer, PrivateSearchCV, RowScorer
from skdp.model_selection._budgets import search_budgets
from skdp.model_selection._curator import corners, kinds_of, model_of

X = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0.0], [40.0]], 150, axis=0)


def pipe(*steps):
    return PrivatePipeline([(str(i), step) for i, step in enumerate(steps)])


@pytest.mark.parametrize(
    "search, message",
    [
        (PrivateSearchCV(PrivateStandardScaler(), {"with_mean": [True]}), "cluster_centers_"),
        (PrivateSearchCV(PrivatePCA(), {"n_components": [1, 5, 2]}), "n_components.*5"),
        (
            PrivateSearchCV(pipe(RowMap(np.sin), PrivatePCA()), {"1__n_components": [1, 5]}),
            "n_components.*5",
        ),
        (
            PrivateSearchCV(
                pipe(RowMap(lambda Z: Z - Z.mean(axis=0)), PrivateMean()), {"1__trim": [True]},
                scoring=RowScorer(lambda m, x, y: 0.0, 0, 1),
            ),
            "mixes rows",
        ),
        (
            PrivateSearchCV(
                pipe(ColumnTransformer([("a", "passthrough", ["a"])]), FriendlyCoreKMeans(2)),
                {"1__n_init": [1]},
            ),
            "column",
        ),
        (
            PrivateSearchCV(
                PrivateMean(), {"trim": [True]},
                scoring=RowScorer(lambda m, x, y: m.nothing_like_it, 0, 1),
            ),
            "nothing_like_it",
        ),
        (
            PrivateSearchCV(PrivateMean(), {"trim": [True]}, scoring="log_density"),
            "score_samples",
        ),
        (
            PrivateSearchCV(PrivateMean(), {"center": [np.zeros(2), np.zeros(3)]}),
            "center",
        ),
        (
            PrivateSearchCV(FriendlyCoreKMeans(n_init=1), {"n_clusters": [1, 2, -4]}),
            "n_clusters",
        ),
        (
            PrivateSearchCV(FrozenEstimator(PrivateMean()), {"trim": [True]}),
            "FrozenEstimator keeps the fit",
        ),
    ],
)  # fmt: skip
def test_nothing_is_charged_for_what_was_known(search, message):
    ledger = PrivacyLedger(1.0, 1e-6, composition="basic")
    with pytest.raises(ValueError, match=message):
        search.set_params(ledger=ledger).fit(X)
    assert not [entry for entry in ledger.entries() if entry.kind == "charge"]


def test_the_dry_run_sees_columns_and_types_and_no_row():
    seen = []

    def score(model, x, y):
        seen[-1].append((x.to_numpy() if hasattr(x, "columns") else x).tobytes())
        return 0.0

    empty = PrivacyLedger(0.01, 1e-9, composition="basic")
    for table in (X, 1e6 * X[:3] + 7, pd.DataFrame(X), pd.DataFrame(-X[:9])):
        seen.append([])
        search = PrivateSearchCV(
            PrivateMean(), {"trim": [True]}, scoring=RowScorer(score, 0, 1), ledger=empty
        )
        with pytest.raises(BudgetExceeded):
            search.fit(table)
    assert seen[0]
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]


@pytest.mark.slow
def test_maps_that_leave_out_all_made_up_rows_are_no_reason_to_refuse():
    far = pipe(RowMap(lambda Z: np.sqrt(Z - 1e12)), FriendlyCoreKMeans(2, n_init=1))
    search = PrivateSearchCV(far, {"1__n_init": [1, 2]}, mean_trials=2, epsilon=4.0)
    assert search.fit(np.tile(X, 7) + 1e12 + 100).best_estimator_.n_features_in_ == 14


def frame(n=400):
    words = np.where(np.arange(n) % 3 > 0, "x", "y")
    a = 30.0 * (words == "x") + np.random.default_rng(0).normal(size=n)
    return pd.DataFrame({"a": a, "word": words, "b": -a})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_frames_reach_every_run_by_their_names():
    encoder = OneHotEncoder(categories=[["x", "y"]], handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer(
        [("numbers", "passthrough", ["b", "a"]), ("words", encoder, ["word"])], sparse_threshold=0
    )
    table = frame()
    search = PrivateSearchCV(
        pipe(columns, FriendlyCoreKMeans(n_init=1)), {"1__n_clusters": [1, 2]}, epsilon=8.0,
        mean_trials=2, scoring=DistanceScorer(30.0), random_state=0,
    ).fit(table)  # fmt: skip
    names = ["a", "word", "b"]
    assert search.feature_names_in_.tolist() == names
    assert search.best_estimator_.feature_names_in_.tolist() == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = search.predict(table)
        assert (search.best_estimator_.predict(table) == labels).all()
    assert search.best_score_ > 0.3


def test_the_winner_knows_the_names_of_plain_columns():
    table = frame()[["a", "b"]]
    search = PrivateSearchCV(PrivateGMM(n_init=1), {"n_components": [1, 2]}, mean_trials=2)
    search.fit(table)
    assert search.best_estimator_.feature_names_in_.tolist() == ["a", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.predict(table), search.score_samples(table)
    with pytest.raises(ValueError, match="dtype"):
        search.fit(frame()[["a", "b"]].astype(object))


# Candidates


def test_distributions_are_drawn_once_and_publicly():
    space = [{"n_components": stats.randint(1, 4), "covariance_type": ["diag"]}]
    search = PrivateSearchCV(PrivateGMM(n_init=1), space, n_candidates=6, mean_trials=2)
    assert "candidates: 6, drawn uniformly" in str(search.plan())
    listed = list(ParameterSampler(space, 6, random_state=0))
    for _ in range(3):
        search.fit(X)
        assert search.best_params_ == listed[search.best_index_]
        assert type(search.best_params_["n_components"]) is int
    with pytest.raises(ValueError, match="lists of values and of distributions"):
        PrivateSearchCV(PrivateGMM(), {"n_components": 3}).plan()


def test_numbers_of_numpy_become_those_of_python():
    search = PrivateSearchCV(PrivateGMM(n_init=1), {"n_components": np.array([2], dtype=np.int8)})
    assert type(search.fit(X).best_params_["n_components"]) is int
    assert type(search.best_estimator_.n_components) is int


def test_a_thousand_candidates_are_planned_by_their_corners(monkeypatch):
    made, original = [], PrivateGMM.plan
    monkeypatch.setattr(PrivateGMM, "plan", lambda self: made.append(self) or original(self))
    grid = {"n_components": list(range(1, 101)), "max_iter": [1, 2, 3, 4, 5], "n_init": [1, 2]}
    PrivateSearchCV(PrivateGMM(), grid).plan()
    assert len(made) < 20  # of 1000


def test_corners():
    one, two = [1, 3, 2], [0.5, -1.0, 0.1, 7.0]
    grid = [{"a": a, "b": b, "c": "x"} for a in one for b in two]
    found = corners(grid)
    assert {(p["a"], p["b"]) for p in found} == {(1, -1.0), (1, 7.0), (3, -1.0), (3, 7.0)}
    assert corners(grid[:3]) == grid[:3]
    kinds = kinds_of([*grid, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": None}, {"a": 2}])
    assert [len(kind) for kind in kinds] == [12, 2, 1, 1, 1]


class Fuse(PrivateMean):
    """Plans for ten times its epsilon at one of its numbers."""

    def __init__(self, fuse=0, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        super().__init__(epsilon=epsilon, delta=delta, random_state=random_state, ledger=ledger)
        self.fuse = fuse

    def plan(self):
        if self.fuse != 5:
            return super().plan()
        return PrivateMean(epsilon=10 * self.epsilon, delta=self.delta).plan()


def test_no_run_spends_more_than_its_part():
    search = PrivateSearchCV(Fuse(), {"fuse": list(range(10))})
    budgets = search_budgets(1.0, 1e-6, search._trials(), 10, 0.1)
    model_of(search.estimator, {"fuse": 4}, budgets.run, None)
    with pytest.raises(ValueError, match="does not fit into a run"):
        model_of(search.estimator, {"fuse": 5}, budgets.run, None)
