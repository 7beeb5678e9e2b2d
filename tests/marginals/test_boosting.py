"""Boosting: the theorem against an adversary, its price, and runs on neighbouring tables."""

from fractions import Fraction
from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest

from skdp.accounting import Budget, Plan
from skdp.gate._curator import Curator
from skdp.marginals.published._boosting import (
    ANSWERS,
    CHOICES,
    COUNT,
    boosted_answers,
    boosting_plan,
    boosting_rounds,
    parity_counts,
    penalties,
)
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows
from tests._curators import CannedCurator, check_replay

BUDGET = Budget.zcdp(1.0, 1e-6)


def _pairs(d):
    return list(combinations(range(d), 2))


def _chain(rng, n, d):
    X = rng.integers(0, 2, size=(n, d))
    for j in range(1, d):
        X[:, j] = np.where(rng.random(n) < 0.7, X[:, j - 1], X[:, j])
    return X.astype(float)


def _exact(X, sets):
    signs = 1 - 2 * X[np.isin(X, (0, 1)).all(axis=1)].astype(np.int64)
    return np.array([signs[:, list(s)].prod(axis=1).sum() for s in sets])


def _run(X, sets, plan, transcript, *, block_rows=None, steps=2, seed=0):
    curator = CannedCurator(Plan(BUDGET, plan.steps), transcript, seed=seed)
    rows = ArrayRows(X, block_rows=block_rows)
    return boosted_answers(rows, sets, curator, plan, steps=steps), curator


@pytest.mark.parametrize("eta", [0.1, 1 / 3, 0.45])
@pytest.mark.parametrize("n_queries", [2, 45, 1000])
def test_the_theorem_holds_against_an_adversary(n_queries, eta):
    """The base errs as often as it may, on the queries that it got wrong most often already."""
    alpha = log((1 + 2 * eta) / (1 - 2 * eta)) / 2
    rounds, tolerance, margin = boosting_rounds(n_queries, alpha, eta), 5, 20
    errors, total = [], np.zeros(n_queries)
    for _ in range(rounds):
        D = np.exp(2 * alpha / margin * (total - total.max()))
        D /= D.sum()
        order = np.argsort(-total, kind="stable")
        wrong, mass = np.full(n_queries, tolerance), 0.0
        for q in order:
            if mass + D[q] <= 0.5 - eta:
                mass, wrong[q] = mass + D[q], 10**6
        errors.append(wrong)
        total = total + penalties(wrong, tolerance, margin)
    assert (np.median(errors, axis=0) < tolerance + margin).all()


def test_known_numbers_of_rounds():
    """The usual 2 log |Q| / eta^2 asks for 154 rounds where 30 will do."""
    alpha = log(5) / 2
    assert boosting_rounds(5050, alpha, 1 / 3) == 30
    for n_queries in (45, 5050, 10**6):
        rounds = boosting_rounds(n_queries, alpha, 1 / 3)
        assert rounds > 2 * log(n_queries) / -log(1 - 4 / 9) >= rounds - 1
        assert rounds <= 4.5 * log(n_queries) + 1  # log |Q| / (2 eta^2)


@pytest.mark.parametrize("amount", [1e-4, 0.02, 1.0, 1e6])
@pytest.mark.parametrize(("n_queries", "sampled"), [(2, 1), (15, None), (45, 10), (4950, 100)])
def test_the_plan_spends_its_budget_and_realises_alpha(amount, n_queries, sampled):
    budget = Budget("zcdp", Fraction(amount), Fraction(0), Fraction(1), Fraction(1))
    plan = boosting_plan(n_queries, budget, sampled=sampled)
    alpha = log(5) / 2
    spent = sum(plan.sampled * plan.choice_share(t) for t in range(2, plan.rounds + 1))
    assert spent <= CHOICES
    assert COUNT + ANSWERS + CHOICES == 1
    for t in range(2, plan.rounds + 1):
        epsilon = sqrt(8 * plan.choice_share(t) * budget.amount)  # as the Curator does
        rate = epsilon / (2 * (t - 1))
        assert rate * plan.margin / 2 == pytest.approx(alpha, rel=1e-12)
        cost = 2 * alpha**2 * (t - 1) ** 2 / plan.margin**2
        assert plan.choice_share(t) * budget.amount == pytest.approx(cost)
    # no smaller margin is affordable
    if plan.margin > 1:
        smaller = 2 * alpha**2 / (plan.margin - 1) ** 2 / amount
        squares = sum((t - 1) ** 2 for t in range(2, plan.rounds + 1))
        assert plan.sampled * smaller * squares > CHOICES


