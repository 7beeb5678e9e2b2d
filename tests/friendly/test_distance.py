import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from skdp.friendly import DistancePredicate
from skdp.kernel.pairs import _counting


def oracle(A, B, radius):
    """The rule, written out: a bool for every pair."""
    exponent = math.frexp(radius)[1] - 1
    r = math.ldexp(radius, -exponent)
    with np.errstate(all="ignore"):
        A, B = (np.ldexp(np.asarray(rows, dtype=np.float64), -exponent) for rows in (A, B))
        total = np.zeros((len(A), len(B)))
        for k in range(A.shape[1]):
            difference = A[:, k, None] - B[None, :, k]
            total = total + difference * difference
    return total <= r * r


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def lattice(rng, n, d):
    return rng.integers(-2, 3, size=(n, d)).astype(float)


def duplicates(rng, n, d):
    return normal(rng, 1 + n // 8, d)[rng.integers(1 + n // 8, size=n)]


def outliers(rng, n, d):
    return normal(rng, n, d) * np.where(
        rng.random((n, 1)) < 0.2, 10.0 ** rng.uniform(0, 12, (n, 1)), 1
    )


def clusters(rng, n, d):
    gap = 10.0 ** rng.integers(0, 9)
    return normal(rng, n, d) + gap * rng.integers(3, size=(n, 1))


def broken(rng, n, d):
    X = normal(rng, n, d)
    X[rng.random((n, d)) < 0.1 / d] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])
    return X


def draw(rng):
    """Draw a table and a radius: often an exact distance of two rows, or a float next to it."""
    kind = rng.choice([normal, lattice, duplicates, outliers, clusters, broken])
    n, d = int(rng.integers(0, 90)), int(rng.choice([1, 2, 3, 7, 20, 65]))
    scale = 10.0 ** rng.choice([0, 0, rng.integers(-150, 151)])
    offset = rng.choice([0, 0, 1e3, 1e8])
    with np.errstate(all="ignore"):
        X = (kind(rng, n, d) + offset) * scale
    radius = math.sqrt(d) * scale * 2.0 ** rng.uniform(-2, 3)
    if n > 1 and rng.random() < 0.6:
        i, j = rng.integers(n, size=2)
        with np.errstate(all="ignore"):
            exact = scale * math.sqrt(np.square((X[i] - X[j]) / scale).sum())
        if scale * 1e-3 < exact < scale * 1e6:
            radius = exact * (1 + rng.integers(-2, 3) * 2.0**-52)
    if rng.random() < 0.3 and 1e-30 < scale < 1e20:
        with np.errstate(all="ignore"):
            X = X.astype(np.float32)
    return X, radius


def shrink_blocks(rng, monkeypatch):
    panel, cells = rng.choice([1, 7, 64, 1000, 2**17]), rng.choice([1, 50, 777, 2**18])
    for pairs, entries in (("FEW_PAIRS", "ROW_CELLS"), ("PANEL", "CELLS")):
        monkeypatch.setattr(_counting, pairs, int(panel))
        monkeypatch.setattr(_counting, entries, int(cells))
    monkeypatch.setattr(_counting, "BLOCK", int(rng.choice([1, 8, 24, 64, 240])))
    monkeypatch.setattr(_counting, "DOUBT", float(rng.choice([0, 2.0**-10, 2.0**-4])))


def fuzz(seed, rounds, monkeypatch):
    rng = np.random.default_rng(seed)
    pairs, decided = 0, {"rule": 0, "rule_for_all": 0}

    def counted(name, rule):
        def call(self, x, y):
            decided[name] += len(x) if name == "rule" else len(x) * len(y)
            return rule(self, x, y)

        return call

    for name in decided:
        rule = getattr(DistancePredicate, name)
        monkeypatch.setattr(DistancePredicate, name, counted(name, rule))
    for _ in range(rounds):
        X, radius = draw(rng)
        shrink_blocks(rng, monkeypatch)
        predicate, friend = DistancePredicate(radius), oracle(X, X, radius)
        np.testing.assert_array_equal(predicate.friends(X), friend.sum(axis=1))
        rows, columns = (rng.random(len(X)) < rng.random() for _ in range(2))
        np.testing.assert_array_equal(
            predicate.friends(X[rows], X[columns]), friend[rows][:, columns].sum(axis=1)
        )
        pairs += len(X) ** 2
    return [n / pairs for n in decided.values()]


def test_no_count_is_wrong(monkeypatch):
    shares = fuzz(1, 250, monkeypatch)
    assert min(shares) > 1e-4 and sum(shares) < 0.5  # all three ways were at work


@pytest.mark.nightly
def test_no_count_is_wrong_in_a_long_run(monkeypatch):
    fuzz(2, 2500, monkeypatch)


def test_exact_ties_of_a_lattice_are_friends():
    points = np.array(list(itertools.product(range(-3, 4), repeat=3)), dtype=float)
    squares = ((points[:, None].astype(int) - points[None].astype(int)) ** 2).sum(axis=-1)
    for offset in (0, 2.0**40):
        for square in (1, 4, 9, 16, 25, 36):
            counts = DistancePredicate(math.sqrt(square)).friends(points + offset)
            np.testing.assert_array_equal(counts, (squares <= square).sum(axis=1))


