"""The Curator: the only object through which a private value becomes a released one."""

import math
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from skdp.accounting._matrix_noise import gdp_to_pure, smallest_noise
from skdp.accounting._parts import worth
from skdp.accounting._plan import Plan
from skdp.accounting._report import Charge, PrivacyReport
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.mechanisms import (
    RowKeys,
    SeededEntropy,
    exponential_choice,
    rounded_gaussian,
    rounded_laplace,
)
from skdp.mechanisms._exact import sqrt_down, sqrt_up
from skdp.mechanisms._matrices import DOUBT, LEAST_LOG, noisy_factor

__all__ = [
    "Curator",
    "Release",
    "current_replacement",
    "make_curator",
    "rehearsal_curator",
    "replaced_curator",
]

_replacement = ContextVar("skdp_curator", default=None)


@dataclass(frozen=True)
class Release:
    """A released value and the law of its noise.

    Parameters
    ----------
    value : ndarray of int64
        Exact value plus noise, in grid units. Of a matrix: its factor, float64.
    scale : float
        Standard deviation (Gaussian) or scale (Laplace) of the noise in grid units; eta.
    law : {"gaussian", "laplace", "matrix"}
    """

    value: np.ndarray
    scale: float
    law: str

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)


@dataclass(frozen=True)
class Owners:
    """Whose entries a release by rows or by parts has: their numbers. Private."""

    parts: bool
    numbers: np.ndarray = field(repr=False)


