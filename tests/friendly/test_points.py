import copy
import doctest
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from skdp._curator import make_curator
from skdp.accounting import Budget
from skdp.audit._transcript import CannedCurator
from skdp.friendly import DistancePredicate, _core
from skdp.friendly._core import friendly_core
from skdp.friendly._points import friendly_mean, friendly_mean_plan
from skdp.mechanisms import make_entropy

RHO_1 = Budget.gaussian(8.53, 1e-8)  # mu^2 = 1.993, that of rho = 1
SEARCH = {"r_min": 0.1, "r_max": 1e6}


def run(X, budget=RHO_1, *, seed=0, options=None, **public):
    curator = make_curator(friendly_mean_plan(budget, **public), make_entropy(seed))
    return friendly_mean(X, curator=curator, **public, **(options or {})), curator


def typical(n, d):
    return math.sqrt(2) * (math.sqrt(d) + math.sqrt(math.log(100 * n)))


@pytest.mark.parametrize(("public", "most"), [("known", 3.0), ("search", 4.2)])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_error_in_1000_dimensions(public, most, offset):
    # noise of 1000 coordinates concentrates: measured 2.7 to 2.9, and 3.6 to 4.0
    X = np.random.default_rng(0).normal(size=(800, 1000)) + offset
    public = SEARCH if public == "search" else {"radius": typical(800, 1000)}
    mean, curator = run(X, **public)
    assert 1 < np.linalg.norm(mean - offset) < most
    assert curator.remaining == 0


def test_outliers_and_rows_that_are_not_finite_stay_outside():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(980, 5)), rng.normal(size=(20, 5)) * 1e6, np.full((9, 5), np.nan)]
    mean, _ = run(rng.permutation(X), **SEARCH)
    assert np.linalg.norm(mean) < 0.3


@pytest.mark.parametrize("n", [0, 1, 2, 20])
def test_too_few_rows_give_nothing(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    assert run(X, Budget.gaussian(1.0, 1e-6), radius=5.0)[0] is None
    assert run(X, Budget.gaussian(1.0, 1e-6), **SEARCH)[0] is None


def test_a_table_without_a_majority_gives_nothing():
    X = np.repeat([[0.0], [1e3]], 500, axis=0)
    assert run(X, radius=1.0)[0] is None


def test_counting_in_a_sample():
    X = np.random.default_rng(0).normal(size=(30_000, 3))
    X[:300] += 100
    plan = friendly_mean_plan(RHO_1, radius=12.0)
    curator = CannedCurator(plan, "noise", seed=1)
    core = friendly_core(X, DistancePredicate(12.0), curator, most=10_000)
    assert core.mask[300:].all() and not core.mask[:300].any()
    assert len(curator.records[1].value) == len(X) <= core.n_up
    assert int(curator.records[1].value.max()) < len(X) / 2  # it was a sample


def test_neighbours_ask_the_same_and_move_by_one_each():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    X[-1] = 0.5
    plan = friendly_mean_plan(RHO_1, radius=3.0)
    a, b = CannedCurator(plan, "noise"), CannedCurator(plan)
    core = friendly_core(X, DistancePredicate(3.0), a, most=100)
    answers = list(a.answers)
    answers[1] = answers[1][:-1]
    b.transcript, b.coins = answers, a.coins
    less = friendly_core(X[:-1], DistancePredicate(3.0), b, most=100)
    assert core.n_up == less.n_up and np.array_equal(core.mask[:-1], less.mask)
    big, small = a.records[1], b.records[1]
    assert big.scale == small.scale
    moved = big.value[:-1] - small.value
    assert np.abs(moved).max() <= 1
    assert (moved**2).sum() <= big.sensitivity**2 <= Fraction(core.n_up)


def test_a_core_does_not_show_itself():
    curator = CannedCurator(friendly_mean_plan(RHO_1, radius=3.0))
    core = friendly_core(np.zeros((50, 1)), DistancePredicate(3.0), curator)
    assert "private" in repr(core) and "True" not in repr(core) and "True" not in str(core)
    for attempt in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="private"):
            attempt(core)


def test_the_worked_example():
    assert doctest.testmod(_core).failed == 0
