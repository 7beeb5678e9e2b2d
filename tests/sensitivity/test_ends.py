"""Tables that are ordered at their ends alone tell what sorted ones do, to the last digit."""

import numpy as np
import pytest

from skdp.sensitivity import Quantile, _closed, _path
from skdp.sensitivity._bounded import StandardDeviation, SumOfSquares, Variance, bounded_spread
from skdp.sensitivity._closed import bounded_max, bounded_min, sorted_ends
from skdp.sensitivity._path import bounded_mean, bounded_ordered
from skdp.sensitivity._windows import Mean

N = 3000


def tables(rng):
    yield rng.normal(size=N) * 1e5
    yield rng.lognormal(0, 2, size=N) * 1e3
    yield np.clip(rng.standard_cauchy(N) * 1e3, -1e9, 1e9)
    yield rng.integers(0, 2, size=N) * rng.integers(0, 5, size=N) * 1e4
    yield np.where(rng.random(N) < 0.99, 7e5, rng.normal(size=N) * 1e6)
    yield np.full(N, -3.0)
    yield np.r_[rng.normal(size=N - 3), 1e9, 1e9, -1e9]


@pytest.fixture
def told(monkeypatch):
    """Count what is told by the ends, with ends of small tables."""
    answers = []

    class Ends(_path._Ends):
        def value(self):
            answers.append(super().value())
            return answers[-1]

    monkeypatch.setattr(_path, "_Ends", Ends)
    monkeypatch.setattr(_path, "LEAST", 64)
    return answers


def test_means_are_those_of_the_path(told, rng):
    for x in tables(rng):
        s = x.astype(np.int64)
        width = int(np.ptp(s)) + 1
        for D in (1, width // N + 1, 3 * width // N + 1, width):
            for c in (0, int(s[0]), int(rng.integers(-width, width + 1))):
                g = bounded_mean(s.copy(), sensitivity=D, center=c)
                assert g == bounded_ordered(np.sort(s), Mean(), sensitivity=D, center=c)
    assert sum(g is not None for g in told) > len(told) / 3


def test_bounds_from_the_ends_hold_on_every_window_of_theirs():
    rng = np.random.default_rng(6)
    for x in tables(rng):
        s = x.astype(np.int64)
        D = int(np.ptp(s)) // N + 1
        ends, order = _path._Ends(_path.outline(s.copy()), D, 5), np.sort(s)
        sums = np.append(0, np.cumsum(order))
        assert np.all(ends.least <= sums[ends.rank])
        for a, b in ((0, 0), (3, 0), (0, 3), (20, 11)):
            low, high = ends.bracket(a, b)
            window = order[a : N - b]
            assert low <= bounded_ordered(window, Mean(), sensitivity=D, center=5) <= high


def test_extremes_need_no_order(rng):
    for x in tables(rng):
        s = x.astype(np.int64)
        width = int(np.ptp(s)) + 1
        for D in (0, 1, width // 100 + 1, width):
            for form, p in ((bounded_min, 0), (bounded_max, 1)):
                g = form(s.copy(), sensitivity=D, center=9)
                assert g == bounded_ordered(np.sort(s), Quantile(p), sensitivity=D, center=9)


def test_spreads_need_no_order():
    rng = np.random.default_rng(5)
    for x in tables(rng):
        s = x.astype(np.int64)
        width = int(np.ptp(s)) + 1
        for f in (Variance(), SumOfSquares(), StandardDeviation(6)):
            for D in (width**2 // 500 + 1, width**2 + 1):
                D = min(D, 2**50)
                with pytest.MonkeyPatch.context() as patch:
                    g = bounded_spread(s.copy(), f, sensitivity=D)
                    patch.setattr(_closed, "PART", 0)
                    assert g == bounded_spread(s.copy(), f, sensitivity=D)


def test_ends_of_which_all_are_sorted(rng, monkeypatch):
    x = rng.normal(size=300).astype(np.float32).view(np.int32).astype(np.int64)
    for size in (0, 1, 74, 76, 300):
        s = x.copy()
        lowest, highest = sorted_ends(s, size)
        assert len(lowest) == len(highest) == (size if size <= 75 else 300)
        assert np.array_equal(lowest, np.sort(x)[: len(lowest)])
        assert np.array_equal(highest, np.sort(x)[300 - len(highest) :])
        assert np.array_equal(np.sort(s), np.sort(x))
    monkeypatch.setattr(_closed, "PART", 0)
    assert len(sorted_ends(x, 1)[0]) == 300
