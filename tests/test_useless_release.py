"""One warning tells what of a release has low accuracy, from released values alone."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from skdp import (
    FriendlyCoreKMeans,
    JamesSteinDenoiser,
    PrivacyLedger,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivatePipeline,
    PrivateRidge,
    PrivateSearchCV,
    PrivateStandardScaler,
    RowMap,
    make_private_pipeline,
)
from skdp.exceptions import LowAccuracyWarning, WeakGuaranteeWarning
from tests._estimators import COMPOSED, ESTIMATORS, fitted

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
ODD = 0.7351924  # in every entry of a table: no message may hold it

BINARY = ("MarginalReleaser",)
SIMPLE = ("PrivateSum", "PrivateCount")  # whose noise is all there is to tell
NAMED = [(type(e).__name__, e) for e in ESTIMATORS if type(e).__name__ not in SIMPLE]
NAMED += [(name, COMPOSED[name][0]) for name in ("columns", "nested", "search over a pipeline")]
each = pytest.mark.parametrize("name, estimator", NAMED, ids=[name for name, _ in NAMED])


def doubts(fit):
    """Return the LowAccuracyWarnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [w for w in caught if issubclass(w.category, LowAccuracyWarning)]


MANY = {"PrivateRegressionReport": 30_000}  # of means of squares tails are seen late


def rows_for(name, n):
    rng = np.random.default_rng(0)
    if name in BINARY:
        return (rng.random((n, 3)) < 0.5).astype(float)
    if name == "PrivateClassifierReport":  # reads probabilities
        return rng.random((n, 3)) * ODD
    rows = rng.normal(size=(n, 3))
    if name == "PrivateRegressionReport":  # the first tells much of their sum, which is the target
        rows[:, 1:] = 0.1 * rows[:, 1:] - ODD
    return rows + ODD


@pytest.mark.cases(17)
@each
def test_a_handful_of_rows_warns_once_and_a_good_table_never(name, estimator):
    few, many = rows_for(name, 5), rows_for(name, MANY.get(name, 6000))
    model = clone(estimator).set_params(epsilon=0.1, random_state=0)
    assert not hasattr(model, "accuracy_warnings_") and not hasattr(model, "reliable_")
    (warning,) = doubts(lambda: fitted(model, few))
    text = str(warning.message)
    assert text.startswith(f"Low accuracy of {type(model).__name__}:\n")
    assert model.reliable_ is False
    assert tuple(text.split("\n")[1:]) == model.accuracy_warnings_
    assert not {"reliable_", "accuracy_warnings_"} & set(vars(model))  # of what was released
    assert not any(f"{value:.3g}" in text for value in few.ravel() if name not in BINARY)
    if getattr(estimator, "bounds", None) is None:  # else they may be far too wide
        good = clone(estimator).set_params(epsilon=8.0, random_state=0)
        assert not doubts(lambda: fitted(good, many))


def test_the_warning_points_at_the_line_of_the_user():
    X = rows_for("", 5)
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, random_state=0)
    scaler = PrivateStandardScaler(epsilon=0.1, random_state=0)
    kmeans = FriendlyCoreKMeans(2, epsilon=0.1, random_state=0)
    for call in (
        lambda: search.set_params(epsilon=0.1, mean_trials=2).fit(X),
        lambda: PrivateMean(epsilon=0.1, random_state=0).fit(X),
        lambda: make_private_pipeline(PrivateMean(), epsilon=0.1, random_state=0).fit(X),
        lambda: scaler.fit_transform(X),
        lambda: kmeans.fit_predict(X),
        lambda: kmeans.fit_transform(X),
    ):
        (warning,) = doubts(call)
        assert warning.filename == __file__
        assert warning.lineno == inspect.getsourcelines(call)[1]


def test_a_pipeline_names_its_steps():
    inner = PrivatePipeline([("mean", PrivateMean())])
    steps = [("map", RowMap(np.arctan)), ("scale", PrivateStandardScaler()), ("inner", inner)]
    pipe = PrivatePipeline(steps, epsilon=0.1, random_state=0)
    (warning,) = doubts(lambda: pipe.fit(rows_for("", 5)))
    lines = str(warning.message).splitlines()
    assert lines[0] == "Low accuracy of PrivatePipeline:"
    assert any(line.startswith("scale: nothing found") for line in lines)
    assert any(line.startswith("inner: mean: nothing found") for line in lines)
    told = [t.removeprefix("low accuracy: ") for t in pipe.privacy_report_.decisions]
    assert set(lines[1:]) <= set(told)


def test_a_denoiser_without_a_signal_is_told_of():
    steps = [("mean", PrivateMean()), ("shrink", JamesSteinDenoiser())]
    pipe = PrivatePipeline(steps, epsilon=0.1, random_state=0)
    (warning,) = doubts(lambda: pipe.fit(rows_for("", 5)))
    assert "nothing to denoise" in str(warning.message)


def test_an_error_for_a_warning_finds_a_complete_fit():
    mean = PrivateMean(epsilon=0.1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAccuracyWarning)
        with pytest.raises(LowAccuracyWarning):
            mean.fit(rows_for("", 5))
    assert mean.location_.shape == (3,) and mean.privacy_report_.decisions


class Hollow(PrivateMedian):
    """A candidate whose runs doubt their release if ``center`` is 1."""

    def _release(self, table):
        released = super()._release(table)
        if self.center == 1.0:
            table.doubt("hollow")
        return released


def _search(seed, score):
    from skdp.model_selection import RowScorer

    return PrivateSearchCV(
        Hollow(sensitivity=1.0, method="bounded"),
        {"center": [0.0, 1.0]},
        scoring=RowScorer(score, 0.0, 1.0),
        epsilon=2000.0,
        mean_trials=8,
        random_state=seed,
    )


