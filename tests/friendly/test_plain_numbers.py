"""Public numbers count for what they are, whatever their width."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.friendly import (
    DistancePredicate,
    FusedMatch,
    MatchPredicate,
    find_diameter,
    friendly_tuples_plan,
    noisy_filter,
    replace_one_filter,
    soft_core_average,
    soft_core_sensitivity,
)
from skdp.friendly._diameter import diameter_radii
from skdp.friendly._filters import group_bits
from skdp.friendly._tuples import secret_permutation
from skdp.friendly.published import CovarianceDistance, TupleDistance, paradigm, paradigm_inverse
from skdp.friendly.published._basic_filter import basic_filter_probabilities
from skdp.kernel.pairs._distance import real, whole
from skdp.mechanisms._exact import exact

INTS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
BUDGET = Budget.gaussian(2.0, 1e-6)


def canned(*labels, events=(), transcript="noise"):
    each = BUDGET.failure / max(1, len(events))
    plan = Plan(BUDGET, tuple(Step(x, times=9) for x in labels), tuple((e, each) for e in events))
    return CannedCurator(plan, transcript)


@pytest.mark.parametrize("kind", INTS + FLOATS)
def test_predicates_keep_python_numbers(kind):
    for predicate, number in (
        (DistancePredicate(kind(100)), 100),
        (FusedMatch(radius=kind(100)), 100),
        (TupleDistance([kind(100)] * 2), 100),
        (CovarianceDistance(kind(3)), 3),
    ):
        values = [x for x in vars(predicate).values() if np.ndim(x) == 0]
        values += list(getattr(predicate, "radii", ()))
        assert all(type(x) is float for x in values) and number in values
    assert DistancePredicate(kind(100)).limit == DistancePredicate(100.0).limit
    assert FusedMatch(radius=kind(100)).limit == 10_000.0
    assert DistancePredicate(kind(100)).certified_radius(3) > 100.0


@pytest.mark.parametrize("kind", FLOATS)
def test_what_is_out_of_range_is_so_at_any_width(kind):
    tries = (DistancePredicate, lambda r: FusedMatch(radius=r), MatchPredicate, CovarianceDistance)
    for make in tries:
        for bad in (np.inf, np.nan, -1.0, 0.0):
            with pytest.raises(ValueError, match="between"):
                make(kind(bad))
    with pytest.raises(ValueError, match="radii need"):
        diameter_radii(kind(1.0), kind(np.inf))


@pytest.mark.parametrize("bad", ["6", None, 1j, True, np.True_])
def test_what_is_no_number_is_refused(bad):
    for make in (DistancePredicate, MatchPredicate, CovarianceDistance, real, exact, whole):
        with pytest.raises(TypeError, match=r"was expected|must be a real number"):
            make(bad)


@pytest.mark.parametrize("kind", INTS)
def test_integers_do_not_wrap(kind):
    assert type(exact(kind(5)).numerator) is int and type(whole(kind(5))) is int
    assert exact(kind(100)) * 10**30 == 10**32
    one = basic_filter_probabilities([90, 100], 100, 0)
    assert basic_filter_probabilities([90, 100], kind(100), kind(0)) == one
    public = {"radius": 1.0, "grid": 2.0**-21, "d": 2}
    assert soft_core_sensitivity(n_up=kind(100), h_low=kind(90), **public) == soft_core_sensitivity(
        n_up=100, h_low=90, **public
    )
    assert friendly_tuples_plan(
        BUDGET, k=kind(100), r_min=kind(1), r_max=kind(100)
    ) == friendly_tuples_plan(BUDGET, k=100, r_min=1.0, r_max=100.0)
    coins = canned("x").coins
    assert np.array_equal(secret_permutation(coins, kind(100)), secret_permutation(coins, 100))
    assert group_bits(kind(100), kind(10)) == group_bits(100, 10)


@pytest.mark.parametrize("kind", INTS)
def test_weights_of_a_soft_core_are_those_that_the_sensitivity_speaks_of(kind):
    """2 * np.uint8(127) is 254, and 2 * np.uint8(200) is 144."""
    h = 200 if kind is np.uint8 else 100
    X = np.r_[np.zeros((150, 1)), np.ones((60, 1))]
    counts = np.r_[np.full(150, h), np.full(60, h - 40)]
    plain = soft_core_average(X, counts, n_up=100, h_low=h, radius=2.0)
    narrow = soft_core_average(X, counts, n_up=kind(100), h_low=kind(h), radius=kind(2))
    assert np.array_equal(plain.value, narrow.value) and plain.sensitivity == narrow.sensitivity


@pytest.mark.parametrize("kind", INTS)
def test_filters_ask_the_same_at_any_width(kind):
    runs = []
    for cast in (int, kind):
        curator = canned("f", "g", "d", events=("f", "g"))
        counts = np.full(90, 88, dtype=cast)
        options = {"curator": curator, "share": 0.3}
        kept = noisy_filter(
            counts, cast(90), n_up=cast(100), label="f", event="f", q=cast(1), **options
        )
        core = replace_one_filter(counts, size=cast(100), label="g", event="g", **options)
        X = np.zeros((30, 1))
        radius = find_diameter(X, (1.0, 2.0, 4.0), curator, share=0.3, label="d", slack=cast(0))
        runs.append((kept, core, radius, [(r.label, r.sensitivity) for r in curator.records]))
    for a, b in zip(*runs, strict=True):
        assert np.array_equal(a, b)


def test_a_fine_denominator_does_not_wrap():
    """b c_i - a (m + 1) has to fit into 64 bits."""
    for least in (0.6666, np.float64(2 / 3), Fraction(2**61 + 1, 3 * 2**60)):
        with pytest.raises(ValueError, match="Pass a Fraction"):
            replace_one_filter(
                np.full(5000, 5000), size=5000, curator=canned("g", events=("g",)), share=0.5,
                label="g", event="g", least=least,
            )  # fmt: skip


@pytest.mark.parametrize("kind", FLOATS[:3])
def test_budgets_around_a_filter_are_float64(kind):
    args = kind(0.5), kind(2.0**-20), kind(0.125)
    for function in (paradigm, paradigm_inverse):
        assert function(*args) == function(0.5, 2.0**-20, 0.125)
        assert all(type(x) is float for x in function(*args))