@pytest.mark.parametrize("d", [1, 3, 40])
def test_a_row_adds_exactly_its_own_friendships(rng, d):
    """Also where one row more turns a matrix-vector product into a matrix product."""
    X = np.rint(rng.normal(size=(2 * 128 + 2, d)) * 2) / 7 + 1e6
    predicate = DistancePredicate(math.sqrt(8 * d) / 7)
    for n in (1, 2, 127, 128, 129, 256, 257):
        less, more = predicate.friends(X[:n]), predicate.friends(X[: n + 1])
        friendship = oracle(X[:n], X[n : n + 1], predicate.radius)[:, 0]
        np.testing.assert_array_equal(more[:n] - less, friendship)
        assert more[n] == friendship.sum() + 1


def test_squares_are_added_one_after_the_other(rng):
    """Radii within rounding of the distance: other orders of addition decide otherwise."""
    for x in rng.normal(size=(100, 1, 65)):
        radius = math.sqrt(np.cumsum(x * x)[-1])
        for ulps in range(-3, 4):
            predicate = DistancePredicate(radius * (1 + ulps * 2.0**-52))
            friend = oracle(x, 0 * x, predicate.radius)[0, 0]
            assert predicate.friends(x, 0 * x)[0] == predicate.friends(0 * x, x)[0] == friend


@pytest.mark.parametrize("d", [1, 92])
def test_a_line_of_rows_that_crosses_every_boundary(rng, d):
    """2^14 / sqrt(d + 8) radii are 5461 and 1638: no row is far from its neighbours in line."""
    n = 9000 if d == 1 else 4000
    X = np.zeros((n, d))
    X[:, -1] = np.arange(n) * 1.25
    expected = np.full(n, 3)
    expected[[0, -1]] = 2
    predicate = DistancePredicate(1.25)
    np.testing.assert_array_equal(predicate.friends(X), expected)
    order = rng.permutation(n)
    np.testing.assert_array_equal(predicate.friends(X[order[:300]], X), expected[order[:300]])


def test_rows_the_rule_cannot_see_are_nobodys_friends():
    X = np.zeros((6, 2))
    X[1, 0], X[2, 1], X[3, 0] = np.nan, np.inf, -np.inf
    X[4] = 1e300  # overflows in units of the radius
    predicate = DistancePredicate(1e-30)
    np.testing.assert_array_equal(predicate.friends(X), [2, 0, 0, 0, 0, 2])
    np.testing.assert_array_equal(predicate.friends(X, X), [2, 0, 0, 0, 0, 2])
    np.testing.assert_array_equal(predicate.friends(X[1:5]), [0, 0, 0, 0])


def test_tables_without_rows():
    predicate, X = DistancePredicate(1.0), np.ones((3, 2))
    assert predicate.friends(X[:0]).tolist() == []
    assert predicate.friends(X, X[:0]).tolist() == [0, 0, 0]
    assert predicate.friends(X[:0], X).dtype == np.int64


def test_many_rows_far_from_each_other(rng):
    X = rng.normal(size=(500, 2)).repeat(2, axis=0)
    np.testing.assert_array_equal(DistancePredicate(1e-9).friends(X), np.full(1000, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint8, np.bool_])
def test_other_types_are_cast_first(rng, dtype):
    X = (rng.normal(size=(60, 4)) * 2).astype(dtype)
    predicate = DistancePredicate(1.7)
    np.testing.assert_array_equal(predicate.friends(X), predicate.friends(X.astype(float)))


def test_memory_layout_is_irrelevant(rng):
    X = rng.normal(size=(300, 5))
    counts = DistancePredicate(2.0).friends(X)
    np.testing.assert_array_equal(counts, DistancePredicate(2.0).friends(np.asfortranarray(X)))
    order = rng.permutation(300)
    np.testing.assert_array_equal(counts[order], DistancePredicate(2.0).friends(X[order]))
    X.flags.writeable = False
    np.testing.assert_array_equal(counts, DistancePredicate(2.0).friends(X))


@pytest.mark.parametrize("d", [1, 2, 10, 300])
def test_friends_are_within_the_certified_radius(rng, d):
    """Exact distances of friends chosen as far as the rule allows; some exceed the radius."""
    beyond = 0
    for _ in range(300 if d < 300 else 60):
        radius = 2.0 ** rng.uniform(-900, 900)
        x = rng.normal(size=d) * radius
        direction = rng.normal(size=d)
        y = x + direction * (radius / np.linalg.norm(direction) * (1 + rng.normal() * 1e-16))
        predicate = DistancePredicate(radius)
        if predicate.friends(x[None], y[None])[0]:
            square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True))
            assert square <= Fraction(predicate.certified_radius(d)) ** 2
            beyond += square > Fraction(radius) ** 2
    assert beyond > 0
    exact = Fraction(radius) * (1 + Fraction(d + 4, 2**53))
    assert exact < Fraction(predicate.certified_radius(d)) < exact * (1 + Fraction(d + 8, 2**52))


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 2.0**-1001, 2.0**1001])
def test_radius_is_checked(radius):
    with pytest.raises(ValueError, match="radius must be between"):
        DistancePredicate(radius)


