import math
from fractions import Fraction

import numpy as np
import pytest

from skdp.sensitivity import _closed as search
from skdp.sensitivity._bounded import StandardDeviation, SumOfSquares, Variance, bounded_spread
from skdp.sensitivity._closed import _Price, products, sums_of_ends
from tests.sensitivity._oracles import smallest_windows, sum_of_squares, variance

STATISTICS = [Variance(), SumOfSquares(), StandardDeviation(), StandardDeviation(6)]


def table(rng, n):
    width = int(rng.choice([1, 5, 1000, 2**20, 2**31]))
    s = rng.integers(-width, width + 1, size=n)
    far = rng.random(n) < rng.choice([0, 0.1, 0.5])
    s[far] = rng.choice([-1, 1], size=far.sum()) * 2**31 - rng.integers(-1, 2, size=far.sum())
    return np.sort(np.clip(s, -(2**31), 2**31))


def sums_of(s):
    y = s - s[len(s) // 2]
    whole = np.array([x.sum() for x in products(y)])
    return sums_of_ends(len(s), whole, y, y)


def wrong(rng, databases, statistic):
    count = 0
    for _ in range(databases):
        s = table(rng, int(rng.integers(1, 31)))
        f = statistic.floor(len(s), sum(int(v) ** 2 for v in s), sum(map(int, s)))
        D = int(rng.integers(1, 20)) * max(1, f // int(rng.choice([1, 30, 300, 10**9])))
        D = min(D, 2**56)
        c = -int(rng.integers(0, 3)) * int(rng.integers(0, D + 1))
        g = bounded_spread(s, statistic, sensitivity=D, center=c)
        count += g != smallest_windows(s, statistic, D, c)
    return count


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_search_finds_the_best_window(statistic, rng):
    assert wrong(rng, 200, statistic) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_search_finds_the_best_window_at_length(statistic, rng):
    assert wrong(rng, 4000, statistic) == 0


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_search_on_larger_tables_in_small_batches(statistic, rng, monkeypatch):
    monkeypatch.setattr(search, "CELLS", 7)
    for x in (rng.normal(size=150) * 1e3, rng.standard_cauchy(150) * 1e3, rng.lognormal(5, 2, 150)):
        s = np.sort(np.clip(x, -(2**31), 2**31).astype(np.int64))
        for D in (10, 3000, 10**6):
            g = bounded_spread(s, statistic, sensitivity=D)
            assert g == smallest_windows(s, statistic, D, 0)


def test_float_sums_of_squares_are_as_precise_as_they_say(rng):
    for _ in range(300):
        s = table(rng, int(rng.integers(1, 60)))
        sums = sums_of(s)
        i = np.array([0, len(s) // 3])
        squares, error = sums.squares(i, np.array([0, 0]))
        for k in range(2):
            m, Q, S = sums.exact(int(i[k]), 0)
            y = [int(v) - int(s[len(s) // 2]) for v in s[i[k] :]]
            assert (m, Q, S) == (len(y), sum(v * v for v in y), sum(y))
            exact = (m * Q - S * S) / m
            assert abs(squares[k] - exact) <= error[k] / 4 + exact * 2**-50


def test_positive_centres_are_refused():
    for statistic in STATISTICS:
        with pytest.raises(ValueError, match="at most 0"):
            bounded_spread(np.array([1, 2]), statistic, sensitivity=1, center=1)


def test_nothing_and_no_sensitivity():
    s = np.array([5, 900], dtype=np.int64)
    for statistic in STATISTICS:
        assert bounded_spread(s[:0], statistic, sensitivity=3, center=-4) == -4
        assert bounded_spread(s, statistic, sensitivity=0) == 0
        assert bounded_spread(s, statistic, sensitivity=3, center=-4) == 2
        assert bounded_spread(s[:1], statistic, sensitivity=3) == 0
    assert bounded_spread(s, Variance(), sensitivity=10**9) == math.floor(s.var())


def mirrored(rng):
    """Return a table whose windows on either side differ by less than floats can tell."""
    k = int(rng.integers(1, 8))
    far = 2**31 - rng.integers(0, 2**30, size=k)
    near = rng.integers(-9, 10, size=int(rng.integers(1, 6)))
    return np.sort(np.concatenate([far, -far, near]))


def two_values(rng):
    """Return a table in which leaving out an extreme may raise the variance."""
    n = int(rng.integers(2, 30))
    return np.sort(rng.choice([0, 2**31, 2**31 - 1], p=[0.9, 0.05, 0.05], size=n))


def far_cluster(rng):
    """Return a table with windows far from its median, where squares cancel."""
    far = 2**31 - rng.integers(0, 4, size=int(rng.integers(2, 12)))
    return np.sort(np.concatenate([np.zeros(len(far) + 2, dtype=np.int64), far]))


@pytest.mark.parametrize("kind", [mirrored, two_values, far_cluster])
@pytest.mark.parametrize("statistic", [Variance(), SumOfSquares()], ids=repr)
def test_bounds_of_cells_are_certified(statistic, kind, rng):
    """Of the price before its floor, in rationals, where windows differ by hairs."""
    tight = 0
    for _ in range(400):
        s, D = kind(rng), int(rng.integers(1, 2 ** rng.integers(1, 57)))
        n = len(s)
        a0, b0 = rng.integers(0, n, size=2)
        a1, b1 = (a0, b0) if rng.random() < 0.7 else (a0 + 2, b0 + 1)
        if a1 + b1 >= n:
            continue
        price = _Price(n, statistic, D, sums_of(s))
        low, _ = price.bounds(*(np.array([v]) for v in (a0, a1, b0, b1)))
        for a in range(a0, a1 + 1):
            for b in range(b0, b1 + 1):
                f = (variance if statistic == Variance() else sum_of_squares)(s[a : n - b].tolist())
                assert Fraction(float(low[0])) <= f + D * (a + b)
                tight += Fraction(float(low[0])) >= (f + D * (a + b)) * (1 - Fraction(2) ** -40)
    assert tight > 10


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", [mirrored, two_values, far_cluster])
@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_search_where_hairs_decide(statistic, kind, rng, monkeypatch):
    monkeypatch.setattr(search, "_first_guesses", lambda *_: [])
    for _ in range(100):
        s = kind(rng)
        f = statistic.floor(len(s), sum(int(v) ** 2 for v in s), sum(map(int, s)))
        D = max(1, int(f * rng.choice([0.3, 0.1, 0.03, 0.01]) * rng.uniform(0.2, 2)))
        assert bounded_spread(s, statistic, sensitivity=D) == smallest_windows(s, statistic, D, 0)
