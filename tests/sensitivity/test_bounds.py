"""The point of it all: no row moves a bounded statistic by more than its declared sensitivity."""

from itertools import combinations

import numpy as np
import pytest

from skdp.sensitivity import Quantile, TrimmedMean, WinsorisedMean, bounded_statistic
from skdp.sensitivity._bounded import STATISTICS

HOSTILE = [np.nan, np.inf, -np.inf, 1e307, -1e307, 1.7e308, -1.7e308, 5e-324, 1e16, -1e16]
HOSTILE += [2.0**31, -(2.0**31), 0.0, -0.0, 1.0, 1 + 2.0**-52, 0.1, 0.3]
ALL = [*STATISTICS, Quantile(0.3), Quantile(0.9), TrimmedMean(0.25), WinsorisedMean(0.1)]


def database(rng):
    n = int(rng.integers(1, 12))
    x = rng.normal(size=n) * 10.0 ** rng.integers(-3, 12)
    odd = rng.random(n) < rng.choice([0, 0.3, 1])
    x[odd] = rng.choice(HOSTILE, size=odd.sum())
    sensitivity = 10.0 ** rng.integers(-6, 7) * rng.uniform(0.5, 2)
    return x, sensitivity, float(rng.choice([0.0, 0.0, -3.3, 1e9]))


def violations(statistic, databases, seed):
    """Count neighbours that are too far apart, over all databases and all of their rows."""
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(databases):
        x, sensitivity, center = database(rng)
        center = 0.0 if statistic == "sum" else center
        given = {"sensitivity": sensitivity, "center": center}
        whole = bounded_statistic(x, statistic, **given)
        for i in range(len(x)):
            part = bounded_statistic(np.delete(x, i), statistic, **given)
            assert part.sensitivity == whole.sensitivity and part.unit == whole.unit
            if not np.isfinite(x[i]):
                assert part.value == whole.value
            count += abs(part.value - whole.value) > whole.sensitivity
    return count


@pytest.mark.cases(5)
@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_no_row_moves_a_statistic_too_far(statistic):
    assert violations(statistic, 30, seed=1) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_no_row_moves_a_statistic_too_far_at_length(statistic):
    assert violations(statistic, 2000, seed=2) == 0


@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_subsets_of_subsets(statistic):
    """Neighbours of all subsets, not only of the whole: those the recursion is made of."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        x, sensitivity, _ = database(rng)
        x = x[:6]
        g = {
            S: bounded_statistic(x[list(S)], statistic, sensitivity=sensitivity).value
            for m in range(len(x) + 1)
            for S in combinations(range(len(x)), m)
        }
        D = bounded_statistic(x, statistic, sensitivity=sensitivity).sensitivity
        for S in g:
            for k in range(len(S)):
                assert abs(g[S] - g[S[:k] + S[k + 1 :]]) <= D


@pytest.mark.cases(5)
@pytest.mark.parametrize("statistic", ALL, ids=str)
def test_one_row_among_many_thousands(statistic):
    rng = np.random.default_rng(4)
    for x in (rng.normal(size=3000), rng.standard_cauchy(3000), np.repeat([0.0, 1e9], 1500)):
        given = {"sensitivity": 3.0 if statistic == "sum" else 1e-3}
        whole = bounded_statistic(x, statistic, **given)
        for extra in (np.nan, 1e300, -1e300, 0.0, 2.0**31):
            more = bounded_statistic(np.append(x, extra), statistic, **given)
            assert abs(more.value - whole.value) <= whole.sensitivity


def test_the_bound_is_attained_and_swapped_limits_would_break_it():
    """A fuzz that could not see a violation would prove nothing."""
    x = [1e6, 1e6]
    near = bounded_statistic(x[:1], "mean", sensitivity=1.0)
    assert near.value == near.sensitivity
    plain = [round(np.mean(v) / near.unit) for v in ([0.0, 1e6], [0.0])]
    assert abs(plain[0] - plain[1]) > near.sensitivity
