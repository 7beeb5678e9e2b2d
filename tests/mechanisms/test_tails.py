from fractions import Fraction

import mpmath
import pytest

from skdp.mechanisms._noise import exponential_tail, gaussian_tail


@pytest.mark.parametrize("bits", [63, 127, 191, 1000])
def test_tails_are_within_two_units_of_mpmath(bits):
    points = [Fraction(i**2, 97) for i in range(60)] + [Fraction(1, 2**80), Fraction(10) ** 300]
    with mpmath.workprec(bits + 200):
        for x in points:
            real = mpmath.mpf(x.numerator) / x.denominator
            gaussian = mpmath.erfc(min(real, 10**6) / mpmath.sqrt(2)) * 2**bits
            exponential = mpmath.exp(-min(real, 10**6)) * 2**bits
            assert abs(gaussian - gaussian_tail(x, bits)) < 2
            assert abs(exponential - exponential_tail(x, bits)) < 2


def test_tails_just_below_and_at_the_cut_off():
    for tail, cut in [(exponential_tail, Fraction(63)), (gaussian_tail, Fraction(1122498, 10**5))]:
        assert 0 <= tail(cut - Fraction(1, 10**6), 63) <= 1
        assert tail(cut, 63) == 0
