"""What a ledger promises, unit by unit, and what a fit of any unit takes from each promise.

A ledger of one unit has one account, and refuses fits of the other unit. A ledger of several units
has an account for each unit whose guarantee it claims, and a fit is charged to all of them:

* a fit that protects groups takes *two* steps from the account of rows: whoever takes one row away
  from a group removes the group and adds what is left of it, whatever a cap has kept of either. One
  step is not enough: a group of two rows may add +1 to a sum and any one of them by itself -1. With
  at most one row for each group it is one step;
* a fit that protects rows takes as many steps from the account of groups as a group has rows at
  most. Without such a number there is no price, and the fit is refused where groups are promised
  anything.

Proofs: user guide "Accounting", theorems 5 and 6.
"""

import math
from contextlib import suppress
from fractions import Fraction
from numbers import Integral

from skdp.accounting._budget import FAILURE_PART, Budget, compose_basic, gaussian_price, lines_of
from skdp.accounting._composition import group_epsilon, group_privacy
from skdp.accounting._conversions import pure_to_gdp
from skdp.accounting._gaussian import gaussian_epsilon
from skdp.accounting._ledger_file import OF_GROUPS, UNCLAIMED
from skdp.mechanisms._exact import SMALLEST_NORMAL, as_fraction, exact, sqrt_down, sqrt_up
from skdp.show._ledger import (
    LARGEST,
    NOTE,
    LedgerView,
    Line,
    Lines,
    Spending,
    UnitsReport,
    as_float,
    part,
    state_of,
    text_of,
)

UNITS = ("row", "group")
AT_MOST = " with at most "
MOST_ROWS = 1000
MOST = 10**7  # of a charge
OTHER_UNIT = {
    "row": "it protects rows, and the fit groups: open a ledger with unit='group' for these, or "
    "one of several units, epsilon={'row': ..., 'group': ...}",
    "group": "it protects groups: pass groups= to fit, or use a ledger for rows",
}
NO_BOUND = (
    "it promises groups something, and a fit that protects rows costs a group of many rows without "
    "bound: pass groups= to fit; or open a ledger with rows_per_group=, if a public rule bounds "
    "the rows of a group, or one that claims nothing for groups"
)


class Accounts:
    """The accounts of a ledger, as its first lines tell of them."""

    def __init__(self, openings):
        self.several = len(openings) > 1
        self.opened = {unit_of(entry): entry for entry in openings}
        self.claimed = {unit: entry for unit, entry in self.opened.items() if entry.amount}
        told = self.opened.get("group", openings[0]).unit.partition(AT_MOST)[2]
        self.rows_per_group = int(told) if told else None

    def steps(self, unit, account):
        """Return how many steps of ``unit`` one of ``account`` is, None without a bound."""
        if unit == account:
            return 1
        if not self.several:
            return None
        return self.rows_per_group if account == "group" else min(2, self.rows_per_group or 2)

    def cap(self, unit, left):
        """Return the (amount, failure) that other accounts leave for a fit of ``unit``."""
        caps = [(math.inf, math.inf)]
        for account, (amount, failure) in left.items():
            k, first = self.steps(unit, account), self.claimed[account]
            if account == unit:
                continue
            if k is None:
                caps.append((Fraction(0), Fraction(0)))
            elif first.what == "basic":
                times = compose_basic(amount / k, Fraction(1), k)[1]
                caps.append((amount / k, failure / times))
            else:  # what is admitted fails in proportion to its amount
                caps.append((min(amount, failure * first.amount / first.failure) / k**2, math.inf))
        return tuple(map(min, *caps)) if len(caps) > 1 else caps[0]

    def admit(self, budget):
        """Return a Gaussian budget with a failure probability in proportion to its amount."""
        parts = [e.failure * budget.amount / e.amount for e in self.claimed.values()]
        return budget.with_failure(min(budget.failure, *parts))

    def costs(self, budget, unit):
        """Return what a fit takes from each account, (amount, failure), None without a bound."""
        steps = {account: self.steps(unit, account) for account in self.claimed}
        return {
            account: None if k is None else _cost(budget, self.claimed[account], k)
            for account, k in steps.items()
        }

    def refusal(self, account, cost, before, unit):
        """Return why an account does not grant a cost, None if it does."""
        first = self.claimed[account]
        if cost is None:
            return NO_BOUND if self.several else OTHER_UNIT[account]
        capacity = first.amount, first.failure
        fits = [s + c <= b for s, c, b in zip(before, cost, capacity, strict=True)]
        if all(fits):
            return None
        asked, gone = (part(first, amounts) for amounts in (cost, before))
        reason = f"{text_of(asked, '.6g')} of the whole requested, {text_of(gone, '.6g')} spent"
        reason += f" of what {account}s are promised" if self.several else ""
        if fits == [True, False] and unit == "gdp":
            reason += " of its failure probability: pass a smaller delta"
        return reason


def unit_of(first):
    """Return what an account is for, by its first entry; those of old files are for rows."""
    return "group" if OF_GROUPS in first.unit else "row"


