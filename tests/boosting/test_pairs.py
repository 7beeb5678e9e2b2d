"""Pairs: merged cells, groups that share no feature, priors, and terms that share nothing."""

import itertools

import numpy as np
import pytest

from skdp.boosting._base import Monotone, purified
from skdp.boosting._pairs import (
    Spike,
    disjoint_groups,
    has_enough_for_pairs,
    merged,
    most_features,
    pair_of,
    parts_of_tables,
    sides,
)


def test_merged_cells_have_about_the_same_mass_and_keep_their_order():
    counts = np.append(np.random.default_rng(0).uniform(50, 100, size=64), 40.0)
    cells = merged(counts, True, 8)
    assert np.all(np.diff(cells[:-1]) >= 0) and cells[-1] == 8 and cells.max() == 8
    mass = np.bincount(cells, counts)[:-1]
    assert mass.max() < 1.5 * mass.min()
    assert merged(counts[:5], True, 8).tolist() == [0, 1, 2, 3, 4]


def test_the_commonest_levels_stay_alone():
    counts = np.array([1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0])
    assert merged(counts, False, 4).tolist() == [3, 0, 3, 1, 3, 2, 3]


@pytest.mark.parametrize("n_features", [2, 5, 10])
def test_groups_hold_every_pair_once_and_share_no_feature(n_features):
    pairs = list(enumerate(itertools.combinations(range(n_features), 2)))
    groups = disjoint_groups(pairs, 3)
    assert sorted(sum(groups, ())) == list(range(len(pairs)))
    for group in groups:
        features = [j for number in group for j in pairs[number][1]]
        assert len(set(features)) == len(features) and len(group) <= 3


def test_rules_grow_with_rows():
    assert not has_enough_for_pairs(1e9, 1, True)
    assert [has_enough_for_pairs(s, 10, False) for s in (1150, 1151)] == [False, True]
    assert [has_enough_for_pairs(s, 10, True) for s in (1600, 1601)] == [False, True]
    assert [has_enough_for_pairs(s, 2, False) for s in (920, 921)] == [False, True]
    assert [sides(s) for s in (100, 10000, 1e9)] == [8, 10, 12]
    assert most_features(1000, 30, 0.3, True) == 4 < most_features(20000, 30, 0.3, True) <= 30
    assert most_features(2000, 30, 0.3, False) > most_features(2000, 30, 0.3, True)
    assert most_features(1.0, 3, 0.3, True) == 3


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_tables_spend_all_and_no_other_ones_lose_less(seed):
    rng = np.random.default_rng(seed)
    losses, had = rng.exponential(size=(2, 8)) ** 3
    losses[:2] = 0.0
    left = rng.exponential()
    parts = parts_of_tables(losses, had, left)

    def lost(taken):
        return (losses * had / (had + taken)).sum()

    assert parts.min() >= 0 and np.isclose(parts.sum(), left) and not parts[:2].any()
    for _ in range(50):
        assert lost(parts) <= lost(left * rng.dirichlet(np.full(8, 0.3))) + 1e-12
    assert np.allclose(parts_of_tables(np.ones(4), np.ones(4), 2.0), 0.5)


@pytest.mark.parametrize("ordered", list(itertools.product([True, False], repeat=2)))
def test_a_pair_that_tells_nothing_is_zero_and_one_that_does_is_not(ordered):
    rng = np.random.default_rng(0)
    counts = [np.append(np.full(8, 100.0), 30.0)] * 2
    spike, made = Spike(), []
    for _ in range(30):
        made.append(pair_of((0, 1), counts, list(ordered), 8, spike))
    sizes = [int(side.max()) + 1 for side in (made[0][0].left, made[0][0].right)]
    truth = np.outer(np.sin(np.arange(sizes[0])), np.cos(np.arange(sizes[1]))).ravel()
    variances = np.full((1, truth.size), 0.1)
    for at, (_, expected, prior) in enumerate(made):
        values = (at % 10 == 0) * truth + np.sqrt(variances) * rng.normal(size=truth.size)
        (mean,) = prior.means(values, variances)
        assert np.isclose(expected.sum(), 1) and np.isfinite(prior.evidence)
        if at >= 10 and at % 10:
            assert np.sqrt(np.mean(mean**2)) < 0.05
        elif at % 10 == 0:
            assert np.mean((mean - truth) ** 2) < 0.6 * np.mean(truth**2)


@pytest.mark.slow
def test_evidence_of_noise_has_a_mean_of_one():
    """A Bayes factor against the truth: a mean of one, so hardly any is large (Markov)."""
    rng = np.random.default_rng(1)
    _, _, prior = pair_of((0, 1), [np.full(9, 100.0)] * 2, [True, True], 8, Spike())
    factors = []
    for _ in range(300):
        prior.means(rng.normal(size=(1, 81)), np.ones((1, 81)))
        factors.append(np.exp(prior.evidence))
    assert np.mean(np.array(factors) > 20) <= 0.05 + 3 * np.sqrt(0.05 / 300)


def test_purified_terms_have_weighted_means_of_zero_and_the_same_sum():
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (1, 5), (4, 7)):
        table, weights = rng.normal(size=(n, m)), rng.exponential(size=(n, m)) ** 3
        rows, columns, rest = purified(table, weights)
        assert np.allclose(rows[:, None] + columns + rest, table)
        assert np.allclose((rest * weights).sum(axis=0), 0, atol=1e-9)
        assert np.allclose((rest * weights).sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("signs", list(itertools.product([-1, 0, 1], repeat=2)))
def test_bent_tables_are_monotone_and_keep_what_is(signs):
    rng = np.random.default_rng(0)
    counts = [np.append(np.full(6, 100.0), 60.0)] * 2
    pair, expected, prior = pair_of((0, 1), counts, [True, True], 8, Spike())
    (bent,) = Monotone(signs).of_pairs([pair], [prior], [expected], [True, True])
    values = rng.normal(size=(1, expected.size))
    (plain,), (mean,) = (p.means(values, np.full(values.shape, 0.01)) for p in (prior, bent))
    table = mean.reshape(7, 7)
    for axis, sign in enumerate(signs):
        if sign:
            assert (sign * np.diff(np.moveaxis(table, axis, 0)[:6], axis=0)).min() >= 0
    if not any(signs):
        assert bent is prior
    else:
        assert not np.allclose(plain, mean)
        again = bent._bend(mean)
        assert np.allclose(again, mean)
