"""What a ledger can still pay for, and what it has promised, in plain words."""

from collections import Counter
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

from skdp.show._ledger import part
from skdp.show._summary import advantage, percent

WHOM = {
    "row": ("everybody who is one row of the table", "that row was"),
    "group": ("everybody who owns rows of the table", "all these rows were"),
}
PROMISE = (
    "Protected is {whom}. Whoever sees all that the fits of this ledger have released and will "
    "release, and even knows all other rows, cannot be sure whether {it} there: the best guess is "
    "right at most {guess} of the time, where a coin is right 50 % of the time. This is the "
    "guarantee (epsilon={epsilon:.4g}, delta={delta:.3g}), for all fits together, and it lasts, "
    "whatever else becomes known."
)
CONDITION = (
    " It holds if every fit of these data is charged here, and for fits whose budgets were fixed "
    "before their results were seen, or chosen from results of this ledger."
)
USED = " Until now {n} granted, {used} of the budget is used{what}."
SEEDED = (
    " {n} of these drew noise from a seed: whoever knows the seed can take the noise away, so "
    "their results must not be shown to others."
)
REFUSED = " By this ledger {n} refused, which released nothing."
LEFT = " What is left pays for one more fit of epsilon={epsilon:.3g} at most."
NOTHING_LEFT = " Nothing is left: no more fits are granted."


class Share(NamedTuple):
    """What each of some alike fits may have: its ``epsilon`` and its ``delta``."""

    epsilon: float
    delta: float


class PlannedFit(NamedTuple):
    """What a planned fit would take."""

    what: str
    epsilon: float
    delta: float
    takes: float  # the part of the whole budget
    left: float  # the part of the whole that would be left after it
    granted: bool
    reason: str  # why it would be refused, or empty


@dataclass(frozen=True)
class LedgerPlan:
    """What a ledger would say to some fits, one after the other; nothing is charged.

    Parameters
    ----------
    unit : {"row", "group"}
        What these fits protect.
    fits : tuple of PlannedFit
        In their order.
    shares : Share
        What each may have if all get the same.

    See Also
    --------
    skdp.PrivacyLedger.plan

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import PrivacyLedger, PrivateMean
    >>> PrivacyLedger(epsilon=3.0, delta=1e-5).plan([PrivateMean()] * 2).granted
    True
    """

    unit: str
    fits: tuple
    shares: Share

    @property
    def granted(self):
        """Whether all would be granted."""
        return all(fit.granted for fit in self.fits)

    def __str__(self):
        rows = [f"{'fit':<32} {'epsilon':>8} {'delta':>8} {'takes':>7} {'left':>7}"]
        for fit in self.fits:
            cells = f"{fit.epsilon:>8.3g} {fit.delta:>8.2g} {fit.takes:>7.1%} {fit.left:>7.1%}"
            rows.append(f"{fit.what:<32} {cells}{'' if fit.granted else '  REFUSED'}")
        n, epsilon, delta = len(self.fits), self.shares.epsilon, self.shares.delta
        rows.append(f"{n} alike fits may have epsilon={epsilon:.4g}, delta={delta:.3g} each.")
        return "\n".join(rows)


