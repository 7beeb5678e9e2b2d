"""The ledger: one budget for many fits."""

import math
import os
from fractions import Fraction
from functools import wraps

from skdp._ledger_view import with_note
from skdp.accounting._budget import Budget
from skdp.accounting._conversions import pure_to_gdp
from skdp.accounting._ledger_file import LedgerFile, append, entries, latched, spent
from skdp.accounting._ledger_report import OF_GROUPS, LedgerReport, part, unit_of
from skdp.exceptions import BudgetExceeded
from skdp.mechanisms._exact import as_fraction

__all__ = ["PrivacyLedger"]

OTHER_UNIT = {
    "row": "it protects rows, and the fit groups: open a ledger with unit='group' for these",
    "group": "it protects groups: pass groups= to fit, or use a ledger for rows",
}


def _path_may_come_first(init):
    """Let ``(path, epsilon, delta)`` mean the same call: an epsilon is never a text or a path."""

    @wraps(init)
    def either(self, *args, **parameters):
        if args and isinstance(args[0], str | os.PathLike):
            path, *args = args
            if not args and "epsilon" not in parameters:
                raise TypeError("epsilon must be given. To open one: PrivacyLedger.open(path).")
            return init(self, *args, path=path, **parameters)
        return init(self, *args, **parameters)

    return either


