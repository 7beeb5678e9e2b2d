"""The reports of a ledger, by unit, and what is said of a unit that is promised nothing."""

import math

from skdp.accounting._composition import group_epsilon, group_privacy
from skdp.accounting._ledger_file import OF_GROUPS
from skdp.accounting._ledger_report import LedgerReport
from skdp.mechanisms._exact import sqrt_up
from skdp.show._ledger import NOTE, Lines
from skdp.show._units import UnitsReport

__all__ = ["reports_of"]

NO_ROWS = "NOT CLAIMED by itself; a row of a group is two of its steps: "
NO_GROUPS = "NOT CLAIMED: a group of m rows loses m times what a row loses, without bound; "


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
