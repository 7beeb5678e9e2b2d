"""The Curator: the only object through which a private value becomes a released one."""

import math
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from skdp.accounting._matrix_noise import gdp_to_pure, smallest_noise
from skdp.accounting._plan import Plan
from skdp.accounting._report import Charge, PrivacyReport
from skdp.gate._accountant import UNWEIGHED, BudgetAccountant, single_threaded
from skdp.mechanisms import RowKeys, exponential_choice, rounded_gaussian, rounded_laplace
from skdp.mechanisms._entropy import SeededEntropy
from skdp.mechanisms._exact import exact, sqrt_down, sqrt_up
from skdp.mechanisms._noise import DOUBT, LEAST_LOG, noisy_factor
from skdp.utils._warnings import Doubt

_replacement = ContextVar("skdp_curator", default=None)


@dataclass(frozen=True)
class Release:
    """A released value and the law of its noise: see :class:`skdp.base.PrivateEstimator`.

    Parameters
    ----------
    value : ndarray of int64
        Exact value plus noise, in grid units; of rows with weights, in persons, float64. Of a
        matrix: its factor, float64.
    scale : float
        Standard deviation (Gaussian) or scale (Laplace) of the noise in grid units; eta.
    law : {"gaussian", "laplace", "matrix"}
    """

    value: np.ndarray
    scale: float
    law: str

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)


