"""Functions take numbers of numpy as they take those of Python."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.sensitivity import (
    PersonalBudgets,
    Quantile,
    bounded_statistic,
    personal_laplace,
    personal_select,
    personal_statistic,
    release_bounded,
)
from skdp.sensitivity._bounded import STATISTICS, SumOfSquares, bounded_spread
from skdp.sensitivity._closed import (
    bounded_max,
    bounded_median,
    bounded_min,
    bounded_range,
    bounded_sum,
)
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._windows import Mean
from skdp.sensitivity.published import bounded_function, bounded_plane

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
X = np.random.default_rng(0).normal(size=60) * 40
RESULTS = [lambda r: np.float32(max(r)), lambda r: np.float16(max(r)), lambda r: np.max(r)]
RESULTS += [lambda r: np.longdouble(max(r)), lambda r: np.array(max(r)), lambda r: np.int64(max(r))]
RESULTS += [lambda r: np.uint8(max(r)), lambda r: Fraction(max(r))]


@pytest.mark.parametrize("function", RESULTS)
def test_results_of_every_type_are_read(function):
    """A result in single precision is a number, and not an error that counts as the centre."""
    got = bounded_function([3, 5, 90], function, sensitivities=100, center=0)
    assert got == bounded_function([3, 5, 90], max, sensitivities=100, center=0) == 90
    assert type(got) is int


@pytest.mark.parametrize("width", [*INTEGERS, *FLOATS, Fraction, int])
def test_units_of_every_type_are_exact(width):
    got = bounded_function([3, 5, 90], max, sensitivities=width(100), center=0, unit=width(2))
    assert got == 45 and type(got) is int
    assert bounded_function([1.5, 5, 90], max, sensitivities=2, center=0, unit=width(1)) == 5


def test_what_is_no_number_counts_as_the_centre():
    for bad in (math.nan, np.float32("nan"), None, "text", np.zeros(2), 1j):
        assert bounded_function([1, 2], lambda r, bad=bad: bad, sensitivities=9, center=7) == 7
    for far in (math.inf, np.float32("inf")):
        got = bounded_function([1, 2], lambda r, far=far: far, sensitivities=9, center=7)
        assert got == 25 and type(got) is int


@pytest.mark.parametrize("statistic", [*STATISTICS, Quantile(0.3)])
def test_named_statistics(statistic):
    for width in [*INTEGERS, *FLOATS]:
        center = 0 if statistic == "sum" else 3
        got = bounded_statistic(X, statistic, sensitivity=width(100), center=width(center))
        assert got == bounded_statistic(X, statistic, sensitivity=100, center=center)
        assert type(got.value) is int and type(got.sensitivity) is int


@pytest.mark.parametrize("width", INTEGERS)
def test_statistics_of_integers(width):
    s = np.sort((X * 100).astype(np.int64))
    for function in (bounded_max, bounded_min, bounded_median):
        got = function(s, sensitivity=width(100), center=width(3))
        assert got == function(s, sensitivity=100, center=3)
        assert type(got) is int
    got = bounded_ordered(s, Mean(), sensitivity=width(100), center=width(3))
    assert got == bounded_ordered(s, Mean(), sensitivity=100, center=3)
    for function in (bounded_range, lambda s, **given: bounded_spread(s, SumOfSquares(), **given)):
        got = function(s, sensitivity=width(100), center=width(0))
        assert got == function(s, sensitivity=100, center=0) and type(got) is int
    assert bounded_sum(s, sensitivity=width(100)) == bounded_sum(s, sensitivity=100)


@pytest.mark.parametrize("width", [*INTEGERS, *FLOATS])
def test_pairs(width):
    got = bounded_plane(X, X[::-1], sensitivity=width(2), center=(width(1), width(2)))
    want = bounded_plane(X, X[::-1], sensitivity=2, center=(1, 2))
    assert np.array_equal(got.value, want.value) and got.unit == want.unit
    assert type(got.sensitivity) is int


def curator(law):
    return CannedCurator(Plan(Budget.pure(1.0), (Step("x", law, times=9),)), "noise")


@pytest.mark.parametrize("width", [*INTEGERS, np.float32, np.float64])
def test_personal_releases(width):
    budgets, exact = PersonalBudgets((width(1), width(2))), PersonalBudgets((1, 2))
    assert budgets == exact and budgets.parts == (1, 2)
    integer = width if issubclass(width, np.integer) else int
    for release in (personal_laplace, personal_select):
        law = "laplace" if release is personal_laplace else "select"
        given = {"share": 1, "label": "x"}
        runs = [curator(law), curator(law)]
        got = release([5, 6], budgets, runs[0], step=integer(100), **given)
        want = release([5, 6], exact, runs[1], step=100, **given)
        assert got.scale == want.scale and got.guarantees == want.guarantees
        assert runs[0].records[0].sensitivity == runs[1].records[0].sensitivity == 200
    sizes, made = {"sizes": [integer(30), integer(30)], "radius": width(50)}, []
    for given in (sizes, {"sizes": [30, 30], "radius": 50}):
        groups = (X[:30], X[30:])
        made.append(
            personal_statistic(groups, "mean", exact, curator("laplace"), label="x", **given)
        )
    assert made[0].estimate == made[1].estimate and made[0].noise_scale == made[1].noise_scale


@pytest.mark.parametrize("width", [np.float16, np.float32, np.float64, np.int8, np.uint64])
def test_releases_of_several_statistics(width):
    made = []
    for sensitivity in (width(100), 100):
        values = [bounded_statistic(X, s, sensitivity=sensitivity) for s in ("mean", "variance")]
        run = curator("laplace")
        release_bounded(values, run, share=1, label="x")
        made.append(run.records[0])
    assert np.array_equal(made[0].value, made[1].value)
    assert made[0].sensitivity == made[1].sensitivity and made[0].scale == made[1].scale


def test_a_group_that_would_count_for_nothing_is_refused():
    assert PersonalBudgets((1, 0.001)).parts == (1000, 1)
    assert min(PersonalBudgets((1.0, 0.0011)).parts) == 1
    with pytest.raises(ValueError, match="count for nothing"):
        PersonalBudgets((1, 0.0009))
    with pytest.raises(ValueError, match="count for nothing"):
        PersonalBudgets((5.0, 1.0, 0.004999))
