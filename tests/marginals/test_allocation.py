"""Allocations of the budget: optimality, the published tables, replacing one row."""

from itertools import combinations, product
from math import comb, prod

import numpy as np
import pytest

from skdp.kernel._layout import Layout
from skdp.marginals._release import (
    EMPTY_SHARE,
    EXHAUSTIVE,
    expected_loss,
    noise_sd,
    optimal_shares,
    replace_one_factor,
)
from skdp.marginals._residuals import all_subsets, helmert, workload_layout
from skdp.marginals.published._relaxation import uniform_shares

D = (10, 20, 50, 100)


def loss(layout, weights, shares):
    return expected_loss(layout, weights, noise_sd(layout, shares))


# --- the tables of measurement plans: relative mean squared error at one mu, to three digits


@pytest.mark.parametrize(
    ("k", "uniform", "tables"),
    [
        (2, (1.51, 1.89, 2.41, 2.76), (4.85, 6.82, 9.26, 10.8)),
        (3, (1.67, 2.45, 3.65, 4.54), (9.10, 16.6, 27.4, 35.2)),
    ],
)
def test_relative_errors_of_measurement_plans(k, uniform, tables):
    for d, even, raw in zip(D, uniform, tables, strict=True):
        layout, weights = workload_layout((2,) * d, k)
        best = loss(layout, weights, optimal_shares(layout, weights, empty=0))
        order = layout.orders
        w = np.array([comb(d - j, k - j) for j in range(k + 1)], dtype=float)[order]
        closed = np.sum(np.sqrt(w)) ** 2 / 2**k  # (sum of sqrt w_T)^2 in parities, in cells
        assert best == pytest.approx(closed, rel=1e-12)
        even_loss = loss(layout, weights, uniform_shares(layout))
        assert even_loss == pytest.approx(len(order) * comb(d, k), rel=1e-12)
        assert f"{even_loss / best:.3g}" == f"{even:.3g}"
        # all tables with noise in the cells: 2^k C(d,k) cells, of variance C(d,k) at mu = 1
        assert f"{2**k * comb(d, k) ** 2 / best:.3g}" == f"{raw:.3g}"


def test_least_squares_of_noisy_tables_is_uniform_noise_in_parities():
    """From tables with noise of one variance, by least squares: the same error, in exact form."""
    d, k = 5, 2
    layout, weights = workload_layout((2,) * d, k)
    tables = list(combinations(range(d), k))
    design = np.zeros((len(tables) * 2**k, len(layout.lengths)))  # cells from parities
    for t, S in enumerate(tables):
        for c, bits in enumerate(product((0, 1), repeat=k)):
            signs = dict(zip(S, bits, strict=True))
            for T, number in layout.position.items():
                if set(T) <= set(S):
                    design[t * 2**k + c, number] = prod(1 - 2 * signs[i] for i in T) / 2**k
    covariance = len(tables) * design @ np.linalg.inv(design.T @ design) @ design.T
    assert np.trace(covariance) == pytest.approx(len(tables) * len(layout.lengths))
    assert np.trace(covariance) == pytest.approx(loss(layout, weights, uniform_shares(layout)))


def test_the_categorical_figure():
    layout, weights = workload_layout((2, 3, 4), 2)
    shares = optimal_shares(layout, weights)
    assert f"{loss(layout, weights, shares):.2f}" == "50.85"
    assert shares[0] > EMPTY_SHARE  # nothing to raise
    cells = 2 * 3 + 2 * 4 + 3 * 4
    assert 3 * cells == 78  # noise in the cells of three tables


# --- optimality


@pytest.mark.parametrize("empty", [0, EMPTY_SHARE, 0.4])
def test_shares_are_optimal_given_the_least_for_the_empty_set(empty):
    layout, weights = workload_layout((2, 3, 4, 2, 5), [(0, 1), (2, 3, 4), (1,)], [1.0, 3.0, 0.1])
    shares = optimal_shares(layout, weights, empty)
    assert shares.sum() == pytest.approx(1) and shares[0] >= empty
    best, rng = loss(layout, weights, shares), np.random.default_rng(0)
    for _ in range(200):
        other = shares * np.exp(0.1 * rng.normal(size=len(shares)))
        other /= other.sum()
        if other[0] >= empty:
            assert loss(layout, weights, other) > best
        else:
            other[1:] *= (1 - empty) / other[1:].sum()
            other[0] = empty
            assert loss(layout, weights, other) > best


