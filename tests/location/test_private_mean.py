import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import skdp
from skdp import PrivacyLedger, PrivateMean
from skdp.exceptions import BudgetExceeded, LowAccuracyWarning, ReleaseError, SeededNoiseWarning

RHO_ONE = 7.30117  # epsilon at which delta = 1e-6 buys mu = sqrt 2
seeded = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def charges(ledger):
    return [entry for entry in ledger.entries() if entry.kind == "charge"]


def error(X, truth, **params):
    fit = PrivateMean(**params).fit(X)
    return np.linalg.norm(fit.location_ - truth)


@pytest.mark.cases(3)
@seeded
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e12])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e150])
def test_location_and_scale_do_not_matter(rng, offset, scale, debug):
    X = scale * (rng.standard_normal((2000, 5)) + offset)
    errors = [error(X, scale * offset, random_state=i) / scale for i in range(5)]
    # sampling error .05, noise of a known centre and radius about .013; offset 1e12 costs 12 digits
    assert np.median(errors) < 0.12 + 1e-15 * offset


@seeded
def test_high_dimension_is_within_reach_of_the_floor(rng, debug):
    truth = np.full(1000, 1e3)
    X = truth + rng.standard_normal((800, 1000))
    errors = [error(X, truth, epsilon=RHO_ONE, random_state=i) for i in range(3)]
    assert max(errors) < 1.06 * 1.466  # the floor: a clipped sum with known centre and radius


@seeded
def test_trim_ignores_outliers(rng, debug):
    X = rng.standard_normal((1000, 50))
    for size in (1e3, 1e6):
        Y = X.copy()
        Y[:50] *= size
        errors = [error(Y, 0, epsilon=RHO_ONE, trim=True, random_state=i) for i in range(5)]
        assert np.median(errors) < 1.1 * 0.30


@seeded
def test_public_center_and_radius_buy_nothing_else(rng):
    X = 5 + rng.standard_normal((500, 3))
    fit = PrivateMean(center=5.0, radius=4.0, random_state=0).fit(X)
    assert [c.label for c in fit.privacy_report_.charges] == ["row count", "final sum"]
    assert np.linalg.norm(fit.location_ - 5) < 0.3
    radius_only = PrivateMean(epsilon=3.0, radius=4.0, random_state=0).fit(X)
    labels = [c.label for c in radius_only.privacy_report_.charges]
    assert "ring" not in labels and "distances" not in labels and "soft core" in labels
    assert np.linalg.norm(radius_only.location_ - 5) < 0.3
    center_only = PrivateMean(epsilon=3.0, center=[5, 5, 5], random_state=0).fit(X)
    assert "ring" not in [c.label for c in center_only.privacy_report_.charges]
    assert np.linalg.norm(center_only.location_ - 5) < 0.3


@seeded
def test_columns_of_different_scales(rng, debug):
    scales = np.array([1e-6, 1.0, 1e6])
    X = scales * (rng.standard_normal((20000, 3)) + 3)
    fit = PrivateMean(random_state=1).fit(X)
    assert np.all(np.abs(fit.location_ / scales - 3) < 0.05)
    public = PrivateMean(random_state=1, scale=scales).fit(X)
    assert np.all(np.abs(public.location_ / scales - 3) < 0.05)
    assert "column scales" not in [c.label for c in public.privacy_report_.charges]


HOSTILE = {
    "zeros": np.zeros((50, 2)),
    "one row": np.array([[1.0, 2.0]]),
    "two rows": np.array([[1.0, 2.0], [1e300, -1e300]]),
    "duplicates": np.full((300, 2), 1e200),
    "largest": np.full((300, 2), np.finfo(float).max),
    "both ends": np.array([[1e308, -1e308]] * 100 + [[-1e308, 1e308]] * 100),
    "subnormal": np.full((300, 2), 5e-324),
    "two clusters": np.repeat([[0.0, 0.0], [100.0, 0.0]], 200, axis=0),
    "constant column": np.column_stack([np.arange(300.0), np.full(300, 7.0)]),
    "integers": np.arange(600).reshape(300, 2),
    "wide": np.ones((3, 400)),
}