class Curator:
    """Draws noise and charges for it in one call.

    Parameters
    ----------
    plan : Plan
        The budget and the releases that may share it.
    entropy : SystemEntropy or SeededEntropy
        Source of the noise; the keys of the rows, `coins`, get a stream of their own.

    Notes
    -----
    **Privacy**: the shares of all releases sum to at most one, in exact rationals, whatever the
    engine does; a share may depend on earlier releases (user guide "Accounting", theorem 2). The
    caller proves that, given the earlier releases and outside the declared failure events, adding
    or removing one row moves the integer value by at most ``sensitivity``.
    """

    def __init__(self, plan, entropy):
        self._plan = plan
        self._steps = {step.label: [step, step.times] for step in plan.steps}
        self._events = dict(plan.events)
        self._entropy = entropy
        self._charges = []
        self._decisions = []
        self._used = Fraction(0)
        self.coins = RowKeys(entropy)

    @property
    def budget(self):
        """The budget that the shares are parts of."""
        return self._plan.budget

    @property
    def remaining(self):
        """Share that has not been spent, an exact rational."""
        return 1 - self._used

    def gaussian(self, value, *, sensitivity, share, label, rows=None, parts=None):
        """Release ``value`` plus Gaussian noise rounded to the integer grid.

        Parameters
        ----------
        value : array-like of int64
            Exact integers on a public grid.
        sensitivity : int, Fraction or float
            Largest l2 change of ``value`` for neighbouring tables; a float is taken exactly.
        share : float or Fraction
            Part of the budget.
        label : str
            Label of a planned step.
        rows, parts : array of int of the shape of ``value``, default=None
            For a release with one entry per row, or per part of the table: the numbers of their
            rows or parts. See the notes.

        Returns
        -------
        release : Release

        Notes
        -----
        **Privacy of a release by rows** (or parts). ``sensitivity`` speaks of the entries that
        neighbouring tables have in common. The entry of the row that only one of them has (of the
        part that differs) has noise of its own, and may decide on that row (part) alone: whether it
        takes part in what follows. Given all other entries, the rest of the fit is a mixture of
        runs with and without that row; hockey-stick divergence is jointly convex, so what holds for
        each of them holds for the mixture (user guide "Accounting"). So neither the vector, nor its
        length, nor any other function of several entries leaves the engine.
        """
        cost = self._pay(label, "gaussian", share)
        if self.budget.unit == "pure":
            raise PlanError(
                f"{label!r} asks for Gaussian noise, which has no pure guarantee, but the budget "
                "is pure. Plan Laplace noise, or a budget with delta > 0."
            )
        self._need_own_unit()
        variance = Fraction(sensitivity) ** 2 / (cost if self.budget.unit == "gdp" else 2 * cost)
        owners = None
        if rows is not None or parts is not None:
            owners = Owners(rows is None, np.asarray(parts if rows is None else rows))
        return self._draw(value, "gaussian", sqrt_up(variance), sensitivity, share, label, owners)

    def laplace(self, value, *, sensitivity, share, label):
        """Release ``value`` plus Laplace noise rounded to the grid; ``sensitivity`` is in l1."""
        epsilon = self._epsilon(self._pay(label, "laplace", share), bounded_range=False)
        scale = np.nextafter(float(Fraction(sensitivity) / epsilon), np.inf)
        return self._draw(value, "laplace", float(scale), sensitivity, share, label)

    def select(self, scores, *, sensitivity, share, label):
        """Return an index drawn by the exponential mechanism (large scores are likely).

        ``sensitivity`` bounds the change of every single score.
        """
        epsilon = self._epsilon(self._pay(label, "select", share), bounded_range=True)
        rate = epsilon / (2 * Fraction(sensitivity))
        self._record(
            Charge(label, "select", Fraction(share), _stated(sensitivity), float(1 / rate))
        )
        return self._choose(np.asarray(scores, dtype=np.int64), rate)

    def matrix(self, value, *, distance, largest, share, label, event):
        """Release a factor of a positive definite matrix with the least noise eta that suffices.

        ``value`` as for ``mechanisms._matrices.noisy_factor``, ``distance`` (of neighbours) as in
        the theorem of ``accounting._matrix_noise``. If eta > ``largest``: None, and nothing paid.
        """
        if self.budget.unit != "gdp":
            raise PlanError("noise for a matrix is priced in mu^2: plan a Gaussian budget.")
        log_p, mu = self.fails(event), sqrt_down(Fraction(share) * self.budget.amount)
        bounds = {"distance": distance, "d": len(value), "largest": largest}
        eta = smallest_noise(gdp_to_pure(mu), log_p - 2 * DOUBT, **bounds)
        if eta is None or log_p < LEAST_LOG:
            return None
        self._pay(label, "matrix", share)
        self._record(Charge(label, "matrix", Fraction(share), _stated(distance), eta))
        return Release(self._perturb(value, eta, log_p), eta, "matrix")

    def fails(self, label):
        """Declare a planned failure event; return the logarithm of its probability, rounded down.

        The probability itself, which holds a factor e^-epsilon, may be too small for a float.
        """
        if label not in self._events:
            raise PlanError(
                f"the plan has no failure event {label!r} left. List it in the events of the plan, "
                "once for every use."
            )
        numerator, denominator = self._events.pop(label).as_integer_ratio()
        return math.log(numerator) - math.log(denominator) - 1e-9

    def child(self, label, share, *, budget=None):
        """Return a Curator for ``share`` of this budget; its steps are planned as ``label/...``.

        ``budget`` is that of the child, as :func:`skdp.accounting.part_of` makes it: by default of
        the unit of this one. It must not be worth more than the share.
        """
        cost = self._pay(label, "child", share)
        if budget is None:
            budget = replace(self.budget, amount=cost)
        if worth(budget, self.budget.unit) > cost:
            raise PlanError(f"the budget of the child {label!r} is worth more than its share.")
        return _Child(self, label, Fraction(share), budget)

    def decide(self, text):
        """Note a decision that was taken from released values only. ``text`` is constant."""
        self._decisions.append(text)

    def close(self, estimator):
        """Return the report of everything released."""
        return PrivacyReport(
            estimator=estimator,
            budget=self.budget,
            charges=tuple(self._charges),
            events=self._plan.events,
            decisions=tuple(self._decisions),
            assumptions=self._plan.assumptions,
            seeded=self._entropy.seeded,
        )

    def _pay(self, label, mechanism, share):
        """Book a share exactly; return its cost in the unit of the budget."""
        share = Fraction(share)
        step, left = self._steps.get(label, (None, 0))
        if left < 1 or step.mechanism != mechanism or not 0 < share <= step.at_most:
            raise PlanError(
                f"the plan has no room for a {mechanism} release of {label!r} with a share of "
                f"{float(share):.4g}. Raise times or at_most of its Step, or add a Step."
            )
        if share > self.remaining:
            raise BudgetExceeded(
                f"{label!r} asks for a share of {float(share):.4g} of the budget, "
                f"{float(self.remaining):.4g} is left. Lower the shares of the releases before it."
            )
        self._book(label)
        self._used += share
        return share * self.budget.amount

    def _need_own_unit(self):
        if self.budget.unit == "mixed":
            raise PlanError("a mixed budget is spent by children, which have units of their own.")

    def _book(self, label):
        self._steps[label][1] -= 1

    def _record(self, charge):
        self._charges.append(charge)

    def _epsilon(self, cost, *, bounded_range):
        """Return the pure epsilon that ``cost`` buys (rho = epsilon^2/2, or /8 for a choice)."""
        if self.budget.unit == "gdp":
            raise PlanError("a GDP budget takes Gaussian noise only; plan a zCDP or pure budget.")
        self._need_own_unit()
        if self.budget.unit == "pure":
            return cost
        return Fraction(sqrt_down((8 if bounded_range else 2) * cost))

    def _draw(self, value, law, scale, sensitivity, share, label, owners=None):
        self._record(Charge(label, law, Fraction(share), _stated(sensitivity), scale))
        value = np.asarray(value, dtype=np.int64)
        return Release(self._noisy(value, law, scale, owners), scale, law)

    # The methods below are what a test replaces by canned answers.
    def _noisy(self, value, law, scale, owners=None):
        sample = rounded_gaussian if law == "gaussian" else rounded_laplace
        return value + sample(scale, value.shape, self._entropy)

    def _choose(self, scores, rate):
        return exponential_choice(scores, rate, self._entropy)

    def _perturb(self, value, eta, log_p):
        return noisy_factor(value, eta, log_p, self._entropy)


