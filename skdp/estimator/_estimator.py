"""The fit that every estimator shares: validate the schema, plan, charge, release, report."""

import math
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from inspect import signature
from numbers import Integral, Real

from joblib import parallel_config
from sklearn.base import BaseEstimator

from skdp._private_part import DropsPrivateState, guarded, unchanged
from skdp.accounting import PrivacyLedger
from skdp.contracts import Contract, Released, Rows, doubts_around
from skdp.estimator._mixins import FitsElsewhere
from skdp.estimator._results import JudgedNumbers
from skdp.exceptions import PlanError, SeededNoiseWarning
from skdp.gate._accountant import BudgetAllocation
from skdp.gate._curator import make_curator
from skdp.kernel._log import Log
from skdp.kernel._sums import Count
from skdp.kernel._table import Table, annex, made_table
from skdp.kernel._totals import asked_first
from skdp.mechanisms import make_entropy
from skdp.planning._questions import PlanningMixin
from skdp.table._groups import (
    GroupRule,
    grouped_plan,
    read_groups,
    rows_of_groups,
    weighted_persons,
    without_groups,
    without_weights,
)
from skdp.table._schema import read_rows
from skdp.table._supervised import read_with_target
from skdp.utils._compat import (
    CallbackSupportMixin,
    Hidden,
    Interval,
    NamesOnce,
    StrOptions,
    VisualBlock,
    callbacks,
    fit_context,
)
from skdp.utils._config import get_config
from skdp.utils._numbers import PlainNumbers
from skdp.utils._progress import lines, tell
from skdp.utils._renamed import Renamed
from skdp.utils._threads import is_quiet
from skdp.utils._warnings import accuracy_warnings, stack_level, warn_low_accuracy, warn_weak_claim

MOST_ROWS = 2**40  # of a person that count: sums of weights are integers of 64 bits