@seeded
@pytest.mark.parametrize(
    "params", [{}, {"epsilon": 1e4}, {"epsilon": 1e-3}, {"trim": True}, {"radius": 1.0}], ids=str
)
def test_always_finite(params, debug):
    for name in HOSTILE:
        for seed in range(3):
            fit = PrivateMean(random_state=seed, **params).fit(HOSTILE[name])
            assert fit.location_.shape == (HOSTILE[name].shape[1],)
            assert np.isfinite(fit.location_).all(), name
            assert (fit.noise_scale_ >= 0).all(), name


@seeded
def test_interval_covers(rng):
    """40 fits x 4 columns at 95 %: fewer than 140 of 160 covered has probability < 1e-4."""
    X = rng.standard_normal((3000, 4))
    covered = 0
    for seed in range(40):
        fit = PrivateMean(random_state=seed).fit(X)
        low, high = fit.interval(0.95)
        covered += int(((low <= X.mean(axis=0)) & (X.mean(axis=0) <= high)).sum())
    assert covered >= 140
    wide = fit.interval(0.95, simultaneous=True)
    assert (wide[0] < low).all() and (wide[1] > high).all()
    narrow = fit.interval(0.5, clipping=False)
    assert (narrow[0] > low).all()
    with pytest.raises(ValueError, match="confidence"):
        fit.interval(1.5)


@seeded
def test_the_report_bills_exactly_the_plan(rng):
    X = rng.standard_normal((2000, 3))
    mean = PrivateMean(epsilon=0.7, delta=1e-7, random_state=0)
    plan = mean.plan()
    report = mean.fit(X).privacy_report_
    assert report.budget == plan.budget
    assert sum(c.share for c in report.charges) == 1
    assert {c.label for c in report.charges} <= {s.label for s in plan.steps}
    assert report.delta(0.7) <= 1e-7
    assert json.loads(report.to_json())["epsilon"] == 0.7
    assert "final sum" in str(report) and "final sum" in report._repr_html_()
    assert "row count" in str(plan) and "row count" in plan._repr_html_()


@seeded
def test_frames_in_and_out(rng):
    frame = pd.DataFrame(rng.standard_normal((100, 2)), columns=["a", "b"])
    fit = PrivateMean(random_state=0).set_output(transform="pandas").fit(frame)
    assert list(fit.get_feature_names_out()) == ["a", "b"]
    pd.testing.assert_frame_equal(fit.transform(frame), frame - fit.location_)


@seeded
def test_memmap_and_float32_and_blocks(rng, tmp_path, monkeypatch):
    X = rng.standard_normal((3000, 4)).astype(np.float32)
    path = tmp_path / "rows.dat"
    mapped = np.memmap(path, dtype=np.float32, mode="w+", shape=X.shape)
    mapped[:] = X
    want = PrivateMean(random_state=0).fit(X).location_
    assert np.array_equal(PrivateMean(random_state=0).fit(mapped).location_, want)
    assert np.array_equal(PrivateMean(random_state=0).fit(X.astype(float)).location_, want)
    assert np.array_equal(PrivateMean(random_state=0).fit(np.asfortranarray(X)).location_, want)
    monkeypatch.setattr("skdp.readers._rows.BLOCK_BYTES", 1000)
    assert np.array_equal(PrivateMean(random_state=0).fit(X).location_, want)


