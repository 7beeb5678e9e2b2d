"""The books of a budget: what is planned, what a share buys, what is paid; parts of a budget."""

import os
import threading
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import wraps

import numpy as np

from skdp.accounting._plan import convert_cost
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.mechanisms._exact import exact, log_of, sqrt_down, unit_of
from skdp.utils._warnings import Doubt, named

UNWEIGHED = (
    "this fit protects groups, and is asked for integers of rows that have no weights: sum them by "
    "weighed_sum, or use one row of each person and of_persons."
)
ROUNDING = Fraction(1, 2**40)  # of a share that is cut to what is left


def _full_cost(cost):
    return cost


def _root(factor):
    return lambda cost: Fraction(sqrt_down(factor * cost))


# What a cost buys: mu^2 of Gaussian noise (of the runs of a search, of noise for a matrix), epsilon
# of Laplace noise or of a choice. There is nothing else that a budget pays for.
PRICES = {
    "gdp": {
        "gaussian": _full_cost,
        "matrix": _full_cost,
        "repeat": _full_cost,
        "child": _full_cost,
    },
    "zcdp": {  # rho is mu^2 / 2, epsilon^2 / 2, and epsilon^2 / 8 of a choice
        "gaussian": lambda cost: 2 * cost,
        "laplace": _root(2),
        "select": _root(8),
        "child": _full_cost,
    },
    "pure": {
        "laplace": _full_cost,
        "select": _full_cost,
        "repeat": _full_cost,
        "child": _full_cost,
    },
    "mixed": {"child": _full_cost},
    "approx": {"repeat": _full_cost},  # a search, which has a theorem of its own
}


def single_threaded(method):
    """Let one thread at a time into the books that a Curator shares with its children."""

    @wraps(method)
    def locked(self, *args, **kwargs):
        if os.getpid() != self._process:
            raise PlanError(
                "a Curator was taken along to a forked process, where it would spend its budget "
                "again. Make the releases in the process that made the Curator."
            )
        with self._lock:
            return method(self, *args, **kwargs)

    return locked


