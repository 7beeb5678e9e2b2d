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
from fractions import Fraction
from numbers import Integral

from skdp.accounting._budget import Budget
from skdp.accounting._conversions import pure_to_gdp
from skdp.accounting._ledger_file import OF_GROUPS, UNCLAIMED
from skdp.accounting._nearly_gaussian import compose_basic, gaussian_price, lines_of
from skdp.mechanisms._exact import as_fraction
from skdp.show._ledger import as_float, text_of

__all__ = ["UNITS", "Accounts", "check_charge", "check_stored", "openings_of", "part", "unit_of"]

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


def part(first, cost):
    """Return the part of the capacity, which the ``first`` entry holds, that a cost takes."""
    whole = first.amount, first.failure
    return as_float(max(c / b for c, b in zip(cost, whole, strict=True) if b))


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
