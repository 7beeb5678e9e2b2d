from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.cluster._refine import lloyd_step
from skdp.cluster._synopsis import to_data, to_units
from skdp.cluster.friendly import friendly_centers, friendly_road_steps, pca_oracle
from skdp.cluster.friendly._strategy import parts_for
from skdp.friendly import MatchPredicate
from skdp.gate._curator import Curator
from skdp.kernel._lattice import LocatedBall
from skdp.kernel._table import Table
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows
from tests._curators import CannedCurator, FixedKeys, check_replay

# rho = 1, of which six tenths go to the tuples, in units of mu^2 = 2 rho
BUDGET = Budget("gdp", Fraction(12, 10), Fraction(1, 10**8), Fraction(9), Fraction(1, 10**4))
CENTERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def clusters(n, centers=CENTERS, sd=0.03, seed=0):
    rng = np.random.default_rng(seed)
    k, d = centers.shape
    return centers[rng.integers(k, size=n)] + sd * rng.normal(size=(n, d))


def mean_by_nearest(part, k, seed):
    """A fast oracle that is allowed to know the truth."""
    labels = np.square(part[:, None] - CENTERS).sum(axis=2).argmin(axis=1)
    means = np.stack([part[labels == j].mean(axis=0) for j in range(k)])
    return means[np.random.default_rng(seed).permutation(k)]


def plan_of(budget=BUDGET, k=3):
    return Plan(budget, *friendly_road_steps(budget, k))


def off(points, centers):
    return np.abs(MatchPredicate(1 / 3).order(points[None], centers)[0] - centers).max()


@pytest.mark.cases(3)
@pytest.mark.parametrize("gamma, n_parts", [(1 / 7, 500), (1 / 3, 1500)])
@pytest.mark.parametrize("offset, scale", [(0.0, 1.0), (1e8, 1e-3), (-5.0, 1e150)])
def test_centers_are_found_wherever_they_lie(gamma, n_parts, offset, scale):
    X = offset + scale * clusters(60_000)
    X[::1000] = 1e300  # rows beyond twice the radius are left out
    curator = CannedCurator(plan_of(), "noise", seed=1)
    points = friendly_centers(
        ArrayRows(X), curator, 3, n_parts=n_parts, gamma=gamma, center=np.full(2, offset),
        radius=1.2 * scale, oracle=lambda part, k, seed: mean_by_nearest(part * 1.2, k, seed) / 1.2,
    )  # fmt: skip
    # partners are 5 sd / sqrt(n / (3 t)) = .02 apart, the noise is a hundredth of that
    assert points.shape == (3, 2) and off((points - offset) / scale, CENTERS) < 0.004
    assert curator.remaining >= 0


@pytest.mark.slow
def test_the_default_oracle_and_that_of_mixtures_lead_to_the_centers():
    X = clusters(30_000)
    curator = CannedCurator(plan_of(), "noise", seed=2)
    points = friendly_centers(ArrayRows(X), curator, 3, n_parts=400, radius=2.0)
    assert off(points, CENTERS) < 0.005
    rng = np.random.default_rng(0)
    far = 8 * rng.normal(size=(2, 30))
    X = clusters(20_000, far, sd=1.0)
    curator = CannedCurator(plan_of(k=2), "noise", seed=2)
    points = friendly_centers(
        ArrayRows(X), curator, 2, n_parts=400, radius=100.0, oracle=pca_oracle
    )
    assert off(points, far) < 0.5


@pytest.mark.slow
def test_few_rows_or_little_budget_give_no_answer_and_no_error():
    for X in (np.empty((0, 2)), clusters(3), clusters(500), np.zeros((4000, 2)),
              np.full((900, 2), np.nan)):  # fmt: skip
        curator = CannedCurator(plan_of(), "noise", seed=0)
        assert friendly_centers(ArrayRows(X), curator, 3, n_parts=400, radius=2.0) is None
    poor = Budget.gaussian(1.0, 1e-6)
    curator = CannedCurator(plan_of(poor), "noise", seed=0)
    rows = ArrayRows(clusters(20_000))
    args = {"n_parts": 400, "radius": 1.0, "oracle": mean_by_nearest}
    assert friendly_centers(rows, curator, 3, **args) is None
    curator = CannedCurator(plan_of(), "noise", seed=0)
    assert friendly_centers(rows, curator, 3, **args) is not None