class BudgetAccountant:
    """What a Curator knows of its budget.

    Notes
    -----
    **Numbers** are exact, floats too; numpy's become integers of Python before they are multiplied.
    Ten shares of the float 0.1, which is above 1/10, are more than one: a share that exceeds what
    is left by less than a part 2^-40 of it *is* what is left, and the noise is for that share.

    **Copies** would spend the budget twice: there are none, neither in this process nor in another.
    Threads and children share one lock.
    """

    def __init__(self, plan):
        self._plan, self._buys = plan, (plan.budget.measure, plan.budget.amount)
        self._steps = {step.label: [step, step.times] for step in plan.steps}
        self._events = {label: exact(p) for label, p in plan.failure_events}
        self._lines, self.told = [], None
        self._outer = None  # books that have the same steps, and their prefix
        self._used = Fraction(0)
        self._priced = None, None  # what was asked last, and its price
        self._lock, self._process = threading.RLock(), os.getpid()
        self.one_row_each = False  # of persons: integers need no weights
        self.row_places = None  # of these rows in the table of all
        self.column_names = None  # of the table, if it has some

    @property
    def budget(self):
        """The budget that the shares are parts of."""
        return self._plan.budget

    @property
    def protects_groups(self):
        """Whether neighbouring tables differ in all rows of a group."""
        return self._plan.privacy_unit == "group"

    @property
    def remaining(self):
        """Share that has not been spent, an exact rational."""
        return 1 - self._used

    @single_threaded
    def fails(self, label):
        """Declare a planned failure event; return the logarithm of its probability, rounded down.

        The probability itself, which holds a factor e^-epsilon, may be too small for a float.
        """
        if label not in self._events:
            raise PlanError(
                f"the plan has no failure event {label!r} left. List it in the events of the plan, "
                "once for every use."
            )
        return log_of(self._events.pop(label)) - 1e-9

    def decide(self, text):
        """Note a decision that was taken from released values only. ``text`` is constant."""
        self._write(lambda: [text])

    def doubt(self, text, columns=None):
        """Note that something released has low accuracy: in the report, and a warning of the fit.

        Parameters
        ----------
        text : str
            Constant, or of released numbers: what is wrong, and what helps.
        columns : ndarray of bool of shape (..., d), default=None
            Public or from releases: which columns are meant, or which released numbers of each.
        """
        if columns is None:
            return self._write(lambda: [Doubt(text)])
        columns = np.asarray(columns, dtype=bool)
        if columns.any():
            d = columns.shape[-1]
            names = self.column_names
            names = names if names is not None and len(names) == d else None
            which = named(columns.reshape(-1, d).any(axis=0), names)
            doubt = Doubt(f"{which}: {text}" if which else text, _tuples(columns.tolist()))
            self._write(lambda: [doubt])

    def __reduce_ex__(self, protocol):
        raise TypeError(
            "a Curator cannot be copied or pickled: the copy would spend the same budget again. "
            "Plan a step for every part of the work, and pass child(label, share) to it."
        )

    @single_threaded
    def _pay(self, label, mechanism, share):
        """Book a share exactly; return it, and what it buys of the mechanism."""
        share, bought = self._price(label, mechanism, share)
        self._left_for(share, label, self.remaining)
        self._book(label)
        self._used += share
        return share, bought

    def _grant(self, label, share, budget):
        """Pay a share for a child; return it, and the budget of the child."""
        granted, cost = self._price(label, "child", share)
        if budget is None:
            budget = replace(self.budget, amount=cost)
        step, _ = self._steps[label]
        mixed = budget.measure == "mixed" and self.budget.measure != "zcdp"
        if budget.measure != (step.unit or self.budget.measure) or mixed:
            raise PlanError(
                f"the child {label!r} has a budget of another unit than planned. Name its unit in "
                "its Step, and make its budget with part_of; a mixed one is a part of zCDP only."
            )
        outer = (other.label for other in self._plan.steps if other.unit)
        if self.budget.measure == "mixed" and any(label.startswith(f"{other}/") for other in outer):
            raise PlanError(
                f"{label!r} lies in another child of a mixed budget, whose share pays for it. Ask "
                "that child for it."
            )
        if convert_cost(budget, self.budget.measure) > cost:
            raise PlanError(f"the budget of the child {label!r} is worth more than its share.")
        self._pay(label, "child", granted)
        return granted, budget

    def plans(self, label, kind):
        """Return whether a label is planned for a kind of statistic, or not planned at all."""
        step, _ = self._steps.get(label, (None, 0))
        return step is None or not step.of or kind in step.of

    @single_threaded
    def afford(self, label, mechanism, share):
        """Raise what a release of this label and share would raise, before rows are looked at."""
        self.afford_all(mechanism, [(label, share)])

    @single_threaded
    def afford_all(self, mechanism, asked):
        """Raise what releases of (label, share) would raise, one after the other."""
        left, times = self.remaining, Counter()
        for label, share in asked:
            share = _cut(self._price(label, mechanism, share)[0], left)
            self._left_for(share, label, left)
            left, times[label] = left - share, times[label] + 1
            self._times_for(times[label], label)

    def _left_for(self, share, label, left):
        if share > left:
            raise BudgetExceeded(
                f"{label!r} asks for a share of {float(share):.4g} of the budget, "
                f"{float(left):.4g} is left. Lower the shares of the releases before it."
            )

    def _times_for(self, times, label):
        if any(books._steps[name][1] < times for books, name in self._all(label)):
            raise PlanError(f"the plan has no release of {label!r} left. Raise times of its Step.")

    def _all(self, label):
        """Yield these books and those outside that have the same step, and its label there."""
        books = self
        while books._outer:
            yield books, label
            books, label = books._outer[0], books._outer[1] + label
        yield books, label

    def _price(self, label, mechanism, share):
        """Return a planned share, at most what is left but for rounding, and what it buys.

        What is asked again before anything else is paid, as what can be afforded is when it is
        paid, has the same price.
        """
        share = exact(share, name="share")
        step, left = self._steps.get(label, (None, 0))
        asked = label, mechanism, share, left > 0, self._used
        priced = self._priced  # one look: other threads price too
        if priced[0] != asked:
            priced = self._priced = asked, self._priced_anew(label, mechanism, share, step, left)
        return priced[1]

    def _priced_anew(self, label, mechanism, share, step, left):
        most = exact(step.at_most) if left > 0 and step.mechanism == mechanism else 0
        share = _cut(share, most)
        if not 0 < share <= most:
            raise PlanError(
                f"the plan has no room for a {mechanism} release of {label!r} with a share of "
                f"{float(share):.4g}. Raise times or at_most of its Step, or add a Step."
            )
        unit, amount = self._buys
        if mechanism not in PRICES.get(unit, ()):
            raise PlanError(
                f"a {unit} budget does not pay for {label!r}, a {mechanism} release. "
                "Plan a Gaussian budget for Gaussian noise, a pure one for Laplace noise and "
                "choices, zCDP for all of them, a mixed one for children of several units."
            )
        share = _cut(share, self.remaining)
        return share, PRICES[unit][mechanism](share * amount)

    def _book(self, label):
        self._times_for(1, label)
        for books, name in self._all(label):
            books._steps[name][1] -= 1

    def _record(self, charge):
        self._write(lambda: [charge])
        self._tell(charge.label, charge.share)

    def _write(self, lines):
        """Add to the bill what ``lines()`` returns when it is closed: charges and decisions."""
        self._lines.append(lines)

    def _bill(self, kind=object):
        """Return the lines of a kind, in order."""
        return [line for lines in self._lines for line in lines() if isinstance(line, kind)]

    def _tell(self, label, share):
        if self.told is not None:  # what listens to the bill
            self.told(label, share)

    def _unit(self, value):
        """Return by how many times its sensitivity a value moves for what the fit protects."""
        unit = unit_of(value)
        if self.protects_groups and unit is None and not self.one_row_each:
            raise TypeError(UNWEIGHED)
        return unit or 1

    def _of_single_rows(self, value):
        """Raise TypeError for a value that a person with several rows moves by more than one."""
        if self._unit(value) != 1:
            raise TypeError(UNWEIGHED)

    def _placed(self, rows):
        """Return the numbers in the table of all of rows that a release has an entry for."""
        return rows if rows is None or self.row_places is None else self.row_places[rows]