class PrivateEstimator(
    FitsElsewhere,
    JudgedNumbers,
    PlanningMixin,
    DropsPrivateState,
    PlainNumbers,
    NamesOnce,
    CallbackSupportMixin,
    BaseEstimator,
):
    """Base of all private estimators.

    A subclass has the parameters ``epsilon``, ``delta``, ``random_state`` and ``ledger`` and
    writes two methods:

    ``plan()``
        Returns the :class:`skdp.accounting.Plan` of a fit, from parameters alone.
    ``_release(table)``
        Returns a dict of fitted attributes, every one of them computed from what the
        :class:`skdp.base.Table` answers and public values only. What it is asked is a
        :class:`skdp.base.Statistic`: of skdp, or of your own.

    A method ``_release(rows, curator)`` gets the rows themselves, and a Curator to release of them.

    ``fit`` sets nothing else: what is not in that dict does not survive, be it set by ``_release``
    or by an earlier fit. A value of the class :class:`skdp.base.Local` is the exception to what may
    be in it: private, for the owner of the rows, shown by no ``repr``, and left behind by pickles
    and copies. Parameters are kept as Python's own numbers.

    See Also
    --------
    Table, Statistic, Curator, skdp.audit.check_private_estimator

    Notes
    -----
    **Privacy**: ``fit`` charges the plan, guards ``_release`` and sets what it returns. That this
    is made of releases and public values alone is for the author of a subclass to prove;
    :func:`skdp.audit.check_private_estimator` looks for counterexamples.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import Budget, Count, Plan, PrivateEstimator, Step
    >>> class Size(PrivateEstimator):
    ...     def __init__(self, *, epsilon=1.0, delta=0.0, random_state=None, ledger=None):
    ...         self.epsilon, self.delta = epsilon, delta
    ...         self.random_state, self.ledger = random_state, ledger
    ...
    ...     def plan(self):
    ...         return Plan(Budget.pure(self.epsilon), (Step("count", "laplace"),))
    ...
    ...     def _release(self, table):
    ...         told = table.ask(Count(), share=1, label="count")  # a row moves it by 1
    ...         return {"count_": int(told.value[0])}
    ...
    >>> abs(Size().fit(np.zeros((500, 1))).count_ - 500) < 50
    True
    """

    _target = None  # what y is: None if it is ignored, "number" or "class"
    _mixed = False  # whether columns may hold text and gaps
    _gaps = False  # whether columns of numbers may hold gaps: NaN loses its entry alone
    _weighs_groups = False  # whether rows of a person are weighed; else one of them is read

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "ledger": [PrivacyLedger, Hidden(BudgetAllocation), None],
    }

    # for a subclass with the parameter ``rows_per_group``, and one with ``n_jobs`` too
    _group_constraints: dict = {
        **_parameter_constraints,
        "rows_per_group": [Interval(Integral, 1, MOST_ROWS, closed="both"), StrOptions({"auto"})],
    }
    _row_constraints: dict = {
        **_group_constraints,
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, groups=None):
        """Fit on private rows and release the result.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows: one table in memory, or what is read in pieces: paths of parquet
            files, a Table or Dataset of Arrow, a LazyFrame of polars, a list of batches or another
            iterable that starts anew, a collection of dask. Read, never stored.
        y : array-like of shape (n_samples,) or str, default=None
            Ignored by estimators that have no target; as private as the rows. One entry for each
            row, of the kind of memory that X is of, or in memory; or the name of a column of X,
            which is then no feature. Batches of X may also have batches of y beside them, or be
            pairs of both.
        groups : array-like of shape (n_samples,), default=None
            Whose row each row is: a person is all rows with equal entries, numbers, text, times or
            tuples of these; or the name of a column of X, which is then none of the features.
            With it one person, with all rows, is protected in place of one row (user guide
            "Several rows per person").

        Returns
        -------
        self : object
            Fitted estimator; ``privacy_report_`` is the bill.

        Raises
        ------
        TypeError
            For an iterator or a stream, which can be read only once, and for sparse tables.
        ValueError
            For a table of the wrong shape or type, and for infinity unless
            ``skdp.config_context(invalid_rows="ignore")``; for NaN too where rows count as a whole:
            statistics of columns leave out gaps column by column. Before anything is charged.
        BudgetExceeded
            If the ledger cannot grant the whole plan; before the release reads anything.
        ReleaseError
            If the private part fails; the message is constant and the budget stays spent.
        """
        return self._fit(X, y, groups)

    def _fit(self, X, y, groups, sample_weight=None):
        if isinstance(X, Table):  # of a larger fit
            return self._fit_within(X)
        if hasattr(type(X), "__skdp_opened__"):  # a table that another process holds
            return self._fit_elsewhere(X, y, groups, sample_weight)
        if sample_weight is not None:
            self._check_weights()
        weighs = groups is None and sample_weight is not None
        plan = self._weighted_plan() if weighs else self._plan_of(X, groups)
        if plan.problems:
            raise PlanError("\n".join(["this fit cannot be carried out:", *plan.problems]))
        X, groups = without_groups(X, groups)
        X, sample_weight = without_weights(X, sample_weight)
        rows, release = self._read(X, y), self._release_from
        persons = None if groups is None else self._persons(groups, rows)
        if sample_weight is not None:
            persons = weighted_persons(sample_weight, persons, len(rows))
        release = release if persons is None else partial(self._release_of_groups, persons)
        if not self._is_inner():
            warn_weak_claim(self, plan.budget, doubts_around)
        with nullcontext() if self._is_inner() else callbacks(self) as tasks:
            curator = self._curator(plan)
            curator.column_names = getattr(self, "feature_names_in_", None)
            with self._watched(plan, curator, tasks), unchanged(self), self._threads():
                released = guarded(release, rows, curator)
            Log.forget(curator)
            for name, value in released.items():
                setattr(self, name, value)
            self._report(curator)
            self._doubt_numbers(curator)
            self._report(curator)
        if not self._is_inner():
            warn_low_accuracy(self)
        return self

    def _report(self, curator):
        report = curator.close(type(self).__name__)
        self.privacy_report_ = replace(report, target=self._target)

    def _plan_of(self, X, groups):
        """Return the plan of a fit of X, which protects groups if there are some."""
        return self.plan() if groups is None else self._grouped_plan()

    @property
    def reliable_(self):
        """Whether all that the fit has released is reliable: bool.

        It is if no warning of low accuracy was raised: every interval holds what it names, as far
        as releases tell, and is short beside the spread or the value it is about (user guide "When
        is an answer reliable"). A function of released values, as ``accuracy_warnings_``.
        ``results()``, where there is one, says the same of each number.
        """
        return not self._accuracy_warnings()

    @property
    def accuracy_warnings_(self):
        """What has low accuracy, why, and what helps: tuple of str, empty if nothing has.

        The lines of the :class:`skdp.exceptions.LowAccuracyWarning` of the fit.
        """
        return self._accuracy_warnings()

    advice_ = Renamed("accuracy_warnings_", "\n".join)

    def _accuracy_warnings(self):
        """Return what of the released has low accuracy, and why: texts."""
        return accuracy_warnings(self.privacy_report_)

    def _read(self, X, y):
        """Check types and shapes, and public parameters against them; return what to release of.

        What it raises, it raises before anything is charged.
        """
        if self._target is None:
            rows = read_rows(self, X, missing=self._gaps, first=self._first_sums)
        else:
            rows = read_with_target(self, X, y)
        self._check_public(rows.n_features - (self._target is not None))
        ignored = get_config()["invalid_rows"] == "ignore"
        if ignored and not (self._gaps or self._mixed or self._is_inner()):
            rows.whole_rows = True  # those that a gap loses are counted
        return rows

    def _asked_first(self, n_features):
        """Return statistics that depend on no release: a table in pieces is read once for them."""
        return (Count(),)

    def _first_sums(self, n_features):
        return asked_first(self._asked_first(n_features))

    def _look(self, X, y=None):
        """Raise what ``fit`` would raise for X and y before anything is charged, and no more."""
        self._validate_params()
        self._read(X, y)

    def _threads(self):
        """Let blocks of rows be shared by ``n_jobs`` threads, where it is a parameter."""
        n_jobs = getattr(self, "n_jobs", None)
        return nullcontext() if n_jobs is None else parallel_config(n_jobs=n_jobs)

    def _curator(self, plan):
        """Charge for the plan; return the Curator of the fit."""
        if self._is_granted():
            self.ledger.refuse()
        entropy = make_entropy(self.random_state)
        if entropy.seeded:
            warnings.warn(
                f"{type(self).__name__} draws its noise from a seed: the result is reproducible "
                "and NOT private. Use random_state=None for anything that leaves your hands.",
                SeededNoiseWarning,
                stacklevel=stack_level(),
            )
        if self.ledger is not None:
            self.ledger.charge(
                plan.budget, type(self).__name__, seeded=entropy.seeded, unit=plan.privacy_unit
            )
        return make_curator(plan, entropy)

    def _curators(self):
        """Return a context in which sessions are made as this estimator needs them."""
        return nullcontext()

    @contextmanager
    def _watched(self, plan, curator, tasks):
        """Tell of releases in this context, callbacks by ``tasks``, unless this fit is inner."""
        if self._is_inner():
            yield
            return
        with lines(type(self).__name__, plan) as text:
            tell(curator, [tasks, text])
            yield

    def _sk_visual_block_(self):
        details = {"name_caption": guarantee(self), "name_details": str(self)}
        return VisualBlock("single", self, names=type(self).__name__, **details)

    def _grouped_plan(self):
        """Return the plan of a fit with groups."""
        return grouped_plan(self.plan(), self)

    def _weighted_plan(self):
        """Return the plan of a fit with sample_weight, or raise ValueError."""
        return grouped_plan(self.plan(), self, unit="row")

    def _persons(self, groups, rows):
        """Return the Persons of what is read; what it raises, it raises before a charge."""
        return read_groups(groups, len(rows))

    def _release_from(self, rows, curator):
        """Return what is released of rows, by a Table where the estimator asks one."""
        return self._ask(made_table(rows, curator))

    def _ask(self, table):
        """Return what is released of a Table, or of the rows and the Curator behind it."""
        asks = len(signature(self._release).parameters) == 1
        return self._release(table) if asks else self._release(*annex(table))

    def _release_of_groups(self, persons, rows, curator):
        """Return what is released of the rows of persons."""
        rows, curator, told = self._of_persons(persons, rows, curator)
        return self._release_from(rows, curator) | told

    def _of_persons(self, persons, rows, curator):
        """Return rows and Curator of a fit that protects persons, and what is told of these."""
        return rows_of_groups(self, persons, rows, curator)

    def _group_rule(self, n_features):
        """Return the GroupRule of what is released; see :func:`release_contribution_bound`."""
        return GroupRule(noise=2.2 * math.sqrt(n_features), least=40.0)

    def _made_of_groups(self):
        """Return what is made of the rows of a person: "means", "extremes" or None."""

    def _check_public(self, n_features):
        """Raise ValueError for public parameters that do not fit the number of columns."""

    def _budget(self, make):
        """Return ``make(epsilon, delta)`` as the ledger, if any, would admit it."""
        budget = make(self.epsilon, self.delta)
        return budget if self.ledger is None else self.ledger.admit(budget)

    def _given(self):
        """Return the kind of data that a pipeline gives to this step."""
        return self.ledger.given if self._is_granted() else Rows()

    def _absent(self):
        """Return which rows a pipeline has left out before this step, None if none."""
        return self.ledger.absent if self._is_granted() else None

    def _is_granted(self):
        return isinstance(self.ledger, BudgetAllocation)

    def _is_inner(self):
        """Return whether a fit around this one tells of its releases and doubts."""
        return self._is_granted() or is_quiet()

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._gaps
        return tags

    def __skdp_contract__(self):
        """Return what this step reads and yields."""
        return Contract(
            consumes=(Rows,), yields=lambda kind: Released(), spends=True, target=self._target
        )


def guarantee(estimator):
    """Return the epsilon and delta of an estimator as a text."""
    given = ((name, getattr(estimator, name, None)) for name in ("epsilon", "delta"))
    return ", ".join(f"{name}={float(value):g}" for name, value in given if isinstance(value, Real))
