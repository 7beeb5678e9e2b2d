"""How far columns reach, and scales that are near the truth or said not to be."""

import warnings

import numpy as np
import pytest

from skdp import PrivateMinMax, PrivateTrimmedMean, PrivateVariance
from skdp.exceptions import LowAccuracyWarning
from skdp.location._places import short_decimal
from skdp.location._reach import EDGES, DistanceHistogram1d
from skdp.preprocessing import PrivateMinMaxScaler, PrivateStandardScaler

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

# --- the release


# --- what is read


def reach(distances, sd=10.0, seed=0):
    """A histogram with Gaussian noise; groups of 100 rows are 10 sd, seen but for 1e-4."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(np.searchsorted(EDGES, distances), minlength=EDGES.size)
    noisy = counts + np.rint(rng.normal(0, sd, EDGES.size))
    return DistanceHistogram1d(noisy, sd, "gaussian", float(len(distances)), 1.0)


def test_nothing_zeros_and_the_farthest_rows():
    assert reach(np.zeros(0)).reading.nothing
    assert reach(np.zeros(2000)).reading.zeros
    for far in (1e-100, 1.0, 3e4, 1e200):
        x = np.where(np.arange(5000) < 200, far, 0.0)
        one = reach(x)
        assert far <= one.reading.scale <= 1.5 * far
        assert far <= one.best(0.001, 2).radius <= 2 * far  # the square is not clipped


def test_nothing_seen_is_worth_one_and_bounds_nothing():
    for empty in (reach(np.zeros(0)), reach(np.zeros(2000))):
        assert empty.best(0.01, 1)[:2] == (1.0, np.inf)
        assert empty.beyond(0.1) == 0.0


def test_far_rows_that_are_seen_widen_the_radius():
    x = np.abs(np.random.default_rng(0).normal(size=20000))
    near = reach(x).best(0.001, 1)
    x[:400] = 1e5
    far = reach(x).best(0.001, 1)
    assert near.radius < 8 and 1e5 <= far.radius < 3e5
    assert reach(x).beyond(0.1) < 4  # a tenth from the top is among the others


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [
        (-3.0, 2.0, 0.0),
        (-1e-20, 0.0, 0.0),
        (39.99, 40.003, 40.0),
        (0.0999999, 0.1000001, 0.1),
        (-1.6e9 - 7, -1.6e9 + 6, -1.6e9),
        (2.0, 2.0, 2.0),
        (1.7e308, np.finfo(float).max, 1.75e308),
    ],
)
def test_plain_numbers(low, high, number):
    x = short_decimal(low, high)
    assert low <= x <= high and (x == number or number == 1.75e308)


# --- estimators on columns as people have them


def columns(n, seed=0):
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random(n) < 0.92, 0.0, np.round(rng.lognormal(8.6, 0.8, n)))
    gain[rng.random(n) < 0.005] = 99999.0
    return {
        "rate of 5 %": (rng.random(n) < 0.05) * 1.0,
        "zeros and a heavy tail": gain,
        "counts": rng.negative_binomial(0.7, 0.2, n) * 1.0,
        "dates": 1.6e9 + 86400.0 * rng.integers(0, 365, n),
        "prices": np.round(rng.lognormal(8.0, 0.9, n), 2),
        "constant": np.full(n, 7.0),
        "zeros": np.zeros(n),
        "heavy": rng.lognormal(0.0, 2.0, n),
    }


def told(fit):
    return not any("low accuracy" in text for text in fit.privacy_report_.decisions)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("n", "epsilon"), [(500, 0.1), (500, 1.0), (3000, 1.0), (30000, 1.0)])
def test_scales_are_near_the_truth_or_doubted(n, epsilon, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowAccuracyWarning)
        for name, x in columns(n).items():
            given = {"epsilon": epsilon, "delta": delta, "random_state": 0}
            scaler = PrivateStandardScaler(**given).fit(x[:, None])
            variance = PrivateVariance(**given).fit(x[:, None])
            for fit in (scaler, variance):
                ratio = fit.scale_[0] / (x.std() or 1.0)
                assert not told(fit) or 1 / 30 < ratio < 30, name
            assert 1e-6 < scaler.scale_[0] < 1e9, name
            if n >= 3000 and name in ("dates", "prices", "counts"):
                assert 0.7 < scaler.scale_[0] / x.std() < 1.2, name
                assert told(scaler) or name == "counts" or n < 30000, name
            if name in ("constant", "zeros"):
                assert scaler.scale_[0] == 1.0 and not told(scaler)
                assert np.isinf(variance.interval()[1][0]) and variance.var_[0] < 1.0 + 1e-9


def test_a_rate_has_its_variance():
    """A twentieth of 30,000 people."""
    X = columns(30000)["rate of 5 %"][:, None]
    fit = PrivateVariance(random_state=0).fit(X)
    assert told(fit) and abs(fit.var_[0] / X.var() - 1) < 0.1
    low, high = fit.interval()
    assert low[0] < X.var() < high[0] < 2 * X.var()


def test_intervals_cover_the_variance_of_the_rows():
    """Ten tables of every kind; a coverage of .93 fails with a probability below 1e-3."""
    kinds = ("rate of 5 %", "counts", "dates", "prices")
    covered = []
    for seed in range(10):
        for name in kinds:
            x = columns(3000, seed)[name]
            low, high = PrivateVariance(random_state=seed).fit(x[:, None]).interval()
            covered.append(low[0] <= x.var() <= high[0])
    assert sum(covered) >= 33


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_trimmed_mean_of_one_value_is_doubted_and_near_it(delta):
    with pytest.warns(LowAccuracyWarning, match="told apart"):
        fit = PrivateTrimmedMean(0.0, delta=delta, random_state=0).fit(np.full((3000, 1), 7.0))
    assert abs(fit.location_[0] - 7) < 0.1 and fit.noise_scale_[0] > 1e-4


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_extremes_are_in_order_and_ranges_ordinary(delta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowAccuracyWarning)
        for n in (100, 500, 3000):
            for name, x in columns(n).items():
                fit = PrivateMinMax(delta=delta, random_state=0).fit(x[:, None])
                assert (fit.min_ <= fit.max_).all(), name
                assert told(fit) != np.isinf(fit.noise_scale_).any(), name
                width = fit.max_[0] - fit.min_[0]
                assert not told(fit) or width < 30 * (np.ptp(x) or 1.0), name
                scaler = PrivateMinMaxScaler(delta=delta, random_state=0).fit(x[:, None])
                assert told(scaler) or scaler.scale_[0] == 1.0, name
        for value in (0.0, 7.0):
            scaler = PrivateMinMaxScaler(delta=delta, random_state=0).fit(np.full((3000, 1), value))
            assert not told(scaler) and scaler.scale_[0] == 1.0


def test_rows_that_stand_out_beyond_a_gap_are_left_out_only_with_a_doubt():
    """Too few to be taken for the reach of squares, where a false cell is dear."""
    counts, seen = np.zeros(EDGES.size), np.zeros(EDGES.size, dtype=bool)
    counts[2000:2006], counts[2020] = 500, 55
    seen[2000:2006] = seen[2020] = True
    one = DistanceHistogram1d(counts, 13.0, "gaussian", 3000, 1.0, seen, 2)
    assert one.reading.scale == EDGES[2005] and one.ends_early
    counts[2020] = 150
    one = DistanceHistogram1d(counts, 13.0, "gaussian", 3000, 1.0, seen, 2)
    assert one.reading.scale == EDGES[2020] and not one.ends_early


@pytest.mark.parametrize(("rows", "far"), [(60, 0.0), (45, 5e4)])
def test_a_group_far_out_is_in_the_variance_or_doubted(rows, far):
    """Tens of gaps written as zeros held most of a variance, and were missed without a word."""
    x = np.random.default_rng(0).uniform(900, 1100, (9600, 1))
    x[:rows] = far
    held = 0
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowAccuracyWarning)
            fit = PrivateVariance(random_state=seed).fit(x)
        assert not fit.reliable_ or abs(fit.var_[0] / x.var() - 1) < 0.5
        low, high = fit.interval()
        held += low[0] <= x.var() <= high[0]
    assert held >= 9
