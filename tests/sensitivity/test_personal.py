from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.base import Curator
from skdp.mechanisms import make_entropy
from skdp.sensitivity import (
    PersonalBudgets,
    PersonalReport,
    Quantile,
    personal_laplace,
    personal_median,
    personal_select,
    personal_statistic,
)
from skdp.sensitivity.published import bounded_function
from tests._curators import canned

TWO = PersonalBudgets((0.1, 1.0))


def exact(budgets, mechanism="laplace"):
    return canned(mechanism=mechanism, budget=budgets.budget())


def test_parts_are_in_proportion_and_never_too_large():
    assert TWO.parts == (1, 10)
    assert PersonalBudgets((0.5, 2, 1.5)).parts == (1, 4, 3)
    assert PersonalBudgets((3,)).parts == (1,)
    odd = PersonalBudgets((0.123456789, 0.987654321, 0.0017))
    assert odd.parts == (124, 1000, 1)
    for budgets in (TWO, odd):
        assert budgets.budget() == Budget.pure(max(budgets.epsilons))
        spent = budgets.guarantees(budgets.budget().amount)
        assert all(s <= e for s, e in zip(spent, budgets.epsilons, strict=True))
    with pytest.raises(ValueError, match="epsilon > 0"):
        PersonalBudgets((0.0, 1.0))
    with pytest.raises(ValueError, match="epsilon > 0"):
        PersonalBudgets(())


def test_laplace_noise_keeps_every_promise():
    curator = exact(TWO)
    release = personal_laplace([7], TWO, curator, step=8, share=Fraction(1, 4), label="x")
    assert release.guarantees == (Fraction(1, 40), Fraction(1, 4))
    # the law itself: a row of group k moves the value by step * parts[k]
    for part, guarantee in zip(TWO.parts, release.guarantees, strict=True):
        assert Fraction(8 * part) / Fraction(release.scale) <= guarantee
    assert release.scale == pytest.approx(8 * 10 * 4)


def test_choices_keep_every_promise():
    scores = {"with": [5, -3, 0, 9], "without": [4, -2, 0, 8]}  # parts[0] = 1
    release = personal_select(
        scores["with"], TWO, exact(TWO, "select"), step=1, share=0.5, label="x"
    )
    laws = []
    for score in scores.values():
        weights = np.exp(np.array(score) / release.scale)
        laws.append(weights / weights.sum())
    assert np.abs(np.log(laws[0] / laws[1])).max() <= float(release.guarantees[0])
    assert release.guarantees == (Fraction(1, 20), Fraction(1, 2))


def test_the_report_adds_up():
    curator = exact(TWO)
    releases = tuple(
        personal_laplace([0], TWO, curator, step=1, share=Fraction(1, 2), label="x")
        for _ in range(2)
    )
    report = PersonalReport(TWO, releases)
    assert report.guarantees() == TWO.epsilons and report.kept()
    assert not PersonalReport(TWO, (*releases, releases[0])).kept()
    assert not PersonalReport(TWO, releases, seeded=True).kept()
    assert PersonalReport(TWO, ()).guarantees() == (0, 0)
    assert report.to_dict()["groups"][0] == {"promised_epsilon": 0.1, "epsilon": 0.1}
    assert "group 1: epsilon = 1 of 1 promised" in str(report)
    assert "not private" in str(PersonalReport(TWO, releases, seeded=True))


def test_only_pure_budgets_are_personal():
    with pytest.raises(ValueError, match="PersonalBudgets"):
        personal_laplace([0], TWO, canned(mechanism="laplace"), step=1, share=1, label="x")


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["mean", "median", Quantile(0.25)], ids=str)
def test_a_row_moves_the_groupwise_statistic_by_its_own_sensitivity(statistic, rng):
    budgets = PersonalBudgets((0.3, 1.0, 0.5))
    attained = np.zeros(3, dtype=bool)
    for _ in range(60):
        groups = [rng.normal(size=int(rng.integers(0, 6))) * 100 for _ in range(3)]
        if len(groups[0]):
            groups[0][0] = rng.choice([np.nan, np.inf, 1e300, -1e300, 0])

        def value(groups):
            curator = exact(budgets)
            given = {"sizes": (5, 10, 20), "radius": 30.0, "center": 1.0, "label": "x"}
            return personal_statistic(groups, statistic, budgets, curator, **given).release.value[0]

        whole = value(groups)
        for k, group in enumerate(groups):
            for i in range(len(group)):
                part = value([*groups[:k], np.delete(group, i), *groups[k + 1 :]])
                assert abs(part - whole) <= 2**10 * budgets.parts[k]
                attained[k] |= abs(part - whole) == 2**10 * budgets.parts[k]
    assert attained.all()


def test_the_groupwise_mean_is_the_mean_of_groups_that_are_alike(rng):
    groups = [rng.normal(3, 1, size=400), rng.normal(3, 1, size=1600)]
    found = personal_statistic(
        groups, "mean", TWO, exact(TWO), sizes=(400, 1600), radius=8, label="x"
    )
    W = 400 * 0.1 + 1600 * 1.0
    np.testing.assert_allclose(found.weights, [40 / W, 1600 / W])
    np.testing.assert_allclose(found.noise_scale, 8 / W)
    assert found.estimate == pytest.approx(found.weights @ [g.mean() for g in groups], abs=1e-4)


def test_groupwise_statistics_are_checked():
    given = {"radius": 1.0, "label": "x"}
    with pytest.raises(ValueError, match="of one number"):
        personal_statistic([[1.0]], "mean", TWO, exact(TWO), sizes=(1, 1), **given)
    for name in ("std", "sum"):
        with pytest.raises(ValueError, match="a location"):
            personal_statistic([[1.0], [2.0]], name, TWO, exact(TWO), sizes=(1, 1), **given)


def test_weighted_median(rng):
    candidates = np.linspace(-5, 5, 101)
    groups = [np.append(rng.normal(4, 0.1, 50), np.nan), rng.normal(1, 0.1, 100)]
    curator = canned("x", mechanism="select", budget=TWO.budget())
    candidate, release = personal_median(groups, candidates, TWO, curator, label="x")
    assert abs(candidate - 1) < 0.2
    assert release.guarantees == TWO.epsilons
    with pytest.raises(ValueError, match="groups for"):
        personal_median([[1.0]], candidates, TWO, curator, label="x")


def test_individual_sensitivities_of_the_general_recursion_with_real_noise():
    """Personalised mean of a few rows: promises as sensitivities, one scale of noise for all."""
    rows = [(2, 1), (9, 10), (5, 10)]  # value, parts of its promise
    value = bounded_function(
        rows,
        lambda members: sum(v for v, _ in members) / len(members),
        sensitivities=[part * 16 for _, part in rows],
        center=0,
        unit=Fraction(1, 64),
    )
    curator = Curator(Plan(TWO.budget(), (Step("mean", "laplace"),)), make_entropy(None))
    release = personal_laplace([value], TWO, curator, step=16, share=1, label="mean")
    assert release.guarantees == TWO.epsilons
    assert curator.close("mean").epsilon() == 1  # the bill of all rows is the largest promise