@pytest.mark.slow
def test_replay_on_neighbours():
    """The replaced part has a tuple of its own; the first core tuple keeps its order here."""
    worst = 0.0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = clusters(9000, seed=seed)
        keys = rng.integers(0, 2**64, size=9001, dtype=np.uint64)
        row = [0.1, -1.2, 0.5, 0.6, -3.0, 1e300, np.nan, np.inf][seed] * np.ones(2)
        j = int(rng.integers(9001))
        coins = FixedKeys(np.delete(keys, j)), FixedKeys(keys)
        args = {"n_parts": 450, "radius": 1.0, "oracle": mean_by_nearest}
        run = CannedCurator(plan_of(), "noise", seed=seed, coins=coins[0])
        one = friendly_centers(ArrayRows(X), run, 3, **args)
        replay = CannedCurator(plan_of(), run.answers, coins=coins[1])
        rows = ArrayRows(np.insert(X, j, row, axis=0), block_rows=333)
        two = friendly_centers(rows, replay, 3, **args)
        assert one is not None and np.array_equal(one, two)
        worst = max(worst, check_replay(run, replay))
    assert 0 < worst <= 1


@pytest.mark.slow
def test_a_road_inside_a_larger_plan_pays_a_share_of_it():
    whole = Budget("gdp", Fraction(2), Fraction(1, 10**8), Fraction(9), Fraction(1, 10**4))
    share = Fraction(6, 10)
    steps, events = friendly_road_steps(whole, 3, label="friendly", at_most=share)
    curator = Curator(Plan(whole, (Step("other"), *steps), events), make_entropy(0))
    child = curator.child("friendly", share)
    points = friendly_centers(ArrayRows(clusters(30_000)), child, 3, n_parts=400, radius=2.0)
    assert off(points, CENTERS) < 0.005 and curator.remaining == 1 - share
    report = curator.close("x")
    labels = [charge.label for charge in report.charges]
    assert labels.count("friendly/tuple points") == 3 and "friendly/tuple filter" in labels
    assert sum(charge.share for charge in report.charges) <= share
    assert sum(p for _, p in report.failure_events) == whole.failure


def test_the_rule_asks_for_as_many_parts_as_the_budget_and_rows_for_stable_ones():
    t, gamma = parts_for(1e6, BUDGET, 8, 2)
    assert gamma == 1 / 7 and 400 <= t <= 1000
    assert parts_for(1e4, BUDGET, 8, 2) is None
    more, third = parts_for(1e6, BUDGET, 8, 500)  # larger parts, or more of them
    assert third == 1 / 3 and more > 2 * t
    assert parts_for(1e7, BUDGET, 8, 500) == (t, 1 / 7)
    assert parts_for(1e9, Budget.gaussian(1.0, 1e-6), 8, 2) is None  # tens of thousands of parts
    assert parts_for(1e7, Budget.gaussian(20.0, 1e-6), 8, 2)[0] < t
    assert parts_for(0.0, BUDGET, 1, 1) is None


LOCATED = LocatedBall(9000.0, 1.0, np.zeros(2), 2.0, 1.0)


def test_a_private_step_moves_centers_to_their_means_and_leaves_empty_ones():
    X = clusters(9000)
    start = np.vstack([CENTERS + 0.05, [[-1.2, -1.2]]])
    plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("step"),))
    curator, y = CannedCurator(plan, "noise", seed=0), to_units(LOCATED, start)
    table = Table(ArrayRows(X), curator)
    step = lloyd_step(table, LOCATED, y, np.full(4, 0.5), share=1.0, step=Step("step"))
    moved = to_data(LOCATED, step.y + step.moves)
    # noise: sd 1.1 / .2367 * 1 = 4.9 in a sum of 3000 rows
    assert np.abs(moved[:3] - CENTERS).max() < 0.01
    assert np.array_equal(moved[3], start[3])