@pytest.mark.parametrize("d", [1, 2, 10, 60])
def test_products_in_single_precision_are_no_proof_next_to_the_radius(d):
    rng = np.random.default_rng(d)
    around = rng.normal(size=(500, d))
    around /= np.linalg.norm(around, axis=1)[:, None]
    beside = 2.0 ** -rng.integers(20, 54, size=(500, 1)) * rng.choice([-1, 1], (500, 1))
    around *= 1.5 * (1 + beside)
    X = np.r_[2 * around[:1], rng.normal(size=(20, d)) * 1e-9, around]  # the first is the pivot
    assert _counting.UNITS[np.float32] * (d + 8) * 40 < _counting.DOUBT  # they are tried
    counts = DistancePredicate(1.5).friends(X)
    np.testing.assert_array_equal(counts, oracle(X, X, 1.5).sum(axis=1))


def test_extreme_radii():
    for radius in (2.0**-1000, 2.0**1000):
        X = np.array([[0.0], [radius], [-radius], [2.5 * radius]])
        assert DistancePredicate(radius).friends(X).tolist() == [3, 2, 2, 1]


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="same columns"):
        DistancePredicate(1.0).friends(np.ones((2, 3)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="table"):
        DistancePredicate(1.0).friends(np.ones(3))


def test_memory_is_that_of_the_second_table(rng):
    X = rng.normal(size=(20_000, 8))
    tracemalloc.start()
    DistancePredicate(2.0).friends(X, X[:2000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (4 * len(X) + 8 * 2000 * 10) + 16e6  # all pairs would take 40e6 to 320e6


def spread_out(rng, n, d):
    """Draw rows with tiny groups, ties in columns, and radii far below, at and above spacings."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(0, 9)
    X = X[rng.integers(n, size=n)] if rng.random() < 0.5 else X
    X = X + rng.normal(size=(n, d)) * 10.0 ** rng.integers(-9, 1)
    ties = rng.random(d) < 0.5
    X[:, ties] = np.rint(X[:, ties] / 10.0 ** rng.integers(0, 5))
    with np.errstate(all="ignore"):
        return X * 10.0 ** rng.choice([0, 0, -200, 200])


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_tiny_groups_are_counted_as_the_rule_counts(d, monkeypatch):
    rng = np.random.default_rng(d)
    for few in (1, 2, 3, 16):
        monkeypatch.setattr(_counting, "FEW", few)
        monkeypatch.setattr(_counting, "PIVOTS", int(rng.integers(0, 4)))
        for _ in range(12):
            shrink_blocks(rng, monkeypatch)
            X = spread_out(rng, int(rng.integers(1, 70)), d)
            gaps = np.abs(X - X[rng.integers(len(X))]).ravel()
            radius = float(np.clip(rng.choice(gaps) * rng.choice([0.4, 1, 2.5, 7]), 1e-250, 1e250))
            near = DistancePredicate(radius)
            with np.errstate(all="ignore"):
                Z = near.rows(X)
                pairs = near.rule_for_all(Z, Z)
            expected = np.where(np.isfinite(Z).all(axis=1), pairs.sum(axis=1), 0)
            assert np.array_equal(near.friends(X), expected)
            assert np.array_equal(near.friends(X, X), expected)


def test_groups_have_no_friends_in_other_groups(rng):
    for _ in range(50):
        X = spread_out(rng, 60, 3)
        near = DistancePredicate(float(np.clip(np.abs(X[0] - X[1]).min(), 1e-250, 1e250)))
        with np.errstate(all="ignore"):
            Z = near.rows(X)
            Z = Z[np.isfinite(Z).all(axis=1)]
            if len(Z) == 0:
                continue
            order, starts, sizes = _counting._groups(Z)
            pairs = near.rule_for_all(Z, Z)
        label = np.empty(len(Z), dtype=int)
        label[order] = np.repeat(np.arange(len(sizes)), sizes)
        assert sorted(order) == list(range(len(Z))) and sizes.sum() == len(Z)
        assert np.array_equal(starts, np.cumsum(sizes) - sizes)
        assert (label[:, None] == label)[pairs].all()


def test_rows_far_beyond_the_radius_take_no_pivot_each(monkeypatch):
    made, original = [], _counting._PivotBlock.__init__

    def counted(self, *args):
        made.append(1)
        original(self, *args)

    monkeypatch.setattr(_counting._PivotBlock, "__init__", counted)
    rng = np.random.default_rng(0)
    for X, radius in ((rng.normal(size=(3000, 3)), 1e-9), (rng.normal(size=(600, 50)), 2e-3)):
        assert (DistancePredicate(radius).friends(X) == 1).all()
    assert len(made) < 20
