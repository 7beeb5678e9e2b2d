"""What a ledger tells its reader: how much of its capacity is spent, and what that leaves."""

from fractions import Fraction

from skdp._ledger_view import LedgerView, Line, Spending
from skdp.accounting._composition import group_epsilon
from skdp.mechanisms._exact import sqrt_down, sqrt_up

__all__ = ["LedgerReport", "part"]


class LedgerReport(LedgerView):
    """What a ledger holds at one instant: as text, HTML, JSON, a frame or a plot.

    Parameters
    ----------
    ledger : str
        Its repr: capacity and path.
    used : tuple of Fraction
        The sums (amount, failure) of all charges.
    latched : bool
        Whether a refusal waits to be acknowledged.
    entries : tuple of Entry
        The first holds the capacity.
    """

    @property
    def spent(self):
        """The running total, a :class:`Spending`."""
        first = self.entries[0]
        return _spending(first, self.used, part(first, self.used), sqrt_up)

    @property
    def remaining(self):
        """What is left; a fit of its ``epsilon, delta`` would be granted, but for a latch."""
        return _remaining(self.entries[0], self.used)

    def history(self):
        """Return the entries after the first with what was left, a list of :class:`Line`."""
        first, used, lines = self.entries[0], (Fraction(0), Fraction(0)), []
        for entry in self.entries[1:]:
            cost = entry.amount, entry.failure
            if entry.kind == "charge":
                used = used[0] + cost[0], used[1] + cost[1]
            lines.append(Line(entry, part(first, cost), _remaining(first, used)))
        return lines


def part(first, cost):
    """Return the part of the capacity, which the ``first`` entry holds, that a cost takes."""
    whole = first.amount, first.failure
    return float(max(c / b for c, b in zip(cost, whole, strict=True) if b))


def _remaining(first, used):
    left = first.amount - used[0], first.failure - used[1]
    return _spending(first, left, 1 - part(first, used), sqrt_down)


def _spending(first, cost, fraction, root):
    if first.what == "basic":
        return Spending(*cost, fraction, *map(float, cost), None)
    mu, epsilon, delta = root(cost[0]), float(first.epsilon), float(first.delta)
    if 0 < fraction < 1:
        epsilon = min(epsilon, group_epsilon(mu, cost[1], 1, delta))
    return Spending(*cost, fraction, epsilon if cost[0] else 0.0, delta, mu)