class PrivacyLedger:
    """A budget that many fits share, whatever clones, threads or processes they run in.

    ``PrivacyLedger("study.db", epsilon=3, delta=1e-6)`` is the same with the path in front. As a
    context manager it lets no refusal pass unnoticed: leaving a ``with`` block raises
    BudgetExceeded if the ledger is latched and nothing else was raised, as after a search that
    turned refused fits into missing scores.

    Parameters
    ----------
    epsilon : float, > 0
    delta : float in [0, 1), default=0.0
        With epsilon the guarantee of all charges together, for adding or removing one row.
    path : str or path-like, default=None
        The ledger's file, on a local disk; one that exists is opened, with equal parameters only.
        None: a temporary file, removed when the process that made it ends.
    composition : {"gaussian", "basic"}, default=None
        ``"gaussian"``, default for ``delta > 0``: Gaussian fits cost mu^2; pure ones cost the mu^2
        that dominates them, dear unless their epsilon is small: a ledger of (1, 1e-6) can pay for
        a pure epsilon of 0.18. ``"basic"``, the only one for ``delta=0``: epsilons and deltas
        add up, whatever the fits.
    unit : {"row", "group"}, default="row"
        What all fits protect: one row, or one group, all rows with one entry of the ``groups`` that
        they are fitted with. Others are refused.

    See Also
    --------
    PrivacyReport, skdp.accounting.Budget, skdp.inspection.LedgerDisplay

    Notes
    -----
    **Privacy**: two capacities (B, F) are fixed at the start; a charge is granted if the amounts
    granted sum to at most B and the failures to at most F, in exact rationals. Which fits run,
    and at what cost, may depend on all earlier results.

    *basic*: (B, F) is (epsilon, delta); a filter by Rogers et al. 2016, Theorem 5.1. *gaussian*:
    (B, F) is that of :meth:`Budget.gaussian`. Stop the runs on both tables at the first failure
    event, which moves each by at most F in total variation. Every release left is mu_i-GDP given
    the earlier ones and ``sum mu_i^2 <= B`` on every path. Let G_b be the curve of N(sqrt(b), 1)
    against N(0, 1) and l the likelihood ratio of the first release, of cost b: the curve H of all
    has ``H(g) <= E[l G_{B-b}(g / l)]`` by induction. As ``l G(g / l)`` is convex in l, the mean is
    largest for the Gaussian pair of cost b, and then it is ``G_B(g)``. So the total is
    ``delta_gauss(sqrt(B), epsilon) + (1 + e^epsilon) F <= delta``. Concurrent fits interleave
    their releases; the argument takes them in any order.

    The guarantee is the capacity. What is *spent* is a running total, and a guarantee only if
    the charges do not depend on the releases. Not covered: deleting or editing the file, and
    network file systems without locks. A file of its own for every data set is the user's part.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivacyLedger, PrivateMean
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> ledger = PrivacyLedger(epsilon=3.0, delta=1e-5)
    >>> mean = PrivateMean(epsilon=1.0, delta=1e-6, ledger=ledger).fit(X)
    >>> [entry.kind for entry in ledger.entries()]
    ['opened', 'charge']
    """

    @_path_may_come_first
    def __init__(self, epsilon, delta=0.0, path=None, *, composition=None, unit="row"):
        if unit not in ("row", "group"):
            raise ValueError(f"unit must be 'row' or 'group'. Got {unit!r} instead.")
        capacity, self._note = _capacity(epsilon, delta, composition), ""
        capacity = (capacity[0], capacity[1] + OF_GROUPS * (unit == "group"), capacity[2])
        self._file = (
            LedgerFile.temporary(*capacity) if path is None else LedgerFile.at(path, *capacity)
        )
        first = self._file.first
        names = ("composition", "epsilon", "delta", "unit")
        stored = (first.what, first.epsilon, first.delta, self.unit)
        given = (capacity[0], *capacity[2][2:], unit)
        for name, old, new in zip(names, stored, given, strict=True):
            if old != new:
                old, new = (v if isinstance(v, str) else float(v) for v in (old, new))
                raise ValueError(
                    f"the ledger {self.path!r} was created with {name}={old}. Got {new} instead. "
                    "Pass the stored value, or use PrivacyLedger.open(path)."
                )

    @classmethod
    def open(cls, path):
        """Return the ledger in the file at ``path``, with the parameters stored in it."""
        return _with_file(LedgerFile(path), "")

    path = property(lambda self: self._file.path, doc="Absolute path of the file.")
    composition = property(lambda self: self._file.first.what, doc='"gaussian" or "basic".')
    epsilon = property(lambda self: float(self._file.first.epsilon), doc="Epsilon of the total.")
    delta = property(lambda self: float(self._file.first.delta), doc="Delta of the total.")
    unit = property(
        lambda self: unit_of(self._file.first),
        doc='"row" or "group": what all fits protect.',
    )
    _capacity = property(lambda self: (self._file.first.amount, self._file.first.failure))

    def admit(self, budget):
        """Return ``budget`` as a fit gets it: with mu^2 = x B a Gaussian fit may fail with x F.

        Notes
        -----
        Gaussian fits are then granted whenever ``sum epsilon_i <= epsilon`` and
        ``sum delta_i <= delta``: together they are one Gaussian of ``mu^2 = sum mu_i^2``, which is
        (epsilon, .95 delta)-DP by basic composition, and B is the largest such mu^2 (up to the
        rounding of the mu_i, 1e-8).
        """
        if self.composition == "basic" or budget.unit != "gdp":
            return budget
        amount, failure = self._capacity
        return budget.with_failure(min(budget.failure, failure * budget.amount / amount))

    def noted(self, note="", **facts):
        """Return this ledger with a note on every line that is charged to it from now on.

        Parameters
        ----------
        note : str, default=""
            Public, one line: which data, what for.
        **facts : str
            More of it, by name: ``dataset="flights", purpose="dashboard"``.

        Returns
        -------
        ledger : PrivacyLedger
            The same file, the same capacity; equal to this one.

        Examples
        --------
        >>> from skdp import PrivacyLedger, PrivateCount
        >>> ledger = PrivacyLedger(epsilon=1.0)
        >>> noted = ledger.noted("first look", dataset="flights")
        >>> count = PrivateCount(epsilon=0.1, delta=0, ledger=noted).fit([[1.0], [2.0]])
        >>> ledger.entries()[-1].note
        'first look, dataset: flights'
        """
        told = [note, *(f"{name}: {fact}" for name, fact in facts.items())]
        return _with_file(self._file, ", ".join(text for text in told if text))

    def charge(self, budget, what, *, seeded=False, unit="row", note=None):
        """Take ``budget`` from what is left, for good.

        Parameters
        ----------
        budget : Budget
            As returned by :meth:`admit`.
        what : str
            What it is for; public.
        seeded : bool, default=False
            Whether the noise will come from a seed.
        unit : {"row", "group"}, default="row"
            What the fit protects.
        note : str, default=None
            Which data, what for; public. By default that of :meth:`noted`.

        Returns
        -------
        id : str
            Number of the entry, which is on disk by then.

        Raises
        ------
        BudgetExceeded
            If the budget exceeds what is left, or the fit protects another unit. The refusal
            latches: every charge is refused until :meth:`acknowledge`, so that no search that
            swallows exceptions can hide it.
        """
        cost = self.price(budget)
        what = str(what) if unit == self.unit else f"{what} of {unit}s"
        line = (
            with_note(what, self._note if note is None else note),
            budget.unit,
            (*cost, budget.epsilon, budget.delta),
            bool(seeded),
        )
        with self._file.transaction("IMMEDIATE") as db:
            before, closed = spent(db), latched(db)
            fits = [s + c <= b for s, c, b in zip(before, cost, self._capacity, strict=True)]
            granted = all(fits) and not closed and unit == self.unit
            number = append(db, "charge" if granted else "refused", *line)
        if granted:
            return str(number)
        asked, gone = (part(self._file.first, amounts) for amounts in (cost, before))
        reason = f"{asked:.6g} of the whole requested, {gone:.6g} spent"
        if fits == [True, False] and budget.unit == "gdp":
            reason += " of its failure probability (charge what ledger.admit returns)"
        if unit != self.unit:
            reason = OTHER_UNIT[self.unit]
        raise BudgetExceeded(
            f"{what} was refused by {self!r}: "
            f"{'an earlier refusal has latched it' if closed else reason}. "
            "Nothing is granted before ledger.acknowledge() is called."
        )

    def acknowledge(self):
        """Take note of a refusal: charges that fit are granted again. This is recorded."""
        with self._file.transaction("IMMEDIATE") as db:
            append(db, "acknowledged")

    def entries(self):
        """Return the lines of the ledger, a list of named tuples; refusals are among them."""
        return list(self.report().entries)

    def spent(self):
        """Return the running total, a named tuple; ``fraction`` is that of the capacity."""
        return self.report().spent

    def remaining(self):
        """Return what is left, a named tuple; a fit of its ``epsilon, delta`` would be granted."""
        return self.report().remaining

    def report(self):
        """Return totals and entries at one instant: text, HTML, JSON, a frame or a plot."""
        with self._file.transaction() as db:
            lines, used, closed = tuple(entries(db)), spent(db), latched(db)
        return LedgerReport(repr(self), used, closed, lines)

    def price(self, budget):
        """Return what a budget takes from the two capacities, or raise ValueError.

        Parameters
        ----------
        budget : Budget

        Returns
        -------
        amount, failure : Fraction
        """
        if not isinstance(budget, Budget):
            raise TypeError(f"budget must be a Budget. Got {type(budget).__name__} instead.")
        if not budget.epsilon > 0:
            raise ValueError("a charge needs a positive Fraction epsilon. Ask for a larger budget.")
        if self.composition == "basic":
            return budget.epsilon, budget.delta
        if budget.unit == "gdp":
            return budget.amount, budget.failure
        if budget.unit == "pure" and budget.delta == budget.failure == 0:
            mu = pure_to_gdp(math.nextafter(float(budget.amount), math.inf))
            return Fraction(mu) ** 2, Fraction(0)
        raise ValueError(
            f"a ledger with Gaussian composition has no price for a {budget.unit!r} budget with "
            f"delta={float(budget.delta):g}: neither zCDP nor (epsilon, delta)-DP implies GDP. "
            f"Open one for it: PrivacyLedger(epsilon={float(budget.epsilon):g}, "
            f"delta={float(budget.delta):g}, composition='basic'); what two ledgers guarantee "
            "adds up."
        )

    def __eq__(self, other):
        return isinstance(other, PrivacyLedger) and self.path == other.path

    def __hash__(self):
        return hash(self.path)

    def __copy__(self, memo=None):
        return self

    __deepcopy__ = __sklearn_clone__ = __enter__ = __copy__

    def __exit__(self, *exception):
        if exception == (None, None, None) and self.report().latched:
            raise BudgetExceeded(
                f"{self!r} has refused a fit. Look at its report(), then acknowledge()."
            )

    def __reduce__(self):
        file = self._file
        return _loaded, (file.path, file.session, file.first, file.mark, self._note)

    def __repr__(self):
        path = None if self._file.session else self.path
        unit = "" if self.unit == "row" else f", unit={self.unit!r}"
        return f"PrivacyLedger(epsilon={self.epsilon!r}, delta={self.delta!r}, path={path!r}{unit})"


def _loaded(path, session, first, mark, note):
    """Return a ledger as it was pickled; its file is looked for when something is charged."""
    return _with_file(LedgerFile.unopened(path, session, first, mark), note)


def _with_file(file, note):
    ledger = PrivacyLedger.__new__(PrivacyLedger)
    ledger._file, ledger._note = file, note
    return ledger


def _capacity(epsilon, delta, composition):
    """Return composition, unit and (B, F, epsilon, delta)."""
    delta = as_fraction(delta, name="delta")
    composition = composition or ("gaussian" if delta else "basic")
    if composition == "gaussian" and delta:
        b = Budget.gaussian(epsilon, delta)
        return composition, b.unit, (b.amount, b.failure, b.epsilon, b.delta)
    if composition != "basic" or delta >= 1:
        raise ValueError(
            "composition must be 'basic', or 'gaussian' with delta > 0, and delta in [0, 1). "
            f"Got composition={composition!r}, delta={float(delta):g} instead."
        )
    epsilon = Budget.pure(epsilon).epsilon
    return composition, composition, (epsilon, delta, epsilon, delta)
