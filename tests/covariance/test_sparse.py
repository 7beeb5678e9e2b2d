"""Columns of which most entries are one number, tails, and what is said about both."""

import math

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.covariance import PrivateCovariance
from skdp.covariance._distance_histogram import BINS, SPARSE_SCALES, TailLoss, _top, column_units
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning
from skdp.kernel._sampled import Sample, Sampled
from skdp.location._clip import Distances
from skdp.readers import ArrayRows
from skdp.scales import top_scale
from tests._curators import CannedCurator

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{SeededNoiseWarning.__module__}.SeededNoiseWarning"
)
PLAN = Plan(
    Budget.gaussian(1.0, 1e-6),
    (
        Step("x", at_most=0.1),
        Step("sparse rows", at_most=0.002),
        Step("sparse scales", at_most=SPARSE_SCALES.at_most),
    ),
)


def _sampled(sample, curator):
    return Sampled(sample, ArrayRows(sample.Z), curator)


def _binary(seed, n, rate):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.normal(size=n), 3 * rng.normal(size=n), rng.random(n) < rate]
    ).astype(float)


@pytest.mark.parametrize(("n", "rate"), [(100_000, 0.03), (150_000, 0.01)])
def test_a_rare_one_beside_normal_columns(n, rate, debug):
    for seed in range(2):
        X = _binary(seed, n, rate)
        fit = PrivateCovariance(random_state=seed).fit(X)
        assert np.all(np.abs(np.diag(fit.covariance_) / X.var(axis=0) - 1) < 0.15)


def test_noise_of_a_column_that_shows_a_point_is_never_zero(debug):
    X = _binary(0, 50_000, 0.0)
    X[:3, 2] = 1.0
    fit = PrivateCovariance(random_state=0).fit(X)
    assert np.all(np.diag(fit.noise_scale_) > 0)
    assert fit.covariance_[2, 2] < 0.1


def test_one_hot_columns_beside_heavy_ones(debug):
    """Common columns within 15 % of their variances: rare and heavy ones drown nobody."""
    rng = np.random.default_rng(0)
    n = 40_000
    rates = np.concatenate([np.geomspace(0.3, 1e-4, 30)] * 2) / 1.6
    X = np.concatenate([rng.random((n, len(rates))) < rates, np.zeros((n, 2))], axis=1)
    X[:, -2] = np.where(rng.random(n) < 0.08, np.exp(8 + 1.2 * rng.normal(size=n)), 0.0)
    X[rng.random(n) < 0.005, -2] = 99999.0
    X[:, -1] = 40 + 12 * rng.normal(size=n)
    fit = PrivateCovariance(random_state=0).fit(X)
    ratio = np.diag(fit.covariance_) / np.maximum(X.var(axis=0), 1e-9)
    common = np.append(rates > 0.01, [False, True])
    assert np.all(np.abs(ratio[common] - 1) < 0.15)
    assert 0 < ratio[-2] < 1.5  # two hundred rows make most of this variance
    assert np.all(np.diag(fit.noise_scale_) > 0)


def test_units_of_dense_sparse_and_constant_columns():
    rng, n = np.random.default_rng(0), 20000
    sparse = (rng.random(n) < 0.02) * 1e6
    Z = np.column_stack(
        [1e-200 * rng.normal(size=n), sparse, np.full(n, 5.0), 7 * rng.normal(size=n)]
    )
    keys = rng.integers(0, 2**63, size=n).astype(np.uint64)
    sample = _sampled(Sample(Z, keys, 1.0, n), CannedCurator(PLAN, "exact"))
    units = column_units(sample, Step("x"), share=0.02)
    sd = np.array([1e-200, 1e6 * math.sqrt(0.02 * 0.98), units[1], 7.0])
    assert np.all((units / sd > 0.4) & (units / sd < 2.5))
    constant = Sample(np.ones((n, 2)), keys, 1.0, n)
    sample = _sampled(constant, CannedCurator(PLAN, "exact"))
    assert column_units(sample, Step("x"), share=0.02) is None


def _powers(a, n, sd=5.0):
    edges = 2.0 ** (np.arange(1, 27) / 2)
    beyond = n * np.append(1.0, edges**-a)
    counts = np.append(-np.diff(beyond)[0], -np.diff(beyond)[1:])
    return Distances(counts, edges, sd, 4)


def test_the_loss_of_a_power_law_is_at_most_what_is_said():
    for a, at_most in ((3.0, 12.0), (6.0, 12.0)):
        distances = _powers(a, 1e6)
        r = np.array([2.0, 4.0, 8.0])
        true = 2 * r ** (2 - a) / (a - 2)
        said = TailLoss(distances, 1e6, 8, sure=2.0)(r)
        assert np.all(said > true) and np.all(said < at_most * true + 0.05)
    assert np.isinf(TailLoss(_powers(0.8, 1e4), 1e4, 26, sure=2.0)(np.array([2.0]))).all()


@pytest.mark.slow
@pytest.mark.parametrize("law", ["t3", "lognormal", "pareto"])
@pytest.mark.parametrize("n", [5000, 50_000])
def test_error_bound_covers_heavy_tails(law, n, debug):
    """40 fits with 3 to 10 columns: at least 38 within a bound of 95 %."""
    within = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size = n, (3, 5, 10)[seed % 3]
        X = {
            "t3": lambda rng=rng, size=size: rng.standard_t(3, size),
            "lognormal": lambda rng=rng, size=size: rng.lognormal(0, 1.5, size),
            "pareto": lambda rng=rng, size=size: rng.pareto(2.5, size),
        }[law]()
        fit = PrivateCovariance(denoise=False, random_state=seed).fit(X)
        half = np.linalg.pinv(fit.root_) @ np.linalg.pinv(fit.basis_)
        gap = half @ (fit.covariance_ - np.cov(X, rowvar=False, bias=True)) @ half.T
        within += np.linalg.norm(gap, 2) <= fit.error_bound()
    assert within >= 38


def test_rows_too_far_for_the_bulk_are_told():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    X[:600] *= 1e6
    with pytest.warns(LowAccuracyWarning, match="far beyond"):
        fit = PrivateCovariance(random_state=0).fit(X)
    assert np.isinf(fit.error_bound()) and np.isfinite(fit.error_bound(clipping=False))
    assert np.all(np.abs(np.diag(fit.covariance_) - 1) < 0.3)


def test_nothing_found_is_told():
    with pytest.warns(LowAccuracyWarning, match="nothing found"):
        fit = PrivateCovariance(random_state=0).fit(np.ones((1, 2)))
    assert np.isinf(fit.noise_scale_).all()


def test_noise_beside_zeros_is_no_scale():
    """Differences of which most are zeros, and noise in a bin of 2^-1072, as one in 200 has."""
    n, sd = 30_000, 2700.0
    row = np.zeros(BINS.n_bins)
    row[0], row[2], row[BINS.index(np.array([1.0]))[0]] = 0.7 * n, 3.3 * sd, 0.29 * n
    assert 0 < top_scale(row, sd, n, BINS) < 1e-300
    assert _top(row, sd, n) == 0
    row[BINS.index(np.array([1.0]))[0]] = 0.5 * n  # now they stand out
    assert _top(row, sd, n) >= 1
