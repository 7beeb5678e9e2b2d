import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.mechanisms._exact import as_fraction, sqrt_down, sqrt_up

LARGEST = math.nextafter(math.inf, 0)
amounts = st.one_of(
    st.integers(0, 10**40),
    st.fractions(min_value=0),
    st.floats(0, LARGEST).map(Fraction),
    st.floats(0, LARGEST).map(lambda x: Fraction(x) ** 2),
    st.floats(0, 1e300).map(lambda x: Fraction(x) ** 2 + Fraction(1, 2**2200)),
    st.floats(1e-300, LARGEST).map(lambda x: Fraction(x) ** 2 - Fraction(1, 2**2200)),
)


@given(amounts)
def test_roots_are_the_tightest_floats(q):
    up, down = sqrt_up(q), sqrt_down(q)
    assert Fraction(down) ** 2 <= q <= Fraction(up) ** 2
    assert up == down or up == math.nextafter(down, math.inf)
    assert (up == down) == (Fraction(up) ** 2 == q)


def test_roots_of_squares_are_exact():
    for root in (0, 1, 3, 2**26 + 1, 2**53 - 1, 5e-324, 1e-310, 2.0**-537, 1e308, LARGEST):
        assert sqrt_up(Fraction(root) ** 2) == sqrt_down(Fraction(root) ** 2) == root


def test_roots_between_zero_and_the_least_float():
    assert sqrt_up(Fraction(1, 2**5000)) == 5e-324
    assert sqrt_down(Fraction(1, 2**5000)) == 0


def test_roots_outside_their_domain():
    with pytest.raises(ValueError, match=">= 0"):
        sqrt_up(Fraction(-1, 10**30))
    with pytest.raises(OverflowError, match="largest float64"):
        sqrt_down(Fraction(LARGEST) ** 2 + 1)


@pytest.mark.parametrize(
    ("x", "fraction"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (1e22, Fraction(10**22)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (0, Fraction(0)),
        (-0.0, Fraction(0)),
        (7, Fraction(7)),
        (10**400, Fraction(10**400)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.5), Fraction(1, 2)),
        (np.int8(3), Fraction(3)),
        (2.0**-1022, Fraction("2.2250738585072014e-308")),
    ],
)
def test_amounts_mean_their_decimal_text(x, fraction):
    result = as_fraction(x)
    assert type(result) is Fraction and result == fraction
    assert type(result.numerator) is int


@given(st.floats(2.0**-1022, LARGEST))
def test_every_float_means_its_shortest_text(x):
    assert as_fraction(x) == as_fraction(np.float64(x)) == Fraction(repr(x))


@pytest.mark.parametrize(
    "x", [math.nan, math.inf, -math.inf, -1, -1e-9, Fraction(-1, 3), 5e-324, -5e-324, 1e-310]
)
def test_amounts_out_of_range_are_refused_by_name(x):
    with pytest.raises(ValueError, match=r"^epsilon must"):
        as_fraction(x, name="epsilon")


@pytest.mark.parametrize(
    "x", [True, np.True_, None, "0.1", "1", 1j, [1.0], np.array(1.0), np.array([1.0])]
)
def test_things_that_are_not_numbers_are_refused_by_name(x):
    with pytest.raises(TypeError, match=r"^delta must be a real number\. Got"):
        as_fraction(x, name="delta")
