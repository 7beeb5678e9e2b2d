"""Labels, projections and cells are exact: functions of one row, whatever stands beside it."""

import numpy as np
import pytest

from skdp.cluster._tree import HalvedBox
from skdp.kernel._lattice import BITS, UNIT, Lattice, LocatedBall, Subspace, lattice_points, nearest

RNG = np.random.default_rng(3)


def _located(d, center=0.0, radius=1.0):
    return LocatedBall(100.0, 1.0, np.full(d, center), radius, radius / 2)


def _integers(m, d, longest):
    """Return integer vectors as long as allowed."""
    X = RNG.normal(size=(m, d))
    return np.trunc(X / np.sqrt(np.square(X).sum(axis=1, keepdims=True)) * longest * 0.999999)


def test_nearest_is_exact_with_ties_to_the_lowest_index():
    for d in (1, 2, 7, 300):
        Q, C = _integers(40, d, 2.0**24), _integers(6, d, 2.0**24)
        C = np.vstack([C, C[1], C[0] + np.eye(1, d)[0], Q[3]])  # ties and near ties
        labels, squares = nearest(Q, C)
        for q, label, square in zip(Q, labels, squares, strict=True):
            exact = [sum((int(a) - int(b)) ** 2 for a, b in zip(q, c, strict=True)) for c in C]
            assert label == exact.index(min(exact))
            assert square == min(exact)


def test_labels_do_not_depend_on_the_rows_beside_them():
    for d in (2, 5, 70, 400):
        X = RNG.normal(size=(1500, d)) / np.sqrt(d)
        lattice = Lattice(_located(d))
        C = lattice.points(RNG.normal(size=(5, d)) / np.sqrt(d))
        labels, distances = lattice.labels(X, C)
        for some in (slice(0, 1), slice(7, 20), slice(501, 1400), slice(None, None, -3)):
            again = lattice.labels(X[some], C)
            assert np.array_equal(again[0], labels[some])
            assert np.array_equal(again[1], distances[some], equal_nan=True)


def test_coordinates_of_a_subspace_are_exact_products():
    d, p = 90, 3
    subspace = Subspace(RNG.normal(size=(d, p)), np.ones(p))
    Q = _integers(30, d, 2.0**24)
    Z = subspace.coordinates(Q)
    step = np.sqrt(np.square(subspace.W).sum(axis=0)).max() * 2.0 ** (BITS - 52)
    W = np.rint(subspace.W / step)
    for q, z in zip(Q, Z, strict=True):
        exact = [sum(int(a) * int(b) for a, b in zip(q, w, strict=True)) for w in W.T]
        assert all(abs(e) < 2**53 for e in exact)
        assert np.array_equal(z, np.array(exact, dtype=float) * (step / UNIT))
    assert np.allclose(Z, Q @ subspace.W / UNIT, atol=1e-6)


def test_rows_beyond_two_radii_and_rows_that_are_not_finite_are_left_out():
    far = 2 + 2.0**-20
    rows = [[0, 0], [2, 0], [far, 0], [1.5, 1.5], [np.nan, 0], [0, np.inf], [1e300, 0], [1, 1]]
    with np.errstate(all="ignore"):
        labels, _ = Lattice(_located(2)).labels(np.array(rows), [(np.arange(1), np.zeros((1, 2)))])
    assert labels.tolist() == [0, 0, -1, -1, -1, -1, -1, 0]


def test_points_of_the_lattice_stay_in_the_ball():
    y = RNG.normal(size=(200, 4)) * 10.0 ** RNG.uniform(-3, 3, size=(200, 1))
    squares = [sum(int(a) ** 2 for a in c) for c in lattice_points(y)]
    assert max(squares) <= 4**BITS


def test_scales_and_offsets_of_the_whole_range_of_floats_give_the_same_lattice():
    X, y = RNG.normal(size=(50, 3)) / 3, RNG.normal(size=(4, 3)) / 3
    C = Lattice(_located(3)).points(y)
    plain = Lattice(_located(3)).labels(X, C)[0]
    for e in (-990, -400, 400, 990):
        scaled = Lattice(_located(3, radius=2.0**e)).labels(X * 2.0**e, C)[0]
        assert np.array_equal(scaled, plain)


def test_cells_nest_and_hold_their_rows():
    grid = HalvedBox(np.array([1.0, 0.5, 0.1]), 12)
    Z = RNG.uniform(-1, 1, size=(400, 3)) * grid.half
    codes = grid.codes(Z)
    for level in (0, 1, 5, 12):
        centres = grid.centres(codes >> (12 - level), level)
        assert np.all(np.abs(Z - centres) <= grid.sides(level) * (1 + 1e-12))
        assert np.prod(grid.shape(level)) == 2**level
    assert np.array_equal(np.sort(grid.axes)[:1], [0])
    assert grid.codes(np.array([[9.0, 9.0, 9.0]])) == 2**12 - 1


@pytest.mark.parametrize(
    ("half", "depth"), [([1.0], 14), ([1.0, 0.5, 0.1], 12), ([3.0, 1e-3], 11), ([1.0] * 6, 4)]
)
def test_the_bits_of_positions_are_spread_as_places_say(half, depth):
    grid = HalvedBox(np.array(half), depth)
    for axis, table in enumerate(grid._spread):
        places = [depth - 1 - i for i, a in enumerate(grid.axes) if a == axis][::-1]
        expected = [
            sum((position >> i & 1) << place for i, place in enumerate(places))
            for position in range(2 ** len(places))
        ]
        assert table.dtype == np.int64 and table.tolist() == expected
