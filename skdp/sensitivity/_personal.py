"""Personalised privacy: every row has an epsilon of its own, and so a sensitivity of its own."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from skdp.accounting import Budget
from skdp.mechanisms._exact import as_fraction

MOST_PARTS = 1000


@dataclass(frozen=True)
class PersonalBudgets:
    """The epsilons that groups of rows have been promised.

    Parameters
    ----------
    epsilons : sequence of K floats or Fractions, > 0
        Public. A float stands for its shortest decimal text. To which group a row belongs is part
        of the row, and must not depend on other rows.

    Attributes
    ----------
    parts : tuple of K ints
        The epsilons in proportion to one another, in lowest terms; where that takes more than 1000
        parts, thousandths of the largest, rounded down.

    Raises
    ------
    ValueError
        If an epsilon is below a thousandth of the largest: its rows would count for nothing.

    See Also
    --------
    personal_laplace, PersonalReport

    Notes
    -----
    **Privacy**: promises are public; a row of group k is hidden as epsilons[k] says by the releases
    that keep them, and :class:`PersonalReport` adds these up.

    Examples
    --------
    >>> from skdp.sensitivity import PersonalBudgets
    >>> PersonalBudgets((0.1, 0.5, 1.0)).parts
    (1, 5, 10)
    """

    epsilons: tuple

    def __post_init__(self):
        epsilons = tuple(as_fraction(e, name="epsilon") for e in self.epsilons)
        if not epsilons or not min(epsilons) > 0:
            raise ValueError("every group needs an epsilon > 0. Leave groups without one out.")
        if MOST_PARTS * min(epsilons) < max(epsilons):
            raise ValueError(
                f"every epsilon must be at least 1/{MOST_PARTS} of the largest: below, the rows of "
                "its group would count for nothing. Leave it out, or promise the others less."
            )
        object.__setattr__(self, "epsilons", epsilons)

    @cached_property
    def parts(self):
        """Whole numbers in proportion to the epsilons."""
        ratios = [e / max(self.epsilons) for e in self.epsilons]
        whole = math.lcm(*(ratio.denominator for ratio in ratios))
        return tuple(int(ratio * min(whole, MOST_PARTS)) for ratio in ratios)

    def budget(self):
        """Return the budget to plan with: pure, of the largest epsilon."""
        return Budget.pure(max(self.epsilons))

    def guarantees(self, epsilon):
        """Return every group's epsilon in releases that cost ``epsilon`` with their largest."""
        return tuple(Fraction(epsilon) * part / max(self.parts) for part in self.parts)


@dataclass(frozen=True)
class PersonalRelease:
    """A released value and what it costs the rows of every group.

    Notes
    -----
    **Privacy**: released: everything computed from it costs nothing more.
    """

    value: np.ndarray  # ndarray of int64 or int: released integers in grid units, or a chosen index
    scale: float  # of the Laplace noise in grid units; for a choice 1 / rate
    law: str  # {"laplace", "select"}
    # tuple of K Fractions: adding or removing one row of group k changes the probability of no
    # outcome by more than a factor e^guarantees[k]
    guarantees: tuple


@dataclass(frozen=True)
class PersonalReport:
    """What a sequence of releases guarantees to every group; safe to publish.

    Parameters
    ----------
    budgets : PersonalBudgets
    releases : sequence of PersonalRelease
        All that were made of these rows.
    seeded : bool, default=False
        Whether the noise came from a seed; then there is no guarantee.

    See Also
    --------
    PersonalBudgets

    Notes
    -----
    **Privacy**: pure guarantees of releases add up, for every group by itself, also if later
    releases depend on earlier ones. Two rows of groups k and l added or removed together: the sum.

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Plan, Step
    >>> from skdp.sensitivity import PersonalBudgets, PersonalReport, personal_laplace
    >>> budgets = PersonalBudgets((0.1, 1.0))
    >>> curator = CannedCurator(Plan(budgets.budget(), (Step("sum", "laplace"),)))
    >>> release = personal_laplace([7], budgets, curator, step=1, share=1, label="sum")
    >>> [float(epsilon) for epsilon in PersonalReport(budgets, (release,)).guarantees()]
    [0.1, 1.0]
    """

    budgets: PersonalBudgets
    releases: tuple
    seeded: bool = False

    def guarantees(self):
        """Return every group's epsilon, exact rationals."""
        each = [release.guarantees for release in self.releases]
        return tuple(sum(group, Fraction(0)) for group in zip(*each, strict=True)) or tuple(
            Fraction(0) for _ in self.budgets.epsilons
        )

    def kept(self):
        """Return whether no group has been charged more than it was promised."""
        pairs = zip(self.guarantees(), self.budgets.epsilons, strict=True)
        return not self.seeded and all(spent <= promised for spent, promised in pairs)

    def to_dict(self):
        """Return the report as plain numbers and text."""
        pairs = zip(self.guarantees(), self.budgets.epsilons, strict=True)
        return {
            "neighbours": "add or remove one row of the group",
            "seeded": self.seeded,
            "groups": [{"promised_epsilon": float(e), "epsilon": _up(spent)} for spent, e in pairs],
        }

    def __str__(self):
        lines = ["Personal guarantees for adding or removing one row of a group"]
        for k, group in enumerate(self.to_dict()["groups"]):
            promised, spent = group["promised_epsilon"], group["epsilon"]
            lines.append(f"  group {k}: epsilon = {spent:.4g} of {promised:.4g} promised")
        return "\n".join([*lines, "  seeded: not private"] if self.seeded else lines)


