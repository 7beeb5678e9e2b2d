"""The release of residuals: exact sensitivity, exact cost, true noise, neighbours."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.exceptions import PlanError
from skdp.kernel import _residuals
from skdp.kernel._residual_sums import integer_residuals
from skdp.kernel._residuals import (
    residual_bits,
    residual_gains,
    squared_sensitivity,
)
from skdp.kernel._table import opened
from skdp.marginals._release import (
    expected_loss,
    measure,
    noise_sd,
    optimal_shares,
    replace_one_factor,
)
from skdp.marginals._residuals import tables_of, workload_layout
from skdp.marginals.published._relaxation import uniform_shares
from skdp.mechanisms._exact import sqrt_up
from skdp.readers import ArrayRows
from tests._curators import CannedCurator, canned, check_replay
from tests.marginals._noisy import values_of

WORKLOADS = [
    ((2,) * 5, 2, None),
    ((2,) * 6, 3, None),
    ((2, 3, 4), 2, None),
    ((3, 5, 2, 2), 3, None),
    ((2, 3, 4, 2), [(0, 1), (2,), (1, 2, 3)], [1.0, 1e-9, 1e6]),
    ((2, 2), [(0, 1), (1,)], [1e-30, 1e30]),
    ((11, 13), 2, None),
    ((7,), 1, None),
    ((2, 2), 0, None),
]


def all_rows(levels):
    return np.array(list(product(*map(range, levels))), dtype=float)


def gains_of(layout, shares, mu):
    """Return the gains for a parameter of the noise, and the bound of a row's squared length."""
    gains = residual_gains(layout, shares, residual_bits(layout, shares, mu))
    return gains, squared_sensitivity(layout, gains)


def vectors(layout, gains):
    """Return the integer vector of every possible row, Python integers."""
    rows = [ArrayRows(row[None]) for row in all_rows(layout.levels)]
    return [(integer_residuals(row, layout) * gains).astype(object) for row in rows]


# --- sensitivity


def test_a_table_without_rows_and_one_with_one_row():
    layout, v = workload_layout((2, 3), 2)
    run = canned("residuals")
    assert not measure(opened(ArrayRows(np.empty((0, 2))), run), layout, v, 1).values.any()
    again = canned("residuals", run.answers)
    measure(opened(ArrayRows(np.ones((1, 2))), again), layout, v, 1)
    assert check_replay(run, again) > 1 - 1e-4


# --- the price, in exact rationals


def stated_cost(measurement):
    """Return the sum of c_T / sd_T^2, a Fraction."""
    layout = measurement.layout
    return sum(
        prod((1 - Fraction(1, layout.levels[i]) for i in T), start=Fraction(1)) / Fraction(sd) ** 2
        for T, sd in zip(layout.position, measurement.sd.tolist(), strict=True)
    )


@pytest.mark.parametrize(("levels", "sets", "weights"), WORKLOADS)
def test_what_is_stated_is_what_is_paid(levels, sets, weights):
    for epsilon in [1e-3, 0.1, 1.0, 30.0, 1e6]:
        layout, v = workload_layout(levels, sets, weights)
        rows = ArrayRows(np.zeros((3, len(levels))))
        budget = Budget.gaussian(epsilon, 1e-6)
        for share in (1, Fraction(1, 7), 0.3):
            curator = canned("residuals", budget=budget)
            stated = stated_cost(measure(opened(rows, curator), layout, v, share))
            paid = Fraction(share) * budget.amount
            assert (1 - 1e-6 if layout.binary else 1 - 1e-3) * paid < stated <= paid
            record = curator.records[0]
            assert 2**5 <= record.scale <= 2**46 and record.value.dtype == np.int64
            assert record.sensitivity**2 <= Fraction(record.scale) ** 2 * paid


def test_a_zcdp_budget_buys_twice_rho():
    layout, v = workload_layout((2,) * 4, 2)
    budget = Budget.zcdp(1.0, 1e-6)
    curator = CannedCurator(Plan(budget, (Step("residuals"),)))
    got = measure(opened(ArrayRows(np.zeros((1, 4))), curator), layout, v, 1)
    assert float(stated_cost(got)) == pytest.approx(float(2 * budget.amount), rel=1e-6)
    assert stated_cost(got) <= 2 * budget.amount


def test_a_release_that_is_not_planned():
    layout, v = workload_layout((2,) * 4, 2)
    with pytest.raises(PlanError, match="no room"):
        measure(opened(ArrayRows(np.zeros((1, 4))), canned("other")), layout, v, 1)


def test_the_allocation_is_the_one_asked_for():
    layout, v = workload_layout((2, 3, 4, 2), 2)
    rows = ArrayRows(np.zeros((1, 4)))
    for shares in (None, uniform_shares(layout)):
        curator = canned("residuals")
        got = measure(opened(rows, curator), layout, v, 1, shares=shares)
        mu = float(curator.budget.amount) ** 0.5
        wanted = noise_sd(layout, optimal_shares(layout, v) if shares is None else shares, mu)
        assert np.allclose(got.sd, wanted, rtol=1e-4)
        assert got.weights is v and got.layout is layout


