"""What a fit has cost and what it guarantees."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

from skdp.accounting._budget import Budget, exp_up, proves
from skdp.accounting._composition import group_delta, group_epsilon, group_privacy
from skdp.accounting._conversions import pure_gaussian_epsilon
from skdp.mechanisms._exact import sqrt_up
from skdp.show._report import ReportView
from skdp.utils._renamed import Renamed, keeps_old_names

# --- what several fits guarantee together

FOR_FAILURES = [Fraction(1, 2**k) for k in range(1, 13)]  # parts of delta that they may take


def compose_reports(budgets):
    """Return the budget of fits together, with the smallest claim at the sum of their deltas.

    Notes
    -----
    **Privacy**: for fits whose number and budgets were fixed before the first result was seen;
    what each asked, and in which order, may depend on the results of others. Outside failure
    events, of probability f together, the Gaussian fits are mu-GDP with ``mu^2 = sum mu_i^2`` and
    the pure ones epsilon_0-DP, ``epsilon_0`` their sum (user guide "Accounting", theorems 1 and 2).
    So they are (epsilon, delta)-DP if ``delta_pure_gauss(epsilon) + (1 + e^epsilon) f <= delta``
    (:func:`pure_gaussian_delta`). Other fits, the pure ones too if that is less, add their epsilons
    and deltas to that; so do all of them: the claim is the smallest.

    Whoever chooses a budget, or stops, by looking at results may exceed that delta several times:
    the capacity of a PrivacyLedger, fixed beforehand, holds then too. A sum of pure fits alone
    bounds the likelihood ratio of whatever came out in any case, as the ratios multiply.
    """
    epsilon, delta = _total("epsilon", budgets), _total("delta", budgets)
    gaussian = [b for b in budgets if b.measure == "gdp"]
    pure = [b for b in budgets if b.measure == "pure" and b.delta == b.failure == 0]
    others = [b for b in budgets if b not in gaussian and b not in pure]
    if gaussian:
        kinds = (([], pure + others), (pure, others)) if pure else (([], others),)
        for beside, added in kinds:
            found = _smallest(gaussian, beside, _total("delta", gaussian))
            epsilon = min(epsilon, found + _total("epsilon", added))
    if len(gaussian) == len(budgets):
        claim = _total("amount", gaussian), _total("failure", gaussian), epsilon, delta
        if proves("gdp", *claim):
            return Budget("gdp", *claim)
    unit = "pure" if len(pure) == len(budgets) else "approx"
    return Budget(unit, epsilon, Fraction(0), epsilon, delta)


def _total(name, budgets):
    return sum((getattr(budget, name) for budget in budgets), Fraction(0))


def _smallest(gaussian, pure, delta):
    """Return an epsilon of Gaussian and pure fits together at ``delta``; infinity if none."""
    mu, failure = sqrt_up(_total("amount", gaussian)), _total("failure", gaussian)
    if not pure:
        return _fraction(group_epsilon(mu, failure, 1, _float_down(delta)))
    e, best = math.nextafter(float(_total("epsilon", pure)), math.inf), math.inf
    for part in FOR_FAILURES:
        epsilon = pure_gaussian_epsilon(e, mu, _float_down((1 - part) * delta))
        if (1 + exp_up(Fraction(epsilon))) * failure <= part * delta:
            best = min(best, epsilon)
    return _fraction(best)


def _float_down(delta):
    """Return a float that is no larger: what is claimed at delta holds at less."""
    return math.nextafter(float(delta), 0.0)


def _fraction(epsilon):
    return Fraction(epsilon) if math.isfinite(epsilon) else math.inf


MIXED = (
    "the bills of a fit that protects rows and of one that protects groups do not add up: fit both "
    "with groups, or both without."
)


@dataclass(frozen=True)
class Charge:
    """One release.

    Parameters
    ----------
    label, mechanism : str
        Of the planned step.
    share : Fraction
        Part of the budget.
    sensitivity : float
        Declared, in grid units.
    scale : float
        Of the noise, in grid units; for a choice 1 / rate.

    See Also
    --------
    skdp.PrivacyReport, Step

    Notes
    -----
    **Privacy**: a line of the bill holds public and released values alone, and may be published.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> count = PrivateCount(epsilon=1.0).fit(np.zeros((100, 1)))
    >>> [charge.label for charge in count.privacy_report_.charges]
    ['row count']
    """

    label: str
    mechanism: str
    share: Fraction
    sensitivity: float
    scale: float


@keeps_old_names
@dataclass(frozen=True)
class PrivacyReport(ReportView):
    """The bill and the guarantee of one fit, safe to publish.

    Parameters
    ----------
    estimator : str
        Name of the estimator.
    budget : Budget
        What was charged: the whole plan, spent or not.
    charges : tuple of Charge
        The releases that were made, in order.
    failure_events : tuple of (str, Fraction)
        Failure events and their probabilities.
    decisions : tuple of str
        Decisions taken from released values that a reader should know.
    assumptions : tuple of str
        Public facts that the guarantee or the answer rests on.
    seeded : bool
        Whether the noise came from a seed; then there is no guarantee.
    target : {"number", "class"} or None, default=None
        What y was, if a row is one of features and a target: it is protected as they are.
    privacy_unit : {"row", "group"}, default="row"
        What neighbours differ in: one row, or all rows with one entry of ``groups``.
    fits : tuple of Budget, default=()
        Of a sum of reports the budgets that it adds up; the claim is then the smallest epsilon that
        is proved of all fits together, at the sum of their deltas, for fits whose number and
        budgets were fixed before the first result was seen. Of pure fits it holds in any case.

    See Also
    --------
    PrivacyLedger, skdp.accounting.Charge, skdp.inspection.BudgetDisplay

    Notes
    -----
    **Privacy**: neighbours differ by adding or removing one row, or one group. For Gaussian budgets
    the guarantee is exact: ``delta(epsilon) = delta_gauss(mu, epsilon) + (1 + e^epsilon) f``.
    Replacing one counts as two (one removed, one added).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> report = PrivateMean(epsilon=1.0, delta=1e-6).fit(X).privacy_report_
    >>> report.estimator, report.seeded
    ('PrivateMean', False)
    """

    estimator: str
    budget: Budget
    charges: tuple = ()
    failure_events: tuple = field(default=(), repr=False)  # may have thousands of digits
    decisions: tuple = ()
    assumptions: tuple = ()
    seeded: bool = False
    target: str | None = None
    privacy_unit: str = "row"
    fits: tuple = ()
    events = Renamed("failure_events")
    protects = Renamed("privacy_unit")

    def delta(self, epsilon, *, group_size=1):
        """Return the smallest proved delta at this epsilon.

        Parameters
        ----------
        epsilon : float, >= 0
        group_size : int, default=1
            Number of rows (groups) added or removed together; 2 covers replacing one.

        Returns
        -------
        delta : float
        """
        if self.budget.measure == "gdp":
            return group_delta(self.budget.mu, self.budget.failure, group_size, epsilon)
        group = group_privacy(float(self.budget.epsilon), float(self.budget.delta), group_size)
        return min(1.0, group[1]) if epsilon >= group[0] else 1.0

    def epsilon(self, delta=None, *, group_size=1):
        """Return the smallest proved epsilon at this delta.

        Parameters
        ----------
        delta : float, default=None
            By default the delta of the claim.
        group_size : int, default=1
            Number of rows (groups) added or removed together; 2 covers replacing one.

        Returns
        -------
        epsilon : float
            Infinity where no finite epsilon is proved.
        """
        delta = float(self.budget.delta) if delta is None else delta
        if self.budget.measure == "gdp":
            return group_epsilon(self.budget.mu, self.budget.failure, group_size, delta)
        group = group_privacy(float(self.budget.epsilon), float(self.budget.delta), group_size)
        return group[0] if delta >= group[1] else math.inf

    def __add__(self, other):
        # for fits whose number and budgets were fixed before the first result was seen: see summed
        if not isinstance(other, PrivacyReport):
            return NotImplemented
        if self.privacy_unit != other.privacy_unit:
            raise ValueError(MIXED)
        fits = self._fits() + other._fits()
        total = compose_reports(fits)
        return replace(
            self,
            estimator=f"{self.estimator} + {other.estimator}",
            budget=total,
            charges=_parts(self, total) + _parts(other, total),
            failure_events=self.failure_events + other.failure_events,
            decisions=self.decisions + other.decisions,
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            seeded=self.seeded or other.seeded,
            target=self.target or other.target,
            fits=fits,
        )

    def __radd__(self, other):
        return self if other == 0 else NotImplemented  # sum(reports)

    def _fits(self):
        return self.fits or (self.budget,)


def _parts(report, total):
    budget = report.budget
    part = budget.amount / total.amount if budget.measure == total.measure else Fraction(1)
    return tuple(replace(charge, share=charge.share * part) for charge in report.charges)
