import itertools
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.friendly import (
    FusedMatch,
    MatchPredicate,
    friendly_tuple_average,
    friendly_tuples,
    friendly_tuples_plan,
    reorder,
    replace_one_filter,
)
from skdp.friendly._diameter import diameter_radii
from skdp.friendly._tuples import find_tuple_diameter, secret_permutation
from skdp.friendly.published import TupleDistance
from skdp.mechanisms import RowKeys, make_entropy
from tests._curators import CannedCurator, squared_distance

# rho = 1 of which six tenths go to the tuples, in units of mu^2 = 2 rho
BUDGET = Budget("gdp", Fraction(12, 10), Fraction(1, 10**8), Fraction(9), Fraction(1, 10**4))
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


class Coins:
    """Coins that make a wanted permutation."""

    def __init__(self, permutation):
        k = len(permutation)
        self._keys = np.concatenate([np.zeros(k), np.argsort(permutation)]).astype(np.uint64)

    def keys(self, start, stop, use=""):
        assert start >= 2**62 and stop - start == len(self._keys)
        return self._keys


def tuples_around(centre, n, spread, seed):
    rng = np.random.default_rng(seed)
    X = centre + rng.uniform(-spread, spread, size=(n, *centre.shape))
    return np.stack([x[rng.permutation(len(x))] for x in X])


def circle(k):
    angles = 2 * np.pi * np.arange(k) / k
    return 0.8 * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def average(ordered, radii, transcript, share=TENTH):
    plan = Plan(BUDGET, (Step("count"), Step("points", times=len(radii))), (("low", HALF**30),))
    curator = CannedCurator(plan, transcript)
    points = friendly_tuple_average(
        ordered, radii, curator,
        count_share=TENTH, share=share, labels=("count", "points"), event="low",
    )  # fmt: skip
    return points, curator


def test_coins_are_read_as_every_permutation_alike():
    for p in itertools.permutations(range(3)):
        assert tuple(secret_permutation(Coins(p), 3)) == p
    seen = [tuple(secret_permutation(RowKeys(make_entropy(seed)), 3)) for seed in range(1200)]
    again = [tuple(secret_permutation(RowKeys(make_entropy(s)), 3, use=1)) for s in range(1200)]
    # equal with probability 1/6: 200, sd 12.9
    assert abs(sum(p == q for p, q in zip(seen, again, strict=True)) - 200) < 65
    # each of 6 expects 200, sd 12.9: false alarm below 1e-4 for five sd
    assert all(abs(seen.count(p) - 200) < 65 for p in itertools.permutations(range(3)))


@pytest.mark.parametrize("gamma", [1 / 7, 1 / 3])
def test_without_the_first_core_tuple_all_are_permuted_alike(gamma):
    X, predicate = tuples_around(circle(4), 30, 0.02, 0), MatchPredicate(gamma)
    core = np.ones(30, dtype=bool)
    core[[3, 8]] = False
    identity = np.arange(4)
    before = reorder(X, core, predicate, identity)
    core[0] = False
    after = reorder(X, core, predicate, identity)
    sigma = [i for i in itertools.permutations(range(4)) if np.array_equal(before[1:, i], after)]
    assert len(sigma) == 1 and sigma[0] != tuple(identity)
    assert reorder(X, np.zeros(30, dtype=bool), predicate, identity).shape == (0, 4, 2)


@pytest.mark.parametrize("seed", range(4))
def test_averages_move_by_no_more_than_declared(seed):
    # the worst: x and y at opposite ends of a common friend
    rng = np.random.default_rng(seed)
    k, d, radii = 3, 4, (0.3, 1.7, 1024.0)
    centre = rng.normal(size=(k, d)) * 10.0 ** rng.integers(0, 9)
    end = rng.normal(size=(k, d))
    end *= (np.array(radii) / np.linalg.norm(end, axis=1))[:, None] * (1 - 1e-9)
    common = np.repeat(centre[None], 400, axis=0)
    x, y = (centre + end)[None], (centre - end)[None]
    tables = [np.concatenate(c) for c in ((x, common), (common, y), (common,), (y[:0], common))]
    worst = 0.0
    for one, two in itertools.permutations(tables, 2):
        shift = int(rng.integers(-17, 18))  # noise on the count, within the margin
        _, run = average(
            one, radii, lambda label, v, s, shift=shift: v + shift * (label == "count")
        )
        points, replay = average(two, radii, run.answers)
        assert points.shape == (k, d) and len(run.records) == 1 + k
        for a, b in zip(run.records, replay.records, strict=True):
            assert a.request == b.request
            moved = squared_distance(a.value, b.value)
            assert moved <= a.sensitivity**2
            worst = max(worst, float(moved / a.sensitivity**2) * (a.label == "points"))
    assert 0.3 < worst <= 1


