import math

import numpy as np
import pytest
from scipy.stats import binom, poisson

from skdp.accounting import Budget
from skdp.friendly import (
    DistancePredicate,
    RadiusGrid,
    friendly_core,
    friendly_mean,
    friendly_mean_plan,
    group_friends,
)
from skdp.friendly._filters import binomial_bound, group_bits, group_size
from skdp.gate._curator import make_curator
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows

RHO_1 = Budget.gaussian(8.53, 1e-8)


@pytest.mark.parametrize("bits", [0, 2, 5])
def test_counts_are_those_of_the_own_group(bits):
    rng = np.random.default_rng(0)
    X, keys = rng.normal(size=(300, 2)), rng.integers(2**64, size=300, dtype=np.uint64)
    index = np.flatnonzero(rng.random(300) < 0.9)
    rule = DistancePredicate(1.0)
    counts, sizes = group_friends(ArrayRows(X), index, keys[index], bits, rule)
    label = [int(key) >> (64 - bits) for key in keys[index]]
    rows = rule.rows(X[index])
    related = rule.rule_for_all(rows, rows) & np.equal.outer(label, label)
    assert np.array_equal(counts, related.sum(axis=1))
    assert np.array_equal(sizes, np.equal.outer(label, label).sum(axis=1))


def test_the_binomial_bound_holds_and_is_not_wasteful():
    for log_p in [-3.0, -12.0, -30.0]:
        for q in [1.0, 0.5, 2.0**-10]:
            for n in [1, 50, 10**4, 10**6]:
                k = binomial_bound(n, q, log_p)
                assert k <= n and (k == n or binom.logsf(k, n, q) <= log_p)
                # Bennett: less than 1.5 times the exact quantile of a Poisson variate
                assert k <= n * q + 1.5 * (poisson.isf(math.exp(log_p), n * q) - n * q) + 6


def test_groups_have_at_least_the_size_asked_for():
    for n in (1, 999, 1000, 1999, 2000, 10**6):
        b = group_bits(n, 1000)
        assert b == 0 or 1000 <= n / 2**b < 2000


def test_the_size_grows_as_the_budget_falls():
    sizes = [group_size(10**6, cost, math.log(1e-9), most=20_000) for cost in (1, 0.1, 0.03, 0.01)]
    assert sizes[0] == 1000 < sizes[1] < sizes[2] < sizes[3] == 20_000


@pytest.mark.parametrize("epsilon", [8.53, 2.0])
def test_a_core_found_in_groups(epsilon):
    X = np.random.default_rng(0).normal(size=(30_000, 3))
    X[:300] += 100
    plan = friendly_mean_plan(Budget.gaussian(epsilon, 1e-8), radius=12.0)
    curator = make_curator(plan, make_entropy(1))
    core = friendly_core(X, DistancePredicate(12.0), curator, most=8000)
    assert core.mask[300:].mean() > 0.99 and not core.mask[:300].any()


def test_a_mean_with_a_search_in_groups():
    X = np.random.default_rng(0).normal(size=(30_000, 3)) + 1e6
    public = {"radius": RadiusGrid(1e-3, 1e3)}
    curator = make_curator(friendly_mean_plan(RHO_1, **public), make_entropy(1))
    mean = friendly_mean(X, curator=curator, most=4000, **public)
    assert np.linalg.norm(mean.value - 1e6) < 0.1