def _tuples(nested):
    return tuple(map(_tuples, nested)) if isinstance(nested, list) else nested


def _cut(share, room):
    return room if room < share <= room * (1 + ROUNDING) else share


# --- what stands in the place of a step's ledger inside a larger fit: its part of one budget


class BudgetAllocation:
    """A part of the budget of a larger fit, given to one step.

    It is the ``ledger`` parameter of that step while the larger fit plans and runs, so that copies
    of the step, which containers of scikit-learn make, hold the same grant.
    """

    def __init__(self, label, given, composition="gaussian", *, whole=False):
        self.label, self.given, self.composition, self._whole = label, given, composition, whole
        self.certificate = self.absent = self._budget = None
        self._share = Fraction(0)

    def admit(self, budget):
        """Return the budget of this step: of the unit that it asks for, of the amount granted."""
        if self._budget is None:
            return budget
        granted = self._budget.measure
        if budget.measure != granted:
            raise PlanError(
                f"{self.label!r} was granted a {granted} budget and asks for {budget.measure}: its "
                "plan must not depend on the amount."
            )
        return self._budget

    def set_budget(self, budget, share):
        """Fix what :meth:`admit` returns, and its share of the budget of the larger fit."""
        self._budget, self._share = budget, share

    @property
    def granted(self):
        """The budget of the step and its share, by name."""
        return {"budget": self._budget, "share": self._share}

    def paid(self, view):
        """Return a Table of the larger fit as one that this part of its budget pays."""
        return view if self._whole else view.child(self.label, self._share, budget=self._budget)

    def refuse(self):
        """Raise PlanError for a step that is fitted on rows of another fit."""
        raise PlanError(
            f"the grant of {self.label!r} is not open: the step was fitted outside its "
            "pipeline. Fit the pipeline, or set the ledger of the step to None."
        )

    def __copy__(self, memo=None):
        return self

    __deepcopy__ = __sklearn_clone__ = __copy__
