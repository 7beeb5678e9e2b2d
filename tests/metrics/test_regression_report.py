"""Reports of regressions: losses of targets without bounds, with intervals."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    r2_score,
)

from skdp.metrics import PrivateRegressionReport

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def drawn(n, seed=0, unit=1.0):
    """Return targets and predictions, in any unit."""
    rng = np.random.default_rng(seed)
    f = 30 + 3 * rng.normal(size=n)
    return unit * (f + rng.normal(size=n)), unit * f


@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_intervals_cover_the_metrics_of_scikit_learn(unit):
    y, f = drawn(20000, unit=unit)
    X = np.column_stack([f, f - unit, f + unit])
    report = PrivateRegressionReport(with_interval=True, quantile_losses=[0.9], random_state=0)
    report.fit(y, X)
    inside = np.mean(np.abs(y - f) <= unit)
    for name, value in {
        "mean_absolute_error": mean_absolute_error(y, f),
        "mean_squared_error": mean_squared_error(y, f),
        "quantile_loss of 0.9": mean_pinball_loss(y, f, alpha=0.9),
        "r2": r2_score(y, f),
        "coverage": inside,
    }.items():
        low, high = report.interval(name, confidence=0.9999)
        assert low <= value <= high
        wide = report.interval(name, confidence=0.9999, sampling=True)
        assert wide[0] <= low and high <= wide[1]
    assert report.mean_absolute_error_ == pytest.approx(mean_absolute_error(y, f), rel=0.05)
    assert report.coverage_ == pytest.approx(inside, abs=0.02)
    low, high = report.residual_interval(0.9999)
    quantiles = np.quantile(y - f, [0.1, 0.5, 0.9])
    assert (low <= quantiles).all() and (quantiles <= high).all()


def test_one_metric_alone_has_more_of_the_budget():
    y, f = drawn(3000)
    one = PrivateRegressionReport(metrics=["mean_absolute_error"], quantiles=[], random_state=0)
    low, high = one.fit(y, f).interval("mean_absolute_error")
    least, most = PrivateRegressionReport(random_state=0).fit(y, f).interval("mean_absolute_error")
    assert high - low < most - least
    assert np.isnan(one.r2_) and one.metric_names_ == ["mean_absolute_error"]


@pytest.mark.parametrize("n", [1, 50])
def test_too_few_rows_are_said(n):
    report = PrivateRegressionReport(random_state=0).fit(*drawn(n))
    assert np.isnan(report.r2_) and not report.reliable_
    assert np.isnan(report.residual_quantiles_).all()
    assert "bounds=" not in "".join(report.privacy_report_.decisions)
    assert report.interval("r2") == (-np.inf, np.inf)
    assert not report.results()["reliable"].any()


@pytest.mark.parametrize("metrics", [["mean_squared_error"], ["mean_absolute_error", "r2"]])
@pytest.mark.parametrize("seed", [1, 2])
def test_losses_whose_tail_is_not_seen_have_no_upper_end(metrics, seed):
    rng = np.random.default_rng(0)
    f = rng.normal(size=1000)
    y = f + rng.lognormal(sigma=2, size=1000) * rng.choice([-1, 1], size=1000)
    exact = {"mean_squared_error": mean_squared_error(y, f), "r2": r2_score(y, f)}
    report = PrivateRegressionReport(metrics=metrics, quantiles=[], random_state=seed).fit(y, f)
    for name, value in exact.items():
        if name in report.metric_names_:
            low, high = report.interval(name)
            assert low <= value <= high
            assert low == -np.inf if name == "r2" else high == np.inf
    assert any("to be above" in line for line in report.privacy_report_.decisions)


def test_losses_without_a_tail_have_both_ends():
    for seed in range(3):
        report = PrivateRegressionReport(random_state=seed).fit(*drawn(20000, seed=seed))
        assert np.isfinite(report.interval()).all()


def test_a_constant_target_has_no_r2():
    report = PrivateRegressionReport(random_state=0).fit(np.ones(5000), np.ones(5000))
    assert np.isnan(report.r2_)


def test_a_model_is_read():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=8000)
    model = LinearRegression().fit(X[:1000], y[:1000])
    report = PrivateRegressionReport.from_estimator(model, X[1000:], y[1000:], random_state=0)
    low, high = report.interval("r2", confidence=0.9999)
    assert low <= r2_score(y[1000:], model.predict(X[1000:])) <= high


def test_wrong_predictions_are_told_before_the_charge():
    y, f = drawn(100)
    with pytest.raises(ValueError, match="predictions have 1 columns"):
        PrivateRegressionReport().fit(y, np.column_stack([f, f, f]))
    with pytest.raises(ValueError, match="metrics must be some of"):
        PrivateRegressionReport(metrics=["r3"]).fit(y, f)
    with pytest.raises(ValueError, match="quantiles must lie between 0 and 1"):
        PrivateRegressionReport(quantiles=[1.0]).fit(y, f)