class LedgerPlanning:
    """Mixin of a ledger: what it answers before anything is charged, and to everybody."""

    def shares(self, n, unit=None):
        """Return what each of n alike fits may have of what is left.

        Parameters
        ----------
        n : int
            Number of fits.
        unit : {"row", "group"}, default=None
            What they protect; None is that of the ledger, rows if it has both.

        Returns
        -------
        share : Share
            Its ``epsilon`` and ``delta`` are those of each: n fits with these are granted. With
            Gaussian composition epsilon falls as the square root of n, about.

        Examples
        --------
        >>> from skdp import PrivacyLedger, PrivateMean
        >>> ledger = PrivacyLedger(epsilon=1.0, delta=1e-5)
        >>> epsilon, delta = ledger.shares(10)
        >>> PrivateMean(epsilon=epsilon, delta=delta, ledger=ledger).plan().budget.measure
        'gdp'
        """
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ValueError("n must be a number of fits, an int of at least 1.")
        return Share(*self.report(self._unit_of(unit)).of_alike(int(n)))

    def plan(self, estimators, unit=None):
        """Return what this ledger would say to some fits, in turn, without charging any.

        Parameters
        ----------
        estimators : list of estimators of skdp
            With the epsilon and delta that they are to be fitted with; their ``ledger`` is not
            used.
        unit : {"row", "group"}, default=None
            What the fits protect; "group" if they are fitted with ``groups``. None is that of the
            ledger, rows if it has both.

        Returns
        -------
        plan : LedgerPlan
            A line for each fit, and what each may have if all get the same; ``print`` shows it.

        Examples
        --------
        >>> from skdp import PrivacyLedger, PrivateMean, PrivateMedian
        >>> plan = PrivacyLedger(epsilon=1.0, delta=1e-5).plan([PrivateMean(), PrivateMedian()])
        >>> [fit.granted for fit in plan.fits]
        [True, False]
        """
        unit, budgets = self._unit_of(unit), []
        for estimator in estimators:
            planned = type(estimator)(**estimator.get_params(deep=False) | {"ledger": self})
            plan = planned._grouped_plan() if unit == "group" else planned.plan()
            budgets.append(plan.budget)
        fits = [
            PlannedFit(type(fit).__name__, float(b.epsilon), float(b.delta), *told)
            for fit, b, told in zip(estimators, budgets, _tried(self, budgets, unit), strict=True)
        ]
        return LedgerPlan(unit, tuple(fits), self.shares(max(len(fits), 1), unit))

    def summary(self, unit=None):
        """Return one paragraph for people who are no statisticians, an ethics board for instance.

        Who is protected and how well, what was granted, for what, and what is left.

        Parameters
        ----------
        unit : {"row", "group"}, default=None
            Of several units that to tell of; None is rows.

        Returns
        -------
        text : str
        """
        unit = self._unit_of(unit)
        report = self.report(unit)
        first, left = report.entries[0], report.remaining
        whom, it = WHOM[unit]
        epsilon, delta = float(first.epsilon), float(first.delta)
        guess = percent((1 + advantage(epsilon, delta)) / 2)
        text = PROMISE.format(whom=whom, it=it, guess=guess, epsilon=epsilon, delta=delta)
        charged = [entry for entry in report.entries[1:] if entry.kind == "charge"]
        refused = sum(entry.kind == "refused" for entry in report.entries[1:])
        kinds = Counter(entry.what for entry in charged)
        what = ", ".join(name if n == 1 else f"{name} ({n} times)" for name, n in kinds.items())
        used = percent(1 - left.fraction)
        text += CONDITION + USED.format(
            n=_fits(len(charged)), used=used, what=f", for: {what}" if what else ""
        )
        seeded = sum(bool(entry.seeded) for entry in charged)
        text += SEEDED.format(n=seeded) if seeded else ""
        text += REFUSED.format(n=_fits(refused)) if refused else ""
        return text + (LEFT.format(epsilon=left.epsilon) if left.epsilon > 0 else NOTHING_LEFT)

    def _unit_of(self, unit):
        return next(iter(self._accounts.claimed)) if unit is None else unit


def _tried(ledger, budgets, unit):
    """Yield what each charge in turn would take, leave, and whether and why it is refused."""
    accounts, reports = ledger._accounts, {}
    for account in accounts.claimed:
        reports[account] = ledger.report(account)
    first, used = reports[unit].entries[0], {a: report.used for a, report in reports.items()}
    for budget in budgets:
        costs = accounts.costs(budget, unit)
        told = [accounts.refusal(a, costs[a], used[a], budget.measure) for a in costs]
        closed = "a refusal has latched the ledger" * reports[unit].latched
        reason = "; ".join(text for text in told if text) or closed
        if not reason:
            used = {a: tuple(map(sum, zip(used[a], costs[a], strict=True))) for a in used}
        yield part(first, costs[unit]), 1 - part(first, used[unit]), not reason, reason


def _fits(n):
    return "one fit was" if n == 1 else f"{n} fits were"