@seeded
def test_invalid_rows(rng):
    X = rng.standard_normal((200, 2))
    bad = np.vstack([X, [[np.nan, 0], [np.inf, 1], [0, -np.inf]]])
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PrivateMean(ledger=ledger).fit(bad)
    assert not charges(ledger)
    with skdp.config_context(invalid_rows="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        warnings.simplefilter("ignore", LowAccuracyWarning)  # of no rows
        with_bad = PrivateMean(random_state=0).fit(bad)
        without = PrivateMean(random_state=0).fit(X)
        warnings.simplefilter("ignore", LowAccuracyWarning)
        empty = PrivateMean(random_state=0).fit(np.empty((0, 2)))
    assert np.array_equal(with_bad.location_, without.location_)
    assert np.isfinite(empty.location_).all()


@seeded
def test_rows_are_safe_when_sklearn_checks_are_off(rng):
    import sklearn

    X = rng.standard_normal((200, 2))
    bad = np.vstack([X, [[np.nan, 1e308]]])
    with sklearn.config_context(assume_finite=True):
        fit = PrivateMean(random_state=0).fit(bad)
    assert np.array_equal(fit.location_, PrivateMean(random_state=0).fit(X).location_)


def test_errors_tell_the_way_out():
    X = np.zeros((20, 2))
    for params, words in (
        ({"delta": 0.0}, "needs 0 < delta < 1"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"center": [1.0]}, r"shape \(2,\)"),
        ({"center": np.inf}, "finite"),
        ({"scale": [1.0, 0.0]}, "positive"),
        ({"radius": 0}, "radius"),
        ({"epsilon": 1e-12, "delta": 1e-300}, "epsilon"),
    ):
        with pytest.raises(ValueError, match=words):
            PrivateMean(**params).fit(X)


def test_a_failure_after_the_data_are_read_says_nothing(rng, monkeypatch):
    secret = "value 123.456"

    def broken(*args, **kwargs):
        raise RuntimeError(secret)

    monkeypatch.setattr("skdp.location._private_mean.private_mean", broken)
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-6)
    with pytest.raises(ReleaseError) as caught:
        PrivateMean(ledger=ledger).fit(rng.standard_normal((20, 2)))
    assert secret not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(charges(ledger)) == 1
    with skdp.config_context(debug=True), pytest.raises(RuntimeError, match=secret):
        PrivateMean().fit(rng.standard_normal((20, 2)))


@seeded
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_grid_search_over_epsilon_is_billed(rng, tmp_path, n_jobs):
    X = rng.standard_normal((120, 2))
    ledger = PrivacyLedger(epsilon=50.0, delta=1e-5, path=tmp_path / "study.db")

    def score(estimator, X, y=None):
        return -float(np.sum(estimator.location_**2))

    search = GridSearchCV(
        PrivateMean(ledger=ledger), {"epsilon": [0.5, 1.0]}, cv=3, scoring=score, n_jobs=n_jobs
    )
    search.fit(X)
    assert len(charges(ledger)) == 2 * 3 + 1
    assert clone(search.best_estimator_).ledger is ledger


def test_one_fit_may_spend_a_whole_ledger(rng):
    X = rng.standard_normal((50, 2))
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-6)
    PrivateMean(epsilon=1.0, delta=1e-6, ledger=ledger).fit(X)
    with pytest.raises(BudgetExceeded):
        PrivateMean(epsilon=0.01, delta=1e-7, ledger=ledger).fit(X)


@pytest.mark.parametrize("n", [20, 100, 400])
@pytest.mark.parametrize("trim", [False, True])
def test_interval_covers_when_the_number_of_rows_drowns_in_noise(rng, n, trim):
    """A sum divided by a number that is noise is near the public centre, with little noise."""
    X = rng.uniform(4, 6, size=(n, 1))
    covered, told = [], 0
    for _ in range(40):
        mean = PrivateMean(epsilon=0.1, center=0, radius=10, trim=trim).fit(X)
        low, high = mean.interval(0.95)
        covered.append(low[0] <= X.mean() <= high[0])
        told += any("stand out of its noise" in text for text in mean.privacy_report_.decisions)
    assert np.mean(covered) > 0.8 and told > 30


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_noise_in_many_columns_is_not_taken_for_a_tail():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(600, 50)) + 1e5
        model = PrivateMean(epsilon=4.0, random_state=seed).fit(X)
        assert np.linalg.norm(model.location_ - X.mean(axis=0)) < 0.5
