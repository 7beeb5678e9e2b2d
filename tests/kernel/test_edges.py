"""Statistics at the edge of what their bounds and grids allow, by exact arithmetic."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from skdp.accounting import Budget
from skdp.cluster._synopsis import half_widths
from skdp.covariance._run import identity_frame
from skdp.kernel._coordinates import Design
from skdp.kernel._gradients import ONE, LogitIntercepts
from skdp.kernel._histograms import OfUsers
from skdp.kernel._lattice import LocatedBall
from skdp.kernel._layout import Layout
from skdp.kernel._plain import own
from skdp.kernel._residual_sums import Products, integer_helmert
from skdp.kernel._residuals import (
    Residuals,
    _factors,
    helmert_squares,
    residual_bits,
    weighed_by_residuals,
)
from skdp.kernel._statistic import Offer, Shape
from skdp.kernel.pairs._distance import DistancePredicate
from tests.kernel import mutants


def test_a_box_of_no_width_has_a_millionth_of_the_radius():
    flat = np.array([3.0, -1.0])
    ball = LocatedBall(9.0, 1.0, flat, 4.0, 1.0, box=(flat, flat + np.array([0.0, 2.0])))
    np.testing.assert_array_equal(half_widths(ball), [2.0**-20, 0.5])


@pytest.mark.parametrize(("classes", "gain"), [(1, 3.33), (3, 2.0)])
def test_curvatures_have_the_gain_that_their_proof_allows(classes, gain):
    edges = np.array([[-np.inf], [np.inf]])
    design = Design(identity_frame(np.zeros(1), np.ones(1)), edges, False)
    asked = LogitIntercepts(design, 1.0, np.zeros((1, classes)), 15)
    residual, curvature = asked.total(np.array([[0.5, 1.0]])) / ONE
    p = 1 / max(classes, 2)
    assert curvature == pytest.approx(gain * p * (1 - p), abs=1e-4)
    assert residual[-1] == pytest.approx((classes == 1) - p, abs=1e-4)


@pytest.mark.parametrize(("user", "fits"), [(0, True), (1, True), (2, False), (-1, False)])
def test_whose_rows_are_told_by_a_column_of_the_table(user, fits):
    users = OfUsers((0,), (np.array([0.0, 1.0]),), (True,), user, 3, 1)
    if fits:
        users.check(Shape(2))
    else:
        with pytest.raises(ValueError, match="no such column"):
            users.check(Shape(2))


@pytest.mark.parametrize("weights", [None, [199]])
@pytest.mark.parametrize("first", [2, 300])
def test_residuals_of_large_tables_are_exact(weights, first):
    # 199 rows at the last of 300 levels twice: 199 * 299^2 is odd and above 2^24
    none, singles, pairs = (
        np.zeros((1, 0), dtype=int),
        np.array([[0], [1], [2]]),
        np.array([[1, 2]]),
    )
    layout = Layout((first, 300, 300), (none, singles, pairs))
    codes = np.full((199 if weights is None else 1, 3), (first - 1, 299, 299))
    total = Products(layout).sums(codes, None if weights is None else np.array(weights))
    column = integer_helmert(300)[:, 299].astype(object)
    one = integer_helmert(first)[:, first - 1]
    wanted = np.concatenate([[1], one, column, column, np.outer(column, column).ravel()]) * 199
    assert max(abs(wanted)) > 2**24
    np.testing.assert_array_equal(total, wanted)


def test_factors_of_pairs_of_rows_are_rounded_up():
    layout = Layout((2, 3), (np.zeros((1, 0), dtype=int), np.array([[0], [1]]), np.array([[0, 1]])))
    squares, rng = helmert_squares(layout), np.random.default_rng(0)
    for _ in range(20):
        gains = rng.integers(2**29, 2**30, size=len(squares))
        alpha, size = _factors(layout, gains, squares)
        exact = max(int(g) ** 2 * int(p) for g, p in zip(gains[-2:], squares[-2:], strict=True))
        assert exact < Fraction(float(alpha[-1])) < exact * (1 + Fraction(1, 2**39))
        assert alpha[-1] == size[-1] and alpha[0] < size[0]


def test_rows_of_more_than_500_sets_keep_their_weights():
    rows = SimpleNamespace(unit=7)
    sets = SimpleNamespace(lengths=range(501))  # nothing else is read of them
    assert weighed_by_residuals(rows, sets, None, None, None) is rows


@pytest.mark.parametrize("epsilon", np.geomspace(1e-6, 3e-4, 25))
def test_grids_of_residuals_suit_the_noise(epsilon):
    layout = Layout((2, 3), (np.zeros((1, 0), dtype=int), np.array([[0], [1]])))
    asked = Residuals(layout, np.array([0.5, 0.3, 0.2]))
    budget = Budget.zcdp(float(epsilon), 1e-6)
    told = asked.at(Offer(budget, Fraction(1, 3), 1))
    assert told.bits == residual_bits(layout, asked.parts, math.sqrt(2 * budget.amount / 3)) < 30


@pytest.mark.parametrize("x", [Fraction(3), Fraction(1, 3), Fraction(-7, 2), Fraction(0)])
def test_fractions_are_copied(x):
    copy = own((x,))[0]
    assert copy == x and copy is not x
    x._denominator = 0
    with pytest.raises(ValueError, match="a fraction of nothing"):
        own((x,))


@pytest.mark.parametrize("d", [1, 2, 30])
def test_friends_are_as_near_as_certified(d):
    radius = 1.0
    friends = DistancePredicate(radius)
    x = np.zeros((1, d))
    x[0, 0] = radius
    assert friends.friends(x, np.zeros((1, d)))[0] == 1  # at the radius itself
    certified = Fraction(friends.certified_radius(d))
    assert certified > radius
    rng = np.random.default_rng(d)
    y = rng.normal(size=(500, d))
    y *= radius / np.sqrt(np.square(y).sum(axis=1, keepdims=True))
    near = friends.friends(y, np.zeros((1, d))) == 1
    squares = [sum(Fraction(t) ** 2 for t in row) for row in y[near].tolist()]
    assert max(squares) <= certified**2


def test_a_certified_radius_is_not_larger_than_it_needs():
    assert 1 < DistancePredicate(1.0).certified_radius(50) < 1 + 2.0**-40


@pytest.mark.slow
def test_every_explained_mutant_is_one_of_the_source():
    known = mutants.explained()
    made = {
        mutants.key_of(name, *one[:3])
        for name in {name for name, *_ in known}
        for one in mutants.mutants((mutants.KERNEL / name).read_text())
    }
    assert known and set(known) <= made and all(known.values())
