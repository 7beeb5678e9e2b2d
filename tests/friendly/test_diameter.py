import itertools
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.friendly import diameter_tests, find_diameter
from skdp.friendly._diameter import FINE, check_diameter_statistic, diameter_radii

BUDGET = Budget.gaussian(1.0, 1e-6)


def canned(radii, transcript="exact"):
    return CannedCurator(Plan(BUDGET, (Step("r", times=diameter_tests(radii)),)), transcript)


@pytest.mark.parametrize("slack", [Fraction(0), Fraction(1, 10), Fraction(1, 2)])
def test_the_statistic_moves_as_declared_on_all_small_graphs(slack):
    worst = 0
    for n in range(1, 6):
        pairs = list(itertools.combinations(range(n), 2))
        for bits in itertools.product([0, 1], repeat=len(pairs)):
            for own in (0, 1):  # is the removed row its own friend?
                F = np.eye(n, dtype=int)
                F[-1, -1] = own
                for b, (i, j) in zip(bits, pairs, strict=True):
                    F[i, j] = F[j, i] = b
                a = check_diameter_statistic(F.sum(1), n, slack)
                b = check_diameter_statistic(F[:-1, :-1].sum(1), n - 1, slack)
                worst = max(worst, abs(a - b))
    assert worst <= (2 - slack) * FINE + 1
    assert worst > (2 - slack) * FINE / 2


def test_the_bound_is_approached_by_an_outlier():
    n = 1000
    a = check_diameter_statistic(np.r_[np.full(n - 1, n - 1), 1], n, 0)
    b = check_diameter_statistic(np.full(n - 1, n - 1), n - 1, 0)
    assert 1.99 * FINE < abs(a - b) <= 2 * FINE + 1


@pytest.mark.parametrize("n", [0, 1, 50])
@pytest.mark.parametrize("answer", [-1, 0, 1])
def test_all_tests_but_the_last_are_run_whatever_happens(n, answer):
    radii = diameter_radii(0.01, 50.0)
    curator = canned(radii, lambda label, value, scale: np.full_like(value, answer))
    radius = find_diameter(np.zeros((n, 2)), radii, curator, share=Fraction(1, 3), label="r")
    tests = diameter_tests(radii)
    assert tests - 1 <= len(curator.records) <= tests
    assert 1 - curator.remaining == Fraction(1, 3) * len(curator.records) / tests
    assert radius == (radii[0] if answer >= 0 else radii[-1])


def test_it_finds_the_diameter_of_most_rows():
    rng = np.random.default_rng(0)
    X = np.r_[
        rng.uniform(0, 1, size=(480, 2)), rng.normal(size=(10, 2)) * 1e6, np.full((9, 2), np.nan)
    ]
    radii = diameter_radii(1e-3, 1e7)
    radius = find_diameter(X, radii, canned(radii), share=1, label="r")
    assert 0.4 < radius < 2


def test_every_answer_of_the_search_is_a_candidate():
    for T in range(12):
        radii = tuple(2.0**i for i in range(T + 1))
        seen = set()
        for bits in itertools.product([-1, 1], repeat=diameter_tests(radii)):
            script = [np.array([b]) for b in bits]
            seen.add(
                find_diameter(np.zeros((2, 1)), radii, canned(radii, script), share=1, label="r")
            )
        assert seen == set(radii)


def test_bad_parameters():
    with pytest.raises(ValueError, match="radii need"):
        diameter_radii(2.0, 1.0)
    with pytest.raises(ValueError, match="slack"):
        find_diameter(
            np.zeros((2, 1)), (1.0, 2.0), canned((1.0, 2.0)), share=1, label="r", slack=0.7
        )
