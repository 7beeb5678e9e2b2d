import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.friendly import FusedMatch, MatchPredicate
from skdp.friendly._matching import aligned_squares

SEVENTH, THIRD = MatchPredicate(), MatchPredicate(1 / 3)


def permutations_of_match(x, y, gamma):
    """All permutations that the definition allows, in exact arithmetic."""
    k = len(x)
    D = [[sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p, q, strict=True)) for q in y]
         for p in x]  # fmt: skip
    square, found = Fraction(gamma) ** 2, []
    for p in itertools.permutations(range(k)):
        if all(
            D[i][p[i]] < square * min(D[i][p[j]], D[j][p[i]])
            for i in range(k)
            for j in range(k)
            if j != i
        ):
            found.append(p)
    return found


def random_tuples(rng, n, k, d):
    """Lattice points, many of them equal or tied, and tuples near a common one."""
    centres = rng.integers(-12, 13, size=(2, k, d)) * 3
    X = centres[rng.integers(0, 2, size=n)] + rng.integers(-1, 2, size=(n, k, d))
    wild = rng.random(n) < 0.2
    X[wild] = rng.integers(-5, 6, size=(wild.sum(), k, d))
    return rng.permuted(X, axis=1).astype(float) if d == 1 else X.astype(float)


@pytest.mark.cases(4)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("gamma", [1 / 7, 1 / 3])
def test_the_rule_agrees_with_a_search_over_all_permutations(k, gamma):
    rng = np.random.default_rng(k)
    predicate, met = MatchPredicate(gamma), set()
    for d in (1, 2):
        X = random_tuples(rng, 26, k, d)
        X = np.stack([x[rng.permutation(k)] for x in X])
        related = predicate.matrix(X, X)
        for i, j in itertools.product(range(len(X)), repeat=2):
            # the rule leaves out ratios in [gamma (1 - 2^-20), gamma), which no lattice has
            exact = permutations_of_match(X[i], X[j], gamma * (1 - 2.0**-21))
            assert len(exact) <= 1
            assert related[i, j] == bool(exact)
            met.add(bool(exact))
    assert met == ({True} if k == 1 else {True, False})


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_symmetric_and_independent_of_position_bit_for_bit(k, d, seed):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(k, d)) * 10.0 ** rng.integers(-3, 6)
    X = centre + rng.normal(size=(23, k, d)) * 10.0 ** rng.integers(-3, 3, size=(23, 1, 1))
    X = rng.permuted(X, axis=1) if d == 1 else np.stack([x[rng.permutation(k)] for x in X])
    wide = aligned_squares(X, X, 1 / 7)
    assert np.array_equal(wide, wide.T)
    order, some = rng.permutation(23), rng.permutation(23)[:5]
    assert np.array_equal(aligned_squares(X[order], X[order], 1 / 7), wide[np.ix_(order, order)])
    assert np.array_equal(aligned_squares(X[some], X, 1 / 7), wide[some])
    for i in some:
        assert np.array_equal(aligned_squares(X[i : i + 1], X[:7], 1 / 7)[0], wide[i, :7])


@pytest.mark.slow
def test_counts_are_the_sums_of_the_matrix_whatever_the_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    X = random_tuples(rng, 40, 3, 2)
    limits = [2.0, 3.0, 5.0, 8.0]
    wide = aligned_squares(X, X, 1 / 7)
    expected = np.stack([(wide <= limit).sum(axis=1) for limit in limits], axis=1)
    for cells in (9, 700, 2**19):
        monkeypatch.setattr("skdp.friendly._matching.CELLS", cells)
        assert np.array_equal(SEVENTH.friends_within(X, limits), expected)
        assert np.array_equal(SEVENTH.friends_within(X, limits, X), expected)
        assert np.array_equal(FusedMatch(1 / 7, 5**0.5).friends(X), expected[:, 2])
        assert np.array_equal(SEVENTH.friends(X), np.isfinite(wide).sum(axis=1))
        assert np.array_equal(SEVENTH.friends(X[:25], X), np.isfinite(wide).sum(axis=1)[:25])
    assert expected.min() == 0 and len(np.unique(expected[0])) > 1


