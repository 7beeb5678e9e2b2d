"""What a ledger tells its reader: how much of its capacity is spent, and what that leaves."""

import math
from contextlib import suppress

from skdp.accounting._accounts import part, unit_of
from skdp.accounting._budget import FAILURE_PART, Budget
from skdp.accounting._composition import group_epsilon
from skdp.accounting._gaussian import gaussian_epsilon
from skdp.mechanisms._exact import SMALLEST_NORMAL, as_fraction, exact, sqrt_down, sqrt_up
from skdp.show._ledger import LARGEST, LedgerView, Line, Spending, as_float, state_of

__all__ = ["LedgerReport"]


class LedgerReport(LedgerView):
    """What a ledger holds at one instant: as text, HTML, JSON, a frame or a plot."""

    @property
    def unit(self):
        """What its fits protect: "row" or "group"."""
        return unit_of(self.entries[0])

    @property
    def spent(self):
        """The running total, a :class:`Spending`."""
        first = self.entries[0]
        return _spent(first, self.used, part(first, self.used))

    @property
    def remaining(self):
        """What is left; a fit of its ``epsilon, delta`` would be granted, but for a latch."""
        return _remaining(self.entries[0], self.used, self.cap)

    def of_alike(self, n):
        """Return the epsilon and the delta that each of n alike fits may have of what is left."""
        told = _remaining(self.entries[0], self.used, self.cap, n)
        return told.epsilon, told.delta

    def history(self, last=None):
        """Return the entries after the first with what was left, a list of :class:`Line`."""
        first, told = self.entries[0], []
        lines = self.entries[1:] if last is None else self.entries[1:][-last:]
        for entry, row in zip(lines, lines.rows(), strict=True):
            used = state_of(row[-1])[1][self.account]
            told.append(Line(entry, part(first, entry[4:6]), _remaining(first, used)))
        return told


def _remaining(first, used, cap=(math.inf, math.inf), n=1):
    """Return what is left, and what each of n alike fits may have of it."""
    left = max(first.amount - used[0], 0), max(first.failure - used[1], 0)
    usable = tuple(min(own, most) / n for own, most in zip(left, cap, strict=True))
    told = Spending(*left, 1 - part(first, used), *map(_float_down, usable), None)
    if first.what == "basic":
        return told
    delta, mu = float(first.delta), sqrt_down(left[0])
    return told._replace(epsilon=_granted(first, usable, delta), delta=delta, mu=mu)


def _float_down(q):
    """Return the largest float whose decimal text is at most q, or zero."""
    x = as_float(q)
    while x >= SMALLEST_NORMAL and as_fraction(x) > q:
        x = math.nextafter(x, 0)
    return x if x >= SMALLEST_NORMAL else 0.0


def _granted(first, left, delta):
    """Return the largest epsilon, but for rounding, of a Gaussian fit that would be granted."""
    mu = sqrt_down(min(left[0], left[1] * first.amount / first.failure))
    with suppress(ValueError):  # less than any fit can ask for
        epsilon, step = float(first.epsilon), 1e-15
        if not _fits(first, left, epsilon, delta):
            epsilon = min(epsilon, gaussian_epsilon(1, float((1 - FAILURE_PART) * first.delta), mu))
        while not _fits(first, left, epsilon, delta):
            epsilon, step = epsilon * (1 - step), min(2 * step, 0.5)
        return epsilon
    return 0.0


def _fits(first, left, epsilon, delta):
    budget = Budget.gaussian(epsilon, delta)
    failure = min(budget.failure, first.failure * budget.amount / first.amount)
    return budget.amount <= left[0] and failure <= left[1]


def _spent(first, cost, fraction):
    if first.what == "basic":
        return Spending(*cost, fraction, *map(as_float, cost), None)
    mu = sqrt_up(min(cost[0], exact(LARGEST) ** 2))
    epsilon, delta = float(first.epsilon), float(first.delta)
    if 0 < fraction < 1:
        epsilon = min(epsilon, group_epsilon(mu, cost[1], 1, delta))
    return Spending(*cost, fraction, epsilon if cost[0] else 0.0, delta, mu)