def test_the_bound_of_the_count_fails_with_its_probability_and_few_tuples_mean_none():
    for m in (0, 1):  # both sides stop, as one has a single tuple at most
        assert average(np.zeros((m, 2, 1)), (1.0, 1.0), "exact")[0] is None
    _, run = average(np.zeros((400, 2, 1)), (1.0, 1.0), "exact")
    count, points = run.records[0], run.records[1]
    reach = 2 * (1 + 6 * 2.0**-52) * 2**21 + 1
    low = reach / (float(points.sensitivity) - 1)
    z = (400 - low) / count.scale
    assert 6.0 < z < 6.5  # the upper quantile of 2^-30 is 6.01, and rounding takes up to 1.5
    # a count that lies does no harm but to privacy: the average of nothing is zero
    transcript = lambda label, v, s: v + 10**4 * (label == "count")  # noqa: E731
    points, _ = average(np.zeros((0, 2, 1)), (1.0, 1.0), transcript)
    assert not points.any()


def test_a_point_too_far_from_zero_is_told_from_one_that_is_known():
    far = np.tile([[[2.0**38], [-(2.0**41)]]], (400, 1, 1))
    assert average(far, (1.0, 1.0), "exact")[0].ravel().tolist() == [2.0**38, np.inf]


def test_the_average_is_exact_wherever_the_first_tuple_lies():
    rng = np.random.default_rng(5)
    X = 1e9 + rng.normal(size=(300, 2, 3)) * 0.2
    points, run = average(X, (1.0, 1.0), "exact")
    for i, record in enumerate(run.records[1:]):
        q = [[int(Fraction(v) * 2**21 // 1) for v in row] for row in X[:, i]]
        assert record.value.tolist() == [sum(column) // 300 for column in zip(*q, strict=True)]
    assert np.abs(points - X.mean(axis=0)).max() < 1e-5
    assert np.array_equal(average(X[::-1], (1.0, 1.0), "exact")[0], points)


def test_diameter_is_the_least_radius_within_slack_and_tests_are_as_planned():
    X = tuples_around(circle(3), 50, 0.05, 1)
    X[:2] = np.nan
    radii = diameter_radii(1e-3, 2.0)
    assert radii[-1] >= 2 > radii[-2]
    counts = MatchPredicate().friends_within(X, [FusedMatch(1 / 7, r).limit for r in radii])
    plan = friendly_tuples_plan(BUDGET, k=3, r_min=1e-3, r_max=2.0)
    enough = [r for r, total in zip(radii, counts.sum(axis=0), strict=True) if total >= 2000]
    for replaced in range(50):
        run = CannedCurator(plan, "exact")
        share = Fraction(1, 10)
        label = "tuple diameter"
        assert find_tuple_diameter(counts, radii, run, share=share, label=label) == enough[0]
        assert plan.steps[0].times - 1 <= len(run.records) <= plan.steps[0].times
        Y = X.copy()
        Y[replaced] = np.nan
        other = MatchPredicate().friends_within(Y, [FusedMatch(1 / 7, r).limit for r in radii])
        replay = CannedCurator(plan, run.answers)
        find_tuple_diameter(other, radii, replay, share=share, label=label)
        for a, b in zip(run.records, replay.records, strict=True):
            assert a.request == b.request and a.sensitivity == 99
            assert squared_distance(a.value, b.value) <= 99**2
    assert np.abs(counts[:, -1].sum() - other[:, -1].sum()) == 2 * 47 + 1  # 48 were finite


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [1 / 7, 1 / 3])
@pytest.mark.parametrize("replaced", [0, 17])
def test_the_whole_on_neighbours_moves_within_bounds_for_one_permutation(gamma, replaced):
    t, k = 600, 3
    X = tuples_around(circle(k), t, 0.01, 2)
    Y = X.copy()
    Y[replaced] = tuples_around(circle(k) + 0.02, 1, 0.01, 3)[0][::-1]
    plan = friendly_tuples_plan(BUDGET, k=k, r_min=1e-3, r_max=2.0)
    run = CannedCurator(plan, "noise", seed=1, coins=Coins((0, 1, 2)))
    assert friendly_tuples(X, run, r_min=1e-3, r_max=2.0, gamma=gamma) is not None
    fine = []
    for p in itertools.permutations(range(k)):
        replay = CannedCurator(plan, run.answers, coins=Coins(p))
        friendly_tuples(Y, replay, r_min=1e-3, r_max=2.0, gamma=gamma)
        moves = {True: 0, False: 0}
        for a, b in zip(run.records, replay.records, strict=True):
            assert a.request == b.request
            one, two = a.value, b.value
            if a.label == "tuple filter":  # the coin of the replaced tuple is its own
                one, two = np.delete(one, replaced), np.delete(two, replaced)
            moves[squared_distance(one, two) <= a.sensitivity**2] += 1
        fine.append(moves[False] == 0)
    assert fine.count(True) == 1  # a bijection: one permutation pairs with one


@pytest.mark.parametrize("seed", range(4))
def test_centres_are_found_from_separated_clusters(seed):
    # 8 clusters in the plane, 400 tuples, 5 % of them useless
    centre = circle(8)
    X = tuples_around(centre, 400, 0.01, seed)
    X[::20] = np.random.default_rng(seed).normal(size=(20, 8, 2))
    X[7] = np.nan
    plan = friendly_tuples_plan(BUDGET, k=8, r_min=1e-3, r_max=2.0)
    curator = CannedCurator(plan, "noise", seed=seed)
    points = friendly_tuples(X, curator, r_min=1e-3, r_max=2.0)
    found = MatchPredicate().order(points[None], centre)[0]
    # noise has sd 0.001 or less per coordinate: 16 of them exceed six sd with probability 3e-8
    assert np.abs(found - centre).max() < 0.007
    assert 0 <= curator.remaining < Fraction(1, 10)
    labels = [charge.label for charge in curator.close("x").charges]
    assert labels[-8:] == ["tuple points"] * 8


def test_tuples_that_do_not_agree_give_none():
    X = np.random.default_rng(0).normal(size=(200, 3, 2))
    plan = friendly_tuples_plan(BUDGET, k=3, r_min=1e-3, r_max=2.0)
    for Z in (X, np.full((200, 3, 2), np.nan), np.zeros((200, 3, 2))):
        assert friendly_tuples(Z, CannedCurator(plan), r_min=1e-3, r_max=2.0) is None


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("t", [0, 1, 2])
def test_no_tuples_or_hardly_any_give_none(t, k):
    plan = friendly_tuples_plan(BUDGET, k=k, r_min=0.1, r_max=0.1)
    X = np.arange(2.0 * k).reshape(k, 2)[None].repeat(t, axis=0)
    assert friendly_tuples(X, CannedCurator(plan), r_min=0.1, r_max=0.1) is None


def test_one_point_or_ordered_points_are_tuples_as_well():
    X = 1e6 + np.random.default_rng(6).normal(size=(500, 1, 2))
    plan = friendly_tuples_plan(BUDGET, k=1, r_min=0.01, r_max=100)
    points = friendly_tuples(X, CannedCurator(plan, "noise"), r_min=0.01, r_max=100)
    assert np.abs(points - 1e6).max() < 1
    X = np.array([[[0.0], [0.0], [7.0]]]) + np.random.default_rng(7).uniform(size=(500, 3, 1))
    X[:9, 1] = 50.0
    radii = (1.0, 1.0, 2.0)
    counts = TupleDistance(radii).friends(X)
    assert (counts[:9] == 9).all() and (counts[9:] == 491).all()
    plan = Plan(BUDGET, (Step("core"),), (("core", HALF**30),))
    core = replace_one_filter(
        counts, size=500, curator=CannedCurator(plan), share=HALF, label="core", event="core"
    )
    assert np.array_equal(core, counts == 491)
    points, run = average(X[core], radii, "noise", share=HALF)
    assert np.abs(points - X[9:].mean(axis=0)).max() < 0.1  # six sd of the third
    scales = [record.scale * 2.0**-21 * r for record, r in zip(run.records[1:], radii, strict=True)]
    assert np.allclose(np.array(scales) / scales[0], radii, rtol=1e-4)


def test_the_plan_spends_the_whole_and_no_more():
    plan = friendly_tuples_plan(BUDGET, k=8, r_min=1e-3, r_max=2.0)
    assert sum(step.at_most * step.times for step in plan.steps) == 1
    assert sum(p for _, p in plan.failure_events) == BUDGET.failure
    with pytest.raises(ValueError):
        friendly_tuples_plan(BUDGET, k=8, r_min=1.0, r_max=0.5)
