"""What a ledger tells its reader: how much of its capacity is spent, and what that leaves."""

import math
from contextlib import suppress

from skdp.accounting._accounts import part, unit_of
from skdp.accounting._budget import FAILURE_PART, Budget
from skdp.accounting._composition import group_epsilon, group_privacy
from skdp.accounting._gaussian import gaussian_epsilon
from skdp.accounting._ledger_file import OF_GROUPS
from skdp.mechanisms._exact import SMALLEST_NORMAL, as_fraction, exact, sqrt_down, sqrt_up
from skdp.show._ledger import LARGEST, NOTE, LedgerView, Line, Lines, Spending, as_float, state_of
from skdp.show._units import UnitsReport

__all__ = ["LedgerReport", "reports_of"]

# of reports by unit: what is said of a unit that is promised nothing
NO_ROWS = "NOT CLAIMED by itself; a row of a group is two of its steps: "
NO_GROUPS = "NOT CLAIMED: a group of m rows loses m times what a row loses, without bound; "


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


def reports_of(ledger, accounts, used, latched, lines):
    """Return the report of a ledger, by unit; that of one unit is the only one in it."""
    claimed, left = accounts.claimed, {}
    for name, first in claimed.items():
        whole = first.amount, first.failure
        left[name] = tuple(max(a - b, 0) for a, b in zip(whole, used[name], strict=True))
    reports = {
        name: LedgerReport(
            ledger,
            used[name],
            latched,
            _of(lines, name) if accounts.several else lines,
            accounts.cap(name, left),
            int(accounts.several and name == "group"),
        )
        for name, first in claimed.items()
    }
    told = _unclaimed(reports, lines) if accounts.several else {}
    return UnitsReport(ledger, latched, lines, reports, told)


def _unclaimed(reports, lines):
    """Return what is said of the units that are promised nothing, by unit."""
    told = {}
    if "row" not in reports:
        told["row"] = NO_ROWS + _two_steps(reports["group"].entries[0])
    if "group" not in reports:
        charged = [row[2] for row in lines.rows() if row[1] == "charge"]
        rows = sum(what.partition(NOTE)[0].endswith(" of rows") for what in charged)
        told["group"] = f"{NO_GROUPS}{rows} of {len(charged)} fits protect rows alone"
    return told


def _of(lines, unit):
    """Return the lines of one account, its opening first."""
    of = unit == "group"
    rows = lines.rows()
    return Lines(row for row in rows if row[1] == "acknowledged" or (OF_GROUPS in row[3]) == of)


def _two_steps(first):
    """Return what an account of groups guarantees for a row, as text."""
    if first.what == "basic":
        epsilon, delta = group_privacy(float(first.epsilon), float(first.delta), 2)
    else:
        delta, epsilon = float(first.delta), math.inf
        while math.isinf(epsilon) and delta < 1:
            epsilon = group_epsilon(sqrt_up(first.amount), first.failure, 2, delta)
            delta *= 10 if math.isinf(epsilon) else 1
    if math.isinf(epsilon) or delta >= 1:
        return "nothing"
    return f"epsilon={epsilon:.6g}, delta={delta:.3g}"
