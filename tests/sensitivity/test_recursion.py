"""The general recursion, individual sensitivities, groups, the plane."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from skdp.sensitivity.published import (
    bounded_function,
    bounded_groups,
    bounded_plane,
    bounded_plane_function,
    bounded_subsets,
)
from tests.sensitivity._oracles import brute, mean, median


def random_table(rng, n, size=20):
    return [int(v) for v in rng.integers(-size, size + 1, size=2**n)]


def test_any_function_and_individual_sensitivities(rng):
    for _ in range(300):
        n = int(rng.integers(0, 6))
        table = random_table(rng, n)
        D = [int(d) for d in rng.integers(0, 6, size=n)]
        names = list(range(n))

        def f(members, table=table):
            return table[sum(1 << i for i in members)]

        g = brute(names, f, D, 3)
        assert bounded_function(names, f, sensitivities=D, center=3) == g[tuple(names)]
        for S, value in g.items():
            for k, i in enumerate(S):
                assert abs(value - g[S[:k] + S[k + 1 :]]) <= D[i]


def test_floors_commute_with_the_recursion(rng):
    for _ in range(300):
        n = int(rng.integers(1, 6))
        values = [Fraction(v, 7) for v in random_table(rng, n, 100)]
        D = [int(d) for d in rng.integers(0, 6, size=n)]
        exact = bounded_subsets(values, D, 2)
        floors = bounded_subsets([math.floor(v) for v in values], D, 2)
        assert [math.floor(v) for v in exact] == floors


def test_values_that_are_no_numbers():
    def f(members):
        if len(members) == 1:
            return math.nan
        return math.inf if len(members) == 2 else 1 / 0

    assert bounded_function([1], f, sensitivities=2, center=5) == 5
    assert bounded_function([1, 2], f, sensitivities=2, center=5) == 7
    assert bounded_function([1, 2, 3], f, sensitivities=2, center=5) == 5
    assert bounded_function([], f, sensitivities=2, center=5) == 5
    with pytest.raises(ValueError, match="at most 20 records"):
        bounded_function(range(21), f, sensitivities=1, center=0)
    with pytest.raises(ValueError, match="one per record"):
        bounded_function([1, 2], f, sensitivities=[1], center=0)


def error_bound(f, D, n, c):
    """Theorem 3.3: the largest total excess over all orders of arrival, by a subset DP."""
    E = {(): 0}
    value = {(): c} | {S: f(S) for m in range(1, n + 1) for S in combinations(range(n), m)}
    for m in range(1, n + 1):
        for S in combinations(range(n), m):
            parts = [(S[:k] + S[k + 1 :], D[i]) for k, i in enumerate(S)]
            E[S] = max(E[T] + max(abs(value[S] - value[T]) - d, 0) for T, d in parts)
    return E


def test_error_bound_of_theorem_3_3(rng):
    for _ in range(300):
        n = int(rng.integers(1, 6))
        table = random_table(rng, n)
        D = [int(d) for d in rng.integers(0, 20, size=n)]

        def f(S, table=table):
            return table[sum(1 << i for i in S)]

        g = brute(list(range(n)), f, D, 0)
        E = error_bound(f, D, n, 0)
        assert all(abs(f(S) - g[S]) <= E[S] for S in g if S)


def test_groups_are_the_general_recursion(rng):
    statistics = {"mean": mean, "median": median, "max": max}
    for f in statistics.values():
        for _ in range(60):
            sizes = rng.integers(0, 4, size=int(rng.integers(1, 4)))
            groups = [[int(v) for v in rng.integers(-30, 31, size=k)] for k in sizes]
            D = [int(d) for d in rng.integers(0, 12, size=len(sizes))]
            c = int(rng.integers(-10, 11))
            x = [v for group in groups for v in group]
            each = [d for d, group in zip(D, groups, strict=True) for _ in group]
            exact = brute(x, f, each, c)[tuple(range(len(x)))]
            g = bounded_groups(groups, lambda s, f=f: math.floor(f(s)), sensitivities=D, center=c)
            assert g == math.floor(exact)


def test_groups_are_checked():
    with pytest.raises(ValueError, match="one sensitivity"):
        bounded_groups([[1], [2]], max, sensitivities=[1], center=0)
    with pytest.raises(ValueError, match="personal_statistic"):
        bounded_groups([range(80), range(80)], max, sensitivities=[1, 2], center=0)


def test_groups_of_thirty():
    groups = [list(range(15)), list(range(100, 115))]
    g = bounded_groups(groups, lambda s: sum(s) // len(s), sensitivities=[8, 4], center=50)
    assert abs(g - 57) <= 8


HOSTILE = [np.nan, np.inf, 1e307, -1e307, 2.0**31]


def test_the_plane_moves_by_its_l1_sensitivity(rng):
    attained = 0
    for _ in range(200):
        n = int(rng.integers(1, 8))
        x, y = rng.normal(size=(2, n)) * 10.0 ** rng.integers(-2, 4)
        if rng.random() < 0.4:
            x[0], y[-1] = rng.choice(HOSTILE, size=2)
        given = {"sensitivity": 0.7, "center": (1.0, -2.0)}
        whole = bounded_plane(x, y, **given)
        for i in range(n):
            part = bounded_plane(np.delete(x, i), np.delete(y, i), **given)
            moved = np.abs(whole.value - part.value).sum()
            assert moved <= whole.sensitivity
            attained += moved == whole.sensitivity
    assert attained > 100


def test_the_plane_gives_both_means(rng):
    x, y = rng.normal(size=(2, 400)) + np.array([[3], [-1]])
    plane = bounded_plane(x, y, sensitivity=0.05)
    means = plane.origin + plane.unit * plane.value
    np.testing.assert_allclose(means, [x.mean(), y.mean()], atol=1e-3)


def test_pairs_of_any_function_in_the_plane(rng):
    for _ in range(60):
        n = int(rng.integers(1, 5))
        tables = random_table(rng, n), random_table(rng, n)
        D = [int(d) for d in rng.integers(1, 6, size=n)]

        def pair(S, tables=tables):
            return tuple(table[sum(1 << i for i in S)] for table in tables)

        def bounded(S, pair=pair, D=D):
            each = [D[i] for i in S]
            u, v = bounded_plane_function(S, pair, sensitivities=each, center=(1, 2))
            return np.array([u + v, u - v])

        whole = tuple(range(n))
        for k in range(n):
            moved = np.abs(bounded(whole) - bounded(whole[:k] + whole[k + 1 :])).sum()
            assert moved <= 2 * D[k]


def test_three_dimensions_would_be_impossible():
    """Balls in l1 about e1, e2, e3 and (1, 1, 1): every two meet, all four do not."""
    from scipy.optimize import linprog

    centres = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])

    def meet(balls):
        signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        A = np.vstack([signs for _ in balls])
        b = np.concatenate([signs @ centre + 1 for centre in balls])
        return linprog(np.zeros(3), A, b, bounds=[(None, None)] * 3).status == 0

    assert all(meet(centres[list(pair)]) for pair in combinations(range(4), 2))
    assert not meet(centres)