class Curator(BudgetAccountant):
    """Draws noise and charges for it in one call: see :class:`skdp.base.PrivateEstimator`.

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
    or removing one row moves the integer value by at most ``sensitivity``. What is exact, and why
    there are no copies: :class:`skdp.gate._accountant.BudgetAccountant`.
    """

    def __init__(self, plan, entropy):
        super().__init__(plan)
        self._entropy = entropy
        self.coins = RowKeys(entropy)

    @single_threaded
    def gaussian(self, value, *, sensitivity, share, label, rows=None, parts=None):
        """Release ``value`` plus Gaussian noise rounded to the integer grid.

        Parameters
        ----------
        value : array-like of int64
            Exact integers on a public grid. In a fit with groups, those of
            :func:`skdp.base.weighed_sum` or ``of_persons``.
        sensitivity : int, Fraction or float
            Largest l2 change of ``value`` for neighbouring tables; a float is taken exactly. With
            groups: the change by a single row, of which a person adds at most its unit.
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
        unit, value = self._unit(value), _integers(value)
        sensitivity = _positive(sensitivity, "sensitivity")
        share, mu_squared = self._pay(label, "gaussian", share)
        scale = sqrt_up((unit * sensitivity) ** 2 / mu_squared)
        return self._draw(value, "gaussian", scale, sensitivity, share, label, unit, rows, parts)

    @single_threaded
    def laplace(self, value, *, sensitivity, share, label):
        """Release ``value`` plus Laplace noise rounded to the grid; ``sensitivity`` is in l1."""
        unit, value = self._unit(value), _integers(value)
        sensitivity = _positive(sensitivity, "sensitivity")
        share, epsilon = self._pay(label, "laplace", share)
        scale = math.nextafter(float(unit * sensitivity / epsilon), math.inf)
        return self._draw(value, "laplace", scale, sensitivity, share, label, unit)

    @single_threaded
    def select(self, scores, *, sensitivity, share, label):
        """Return an index drawn by the exponential mechanism (large scores are likely).

        ``sensitivity`` bounds the change of every single score.
        """
        unit, scores = self._unit(scores), _integers(scores)
        sensitivity = unit * _positive(sensitivity, "sensitivity")
        share, epsilon = self._pay(label, "select", share)
        rate = epsilon / (2 * sensitivity)
        self._record(Charge(label, "select", share, _stated(sensitivity), float(1 / rate)))
        return self._choose(scores, rate)

    @single_threaded
    def names(self, counts, *, moved, share, label, event, of_persons=False):
        """Return the names that occur often: those with a noisy count above a threshold.

        Parameters
        ----------
        counts : dict of name to int
            How often each name occurs; names that do not occur are not in it.
        moved : int
            Largest number k of names whose counts neighbouring tables have different, by 1 each.
        share : float or Fraction
            Part of the budget.
        label : str
            Label of a planned step, Gaussian.
        event : str
            Label of a planned failure event, of probability f.
        of_persons : bool, default=False
            In a fit with groups: whether one row of each person was counted.

        Returns
        -------
        names : list
            In the order of their ``repr``: that of ``counts`` may tell of rows.

        Notes
        -----
        **Privacy.** A name is returned if its noisy count is above ``1 + t``, with t so high that
        rounded noise exceeds it with probability at most f / k. Let D' be D and one row, and let m
        of the k names that the row moves not occur in D. On the names of D the two vectors of
        counts differ by 1 in at most k - m entries, so by sqrt(k) in l2, what is paid for. The
        vector of D' has m entries more, of the value 1, with noise of their own. Let A be the event
        that one of these names is returned: its noise exceeds t, so ``P(A) <= m f / k <= f``, and A
        depends on that noise alone. Leave the m names out whatever their noise: this ideal run on
        D' and the run on D read two Gaussian releases of vectors of the same names, and the ideal
        run differs from that on D' in A alone. So this is a release of sensitivity sqrt(k) outside
        one failure event of the pair, in either direction (user guide "Accounting", theorem 1,
        "Names that one table alone has"). A name that occurs in neither table is returned by
        neither, and no noise is drawn for it. How many words of noise were drawn is not told; all
        later noise is independent of them.
        """
        if self.protects_groups and not (of_persons or self.one_row_each):
            raise TypeError(UNWEIGHED)
        moved = exact(moved, name="moved")
        value = _integers(list(counts.values()) or np.empty(0, dtype=np.int64))
        share, mu_squared = self._pay(label, "gaussian", share)
        scale = sqrt_up(_positive(moved, "moved") / mu_squared)
        self._record(Charge(label, "gaussian", share, sqrt_down(moved), scale))
        log_p = self.fails(event) - math.log(moved) - 1e-9
        # rounded noise exceeds an integer t only if noise exceeds t + 1/2
        t = math.ceil(-float(ndtri_exp(log_p)) * (1 + 1e-9) * scale - 0.5)
        return sorted(self._occurring(list(counts), value, scale, 1 + max(t, 0)), key=repr)

    @single_threaded
    def matrix(self, value, *, distance, largest, share, label, event):
        """Release a factor of a positive definite matrix with the least noise eta that suffices.

        ``value`` as for ``mechanisms._matrices.noisy_factor``, ``distance`` (of neighbours) as in
        the theorem of ``accounting._matrix_noise``. If eta > ``largest``: None, and nothing paid.
        """
        self._of_single_rows(value)
        distance = _positive(distance, "distance")
        share, mu_squared = self._price(label, "matrix", share)
        log_p, mu = self.fails(event), sqrt_down(mu_squared)
        bounds = {"distance": -_stated(-distance), "d": len(value), "largest": float(largest)}
        eta = smallest_noise(gdp_to_pure(mu), log_p - 2 * DOUBT, **bounds)
        if eta is None or log_p < LEAST_LOG:
            return None
        self._pay(label, "matrix", share)
        self._record(Charge(label, "matrix", share, _stated(distance), eta))
        return Release(self._perturb(value, eta, log_p), eta, "matrix")

    @single_threaded
    def child(self, label, share, *, budget=None):
        """Return a Curator for ``share`` of this budget; its steps are planned as ``label/...``.

        ``budget`` is that of the child, of the unit that its Step names, as
        :func:`skdp.accounting.part_of` makes it: by default of the unit of this one. It must not be
        worth more than the share.
        """
        granted, budget = self._grant(label, share, budget)
        return _Child(self, label, granted, plan_of_child(self, label, budget))

    def close(self, estimator):
        """Return the report of everything released."""
        return PrivacyReport(
            estimator=estimator,
            budget=self.budget,
            charges=tuple(self._bill(Charge)),
            failure_events=self._plan.failure_events,
            decisions=tuple(self._bill(str)),
            assumptions=self._plan.assumptions,
            seeded=self._entropy.seeded,
            privacy_unit=self._plan.privacy_unit,
        )

    def _draw(self, value, law, scale, sensitivity, share, label, unit, rows=None, parts=None):
        self._record(Charge(label, law, share, _stated(sensitivity), scale / unit))
        noisy = self._noisy(value, law, scale, self._placed(rows), parts)
        return Release(noisy if unit == 1 else noisy / unit, scale / unit, law)

    def _wrap_part(self, part):
        return part

    # The methods below are what a test replaces by canned answers.
    def _noisy(self, value, law, scale, rows=None, parts=None):
        sample = rounded_gaussian if law == "gaussian" else rounded_laplace
        return value + sample(scale, value.shape, self._entropy)

    def _occurring(self, names, value, scale, threshold):
        noisy = value + rounded_gaussian(scale, value.shape, self._entropy)
        return [name for name, count in zip(names, noisy, strict=True) if count > threshold]

    def _choose(self, scores, rate):
        return exponential_choice(scores, rate, self._entropy)

    def _perturb(self, value, eta, log_p):
        return noisy_factor(value, eta, log_p, self._entropy)


def _positive(number, name):
    number = exact(number, name=name)
    if not number > 0:
        raise ValueError("what neighbours can change by is positive. Declare a larger sensitivity.")
    return number


def _integers(value):
    """Return exact integers as int64; anything else would be cut to integers silently."""
    value = np.asarray(value)
    if value.size and not np.can_cast(value.dtype, np.int64):
        raise TypeError(
            "what meets noise must be integers of at most 64 bits: put rows on a grid, each by "
            "itself, before they are summed."
        )
    return value.astype(np.int64, copy=False)


def _stated(sensitivity):
    """Return the float for the report, rounded down: what is paid for is never overstated."""
    stated = float(sensitivity)
    return stated if Fraction(stated) <= sensitivity else math.nextafter(stated, -math.inf)


class _Child(Curator):
    """A Curator that spends a share of its parent's budget and writes into its books."""

    of_a_set = False  # whether it pays for a part of the rows that its parent pays for

    def __init__(self, parent, label, share, plan):
        super().__init__(plan, parent._entropy)
        self._lock, self._process = parent._lock, parent._process
        self._parent, self._part = parent, share
        self._prefix = self._place = f"{label}/"  # of steps of the plan, of lines of the bill
        self._outer = parent, self._prefix
        self._noisy, self._choose, self._perturb = parent._noisy, parent._choose, parent._perturb
        self._occurring = parent._occurring
        self.coins = _ChildKeys(parent.coins, self._prefix)
        self.one_row_each, self.row_places = parent.one_row_each, parent.row_places
        self.column_names, self.step = parent.column_names, None  # the step of a pipeline

    def _write(self, lines):
        super()._write(lines)
        self._parent._write(lambda: map(self._outside, lines()))

    def _outside(self, line):
        """Return a line as it stands in the bill of the parent."""
        if isinstance(line, Charge):
            return replace(line, label=self._place + line.label, share=line.share * self._part)
        return line.within(self.step) if isinstance(line, Doubt) else line

    def _tell(self, label, share):
        self._parent._tell(self._prefix + label, share * self._part)

    @single_threaded
    def fails(self, label):
        """Declare a planned failure event, as :meth:`Curator.fails`."""
        self._parent.fails(self._prefix + label)
        return super().fails(label)


def plan_of_child(parent, label, budget, most=1):
    """Return what is left of the plan of a Curator for each of ``most`` children, or for one."""
    prefix = f"{label}/"
    steps = tuple(
        replace(step, label=step.label.removeprefix(prefix), times=left)
        for step, left in parent._steps.values()
        if step.label.startswith(prefix) and left > 0
    )
    events = tuple(
        (name.removeprefix(prefix), p / most)
        for name, p in parent._events.items()
        if name.startswith(prefix)
    )
    assumptions = tuple(
        text.removeprefix(f"{label}: ")
        for text in parent._plan.assumptions
        if text.startswith(f"{label}: ")
    )
    return Plan(budget, steps, events, assumptions, privacy_unit=parent._plan.privacy_unit)


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