def _stated(sensitivity):
    """Return the float for the report, rounded down: what is paid for is never overstated."""
    stated = float(sensitivity)
    return stated if Fraction(stated) <= sensitivity else math.nextafter(stated, 0.0)


class _Child(Curator):
    """A Curator that spends a share of its parent's budget and writes into its books."""

    def __init__(self, parent, label, share, budget):
        prefix = f"{label}/"
        steps = tuple(
            replace(step, label=step.label.removeprefix(prefix))
            for step, _ in parent._steps.values()
            if step.label.startswith(prefix)
        )
        events = tuple(
            (name.removeprefix(prefix), p)
            for name, p in parent._events.items()
            if name.startswith(prefix)
        )
        super().__init__(Plan(budget, steps, events), parent._entropy)
        self._parent, self._prefix, self._part = parent, prefix, share
        self._noisy, self._choose, self._perturb = parent._noisy, parent._choose, parent._perturb
        self.coins = _ChildKeys(parent.coins, prefix)

    def _book(self, label):
        super()._book(label)
        self._parent._book(self._prefix + label)

    def _record(self, charge):
        super()._record(charge)
        whole = replace(charge, label=self._prefix + charge.label, share=charge.share * self._part)
        self._parent._record(whole)

    def fails(self, label):
        """Declare a planned failure event, as :meth:`Curator.fails`."""
        self._parent.fails(self._prefix + label)
        return super().fails(label)

    def decide(self, text):
        """Note a decision, as :meth:`Curator.decide`."""
        self._parent.decide(text)


class _ChildKeys:
    """The keys of the rows for a child: those of its parent, with uses of its own."""

    def __init__(self, coins, prefix):
        self._coins, self._prefix = coins, prefix

    def keys(self, start, stop, use=""):
        """Return the keys of rows, as :meth:`skdp.mechanisms.RowKeys.keys`."""
        return self._coins.keys(start, stop, use=self._prefix + use)


def make_curator(plan, entropy):
    """Return the Curator of a fit."""
    return (_replacement.get() or Curator)(plan, entropy)


def rehearsal_curator(plan):
    """Return a Curator for a rehearsal on made-up rows: nobody is protected, nothing is charged."""
    return Curator(plan, SeededEntropy(0))


def current_replacement():
    """Return what stands in for the Curator in this context, or None."""
    return _replacement.get()


@contextmanager
def replaced_curator(make):
    """Let ``make(plan, entropy)`` stand in for the Curator in the fits of this context.

    For audits: a stand-in that answers without noise, or from a transcript, protects nobody.
    """
    token = _replacement.set(make)
    try:
        yield
    finally:
        _replacement.reset(token)