def test_a_large_count_fits_into_64_bits():
    """Entries times 2^32 rows, and noise, in Python integers."""
    for levels, sets in (
        ((2,) * 30, 3),
        ((2, 3, 40), 2),
        ((1000, 1000), 2),
        ((2,) * 12, [range(12)]),
    ):
        layout, v = workload_layout(levels, sets)
        for mu in (1e-7, 1.0, 2.0**11):
            gains, bound = gains_of(layout, optimal_shares(layout, v), mu)
            largest = [prod(levels[i] - 1 for i in T) for T in layout.position]
            last = gains[layout.starts[1:] - 1].tolist()
            largest = max(g * top for g, top in zip(last, largest, strict=True))
            noise = sqrt_up(bound) / mu
            assert largest * 2**32 + 20 * noise < 2**63
            assert 2**5 < noise < 2**46


# --- the noise


@pytest.mark.parametrize("levels", [(2,) * 4, (2, 3, 4)])
def test_without_noise_the_residuals_are_exact(levels, rng):
    layout, v = workload_layout(levels, 3)
    X = np.column_stack([rng.integers(0, n, size=2000) for n in levels]).astype(float)
    joint = np.zeros(levels)
    np.add.at(joint, tuple(X.T.astype(int)), 1)
    got = measure(opened(ArrayRows(X), canned("residuals")), layout, v, 1)
    assert np.allclose(got.values, values_of(layout, joint), rtol=1e-13, atol=1e-10)


def runs(layout, v, times, X):
    """Return many releases of the same rows, at an equal part of the budget each."""
    budget = Budget.gaussian(float(times), 1e-6)
    step = Step("residuals", times=times)
    curator = CannedCurator(Plan(budget, (step,)), "noise", seed=3)
    rows, share = ArrayRows(X), Fraction(1, times)
    return [measure(opened(rows, curator), layout, v, share) for _ in range(times)], budget


@pytest.mark.slow
def test_the_categorical_error_is_the_predicted_one(monkeypatch):
    """50.85 / mu^2 for all pairs of (2, 3, 4) levels, within 2 per cent.

    The loss of a run has a relative standard deviation of .36 (measured), so a correct release
    fails with 2500 runs for one seed in 180; the seed is fixed.
    """
    layout, v = workload_layout((2, 3, 4), 2)
    X = np.array([[0, 1, 2], [1, 2, 3], [1, 0, 0]], dtype=float)
    exact = measure(opened(ArrayRows(X), canned("residuals")), layout, v, 1).values
    sums = integer_residuals(ArrayRows(X), layout)  # once, not in every run
    monkeypatch.setattr(_residuals, "integer_residuals", lambda *_: sums)
    many, budget = runs(layout, v, 2500, X)
    mu2 = float(budget.amount) / len(many)
    assert expected_loss(layout, v, many[0].sd) * mu2 == pytest.approx(50.85, abs=0.005)
    errors = np.array([run.values for run in many]) - exact
    losses = errors**2 @ layout.spread(v)
    assert np.mean(losses) * mu2 == pytest.approx(50.85, rel=0.02)
    pairs = [sets for _, sets, _ in layout.groups if sets.shape[1] == 2]
    for error, loss in zip(errors[:20], losses, strict=False):
        assert loss == pytest.approx(sum(np.sum(tables_of(layout, error, s) ** 2) for s in pairs))
    # every coordinate by itself: chi-square of 2500 degrees of freedom, within five deviations
    # (18 coordinates: a false alarm for one seed in 10^5)
    ratio = np.mean(errors**2, axis=0) / layout.spread(many[0].sd) ** 2
    assert np.all(np.abs(ratio - 1) < 5 * np.sqrt(2 / len(many)))


# --- replacing one row


@pytest.mark.parametrize("workload", WORKLOADS[:5])
def test_replacing_a_row_costs_at_most_the_stated_factor(workload):
    """All pairs of rows, as integers of the grid."""
    layout, v = workload_layout(*workload)
    shares = optimal_shares(layout, v)
    gains, bound = gains_of(layout, shares, 0.2)
    moves = [
        sum(int(entry) ** 2 for entry in x - y) for x, y in combinations(vectors(layout, gains), 2)
    ]
    factor = replace_one_factor(layout, noise_sd(layout, shares, 0.2))
    slack = 1e-6 if layout.binary else 0
    assert max(moves) <= (1 + slack) * factor * bound
    assert max(moves) >= 0.998 * factor * bound


# --- size


def test_all_pairs_of_many_columns_in_one_release(rng):
    layout, v = workload_layout((2,) * 120, 2)
    X = rng.integers(0, 2, size=(500, 120)).astype(float)
    curator = canned("residuals", "noise")
    got = measure(opened(ArrayRows(X), curator), layout, v, 1)
    assert len(got.values) == 1 + 120 + 60 * 119 and len(curator.records) == 1
    parts = (layout.row_lengths / got.sd**2) / float(curator.budget.amount)
    assert parts[0] == pytest.approx(0.05) and parts.sum() == pytest.approx(1)