def _prefers_solid(model, x, y):
    return np.full(len(x), float(model.center == 0.0))


def _prefers_hollow(model, x, y):
    return np.full(len(x), float(model.center == 1.0))


def test_a_search_tells_the_doubts_of_its_winner_and_of_nobody_else():
    X, told = rows_for("", 400), []
    for seed in range(4):
        for score in (_prefers_solid, _prefers_hollow):
            search = _search(seed, score)
            found = doubts(lambda search=search: search.fit(X))
            hollow = search.best_params_["center"] == 1.0
            assert len(found) == hollow and all("hollow" in str(w.message) for w in found)
            told.append(hollow)
    assert 0 < sum(told) < 8  # of both kinds


def test_runs_leave_no_trace_of_their_doubts():
    """Neither where warnings are kept, nor as errors that would end a run."""
    import skdp.model_selection._runs as runs

    for action in ("error", "always", "default"):
        vars(runs).pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action, LowAccuracyWarning)
            for seed in range(2):
                search = _search(seed, _prefers_solid)
                try:
                    search.fit(rows_for("", 400))
                except LowAccuracyWarning:
                    assert search.best_params_["center"] == 1.0
        assert "hollow" not in str(getattr(runs, "__warningregistry__", ""))
        assert len(caught) <= 2


def test_a_fit_inside_another_private_part_is_silent():
    from skdp.utils._threads import quiet

    def fit():
        with quiet():
            PrivateMean(epsilon=0.1, random_state=0).fit(rows_for("", 5))

    assert not doubts(fit)


def test_a_reliable_estimator_has_no_advice():
    sure = PrivateMean(epsilon=8.0, random_state=0)
    assert not doubts(lambda: sure.fit(rows_for("", 6000)))
    assert sure.reliable_ is True and not sure.accuracy_warnings_


@pytest.mark.parametrize(
    "budget, told",
    [
        ({"epsilon": 20.0}, ()),
        ({"epsilon": 20.5}, ("epsilon=20.5",)),
        ({"delta": 0.0099}, ()),
        ({"delta": 0.01}, ("delta=0.01",)),
        ({"epsilon": 30, "delta": np.float32(0.5)}, ("epsilon=30", "delta=0.5")),
    ],
)
def test_a_weak_guarantee_is_told_before_anything_is_charged(budget, told):
    X, ledger = rows_for("", 400), PrivacyLedger(epsilon=100, delta=0.6)
    pipe = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), random_state=0)
    for model in (PrivateMean(random_state=0), pipe):
        model.set_params(ledger=ledger, **budget)
        before = len(ledger.entries())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X)
        weak = [w for w in caught if issubclass(w.category, WeakGuaranteeWarning)]
        assert len(weak) == bool(told) and all(w.filename == __file__ for w in weak)
        assert all(text in str(weak[0].message) for text in told)
        assert len(ledger.entries()) == before + 1
        if told:
            with warnings.catch_warnings():
                warnings.simplefilter("error", WeakGuaranteeWarning)
                with pytest.raises(WeakGuaranteeWarning):
                    model.fit(X)
            assert len(ledger.entries()) == before + 1


def test_a_pipeline_of_a_class_of_its_own_is_fitted_and_warned_of():
    class Own(Pipeline):
        pass

    model = Own([("scale", StandardScaler()), ("mean", PrivateMean())])
    with pytest.warns(WeakGuaranteeWarning, match="'scale' .StandardScaler. learns from private"):
        model.fit(np.random.default_rng(0).normal(size=(500, 2)))


AMPLE = PrivacyLedger(1e4, 1e-2)
LOGISTIC = PrivateLogisticRegression(classes=[0, 1])
COSTS, LEARNS = "fits it several times", "learns from the rows itself"


@pytest.mark.parametrize(
    ("outer", "told"),
    [
        (OneVsRestClassifier(LOGISTIC), {COSTS, LEARNS}),
        (CalibratedClassifierCV(clone(LOGISTIC).set_params(ledger=AMPLE), cv=2), {LEARNS}),
        (StackingClassifier([("one", LOGISTIC)], cv=2), {COSTS, LEARNS}),
        (MultiOutputClassifier(LOGISTIC), {COSTS}),
        (MultiOutputClassifier(clone(LOGISTIC).set_params(ledger=AMPLE)), set()),
        (SelectFromModel(LOGISTIC), set()),
        (FixedThresholdClassifier(LOGISTIC), set()),
        (RANSACRegressor(PrivateRidge(), min_samples=9, residual_threshold=1e9), {COSTS, LEARNS}),
    ],
)
def test_what_estimators_around_a_private_one_do_to_its_guarantee_is_said(outer, told, monkeypatch):
    monkeypatch.setattr("skdp.utils._warnings.TOLD", set())
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, :1] > 0).astype(int) if isinstance(outer, MultiOutputClassifier) else X[:, 0] > 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WeakGuaranteeWarning)
        outer.fit(X, y)
    weak = [str(w.message) for w in caught if w.category is WeakGuaranteeWarning]
    assert all(type(outer).__name__ in one for one in weak)
    assert {part for part in (COSTS, LEARNS) for one in weak if part in one} == told
    assert len(weak) == len(told)


def test_a_union_in_a_pipeline_is_fitted_and_warned_of():
    model = make_pipeline(StandardScaler(), make_union(PrivateMean(), "passthrough"))
    with pytest.warns(WeakGuaranteeWarning, match="StandardScaler. learns from private"):
        model.fit(np.random.default_rng(0).normal(size=(500, 2)))