def openings_of(epsilon, delta, composition, unit, rows_per_group):
    """Return the first lines of a ledger: tuples of composition, unit and four numbers."""
    if not isinstance(epsilon, dict):
        if unit not in UNITS:
            raise ValueError(f"unit must be 'row' or 'group'. Got {unit!r} instead.")
        if rows_per_group is not None or isinstance(delta, dict):
            raise ValueError(
                "delta of several units and rows_per_group need a ledger of several units: pass "
                "epsilon as a dict, for instance {'row': 1.0, 'group': 4.0}."
            )
        return (_opening(epsilon, delta, composition, OF_GROUPS * (unit == "group")),)
    deltas = delta if isinstance(delta, dict) else dict.fromkeys(UNITS, delta)
    _check(epsilon, deltas, unit, rows_per_group)
    named = {"row": "", "group": OF_GROUPS}
    if rows_per_group is not None:
        named["group"] += f"{AT_MOST}{int(rows_per_group)}"
    claimed = [name for name in UNITS if epsilon.get(name) is not None]
    composition = composition or ("gaussian" if any(deltas.get(u, 0) for u in claimed) else "basic")
    lines = {
        name: _opening(epsilon[name], deltas.get(name, 0.0), composition, named[name])
        for name in claimed
    }
    nothing = (Fraction(0),) * 4
    for name in UNITS:
        lines.setdefault(name, (composition, f"{UNCLAIMED}{named[name]}", nothing))
    return tuple(lines.values())


def _check(epsilon, deltas, unit, rows_per_group):
    unknown = sorted({*map(str, epsilon), *map(str, deltas)} - {*UNITS})
    if unknown or not any(value is not None for value in epsilon.values()):
        raise ValueError(
            "epsilon of several units is a dict with a number for 'row', for 'group' or for both; "
            f"None claims nothing. Got the names {sorted(map(str, epsilon))} instead."
        )
    if unit != "row":
        raise ValueError("unit= is for a ledger of one unit: with epsilon as a dict leave it out.")
    m = rows_per_group
    known = isinstance(m, Integral) and not isinstance(m, bool) and 1 <= m <= MOST_ROWS
    if m is not None and not known:
        raise ValueError(
            f"rows_per_group must be None or an integer from 1 to {MOST_ROWS}, a public bound of "
            f"the rows of one group. Got {m!r} instead."
        )


def _opening(epsilon, delta, composition, suffix):
    """Return composition, unit and (B, F, epsilon, delta)."""
    delta = as_fraction(delta, name="delta")
    composition = composition or ("gaussian" if delta else "basic")
    if composition == "gaussian" and delta:
        b = Budget.gaussian(epsilon, delta)
        return composition, b.measure + suffix, (b.amount, b.failure, b.epsilon, b.delta)
    if composition != "basic" or delta >= 1:
        raise ValueError(
            "composition must be 'basic', or 'gaussian' with delta > 0, and delta in [0, 1). "
            f"Got composition={composition!r}, delta={float(delta):g} instead."
        )
    epsilon = Budget.pure(epsilon).epsilon
    return composition, composition + suffix, (epsilon, delta, epsilon, delta)


def _cost(budget, first, steps):
    """Return what some steps of a fit take from the account that ``first`` has opened."""
    if first.what == "basic":
        return compose_basic(budget.epsilon, budget.delta, steps)
    if budget.measure == "gdp":
        return steps**2 * budget.amount, steps * budget.failure
    if budget.measure == "pure" and budget.delta == budget.failure == 0:
        epsilon, times = steps * budget.amount, 1
        if epsilon > 10**6:  # then the Gaussian that dominates one step, k times as far away
            epsilon, times = budget.amount, steps
        mu = times * Fraction(pure_to_gdp(math.nextafter(float(epsilon), math.inf)))
        return mu**2, Fraction(0)
    price = gaussian_price(lines_of(budget, steps), first.amount, first.failure)
    if price is None:
        raise ValueError(
            f"a ledger with Gaussian composition has no price for a {budget.measure!r} budget with "
            f"delta={float(budget.delta):g} that is not more than all of it: neither zCDP nor "
            "(epsilon, delta)-DP implies GDP, and what is near it is dear. Ask for a smaller "
            "epsilon and a much smaller delta, or open one for it: "
            f"PrivacyLedger(epsilon={float(budget.epsilon):g}, delta={float(budget.delta):g}, "
            "composition='basic'); what two ledgers guarantee adds up."
        )
    return price


def check_stored(path, openings, given):
    """Raise ValueError if a file that was there was opened with other parameters."""
    stored, given = _opening_parameters(_plain(openings)), _opening_parameters(given)
    for name, old in stored.items():
        if old != given[name]:
            old, new = _readable(old), _readable(given[name])
            raise ValueError(
                f"the ledger {path!r} was created with {name}={old}. Got {new} instead. "
                "Pass the stored value, or use PrivacyLedger.open(path)."
            )


def _plain(openings):
    return tuple((e.what, e.unit, (e.amount, e.failure, e.epsilon, e.delta)) for e in openings)


def _opening_parameters(openings):
    """Return the parameters that first lines stand for, in the order in which they are compared."""
    units = ["group" if OF_GROUPS in unit else "row" for _, unit, _ in openings]
    told = {"composition": openings[0][0]}
    for name, i in (("epsilon", 2), ("delta", 3)):
        values = [numbers[i] for _, _, numbers in openings]
        told[name] = dict(zip(units, values, strict=True)) if len(units) > 1 else values[0]
    return told | {"unit": units[0] if len(units) == 1 else sorted(unit for _, unit, _ in openings)}


def _readable(value):
    if isinstance(value, dict):
        return {unit: float(number) for unit, number in value.items()}
    return value if isinstance(value, str | list) else float(value)


def check_charge(budget):
    """Refuse what is no charge."""
    if not isinstance(budget, Budget):
        raise TypeError(f"budget must be a Budget. Got {type(budget).__name__} instead.")
    if not budget.epsilon > 0:
        raise ValueError("a charge needs a positive Fraction epsilon. Ask for a larger budget.")
    if max(budget.amount, budget.failure, budget.epsilon, budget.delta) > MOST:
        raise ValueError("a charge needs numbers of at most 1e7. Ask for a smaller budget.")


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
