"""numpy's numbers, whose integers wrap without a word, have the prices of Python's."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp import accounting
from skdp.accounting import Budget, PrivacyLedger, mixed_budget, part_of
from skdp.mechanisms import ball_sum, exponential_choice, rounded_gaussian
from skdp.mechanisms._entropy import SeededEntropy
from skdp.mechanisms._exact import as_fraction, exact, is_exact, sqrt_down, sqrt_up
from skdp.mechanisms._repeats import draw_candidates, trials_of

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
KINDS = INTEGERS + FLOATS
NO_NUMBERS = [True, np.True_, "1", None, 1j, np.array(1), np.array([1])]
few = settings(max_examples=25, deadline=None)


@pytest.mark.parametrize("kind", INTEGERS)
@given(data=st.data())
@few
def test_integers_are_pythons(kind, data):
    info = np.iinfo(kind)
    x = data.draw(st.integers(int(info.min), int(info.max)))
    for number in (exact(kind(x)), exact(Fraction(kind(x)))):
        assert is_exact(number) and number == x and number**9 == x**9
    if x > 0:
        assert exact(Fraction(kind(1), kind(x))) ** 9 == Fraction(1, x) ** 9
        assert sqrt_up(kind(x)) == sqrt_up(x) and sqrt_down(kind(x)) == sqrt_down(x)
        assert as_fraction(kind(x)) == x and is_exact(as_fraction(kind(x)))


@pytest.mark.parametrize("kind", FLOATS)
@given(x=st.floats(-6e4, 6e4, width=16))
@few
def test_floats_are_exact(kind, x):
    assert is_exact(exact(kind(x))) and exact(kind(x)) == Fraction(x)


def test_a_long_double_is_exact_too():
    x = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert exact(x) == 1 + Fraction(*map(int, np.finfo(np.longdouble).eps.as_integer_ratio()))


@pytest.mark.parametrize("wrong", NO_NUMBERS)
def test_what_is_no_number_is_refused_by_name(wrong):
    for make in (exact, as_fraction):
        with pytest.raises(TypeError, match="share must be a real number"):
            make(wrong, name="share")


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, np.float16("inf")])
def test_what_is_not_finite_is_refused(wrong):
    with pytest.raises(ValueError, match="share must be finite"):
        exact(wrong, name="share")


CALLS = [
    lambda x: accounting.gaussian_sigma(x, 1e-6, x),
    lambda x: accounting.gaussian_epsilon(x, 1e-6, x),
    lambda x: accounting.gaussian_delta(x, x, x),
    lambda x: accounting.gaussian_mu(x, 1e-6),
    lambda x: accounting.basic_composition([(x, 0), (x, 1e-6), (x, 0)]),
    lambda x: accounting.advanced_composition(0.1, 1e-9, int(x), 1e-6),
    lambda x: accounting.group_privacy(x, 1e-9, 3),
    lambda x: accounting.gdp_composition([x, x, x]),
    lambda x: accounting.gdp_group(x, 3),
    lambda x: accounting.gaussian_to_zcdp(x),
    lambda x: accounting.pure_to_gdp(x),
    lambda x: accounting.pure_to_zcdp(x),
    lambda x: accounting.zcdp_composition([x, x, x]),
    lambda x: accounting.zcdp_delta(x, x),
    lambda x: accounting.zcdp_epsilon(x, 1e-6),
    lambda x: accounting.zcdp_rho(x, 1e-6),
    lambda x: accounting.pure_gaussian_delta(x, x, x),
    lambda x: accounting.pure_gaussian_epsilon(x, x, 1e-6),
    lambda x: accounting.group_delta(x, 1e-9, 2, x),
    lambda x: accounting.group_epsilon(x, 1e-9, 2, 1e-3),
    Budget.pure,
    lambda x: Budget.gaussian(x, 1e-6),
    lambda x: Budget.zcdp(x, 1e-6),
    lambda x: mixed_budget(x, 1e-6, gaussian=Fraction(1, 2), pure=[Fraction(1, 2)]),
    lambda x: PrivacyLedger(x)._capacity,
    lambda x: PrivacyLedger(x, 1e-6)._capacity,
    lambda x: part_of(Budget.pure(100), exact(x) / 200, "pure"),
    lambda x: rounded_gaussian(x, 9, SeededEntropy(0)).tolist(),
    lambda x: exponential_choice([0, 1, 2], x, SeededEntropy(0)),
    lambda x: ball_sum([[1.0, 2.0]], center=x, radius=x, bits=8)[0].tolist(),
]


@pytest.mark.slow
@pytest.mark.parametrize("call", range(len(CALLS)))
def test_every_function_takes_every_kind_alike(call):
    for kind in KINDS:
        for x in (1, 7, 100):
            assert CALLS[call](kind(x)) == CALLS[call](x)
            assert CALLS[call](Fraction(kind(x)) if kind in INTEGERS else kind(x)) == CALLS[call](x)


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
def test_counts_do_not_wrap(kind):
    k = 127
    for call in (
        lambda k: accounting.advanced_composition(0.1, 1e-9, k, 1e-6),
        lambda k: accounting.group_privacy(0.5, 1e-9, k),
        lambda k: accounting.gdp_group(2.0, k),
        lambda k: accounting.group_delta(0.01, 1e-9, k, 3.0),
        lambda k: trials_of(1.0, k)._sums,
        lambda k: trials_of(k / 2 if isinstance(k, int) else k / kind(2), 2.0)._sums,
        lambda k: draw_candidates(k, 9, SeededEntropy(0)),
    ):
        assert call(kind(k)) == call(k)


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
def test_a_public_bound_on_the_rows_does_not_wrap(kind):
    """numpy's 2^20 rows of 2^26 each would seem to fit into any number of bits."""
    X, top = np.ones((300, 2)), min(2**20, int(np.iinfo(kind).max))
    expected = ball_sum(X, center=0, radius=2.0, bits=8)
    if top >= len(X):
        got = ball_sum(X, center=0, radius=2.0, bits=kind(8), n_max=kind(top), block_rows=kind(100))
        np.testing.assert_array_equal(got[0], expected[0])
    with pytest.raises(ValueError, match=r"public bound of 100|do not fit"):
        ball_sum(X, center=0, radius=2.0, bits=26, n_max=kind(100))
    if top == 2**20:
        with pytest.raises(ValueError, match="do not fit"):
            ball_sum(X, center=0, radius=2.0, bits=26, n_max=np.int64(2**62))


def test_budgets_hold_fractions_of_python_integers_only():
    good = {"measure": "pure", "amount": Fraction(1), "failure": Fraction(0)}
    good |= {"epsilon": Fraction(1), "delta": Fraction(0)}
    Budget(**good)
    for name in ("amount", "failure", "epsilon", "delta"):
        for wrong in (Fraction(np.int64(3)), 1.0, np.int8(1), math.nan, Fraction(-1), 1, None):
            with pytest.raises(ValueError, match="needs a positive Fraction amount"):
                Budget(**(good | {name: wrong}))
    low = Budget.gaussian(1.0, 1e-6).with_failure(np.float64(1e-9))
    assert is_exact(low.failure)


def test_epsilons_for_which_the_noise_would_leave_the_floats_are_refused():
    for make in (Budget.pure, lambda e: Budget.zcdp(e, 1e-6), lambda e: Budget.gaussian(e, 1e-6)):
        with pytest.raises(ValueError, match="from 1e-60 to 1e6"):
            make(1e-61)
