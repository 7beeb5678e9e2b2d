"""The accuracy theorems, in the forms that can be proved; floors cost one grid unit at most."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skdp.sensitivity._bounded import Variance, bounded_spread
from skdp.sensitivity._closed import bounded_median
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._windows import Mean
from tests.sensitivity._oracles import mean, median, variance

SCALE = 2**12  # a unit of the data in grid units, so that floors are small


def database(rng, n_max=40, odd=False):
    n = int(rng.integers(1, n_max + 1))
    n += odd and n % 2 == 0
    x = rng.normal(size=n) * rng.choice([0.1, 1, 3])
    if rng.random() < 0.5:
        far = rng.random(n) < 0.1
        x[far] *= 50
    x = np.sort(np.rint(x * SCALE).astype(np.int64))
    D = int(SCALE * rng.choice([0.3, 1, 2, 5, 20]) * rng.uniform(0.5, 2) / n) + 1
    c = int(rng.normal() * rng.choice([0, 1, 5]) * SCALE)
    return x, D, c


def preprocessed_mean(x, D, c):
    return bounded_ordered(x, Mean(), sensitivity=D, center=c)


def mean_bounds(rng, databases):
    premises = 0
    for _ in range(databases):
        x, D, c = database(rng)
        n, s = len(x), x.tolist()
        f, g = mean(s), preprocessed_mean(x, D, c)
        # E1, second half of Theorem 1.7: a range within n D around c gives the mean itself
        if s[-1] - s[0] <= n * D and abs(f - c) <= n * D:
            premises += 1
            assert g == math.floor(f)
        # E2: a certificate from prefixes and suffixes
        P = [0, *np.cumsum(s).tolist()]
        low = [Fraction(P[j], j) for j in range(1, n)]
        high = [Fraction(P[n] - P[n - j], j) for j in range(1, n)]
        up = [f - v - (n - j) * D for j, v in enumerate(low, 1)]
        down = [v - f - (n - j) * D for j, v in enumerate(high, 1)]
        up, down = max(0, f - c - n * D, *up), max(0, c - f - n * D, *down)
        assert -down <= f - g < up + 1
        # E3, Theorem 1.7
        excess = sum(max(2 * abs(v - f) / n - D, 0) for v in s)
        assert abs(f - g) < max(abs(f - c) - Fraction(n * D, 2), 0) + excess + 1
        assert abs(g - c) <= n * D
    return premises


def median_bounds(rng, databases):
    premises = 0
    for _ in range(databases):
        x, D, c = database(rng, odd=True)
        n, s, mid = len(x), x.tolist(), len(x) // 2
        f, g = median(s), bounded_median(x, sensitivity=D, center=c)
        # Lemma 5.5: it neither crosses c nor overshoots
        assert min(f, c) <= g <= max(f, c)
        # Theorem 1.6 for odd n; windows that leave the data do not count
        spread = [
            max(s[mid + t] - s[mid + t - k - 1] for t in range(k + 2) if _inside(mid, t, k, n))
            for k in range(n // 4 + 1)
            if n > 1
        ]
        if 2 * abs(f - c) <= n * D and all((k + 1) * D >= A for k, A in enumerate(spread)):
            premises += 1
            assert g == f
    return premises


def _inside(mid, t, k, n):
    return mid + t < n and mid + t - k - 1 >= 0


def variance_bounds(rng, databases):
    for _ in range(databases):
        x, _, _ = database(rng)
        n, s = len(x), x.tolist()
        f, m = variance(s), mean(s)
        D = int(f * Fraction(rng.choice([0.1, 1, 3, 30])) / n) + 1
        g = bounded_spread(x, Variance(), sensitivity=D)
        # Theorem 1.8
        excess = sum(max(4 * (v - m) ** 2 / n - f / n - D, 0) for v in s)
        assert 0 <= f - g < max(f - Fraction(n * D, 2), 0) + excess + 1


def test_mean_theorem_1_7(rng):
    assert mean_bounds(rng, 300) > 50


def test_median_theorem_1_6(rng):
    assert median_bounds(rng, 500) > 50


def test_variance_theorem_1_8(rng):
    variance_bounds(rng, 200)


@pytest.mark.nightly
def test_all_theorems_at_length(rng):
    assert mean_bounds(rng, 5000) > 500
    assert median_bounds(rng, 10_000) > 500
    variance_bounds(rng, 2500)


def test_smaller_constants_would_be_false(rng):
    """|x - f| / n instead of 2 |x - f| / n does not bound the error of the mean."""
    broken = 0
    for _ in range(400):
        x, D, c = database(rng, n_max=8)
        n, s = len(x), x.tolist()
        f, g = mean(s), preprocessed_mean(x, D, c)
        excess = sum(max(abs(v - f) / n - D, 0) for v in s)
        broken += abs(f - g) > max(abs(f - c) - Fraction(n * D, 2), 0) + excess + 1
    assert broken > 0


def test_the_median_is_itself_exactly_when_the_terms_allow_it(rng):
    for _ in range(300):
        x, D, c = database(rng, n_max=15, odd=True)
        x, c = (x, c) if median(x.tolist()) >= c else (-x[::-1], -c)
        f, n = median(x.tolist()), len(x)
        q = [median(x[: n - b].tolist()) for b in range(n)]
        k = next((b for b in range(n) if q[b] < c), n)
        end = c if (n - k) % 2 == 0 else max(q[k], c - D)
        allowed = all(f - q[b] <= b * D for b in range(k)) and end + k * D >= f
        assert (bounded_median(x, sensitivity=D, center=c) == math.floor(f)) == allowed
