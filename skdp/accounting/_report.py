"""What a fit has cost and what it guarantees."""

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from skdp._render import report_dict, report_html, report_text
from skdp.accounting._budget import Budget
from skdp.accounting._composition import group_delta, group_epsilon, group_privacy

__all__ = ["Charge", "PrivacyReport"]


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


@dataclass(frozen=True)
class PrivacyReport:
    """The bill and the guarantee of one fit, safe to publish.

    Parameters
    ----------
    estimator : str
        Name of the estimator.
    budget : Budget
        What was charged: the whole plan, spent or not.
    charges : tuple of Charge
        The releases that were made, in order.
    events : tuple of (str, Fraction)
        Failure events and their probabilities.
    decisions : tuple of str
        Decisions taken from released values that a reader should know.
    assumptions : tuple of str
        Public facts that the guarantee or the answer rests on.
    seeded : bool
        Whether the noise came from a seed; then there is no guarantee.

    Notes
    -----
    **Privacy**: neighbours differ by adding or removing one row. For Gaussian budgets the
    guarantee is exact: ``delta(epsilon) = delta_gauss(mu, epsilon) + (1 + e^epsilon) f``. Replacing
    one row counts as a group of two (one removed, one added).

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
    events: tuple = ()
    decisions: tuple = ()
    assumptions: tuple = ()
    seeded: bool = False

    def delta(self, epsilon, *, group_size=1):
        """Return the smallest proved delta at this epsilon.

        Parameters
        ----------
        epsilon : float, >= 0
        group_size : int, default=1
            Number of rows added or removed together; 2 covers replacing one row.

        Returns
        -------
        delta : float
        """
        if self.budget.unit == "gdp":
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
            Number of rows added or removed together; 2 covers replacing one row.

        Returns
        -------
        epsilon : float
            Infinity where no finite epsilon is proved.
        """
        delta = float(self.budget.delta) if delta is None else delta
        if self.budget.unit == "gdp":
            return group_epsilon(self.budget.mu, self.budget.failure, group_size, delta)
        group = group_privacy(float(self.budget.epsilon), float(self.budget.delta), group_size)
        return group[0] if delta >= group[1] else math.inf

    def to_dict(self):
        """Return the report as plain numbers and text."""
        return report_dict(self)

    def to_json(self):
        """Return the report as a JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __add__(self, other):
        if not isinstance(other, PrivacyReport):
            return NotImplemented
        a, b = self.budget, other.budget
        same = a.unit == b.unit and a.unit not in ("zcdp", "mixed")
        epsilon, delta = a.epsilon + b.epsilon, a.delta + b.delta  # basic composition
        if same:  # sums of mu^2, of epsilon, and of failure probabilities
            total = Budget(a.unit, a.amount + b.amount, a.failure + b.failure, epsilon, delta)
        else:
            total = Budget("approx", epsilon, Fraction(0), epsilon, delta)
        return replace(
            self,
            estimator=f"{self.estimator} + {other.estimator}",
            budget=total,
            charges=_parts(self, total) + _parts(other, total),
            events=self.events + other.events,
            decisions=self.decisions + other.decisions,
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            seeded=self.seeded or other.seeded,
        )

    def __radd__(self, other):
        return self if other == 0 else NotImplemented  # sum(reports)

    def __str__(self):
        return report_text(self)

    def _repr_html_(self):
        return report_html(self)


def _parts(report, total):
    part = report.budget.amount / total.amount if report.budget.unit == total.unit else Fraction(1)
    return tuple(replace(charge, share=charge.share * part) for charge in report.charges)