def test_the_cost_of_the_empty_share_is_small():
    for d, k in product((20, 100), (2, 3)):
        layout, weights = workload_layout((2,) * d, k)
        plain = loss(layout, weights, optimal_shares(layout, weights, empty=0))
        assert plain < loss(layout, weights, optimal_shares(layout, weights)) < 1.05 * plain


def test_one_set_takes_all():
    layout, weights = workload_layout((2, 3), 0)
    assert optimal_shares(layout, weights).tolist() == [1.0]
    assert uniform_shares(layout).tolist() == [1.0]


# --- replacing one row


def replaced(layout, sd):
    """Return the ratio of costs by trying all pairs of rows, from Helmert matrices."""
    matrices = [helmert(levels) for levels in layout.levels]
    rows = []
    for x in product(*map(range, layout.levels)):
        parts = []
        for T, number in layout.position.items():
            residual = np.ones(1)
            for i in T:
                residual = np.outer(residual, matrices[i][:, x[i]]).ravel()
            parts.append(residual / sd[number])
        rows.append(np.concatenate(parts))
    rows = np.array(rows)
    single = np.sum(rows**2, axis=1)
    assert np.allclose(single, single[0])  # every row costs the same to add or remove
    gaps = single[:, None] + single - 2 * rows @ rows.T
    return gaps.max() / single[0]


@pytest.mark.parametrize(
    ("levels", "k"), [((2,) * 6, 2), ((2,) * 5, 3), ((3,) * 4, 2), ((2, 3, 4), 2), ((4, 2, 3), 3)]
)
def test_the_factor_is_the_largest_over_all_pairs_of_rows(levels, k):
    layout, weights = workload_layout(levels, k)
    margin = 1 if layout.binary else 1.001
    random = np.random.default_rng(1).uniform(0.5, 2, size=len(weights))
    for shares in (optimal_shares(layout, weights), uniform_shares(layout), random / random.sum()):
        sd = noise_sd(layout, shares, mu=0.3)
        assert replace_one_factor(layout, sd) == pytest.approx(margin * replaced(layout, sd))


def test_the_table_of_replacing_one_row():
    """Parities of one variance: 2.02 m for at most pairs of 100, 3.88 m for at most triples."""
    seen = {}
    for d, k in ((10, 2), (100, 2), (100, 3)):
        layout, _ = workload_layout((2,) * d, k)
        factor = replace_one_factor(layout, noise_sd(layout, uniform_shares(layout)))
        m = len(layout.lengths)
        odd = max(
            sum(comb(a, o) * comb(d - a, j - o) for j in range(k + 1) for o in range(1, j + 1, 2))
            for a in range(d + 1)
        )
        assert factor == pytest.approx(4 * odd / m, rel=1e-12)
        seen[d, k] = f"{factor:.3g}"
    assert seen == {(10, 2): "2.14", (100, 2): "2.02", (100, 3): "3.88"}
    # the optimal allocation of pairs, with the share of the number of rows
    layout, weights = workload_layout((2,) * 100, 2)
    assert (
        f"{replace_one_factor(layout, noise_sd(layout, optimal_shares(layout, weights))):.3g}"
        == ("1.93")
    )


def test_formulas_by_size_and_by_trial_agree(monkeypatch):
    for levels, k in (((2,) * 9, 3), ((3,) * 7, 2)):
        layout, weights = workload_layout(levels, k)
        sd = noise_sd(layout, optimal_shares(layout, weights))
        one = replace_one_factor(layout, sd)
        monkeypatch.setattr("skdp.marginals._release.EXHAUSTIVE", 2)
        assert replace_one_factor(layout, sd) == pytest.approx(one, rel=1e-12)
        uneven = sd * np.random.default_rng(2).uniform(0.5, 2, size=len(sd))
        bound = replace_one_factor(layout, uneven)
        monkeypatch.setattr("skdp.marginals._release.EXHAUSTIVE", EXHAUSTIVE)
        assert replace_one_factor(layout, uneven) <= bound <= 4


def test_triples_alone_cost_four_times():
    """As a set of attributes of odd size that holds all of them: its parities all change."""
    layout = Layout((2,) * 5, all_subsets(5, 3))
    sd = np.where(layout.orders == 3, 1.0, 1e9)
    assert replace_one_factor(layout, sd) == pytest.approx(4)
