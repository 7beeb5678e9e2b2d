import copy
import doctest
import math
import pickle

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.audit._transcript import FixedKeys
from skdp.friendly import (
    DistancePredicate,
    LocalCore,
    RadiusGrid,
    _core,
    friendly_average,
    friendly_core,
    friendly_mean,
    friendly_mean_plan,
)
from skdp.friendly.published import basic_filter, paradigm_inverse
from skdp.gate._curator import make_curator
from skdp.mechanisms import make_entropy
from tests._curators import check_replay

RHO_1 = Budget.gaussian(8.53, 1e-8)  # mu^2 = 1.993, that of rho = 1
SEARCH = {"radius": RadiusGrid(0.1, 1e6)}


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
    assert 1 < np.linalg.norm(mean.value - offset) < most
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


@pytest.mark.parametrize("most", [20_000, 100])
def test_neighbours_ask_the_same_and_move_by_one_each(most):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 2))
    X[-1] = 0.5
    plan, keys = friendly_mean_plan(RHO_1, radius=3.0), rng.integers(2**64, size=3000, dtype="u8")
    run = CannedCurator(plan, "noise", coins=FixedKeys(keys))
    core = friendly_core(X, DistancePredicate(3.0), run, most=most)
    for gone in (2999, 1234):
        replay = CannedCurator(plan, run.answers, coins=FixedKeys(np.delete(keys, gone)))
        less = friendly_core(np.delete(X, gone, 0), DistancePredicate(3.0), replay, most=most)
        assert core.n_up == less.n_up and np.array_equal(np.delete(core.mask, gone), less.mask)
        assert 0.6 < check_replay(run, replay) <= 1


@pytest.mark.parametrize("known", [True, False])
def test_neighbours_through_the_whole_mean(known):
    rng = np.random.default_rng(5)
    X = np.r_[rng.normal(size=(400, 2)), [[3.0, 0.0], [1e300, 0.0], [np.nan, 0.0]]]
    public = {"radius": 5.0} if known else {"radius": RadiusGrid(0.5, 100.0)}
    plan, keys = friendly_mean_plan(RHO_1, **public), rng.integers(2**64, size=403, dtype="u8")
    run = CannedCurator(plan, "noise", coins=FixedKeys(keys))
    mean = friendly_mean(X, curator=run, **public)
    assert np.abs(mean.value).max() < 0.5
    for gone in (0, 400, 401, 402):
        replay = CannedCurator(plan, run.answers, coins=FixedKeys(np.delete(keys, gone)))
        again = friendly_mean(np.delete(X, gone, axis=0), curator=replay, **public)
        assert check_replay(run, replay) <= 1
        assert np.array_equal(again.value, mean.value)


def test_a_core_does_not_show_itself():
    curator = CannedCurator(friendly_mean_plan(RHO_1, radius=3.0))
    core = friendly_core(np.zeros((50, 1)), DistancePredicate(3.0), curator)
    assert "private" in repr(core) and "True" not in repr(core) and "True" not in str(core)
    for attempt in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="private"):
            attempt(core)


def test_the_worked_example():
    assert doctest.testmod(_core).failed == 0


def test_the_epsilon_delta_road_ends_in_an_average():
    X = np.random.default_rng(0).normal(size=(4000, 3)) + 50
    X[:100] *= 1e5
    budget = Budget.zcdp(*paradigm_inverse(1.0, 1e-6, 0))
    plan = Plan(budget, (Step("size", "laplace"), Step("mean")), (("size", budget.failure),))
    curator, near = make_curator(plan, make_entropy(0)), DistancePredicate(8.0)
    core = basic_filter(near.friends(X), len(X), 0, curator.coins)
    assert not core[:100].any() and core[100:].mean() > 0.9
    options = {"count_share": 0.25, "share": 0.75, "labels": ("size", "mean"), "event": "size"}
    mean = friendly_average(X, LocalCore(core, near), curator=curator, law="laplace", **options)
    assert np.linalg.norm(mean.value - 50) < 0.5
    run = CannedCurator(plan, "noise")
    friendly_average(X, LocalCore(core, near), curator=run, law="laplace", **options)
    gone = int(np.flatnonzero(core)[7])
    replay = CannedCurator(plan, run.answers)
    without = np.delete(X, gone, axis=0), LocalCore(np.delete(core, gone), near)
    friendly_average(*without, curator=replay, law="laplace", **options)
    assert check_replay(run, replay) <= 1


def test_two_filters_of_a_fit_share_no_coins():
    coins = make_curator(friendly_mean_plan(RHO_1, radius=1.0), make_entropy(0)).coins
    a, b = (basic_filter(np.full(400, 300), 400, 0, coins, use=use) for use in (0, 1))
    assert 0.35 < np.mean(a == b) < 0.65  # five standard deviations of 400 fair coins
