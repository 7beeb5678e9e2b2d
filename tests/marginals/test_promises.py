"""Promises of the largest error: of plain noise, of boosting, and which of them is smaller."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import exp, log, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from skdp.accounting import Budget, Plan
from skdp.gate._curator import Curator
from skdp.marginals._domain import read_domain, read_workload
from skdp.marginals._release import noise_sd, shares_for
from skdp.marginals._residuals import (
    Measurement,
    largest_scale,
    noise_promise,
    noise_scale,
    table_of,
    tables_of,
    workload_layout,
)
from skdp.marginals.published._boosting import (
    ANSWERS,
    COUNT,
    ETA,
    _draw,
    base_answers,
    boosted_answers,
    boosting_plan,
    boosting_rounds,
    sure_boosting_plan,
)
from skdp.marginals.published._relaxation import from_parities
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows

GDP = Budget.gaussian(1.0, 1e-6)
ZCDP = replace(GDP, measure="zcdp", amount=GDP.amount / 2, delta=Fraction(1))
MIXED = {0: 2, 1: 3, 2: 2, 3: 4, 4: 3}


def _tables(k, d, workload="all"):
    return read_workload(k, workload, None, "worst", read_domain(None, d))


def _mixed():
    return read_workload(2, [[0, 1], 2, [1, 3, 4], [0, 2]], None, "worst", read_domain(MIXED, None))


def test_the_largest_noise_is_that_of_the_noisiest_table():
    tables = _mixed()
    sd = np.random.default_rng(0).uniform(1, 9, size=len(tables.layout.lengths))
    m = Measurement(tables.layout, None, sd, tables.loss)
    want = max(noise_scale(m, row) for sets in tables.sets for row in sets.tolist())
    assert largest_scale(tables.layout, tables.sets, sd) == pytest.approx(want)


def test_plain_noise_keeps_its_promise():
    """4000 draws. A union bound over 43 cells: at most .05, five standard errors are .017.

    Nor is the promise idle: the lower end is four standard errors below what is seen.
    """
    tables, rng = _mixed(), np.random.default_rng(1)
    sd = noise_sd(tables.layout, shares_for(tables, "worst"), 0.2)
    bound = noise_promise(tables, sd)
    noise = tables.layout.spread(sd) * rng.normal(size=(4000, tables.layout.starts[-1]))
    units = np.eye(noise.shape[1])
    largest = np.zeros(4000)
    for row in (row for sets in tables.sets for row in sets):
        to_table = np.array([tables_of(tables.layout, u, row[None]).ravel() for u in units])
        largest = np.maximum(largest, np.abs(noise @ to_table).max(axis=1))
    assert 0.02 < np.mean(largest > bound) < 0.05 + 0.017


def test_a_table_that_is_listed_twice_is_promised_once():
    once, twice = (_tables(2, 4, [[0, 1], [2, 3]] + [[0, 1]] * n) for n in (0, 9))
    sd = np.ones(len(once.layout.lengths))
    assert noise_promise(once, sd) == noise_promise(twice, sd)


@pytest.mark.parametrize("miss", [0.05, 1e-6])
@pytest.mark.parametrize("n_queries", [1, 3, 55, 1000])
def test_the_parts_of_the_promise_fail_rarely_enough(n_queries, miss):
    plan, rho = sure_boosting_plan(n_queries, ZCDP, miss=miss), float(ZCDP.amount)
    unseen = n_queries * log(2) - plan.sampled * (0.5 - ETA) + log(plan.rounds - 1)
    assert exp(unseen) <= miss / 2
    sd = sqrt(plan.rounds * n_queries / (2 * ANSWERS * rho))
    measured = 2 * plan.rounds * n_queries * ndtr(-(plan.reach - 1) / sd)
    count = 2 * ndtr(-(plan.bound - 1) / sqrt(1 / (2 * COUNT * rho)))
    assert measured + count <= miss / 2
    assert plan.tolerance == 2 * plan.reach
    assert plan.bound >= plan.tolerance + plan.margin
    alpha = log((1 + 2 * ETA) / (1 - 2 * ETA)) / 2
    assert plan.rounds == boosting_rounds(n_queries, alpha, ETA)


def test_what_is_left_out_by_the_draws_is_light():
    """Exactly, by inclusion and exclusion over the sets that were drawn, for the worst of 200 D."""
    rng, n, worst = np.random.default_rng(2), 4, 0.0
    plan = sure_boosting_plan(n, ZCDP)
    subsets = [s for r in range(n + 1) for s in combinations(range(n), r)]
    heavy = [np.array([1 - 3 * x, x, x, x]) for x in np.linspace(0.01, 0.25, 100)]
    for D in [*heavy, *rng.dirichlet(np.full(n, 0.3), size=100)]:
        within = {s: D[list(s)].sum() ** plan.sampled for s in subsets}  # all draws are in s
        missed = 0.0
        for drawn in subsets:
            if 1 - D[list(drawn)].sum() > 0.5 - ETA:
                inside = [s for s in subsets if set(s) <= set(drawn)]
                missed += sum((-1) ** (len(drawn) - len(s)) * within[s] for s in inside)
        worst = max(worst, missed)
    assert 1e-12 < worst <= 0.025 / (plan.rounds - 1)


def test_the_first_round_draws_all():
    for n_queries, sampled in ((7, 7), (7, 30), (1000, 7000)):
        plan = boosting_plan(n_queries, ZCDP, sampled=sampled)
        drawn = _draw(np.zeros(n_queries), 1, plan, None)
        times = np.bincount(drawn, minlength=n_queries)
        assert len(drawn) == sampled and np.ptp(times) <= 1 and times.min() >= 1
    few = _draw(np.zeros(50), 1, boosting_plan(50, ZCDP, sampled=10), None)
    assert len(few) == 10 and len(set(few.tolist())) > 5


def test_answers_stay_within_reach_of_what_was_measured():
    sets = [*combinations(range(5), 2), (0, 1, 2), (2, 3, 4)]
    picked, y = np.array([0, 1, 2, 7, 11]), np.array([400, -300, 2, 90, -80])
    noisy = SimpleNamespace(value=y, scale=1e9)
    free, held = (
        base_answers(sets, 5, 50, picked, noisy, np.ones(5), steps=20, **reach)
        for reach in ({}, {"reach": 30})
    )
    assert np.abs(free).max() <= 50 < np.abs(held).max()
    assert np.abs(held[picked] - y).max() == 30
    others = np.setdiff1d(np.arange(len(sets)), picked)
    assert np.array_equal(held[others], free[others])
    exact = SimpleNamespace(value=y, scale=0)
    kept = base_answers(sets, 5, 50, picked, exact, np.ones(5), steps=1, reach=30)
    assert np.array_equal(kept[picked], y)


WORKLOADS = [(1, 1), (3, 1), (2, 2), (10, 2), (100, 2), (3, 3), (20, 3), (10, 5), (8, 8), (11, 10)]


@pytest.mark.parametrize(("d", "k"), WORKLOADS)
@pytest.mark.parametrize("miss", [0.9, 0.05, 1e-9])
def test_plain_noise_promises_less(d, k, miss):
    tables = _tables(k, d)
    sd = noise_sd(tables.layout, shares_for(tables, "worst"), float(GDP.mu))
    plan = sure_boosting_plan(len(sd) - 1, ZCDP, miss=miss)
    assert noise_promise(tables, sd, miss=miss) < plan.tolerance < plan.bound


def test_the_inequalities_of_that_proof():
    alpha = log((1 + 2 * ETA) / (1 - 2 * ETA)) / 2
    for k in range(1, 17):
        rounds = boosting_rounds(2**k - 1, alpha, ETA)
        assert rounds >= max(2, k)
        assert 1.03 * (1 + 0.37 * max(k - 2, 0)) < 2 * sqrt(2 * max(2, k))
    assert ndtri(1 / 12) ** 2 > 1.9  # miss = 1, one query, two rounds
    assert log(2) / 1.9 < 0.37
    assert sqrt(2 / 1.9) <= 1.03
    x, y = np.meshgrid(np.linspace(0, 8, 50), np.linspace(0, 8, 50))
    assert np.all(ndtr(-x - y) <= np.exp(-x * y) * ndtr(-x))


@pytest.mark.slow
@pytest.mark.parametrize("workload", [None, [(0,), (3,), (4,), (0, 3), (0, 4), (3, 4), (0, 3, 4)]])
def test_boosting_keeps_its_promise_in_every_table(workload):
    """Seeded, three runs. Errors of plain noise are below 60 rows, those of boosting below 200."""
    X = np.random.default_rng(5).integers(2, size=(4000, 5)).astype(float)
    X[:, 1] = np.where(X[:, 2] > 0, X[:, 0], X[:, 1])
    sets = workload or [s for j in (1, 2) for s in combinations(range(5), j)]
    layout, _ = workload_layout((2,) * 5, sets)
    plan = sure_boosting_plan(len(sets), ZCDP)
    for seed in range(3):
        curator, error = Curator(Plan(ZCDP, plan.steps), make_entropy(seed)), 0.0
        parities, n_rows = boosted_answers(ArrayRows(X), sets, curator, plan)
        residuals = from_parities(layout, np.concatenate([[n_rows], parities]))
        for columns in sets:
            exact = np.histogramdd(X[:, columns], bins=2)[0]
            error = max(error, np.abs(table_of(layout, residuals, columns) - exact).max())
        assert 0 < error < 200 < plan.bound
        assert abs(n_rows - 4000) < 110  # noise of 20, five times
        assert 0.99 < 1 - curator.remaining <= 1