def near_critical(rng, k, d, gamma):
    """Tuples around one, unstable ones, ratios and distances next to their limits, garbage."""
    centre = rng.normal(size=(k, d)) * 10
    X = centre + rng.normal(size=(120, k, d)) * rng.choice([0.01, 0.3, 1.0], size=(120, 1, 1))
    lost = rng.random(120) < 0.3
    X[lost, 0] = X[lost, -1] + rng.normal(size=(lost.sum(), d))
    X[5] = X[6]
    for i in range(20, 40):  # partners at gamma times the distance to the others, up to roundings
        X[i] = centre
        X[i, 0] += gamma * (1 - 2.0**-20 + rng.integers(-4, 5) * 2.0**-52) * (centre[1] - centre[0])
    X[40:44] = np.array([np.nan, 1e200, 0.0, 2.0**499])[:, None, None]
    return np.stack([x[rng.permutation(k)] for x in X])


@pytest.mark.cases(4)
@pytest.mark.parametrize("gamma", [1 / 7, 1 / 3])
@pytest.mark.parametrize(
    "offset, scale", [(0.0, 1.0), (1e9, 1.0), (1e3, 1e-135), (0.0, 3e-137), (0.0, 1e120)]
)
def test_bounds_on_products_decide_as_the_rule_does(gamma, offset, scale):
    for seed, (k, d) in enumerate([(2, 1), (2, 3), (4, 2), (7, 5), (1, 2)]):
        rng = np.random.default_rng(seed)
        X = near_critical(rng, k, d, gamma) if k > 1 else rng.normal(size=(120, 1, 2))
        with np.errstate(over="ignore"):
            X = (X + offset) * scale
        wide = aligned_squares(X, X, gamma)
        attained = np.unique(wide[np.isfinite(wide)])
        limits = np.sort(np.append(attained[:: max(1, len(attained) // 6)], [0.0, scale**2, 1e300]))
        expected = np.stack([(wide <= limit).sum(axis=1) for limit in limits], axis=1)
        predicate = MatchPredicate(gamma)
        assert np.array_equal(predicate.friends_within(X, limits), expected)
        assert np.array_equal(predicate.friends_within(X, limits, X), expected)
        assert np.array_equal(predicate.friends_within(X[:9], limits, X[::-1]), expected[:9])
        assert expected.max() > 10 or scale < 1e-136  # 2^-900 is among the squares


def test_mutual_minima_alone_are_not_a_match():
    # ratios are tiny in all rows and columns; two points of x share a nearest point of y
    x, y = np.array([[0.0], [1], [1e6]]), np.array([[0.0], [1e6 + 1], [1e6]])
    assert not SEVENTH.matrix(x[None], y[None])[0, 0]


def compose(first, second):
    return tuple(second[i] for i in first)


def chain(rng, gamma, k, d):
    """Three tuples, neighbours in the chain at the very edge of a match."""
    x = rng.normal(size=(k, d))
    smallest = min(np.linalg.norm(x[i] - x[j]) for i in range(k) for j in range(i))
    step = lambda: rng.normal(size=(k, d)) * smallest * gamma * rng.uniform(0.2, 0.8)  # noqa: E731
    y = x + step()
    return x, y, y + step()


@pytest.mark.parametrize(
    "gamma, weaker", [pytest.param(1 / 7, 1 / 3, marks=pytest.mark.slow), (1 / 3, 1.0)]
)
def test_friends_of_friends_match_by_the_composed_permutation(gamma, weaker):
    rng, seen, edge = np.random.default_rng(1), 0, 0.0
    for _ in range(3000):
        x, y, z = chain(rng, gamma, 2, 1)
        xy, yz = (permutations_of_match(a, b, gamma) for a, b in ((x, y), (y, z)))
        if xy and yz:
            seen += 1
            assert permutations_of_match(x, z, weaker) == [compose(xy[0], yz[0])]
            edge += not permutations_of_match(x, z, weaker * 0.7)
    assert seen > 300
    assert edge > 0  # the bound is met nearly: 0.7 of it would be wrong


def core_of(X, predicate):
    counts = predicate.friends(X)
    return X[counts > predicate.least * len(X)]


@pytest.mark.parametrize("predicate", [SEVENTH, THIRD], ids=["1/7", "1/3"])
@pytest.mark.parametrize("seed", range(3))
def test_orders_by_two_core_tuples_differ_by_one_permutation(predicate, seed):
    rng = np.random.default_rng(seed)
    k, d = 4, 2
    centre = np.array([[0, 0], [1, 0], [0, 1], [1, 1.0]])
    spread = 0.9 * predicate.gamma / (1 + 2 * predicate.gamma) / 2
    X = centre + rng.uniform(-spread, spread, size=(60, k, d))
    X = np.stack([x[rng.permutation(k)] for x in X])
    X[::9] = rng.normal(size=(len(X[::9]), k, d))
    core = core_of(X, predicate)
    assert len(core) > 40
    first = predicate.order(core, core[0])
    for reference in core[1:]:
        other = predicate.order(core, reference)
        sigma = [int(np.flatnonzero((first[0] == p).all(axis=1))[0]) for p in other[0]]
        assert sorted(sigma) == list(range(k))
        assert np.array_equal(first[:, sigma], other)


def test_a_third_with_half_of_the_tuples_does_not_fix_the_order():
    # why `least` is 2/3 there: two circular thirds of a turn at a time do not compose to one turn
    turn = lambda a: np.array([[np.cos(a), np.sin(a)], [-np.cos(a), -np.sin(a)]])  # noqa: E731
    circle = np.stack([turn(a) for a in np.arange(0, np.pi, np.pi / 60)])
    related = THIRD.matrix(circle, circle)
    at = lambda degrees: circle[round(degrees / 3)]  # noqa: E731
    hops = [permutations_of_match(at(a), at(a + 36), 1 / 3) for a in (0, 36, 72, 108)]
    assert all(hop == [(0, 1)] for hop in hops)
    assert permutations_of_match(at(144), at(0), 1 / 3) == [(1, 0)]  # 36 degrees on
    assert related.mean() < Fraction(1, 2)


GARBAGE = [np.nan, np.inf, -np.inf, 1e308, -1e160, 5e-324, 0.0, 1e-170]


def test_garbage_has_no_friends_and_some_order():
    rng = np.random.default_rng(2)
    X = rng.choice(GARBAGE, size=(200, 3, 2))
    X[:20] = np.array([[0, 0], [10, 0], [0, 10]]) + rng.normal(size=(20, 3, 2)) * 0.1
    related = SEVENTH.matrix(X, X)
    assert related[:20, :20].all()
    assert not related[20:, :20].any()
    bad = ~(np.abs(X) <= 2.0**500).all(axis=(1, 2))
    assert not related[bad].any() and not related[:, bad].any()
    for reference in (X[0], X[30], X[50], np.zeros((3, 2))):
        ordered = SEVENTH.order(X, reference)
        kept = np.where(bad[:, None, None], np.nan, X)
        for x, y in zip(kept, ordered, strict=True):
            assert sorted(map(repr, x.tolist())) == sorted(map(repr, y.tolist()))


def test_equal_points_make_no_friends_and_one_point_always_does():
    assert not SEVENTH.friends(np.zeros((3, 2, 2))).any()
    assert (SEVENTH.friends(np.array([[[0.0]], [[1e100]], [[np.nan]]])) == [2, 2, 0]).all()


@pytest.mark.parametrize("radius", [1e-100, 0.3, 1e100])
def test_fused_friends_are_within_the_certified_radius(radius):
    rng = np.random.default_rng(3)
    X = np.array([[0.0, 0], [100, 0]]) + rng.normal(size=(80, 2, 2)) * 0.2
    X *= radius / 0.3
    fused = FusedMatch(1 / 7, radius)
    related, matched = fused.matrix(X, X), SEVENTH.matrix(X, X)
    widest = np.linalg.norm(X[:, None] - X[None], axis=3).max(axis=2)
    assert matched.all() and 0 < related.mean() < 1
    assert (widest[related] <= fused.implies(2)).all()
    assert np.array_equal(related, widest <= radius)


@pytest.mark.parametrize("make", [
    lambda: MatchPredicate(0.34), lambda: MatchPredicate(0), lambda: FusedMatch(1 / 7, np.inf),
    lambda: FusedMatch(1 / 7, 0.0), lambda: SEVENTH.friends(np.zeros((3, 2))),
    lambda: SEVENTH.friends(np.zeros((3, 2, 1)), np.zeros((3, 2, 2))),
])  # fmt: skip
def test_wrong_parameters_are_refused(make):
    with pytest.raises(ValueError):
        make()
