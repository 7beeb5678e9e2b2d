"""The ledger: one budget for many fits."""

import os
from functools import wraps

from skdp.accounting._accounts import (
    UNITS,
    Accounts,
    check_charge,
    check_stored,
    openings_of,
    reports_of,
)
from skdp.accounting._ledger_file import OF_GROUPS, LedgerFile, append, lines, state
from skdp.exceptions import BudgetExceeded
from skdp.show._ledger import plain, sizes_of, state_of, with_note
from skdp.show._ledger_planning import LedgerPlanning


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


class PrivacyLedger(LedgerPlanning):
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
    rows_per_group : int, default=None
        For several units: a public bound, 1 to 1000, of the rows of one group, from a rule and
        never from the table. None: there is none.

    For several units in one ledger ``epsilon`` is a dict, ``{"row": 1.0, "group": 4.0}``, and
    ``delta`` a number for both or a dict. Fits with and without ``groups=`` are then charged to the
    account of each unit whose guarantee they use up. A unit that is left out is promised nothing,
    and the report says so.

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

    Several units: each account is such a filter. A fit takes one step from the account of its own
    unit; one that protects groups two from that of rows; one that protects rows ``rows_per_group``
    from that of groups, and without such a bound it is refused where groups are promised something.
    k steps of an (epsilon, delta) fit are ``(k epsilon, (1 + e^epsilon + ...) delta)``, of a
    Gaussian one ``(k^2 mu^2, k f)``. Fits that are neither Gaussian nor pure, a search among them,
    cost ``(mu^2, f)`` of what they are nearly: user guide "Accounting", theorems 5 and 6.

    The guarantee is the capacity. What is *spent* is a running total, and a guarantee only if
    the charges do not depend on the releases. Every line holds the running totals, never below the
    exact sums, and a checksum: a file that is damaged, or has hard links, grants nothing. Not
    covered: deleting the file, editing it with its checksums, and network file systems without
    locks. A file of its own for every data set is the user's part.

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
    def __init__(
        self, epsilon, delta=0.0, path=None, *, composition=None, unit="row", rows_per_group=None
    ):
        openings = openings_of(epsilon, delta, composition, unit, rows_per_group)
        self._note = ""
        self._file = (
            LedgerFile.temporary(*openings) if path is None else LedgerFile.at(path, *openings)
        )
        check_stored(self.path, self._file.openings, openings)

    @classmethod
    def open(cls, path):
        """Return the ledger in the file at ``path``, with the parameters stored in it."""
        return _with_file(LedgerFile(path), "")

    path = property(lambda self: self._file.path, doc="Absolute path of the file.")
    composition = property(lambda self: self._file.first.what, doc='"gaussian" or "basic".')
    epsilon = property(
        lambda self: self._of_units("epsilon"), doc="Epsilon of the total; of several units a dict."
    )
    delta = property(
        lambda self: self._of_units("delta"), doc="Delta of the total; of several units a dict."
    )
    rows_per_group = property(
        lambda self: self._accounts.rows_per_group, doc="Public bound of the rows of a group."
    )
    _accounts = property(lambda self: Accounts(self._file.openings))
    _capacity = property(lambda self: (self._file.first.amount, self._file.first.failure))

    @property
    def unit(self):
        """What the promise is about: "row" or "group", or a tuple of both if there are two."""
        units = tuple(self._accounts.claimed)
        return units if len(units) > 1 else units[0]

    def _of_units(self, name):
        accounts = self._accounts
        told = {unit: float(getattr(e, name)) for unit, e in accounts.claimed.items()}
        return told if accounts.several else told[self.unit]

    def admit(self, budget):
        """Return ``budget`` as a fit gets it: with mu^2 = x B a Gaussian fit may fail with x F.

        Notes
        -----
        Gaussian fits are then granted whenever ``sum epsilon_i <= epsilon`` and
        ``sum delta_i <= delta``: together they are one Gaussian of ``mu^2 = sum mu_i^2``, which is
        (epsilon, .95 delta)-DP by basic composition, and B is the largest such mu^2 (up to the
        rounding of the mu_i, 1e-8).
        """
        if self.composition == "basic" or budget.measure != "gdp":
            return budget
        return self._accounts.admit(budget)

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
        return _with_file(self._file, plain(", ".join(text for text in told if text)))

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
            Number of the entry, which is on disk by then; of several units that of the last one,
            as every account that is charged has a line.

        Raises
        ------
        BudgetExceeded
            If the budget exceeds what is left of an account, or the fit protects another unit and
            has no bound in this one. The refusal latches: every charge is refused until
            :meth:`acknowledge`, so that no search that swallows exceptions can hide it.
        """
        if unit not in UNITS:
            raise ValueError(f"unit must be 'row' or 'group'. Got {unit!r} instead.")
        check_charge(budget)
        accounts = self._accounts
        costs = accounts.costs(budget, unit)
        what = plain(f"{what} of {unit}s" if accounts.several or unit != self.unit else what)
        line = with_note(what, self._note if note is None else note)
        with self._file.transaction("IMMEDIATE") as db:
            closed, before = self._now(*state(db))
            reasons = self._reasons(budget, unit, before)
            granted = not reasons and not closed
            for account, cost in costs.items():
                number = append(
                    db,
                    "charge" if granted else "refused",
                    line,
                    budget.measure + OF_GROUPS * (accounts.several and account == "group"),
                    (*(cost or (0, 0)), budget.epsilon, budget.delta),
                    bool(seeded),
                )
        if granted:
            return str(number)
        sizes = ""
        if unit in accounts.claimed:
            sizes = sizes_of(budget, self.remaining(unit if accounts.several else None))
        raise BudgetExceeded(
            f"{what} was refused by {self!r}: "
            f"{'an earlier refusal has latched it' if closed else reasons[0]}. "
            f"{sizes}Nothing is granted before ledger.acknowledge() is called."
        )

    def affords(self, budget, unit="row"):
        """Return whether :meth:`charge` would grant a budget now; nothing is charged.

        Parameters
        ----------
        budget : Budget
        unit : {"row", "group"}, default="row"
            What the fit protects.

        Returns
        -------
        granted : bool
        """
        check_charge(budget)
        with self._file.transaction() as db:
            latched, before = self._now(*state(db))
        return not latched and not self._reasons(budget, unit, before)

    def _reasons(self, budget, unit, before):
        """Return why accounts do not grant a budget: an empty list if they do."""
        costs = self._accounts.costs(budget, unit).items()
        told = [self._accounts.refusal(a, cost, before[a], budget.measure) for a, cost in costs]
        return [reason for reason in told if reason is not None]

    def _now(self, latched, sums):
        """Return whether it is latched, and the (amount, failure) spent of each account."""
        accounts = self._accounts
        return latched, {u: sums[accounts.several and u == "group"] for u in accounts.claimed}

    def acknowledge(self):
        """Take note of a refusal: charges that fit are granted again. This is recorded."""
        with self._file.transaction("IMMEDIATE") as db:
            append(db, "acknowledged")

    def entries(self):
        """Return the lines of all accounts, a list of named tuples; refusals are among them."""
        return list(self.report().entries)

    def spent(self, unit=None):
        """Return the running total, a named tuple; ``fraction`` is that of the capacity.

        Of several units a dict of these, or that of one ``unit``; so does :meth:`remaining`.
        """
        return self.report(unit).spent

    def remaining(self, unit=None):
        """Return what is left, a named tuple; a fit of its ``epsilon, delta`` would be granted."""
        return self.report(unit).remaining

    def report(self, unit=None):
        """Return totals and entries at one instant: text, HTML, JSON, a frame or a plot.

        Parameters
        ----------
        unit : {"row", "group"}, default=None
            Of several units the account to tell of; by default all of them.
        """
        with self._file.transaction() as db:
            told = lines(db)
        closed, used = self._now(*state_of(told.state))
        accounts = self._accounts
        if unit not in (None, *accounts.claimed):
            raise ValueError(f"this ledger claims nothing for {unit!r}. It does for {self.unit!r}.")
        whole = reports_of(repr(self), accounts, used, closed, told)
        return whole.units[unit or self.unit] if unit or not accounts.several else whole

    def price(self, budget, unit=None):
        """Return what a budget takes from the two capacities, or raise ValueError.

        Parameters
        ----------
        budget : Budget
        unit : {"row", "group"}, default=None
            Of several units that of the fit. None: the least that any fit of it takes.

        Returns
        -------
        amount, failure : Fraction
            Of several units a dict of such pairs, None where there is no bound.

        Raises
        ------
        ValueError
            For a budget that is neither Gaussian nor pure and costs more than all of a Gaussian
            ledger; the message offers one that takes it.
        """
        check_charge(budget)
        accounts = self._accounts
        if not accounts.several:
            return accounts.costs(budget, self.unit)[self.unit]
        if unit is None:
            return {name: accounts.costs(budget, name)[name] for name in accounts.claimed}
        return accounts.costs(budget, unit)

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
        return _loaded, (file.path, file.session, file.openings, file.mark, self._note)

    def __repr__(self):
        path = None if self._file.session else self.path
        unit = "" if self._accounts.several or self.unit == "row" else f", unit={self.unit!r}"
        unit += f", rows_per_group={self.rows_per_group}" if self.rows_per_group else ""
        return f"PrivacyLedger(epsilon={self.epsilon!r}, delta={self.delta!r}, path={path!r}{unit})"


def _loaded(path, session, openings, mark, note):
    """Return a ledger as it was pickled; its file is looked for when something is charged."""
    return _with_file(LedgerFile.unopened(path, session, openings, mark), note)


def ledger_within(budget, unit="row"):
    """Return a ledger in memory of what a Gaussian budget allows: amount and failure."""
    sizes = (budget.amount, budget.failure, budget.epsilon, budget.delta)
    opening = ("gaussian", budget.measure + OF_GROUPS * (unit == "group"), sizes)
    return _with_file(LedgerFile.temporary(opening), "")


def _with_file(file, note):
    ledger = PrivacyLedger.__new__(PrivacyLedger)
    ledger._file, ledger._note = file, note
    return ledger