def personal_laplace(values, budgets, curator, *, step, share, label):
    """Release integers with Laplace noise that hides the rows of every group as promised.

    Parameters
    ----------
    values : int or array-like of int
        A row of group k moves them by at most ``step * budgets.parts[k]`` in l1.
    budgets : PersonalBudgets
    curator : Curator
        With a pure budget, as a rule ``budgets.budget()``, and a Laplace step ``label``.
    step : int, > 0
        Public.
    share : float or Fraction
    label : str

    Returns
    -------
    release : PersonalRelease

    See Also
    --------
    PersonalBudgets, personal_statistic

    Notes
    -----
    **Privacy** (add or remove one row of group k). The Curator draws noise of scale at least
    b = step max(parts) / (share epsilon), for its budget epsilon, and charges the share: right for
    every row. For a row of group k densities change by a factor of at most
    exp(step parts[k] / b), so the release costs it share * epsilon * parts[k] / max(parts), for the
    budget ``budgets.budget()`` at most share * epsilons[k] (Cummings and Durfee 2020,
    Theorem 7.3). Releases whose every share is personal add up to the promise at most.

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Plan, Step
    >>> from skdp.sensitivity import PersonalBudgets, personal_laplace
    >>> budgets = PersonalBudgets((0.5, 1.0))
    >>> curator = CannedCurator(Plan(budgets.budget(), (Step("sum", "laplace"),)))
    >>> release = personal_laplace([7], budgets, curator, step=3, share=1, label="sum")
    >>> [float(epsilon) for epsilon in release.guarantees], round(release.scale, 3)
    ([0.5, 1.0], 6.0)
    """
    _check_pure(curator)
    sensitivity = int(step) * max(budgets.parts)
    release = curator.laplace(values, sensitivity=sensitivity, share=share, label=label)
    spent = curator.budget.amount * Fraction(share)
    return PersonalRelease(release.value, release.scale, "laplace", budgets.guarantees(spent))


def personal_select(scores, budgets, curator, *, step, share, label):
    """Choose an index by the exponential mechanism, as every group has been promised.

    Parameters
    ----------
    scores : array-like of int of shape (n_candidates,)
        Large scores are likely. A row of group k moves every score by at most
        ``step * budgets.parts[k]``, as scores that were preprocessed with these sensitivities and
        public centres do, one run for every candidate.
    budgets, curator, step, share, label
        As for :func:`personal_laplace`, with a step of the kind "select".

    Returns
    -------
    release : PersonalRelease

    See Also
    --------
    personal_laplace, personal_median, skdp.mechanisms.exponential_choice

    Notes
    -----
    **Privacy** (add or remove one row of group k). Index r has a probability in proportion to
    exp(rate * score), rate = share epsilon / (2 step max(parts)). A row of group k changes weights
    and their sum by factors of at most exp(rate step parts[k]) each: share * epsilon * parts[k] /
    max(parts) together (Cummings and Durfee 2020, Theorem 7.5).

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Plan, Step
    >>> from skdp.sensitivity import PersonalBudgets, personal_select
    >>> budgets = PersonalBudgets((0.5, 1.0))
    >>> curator = CannedCurator(Plan(budgets.budget(), (Step("choice", "select"),)), "noise")
    >>> release = personal_select([0, 500, 0], budgets, curator, step=1, share=1, label="choice")
    >>> int(release.value)
    1
    """
    _check_pure(curator)
    sensitivity = int(step) * max(budgets.parts)
    index = curator.select(scores, sensitivity=sensitivity, share=share, label=label)
    spent = curator.budget.amount * Fraction(share)
    scale = float(2 * sensitivity / spent)
    return PersonalRelease(index, scale, "select", budgets.guarantees(spent))


def _check_pure(curator):
    if curator.budget.measure != "pure":
        raise ValueError(
            "personal releases add up in epsilon: plan them with PersonalBudgets(...).budget(). "
            f"Got a budget in {curator.budget.measure}."
        )


def _up(q):
    value = float(q)
    return value if Fraction(value) >= q else math.nextafter(value, math.inf)
