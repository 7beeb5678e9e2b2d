import copy
import pickle

import numpy as np
import pytest

from skdp.accounting import Budget
from skdp.accounting._plan import release_mechanism
from skdp.readers import ArrayRows
from skdp.sensitivity import Quantile, TrimmedMean, bounded_statistic, release_bounded
from skdp.sensitivity._bounded import STATISTICS, bounded_columns
from skdp.sensitivity._cells import Grid, gathered_columns
from tests._curators import canned

PURE = Budget.pure(1)
TRUTHS = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "midrange": lambda x: (np.min(x) + np.max(x)) / 2,
    "range": np.ptp,
    "variance": np.var,
    "std": np.std,
    "sum_of_squares": lambda x: len(x) * np.var(x),
    "sum": np.sum,
    Quantile(0.3): lambda x: np.quantile(x, 0.3),
    TrimmedMean(0.25): lambda x: np.sort(x)[len(x) // 4 : len(x) - len(x) // 4].mean(),
}


def estimate(bounded):
    return bounded.origin + bounded.unit * bounded.value


def test_every_name_has_a_truth():
    assert set(STATISTICS) <= set(TRUTHS)


@pytest.mark.parametrize("statistic", TRUTHS, ids=str)
def test_generous_sensitivities_give_the_statistic_itself(statistic, rng):
    for n in (1, 2, 11, 500):
        x = rng.normal(loc=3, size=n)
        D = 20.0
        bounded = bounded_statistic(x, statistic, sensitivity=D, center=0.0)
        # a unit of the statistic, and one of the entries, which differ for spreads
        entry = {"variance": D**0.5 / 2**9, "sum_of_squares": n * D**0.5 / 2**9, "std": D / 2**4}
        tolerance = D / 2**10 + entry.get(statistic, D / 2**10)
        assert abs(estimate(bounded) - TRUTHS[statistic](x)) <= tolerance


@pytest.mark.parametrize("statistic", TRUTHS, ids=str)
def test_rows_that_are_not_finite_are_absent(statistic, rng):
    x = rng.normal(size=20)
    odd = np.insert(x, [0, 7, 20], [np.nan, np.inf, -np.inf])
    given = {"sensitivity": 0.1}
    assert bounded_statistic(odd, statistic, **given) == bounded_statistic(x, statistic, **given)
    nothing = bounded_statistic(odd[[0]], statistic, sensitivity=0.1)
    assert nothing.value == 0


def test_a_column_is_the_same_in_blocks(rng):
    X = rng.normal(size=(50, 3))
    X[4, 0], X[9, 1] = np.nan, np.inf
    finite = np.isfinite(X).all(axis=1)
    for dtype in (np.float64, np.float32):
        Z = X.astype(dtype)
        alone = bounded_statistic(Z[finite, 2], "median", sensitivity=0.01, center=0.1)
        for block_rows in (1, 7, None):
            rows = ArrayRows(Z, block_rows=block_rows)
            given = {"sensitivity": [0.01], "center": [0.1]}
            assert bounded_columns(rows, [2], ["median"], **given) == [alone]
    assert gathered_columns(ArrayRows(X[:0]), [1, 0]).shape == (2, 0)


def test_grid_clips_at_its_ends():
    grid = Grid(1.0, 0.5, bits=4)
    k = grid.integers([1.0, 1.49, 0.99, np.nan, 1e308, -1e308, np.inf])
    assert k.tolist() == [0, 0, -1, 16, -16]
    assert grid.value([3]).tolist() == [2.5]
    assert Grid(-1.7e308, 1e-200).integers([1.7e308]).tolist() == [2**36]
    with pytest.raises(ValueError, match="finite origin"):
        Grid(np.nan, 1.0)


def test_bounded_values_do_not_show_themselves():
    bounded = bounded_statistic([12345.0], "mean", sensitivity=1e5)
    assert str(bounded.value) not in repr(bounded)
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(bounded)
    with pytest.raises(TypeError, match="private"):
        copy.copy(bounded)


def test_releases_of_mixed_statistics(rng):
    x = rng.normal(size=400)
    values = [bounded_statistic(x, name, sensitivity=0.05) for name in ("median", "variance")]
    for budget, law in ((PURE, "laplace"), (Budget.gaussian(1, 1e-6), "gaussian")):
        assert release_mechanism(budget) == law
        curator = canned(mechanism=law, budget=budget)
        release = release_bounded(values, curator, share=0.5, label="x")
        assert release.law == law
        np.testing.assert_allclose(release.values, [estimate(v) for v in values], rtol=1e-12)
        scale = 0.1 / 0.5 if law == "laplace" else 0.05 * np.sqrt(2) / budget.mu / np.sqrt(0.5)
        np.testing.assert_allclose(release.scales, scale)


def test_public_parameters_are_checked():
    with pytest.raises(ValueError, match="statistic must be one of"):
        bounded_statistic([1.0], "mode", sensitivity=1.0)
    for bad in (0, -1.0, np.nan, np.inf, 1e-300):
        with pytest.raises(ValueError, match="sensitivity must be"):
            bounded_statistic([1.0], "mean", sensitivity=bad)
    with pytest.raises(ValueError, match="finite origin"):
        bounded_statistic([1.0], "mean", sensitivity=1.0, center=np.inf)
    with pytest.raises(ValueError, match="leave center out"):
        bounded_statistic([1.0], "sum", sensitivity=1.0, center=1.0)


def test_extreme_sensitivities_work():
    for D in (2.0**-799, 2.0**799):
        for statistic in TRUTHS:
            assert bounded_statistic([1.0, 2.0, -1e300], statistic, sensitivity=D).sensitivity > 0