def test_penalties_move_no_more_than_errors():
    errors = np.arange(0, 60)
    b = penalties(errors, 7, 20)
    assert b.min() == 0
    assert b.max() == 20
    assert set(np.diff(b)) == {0, 1}


def test_counts_are_exact_and_invalid_rows_are_absent():
    X = _chain(np.random.default_rng(1), 300, 6)
    X[5, 2], X[9, 0], X[17, 3], X[20, 5] = np.nan, 2, 0.5, -np.inf
    sets = [(), (4,), (3, 1), (0, 1, 2), (5, 0)]
    assert np.array_equal(parity_counts(ArrayRows(X, block_rows=7), sets), _exact(X, sets))
    clean = np.delete(X, [5, 9, 17, 20], axis=0)
    plan = boosting_plan(3, BUDGET, sampled=2)
    one, _ = _run(X, sets[1:4], plan, "noise")
    two, _ = _run(clean, sets[1:4], plan, "noise")
    assert np.array_equal(one[0], two[0])
    assert one[1] == two[1]


def test_scores_move_by_the_number_of_earlier_rounds_and_no_more():
    """Errors that a row moves in every round, between tolerance and tolerance + margin."""
    X, sets = np.zeros((50, 4)), _pairs(4)
    plan = boosting_plan(6, BUDGET, sampled=2, tolerance=0)
    low = lambda label, value, _: 0 * value if label != "query" else 0  # noqa: E731
    _, run = _run(X, sets, plan, low)
    _, again = _run(X[1:], sets, plan, run.answers)
    assert check_replay(run, again) == 1.0
    draws = [(a, b) for a, b in zip(run.records, again.records, strict=True) if a.law == "select"]
    for i, (a, b) in enumerate(draws):
        t = 2 + i // 2
        assert a.sensitivity == t - 1
        assert 1 / a.scale == pytest.approx(log(5) / plan.margin)  # 2 alpha / margin, every round
        assert np.abs(a.value - b.value).max() == t - 1


@pytest.mark.parametrize(("d", "n"), [(6, 1000), (8, 50_000), (10, 2000)])
def test_real_runs_are_right_on_every_query(d, n):
    """Seeded. Measured sup errors are below a tenth of the margin of the theorem."""
    X, sets = _chain(np.random.default_rng([4, d]), n, d), _pairs(d)
    plan = boosting_plan(len(sets), BUDGET)
    curator = Curator(Plan(BUDGET, plan.steps), make_entropy(d))
    values, n_rows = boosted_answers(ArrayRows(X), sets, curator, plan)
    raw = sqrt(len(sets) / (2 * float(BUDGET.amount))) * sqrt(2 * log(2 * len(sets)))
    assert np.abs(values - _exact(X, sets)).max() < 3 * raw < (plan.tolerance + plan.margin) / 3
    assert abs(n_rows - n) < 150  # the count has a noise of 20
    assert 0.99 < 1 - curator.remaining <= 1


def test_empty_tables_are_answered():
    plan = boosting_plan(3, BUDGET, sampled=2)
    (values, n_rows), _ = _run(np.zeros((0, 3)), _pairs(3), plan, "noise")
    assert n_rows >= 10
    assert np.isfinite(values).all()


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="zcdp"):
        boosting_plan(10, Budget.gaussian(1.0, 1e-6))
    for wrong in ({"eta": 0.5}, {"eta": 0}, {"sampled": 0}):
        with pytest.raises(ValueError, match="eta"):
            boosting_plan(10, BUDGET, **wrong)
    with pytest.raises(ValueError, match="plan is for 10 queries"):
        _run(np.zeros((5, 3)), _pairs(3), boosting_plan(10, BUDGET), "exact")
