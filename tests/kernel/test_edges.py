"""Statistics at the edge of what their bounds and grids allow, by exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.cluster._in_radii import half_widths
from skdp.covariance._run import identity_frame
from skdp.kernel._ball_cover import LocatedBall
from skdp.kernel._coordinates import Design
from skdp.kernel._gradients import ONE, LogitIntercepts
from skdp.kernel._histograms import OfUsers
from skdp.kernel._layout import Layout
from skdp.kernel._residual_sums import Products, integer_helmert
from skdp.kernel._statistic import Shape
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
def test_residuals_of_large_tables_are_exact(weights):
    # 199 rows at the last of 300 levels twice: 199 * 299^2 is odd and above 2^24
    none, singles, pairs = np.zeros((1, 0), dtype=int), np.array([[0], [1]]), np.array([[0, 1]])
    layout = Layout((300, 300), (none, singles, pairs))
    codes = np.full((199 if weights is None else 1, 2), 299)
    total = Products(layout).sums(codes, None if weights is None else np.array(weights))
    column = integer_helmert(300)[:, 299].astype(object)
    wanted = np.concatenate([[1], column, column, np.outer(column, column).ravel()]) * 199
    assert max(abs(wanted)) > 2**24
    np.testing.assert_array_equal(total, wanted)


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
