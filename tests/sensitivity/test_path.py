import numpy as np
import pytest

from skdp.sensitivity import Quantile, TrimmedMean, WinsorisedMean, _path
from skdp.sensitivity._closed import bounded_max, bounded_median, bounded_min
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._windows import Mean, Midrange
from tests.sensitivity._oracles import Sum, windows

STATISTICS = [Mean(), Sum(), Midrange(), Quantile(0.3), Quantile(0.5), TrimmedMean(0.1)]
STATISTICS += [WinsorisedMean(0.25)]


@pytest.fixture(params=["usual", "short"])
def lengths(request, monkeypatch):
    """Let runs, chunks and brackets come into play on small tables as well."""
    if request.param == "short":
        monkeypatch.setattr(_path, "STRAIGHT", 2)
        monkeypatch.setattr(_path, "CHUNK", 2)
        monkeypatch.setattr(_path, "CHECK", 0)


def tables(rng, n):
    yield rng.normal(size=n) * 1e4
    yield rng.lognormal(0, 2, size=n) * 1e3
    yield np.clip(rng.standard_cauchy(n) * 1e3, -1e9, 1e9)
    yield rng.uniform(-1e8, 1e8, size=n)
    yield rng.integers(0, 3, size=n)


@pytest.mark.cases(5)
@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_path_equals_all_windows(statistic, lengths, rng):
    for n in (1, 2, 7, 40, 300):
        for x in tables(rng, n):
            s = np.sort(x.astype(np.int64))
            width = int(np.ptp(s)) + 1
            for D in (1, width // n + 1, 10 * width // n + 1, width):
                c = int(rng.integers(-width, width + 1))
                g = bounded_ordered(s, statistic, sensitivity=D, center=c)
                assert g == windows(s, statistic, D, c)


def test_path_equals_all_windows_on_a_larger_table(rng):
    for x in tables(rng, 2000):
        s = np.sort(x.astype(np.int64))
        for D in (3, int(np.ptp(s)) // 500 + 1):
            assert bounded_ordered(s, Mean(), sensitivity=D, center=7) == windows(s, Mean(), D, 7)


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_numbers_beyond_64_bits(statistic, lengths, rng):
    for n in (1, 5, 60):
        s = np.sort(rng.integers(-(2**53), 2**53, size=n))
        for D in (2**40, 2**60, 2**70):
            g = bounded_ordered(s, statistic, sensitivity=D, center=-(2**50))
            assert g == windows(s.astype(object), statistic, D, -(2**50))


def test_closed_forms_equal_the_path(rng):
    forms = {0.5: bounded_median, 0: bounded_min, 1: bounded_max}
    for n in (1, 2, 30, 301):
        for x in tables(rng, n):
            s = np.sort(x.astype(np.int64))
            width = int(np.ptp(s)) + 1
            for D in (1, width // n + 1, width):
                for p, form in forms.items():
                    c = int(rng.integers(-width, width + 1))
                    g = bounded_ordered(s, Quantile(p), sensitivity=D, center=c)
                    assert form(s, sensitivity=D, center=c) == g


def test_nothing_and_no_sensitivity():
    s = np.array([5, 9], dtype=np.int64)
    for statistic in STATISTICS:
        assert bounded_ordered(s[:0], statistic, sensitivity=3, center=-4) == -4
        assert bounded_ordered(s, statistic, sensitivity=0, center=-4) == -4
        assert bounded_ordered(s[:1], statistic, sensitivity=3, center=-4) == -1


class OwnStatistic:
    """Twice the third smallest entry plus the largest, of few entries the largest alone."""

    increasing = True

    def total(self, data, i, j):
        third = np.minimum(i + 2, j - 1)
        return 2 * data.s[third] + data.s[j - 1]

    def weight(self, m):
        return 3 + 0 * m


def test_a_statistic_of_ones_own(lengths, rng):
    for n in (1, 10, 100):
        s = np.sort(rng.integers(-1000, 1000, size=n))
        for D in (1, 30):
            own = OwnStatistic()
            assert bounded_ordered(s, own, sensitivity=D, center=0) == windows(s, own, D, 0)


def test_public_parameters_are_checked():
    with pytest.raises(ValueError, match=r"p must be in \[0, 1\]"):
        Quantile(1.5)
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1/2\)"):
        TrimmedMean(0.5)
    assert Quantile(1 / 3).p.denominator == 3
