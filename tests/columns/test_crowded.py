"""Quantiles of many columns: cells with weights, smooth ranks, tables that are hard to search."""

import numpy as np
import pytest

from skdp import PrivateQuantile, config_context
from skdp.columns._ranks import (
    Ranks,
    excess_strategy,
    grid_of,
    multiple_in,
    multiples,
    previous_float,
)
from skdp.columns._smooth_ranks import Axis, expected_rows, most_likely
from tests.columns.test_ranks import columns, rank_error

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdp.exceptions.SeededNoiseWarning", "ignore::skdp.exceptions.LowAccuracyWarning"
)
Q = [0.05, 0.25, 0.5, 0.75, 0.95]


def table(n, copies, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([x for _ in range(copies) for x in columns(rng, n).values()])


@pytest.mark.slow
def test_many_columns_are_measured_by_cells_with_weights_and_near():
    X = table(4500, 4)
    with config_context(debug=True):
        fit = PrivateQuantile(Q, random_state=0).fit(X)
    labels = [charge.label for charge in fit.privacy_report_.charges]
    assert labels.count("statistic") == 6 and labels.count("brackets") == 1
    off = [
        max(rank_error(X[:, j], fit.location_[i, j], q) for i, q in enumerate(Q)) / len(X)
        for j in range(X.shape[1])
    ]
    assert np.mean(np.array(off) < 0.04) >= 0.9


def test_columns_that_are_seen_pay_for_no_second_look_at_others():
    X = np.random.default_rng(0).normal(5.0, 1.0, size=(3000, 20))
    X[:, 7] = np.nan
    seen = PrivateQuantile(Q, random_state=0).fit(np.delete(X, 7, axis=1))
    fit = PrivateQuantile(Q, random_state=0).fit(X)
    looks, alone = (
        [float(c.share) for c in one.privacy_report_.charges if c.label.endswith("octaves")]
        for one in (fit, seen)
    )
    assert len(alone) == 1 and len(looks) == 2
    noise = 1 / (0.01 * 3000 * float(fit.privacy_report_.budget.mu)) ** 2  # of one column
    assert looks[1] == pytest.approx(noise, rel=0.5)
    assert not np.isnan(fit.location_).any() and np.isinf(fit.noise_scale_[:, 7]).all()


@pytest.mark.slow
def test_intervals_of_many_columns_cover():
    """Nominal .95; of 600 lines fewer than .93 cover once in a hundred tests."""
    covered = []
    for seed in range(3):
        X = table(4000, 4, seed)
        fit = PrivateQuantile(Q, random_state=seed).fit(X)
        low, high = fit.interval()
        exact = np.sort(X, axis=0)[[int(np.ceil(q * len(X))) - 1 for q in Q]]
        covered.append((low <= exact) & (exact <= high))
    assert np.mean(covered) > 0.93


def hard(n):
    rng = np.random.default_rng(1)
    return np.column_stack(
        [
            np.full(n, 1.7e308),
            np.full(n, -1.7e308),
            np.where(rng.random(n) < 0.5, 1.7e308, -1.7e308),
            np.full(n, 5e-324),
            np.where(rng.random(n) < 0.5, 5e-324, 0.0),
            np.zeros(n),
            np.full(n, 0.1),
            np.full(n, np.nan),
            np.where(rng.random(n) < 0.9, 0.0, rng.exponential(size=n)),
            1e15 + rng.normal(size=n),
            rng.standard_cauchy(n) * 1e300,
            *rng.normal(size=(9, n)),
        ]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("epsilon", [0.3, 8.0])
def test_hard_columns_end_without_an_error_where_numpy_raises(epsilon):
    X = hard(600)
    bounds = np.full(X.shape[1], -1.0), np.full(X.shape[1], 1e290)
    with np.errstate(all="raise"), config_context(debug=True):
        for limits in (None, bounds):
            fit = PrivateQuantile(Q, bounds=limits, epsilon=epsilon, random_state=0).fit(X)
            assert np.isfinite(fit.location_).all()
            assert (fit.location_[1:] >= fit.location_[:-1]).all()


def test_cells_with_weights_tell_the_ranks_that_histograms_do():
    """Without noise both are exact, and a cell of one value that holds rows stays."""
    x = np.array([1.0, 2.0, 2.0, 2.0, 3.0, 9.0])
    cuts = np.array([float(previous_float(2.0)), 2.0, 5.0])
    counts = np.array([1, 3, 1, 1])
    C = excess_strategy((0.25, 0.5, 0.75)).astype(float)
    ranks = Ranks()
    ranks.add(np.empty(0), np.array([len(x)]), 1e-3)
    ranks.add_weighed(cuts, C, C @ counts, 1e-3)
    fit = ranks.fit()
    assert np.allclose(fit.raw, [0, 1, 4, 5, 6], atol=1e-3)
    assert np.allclose(fit.smooth, [0, 1, 4, 5, 6], atol=0.1)


def test_an_axis_turns_numbers_back_and_never_leaves_a_bracket():
    x = np.array([-np.inf, -1e308, -1.0, 0.0, 1.0, 1e308, np.inf])
    rank = np.array([0.0, 1.0, 25.0, 50.0, 75.0, 99.0, 100.0])
    axis = Axis.of(x, rank)
    assert (axis.center, axis.unit) == (0.0, 1.0)
    for target in (10.0, 40.0, 60.0, 90.0):
        value, i = axis.invert(rank, target), np.searchsorted(rank, target)
        assert x[i - 1] <= value <= x[i]
    assert abs(axis.invert(rank, 87.0)) < 1e160  # half of the way to 1e308, by its digits


@pytest.mark.parametrize("sd, least, most", [(0.1, 0.0, 0.05), (40.0, 0.5, 1.0)])
def test_most_likely_densities_are_as_even_as_the_noise_lets_them(sd, least, most):
    uneven, even = np.array([90.0, 130.0, 70.0, 125.0, 85.0]), np.full(5, 100.0)
    precision = np.eye(5) / sd**2
    known = even, np.arange(5.0) / 100, np.zeros(5, dtype=bool), uneven
    rows = most_likely(precision, precision @ uneven, *known)
    moved = np.abs(rows - uneven).max() / np.abs(even - uneven).max()
    assert least <= moved <= most


def test_numbers_of_rows_are_positive_and_a_value_alone_tells_nothing_of_its_neighbors():
    told = np.array([20.0, -30.0, 900.0, -20.0, 20.0])
    precision, alone = np.eye(5) / 20.0**2, np.arange(5) == 2
    known = np.full(5, 20.0), np.arange(5.0), alone, np.maximum(told, 1.0)
    rows = most_likely(precision, precision @ told, *known)
    assert (rows > 0).all() and abs(rows[2] - 900) < 20 and rows[[0, 1, 3, 4]].max() < 40


def test_expected_rows_are_those_of_quartiles():
    places = np.array([-1e300, 0.0, 1.0, 2.0, 1e300])
    t = Axis(1.0, 2.0, places, places).of_numbers(places)
    rows = expected_rows(t, 1000.0)
    assert np.allclose(rows[1:5], 250, atol=2) and abs(rows.sum() - 1000) < 2


@pytest.mark.parametrize("law, power", [("counts", 0), ("tens", 1), ("bits", 0), ("normal", None)])
def test_a_grid_of_numbers_is_told_by_cells_without_rows(law, power):
    rng = np.random.default_rng(0)
    x = {
        "counts": rng.poisson(9.0, size=10000),
        "tens": 10 * rng.poisson(9.0, size=10000),
        "bits": rng.random(10000) < 0.3,
        "normal": rng.normal(9.0, 3.0, size=10000),
    }[law].astype(float)
    cuts = np.unique(np.quantile(x, np.arange(1, 20) / 20) + rng.uniform(-0.6, 0.6, size=(12, 19)))
    rank = np.searchsorted(np.sort(x), cuts, side="right").astype(float)
    noise = rng.normal(0.0, 30.0, size=len(cuts))
    assert grid_of(cuts, rank, rank + noise, 900.0 * np.eye(len(cuts))) == power


def test_multiples_are_those_of_decimals():
    x = np.array([0.57, np.nextafter(0.57, 0), -0.57, 0.3, 7.0])
    assert multiples(x, -2).tolist() == [57, 56, -57, 30, 700]
    assert multiples(x, 1).tolist() == [0, 0, -1, 0, 0]
    assert multiple_in(38.2, 39.0, 38.4, 0) == 39.0
    assert multiple_in(38.2, 38.9, 38.4, 0) is None
    assert multiple_in(0.0, 5.0, 2.2, 0) == 3.0 and multiple_in(0.0, 5.3, 5.2, 0) == 5.0
    assert multiple_in(0.56, 0.58, 0.5699, -2) == 0.57


def test_counts_are_told_as_counts():
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.uniform(2, 30, size=60), size=(3000, 60)).astype(float)
    told = PrivateQuantile([0.25, 0.5, 0.75], epsilon=2.0, random_state=0).fit(X).location_
    rank = [(told[1] >= X).mean(axis=0), (told[1] > X).mean(axis=0)]
    assert np.mean(told == np.round(told)) > 0.9
    assert np.mean((rank[0] > 0.45) & (rank[1] < 0.55)) > 0.9
