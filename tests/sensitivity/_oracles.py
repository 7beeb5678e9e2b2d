"""Definition 3.1 by brute force in exact rationals, and the statistics as they are defined."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from skdp.sensitivity import Quantile, TrimmedMean, WinsorisedMean
from skdp.sensitivity._bounded import StandardDeviation, SumOfSquares, Variance, bounded_spread
from skdp.sensitivity._closed import (
    bounded_max,
    bounded_median,
    bounded_min,
    bounded_range,
    bounded_sum,
)
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._windows import Mean, Midrange, SortedData


@dataclass(frozen=True)
class Sum:
    """Sum of the entries, a statistic of one's own that an entry above all others may lower."""

    increasing = False

    def total(self, data, i, j):
        """Return the sum of the window."""
        return data.P[j] - data.P[i]

    def weight(self, m):
        """Return one."""
        return 1 + 0 * m


def brute(x, f, D, c):
    """Return g of all subsets of indices; D is one number or one for each entry."""
    each = D if isinstance(D, list) else [D] * len(x)
    g = {(): Fraction(c)}
    for m in range(1, len(x) + 1):
        for S in combinations(range(len(x)), m):
            near = [(g[S[:k] + S[k + 1 :]], each[i]) for k, i in enumerate(S)]
            low, high = max(v - d for v, d in near), min(v + d for v, d in near)
            assert low <= high
            g[S] = min(max(f(sorted(x[i] for i in S)), low), high)
    return g


def mean(s):
    return Fraction(sum(s), len(s))


def median(s):
    return Fraction(s[len(s) // 2] + s[(len(s) - 1) // 2], 2)


def quantile(p):
    def f(s):
        at = Fraction(p) * (len(s) - 1)
        k, rest = math.floor(at), at - math.floor(at)
        return s[k] if rest == 0 else (1 - rest) * s[k] + rest * s[k + 1]

    return f


def trimmed(alpha):
    def f(s):
        k = math.floor(Fraction(alpha) * len(s))
        return mean(s[k : len(s) - k])

    return f


def winsorised(alpha):
    def f(s):
        k = math.floor(Fraction(alpha) * len(s))
        return mean([min(max(v, s[k]), s[len(s) - 1 - k]) for v in s])

    return f


def sum_of_squares(s):
    return sum((v - mean(s)) ** 2 for v in s)


def variance(s):
    return sum_of_squares(s) / len(s)


def floor_root(bits):
    """Floor of 2^bits times the standard deviation: floors commute with the recursion."""
    return lambda s: math.isqrt(math.floor(4**bits * variance(s)))


def spread(statistic):
    return lambda s, D, c: bounded_spread(s, statistic, sensitivity=D, center=min(c, 0))


def ordered(statistic):
    return lambda s, D, c: bounded_ordered(s, statistic, sensitivity=D, center=c)


def closed(function):
    return lambda s, D, c: function(s, sensitivity=D, center=c)


P = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)]
ALPHA = [Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)]

# name: (what is tested, as a function of sorted integers, D and c; f as defined; largest c)
STATISTICS = {
    "mean": (ordered(Mean()), mean, None),
    "sum": (ordered(Sum()), sum, None),
    "midrange": (ordered(Midrange()), lambda s: Fraction(s[0] + s[-1], 2), None),
    "median": (closed(bounded_median), median, None),
    "max": (closed(bounded_max), max, None),
    "min": (closed(bounded_min), min, None),
    "range": (lambda s, D, c: bounded_range(s, sensitivity=D, center=c), lambda s: s[-1] - s[0], 0),
    "clipped sum": (lambda s, D, c: bounded_sum(s, sensitivity=D), sum, "zero"),
    "variance": (spread(Variance()), variance, 0),
    "sum of squares": (spread(SumOfSquares()), sum_of_squares, 0),
    "std": (spread(StandardDeviation()), floor_root(0), 0),
    "fine std": (spread(StandardDeviation(4)), floor_root(4), 0),
    **{f"quantile {p}": (ordered(Quantile(p)), quantile(p), None) for p in P},
    **{f"trimmed {a}": (ordered(TrimmedMean(a)), trimmed(a), None) for a in ALPHA},
    **{f"winsorised {a}": (ordered(WinsorisedMean(a)), winsorised(a), None) for a in ALPHA},
}


def allowed_center(c, limit):
    return c if limit is None else 0 if limit == "zero" else min(c, 0)


def small_database(rng, n_max=7):
    """Return sorted integers with ties, outliers, wide or narrow, and D and c of all sizes."""
    n = int(rng.integers(0, n_max + 1))
    width = int(rng.choice([1, 3, 10, 100, 2**20]))
    x = rng.integers(-width, width + 1, size=n)
    if n and rng.random() < 0.3:
        x[rng.integers(n)] += int(rng.choice([-1, 1])) * int(rng.choice([50, 2**30]))
    x.sort()
    D = int(rng.choice([0, 1, 2, 5, width, width // 2 + 1, 7 * width]))
    c = int(rng.integers(-2 * width, 2 * width + 1))
    return x, D, c


def windows(s, statistic, D, c):
    """The recursion over all windows, O(n^2), in Python's or numpy's integers."""
    data = SortedData(s, wide=s.dtype == object)
    n, g = len(s), np.full(len(s) + 1, c, dtype=s.dtype)
    for m in range(1, n + 1):
        i = np.arange(n - m + 1)
        f = statistic.total(data, i, i + m) // statistic.weight(m)
        g = np.minimum(np.maximum(f, g[1:] - D), g[:-1] + D)
    return int(g[0])


def smallest_windows(s, statistic, D, c):
    """The smallest f(W) + D (n - |W|) over all windows, in Python's integers."""
    s, n = [int(v) for v in s], len(s)
    best = c + n * D
    for i in range(n):
        Q = S = 0
        for j in range(i, n):
            Q, S, m = Q + s[j] ** 2, S + s[j], j - i + 1
            best = min(best, statistic.floor(m, Q, S) + D * (n - m))
    return best
