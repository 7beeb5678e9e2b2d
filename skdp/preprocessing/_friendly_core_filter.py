"""FriendlyCoreFilter, the transformer."""

from numbers import Real

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._private_part import Local
from skdp.accounting import Budget, Plan
from skdp.contracts import Contract, Core, Rows
from skdp.estimator._estimator import PrivateEstimator
from skdp.friendly import DistancePredicate, LocalCore, friendly_core, friendly_core_plan
from skdp.friendly._core import row_bound
from skdp.friendly._match import check_own_predicate, own_predicate_note
from skdp.kernel._table import annex
from skdp.location._friendly import find_friend_radius, friend_radius_steps
from skdp.readers import map_merge
from skdp.readers._persons import SampledRows
from skdp.readers._sources import source_of
from skdp.table._batched import transforms_pieces
from skdp.table._schema import numbers_of_dates
from skdp.utils._compat import HasMethods, Interval, safe_indexing
from skdp.utils._numbers import stores_parameters

# --- a set of rows that is asked for its members and keeps none of them


class RowSet:
    """Digests of rows, salted by secret words: two different rows share one with 2^-63 or so."""

    def __init__(self, rows, mask, salts):
        self._salts = salts
        parts = map_merge(
            rows,
            lambda start, block, index: [digests(block[index], salts)],
            list.__add__,
            lambda start, stop: np.flatnonzero(mask[start:stop]),
        )
        self._members = np.sort(np.concatenate(parts))

    def holds(self, X):
        """Tell for each row of X whether it is a member, bit for bit."""
        found = digests(X, self._salts)
        place = np.minimum(np.searchsorted(self._members, found), max(0, len(self._members) - 1))
        return self._members[place] == found if len(self._members) else np.zeros(len(X), dtype=bool)


def digests(X, salts):
    """Return a 64-bit digest of every row, the same for float32, float64 and both zeros."""
    total = np.zeros(len(X), dtype=np.uint64)
    for j, salt in enumerate(salts):
        bits = (np.asarray(X[:, j], dtype=np.float64) + 0.0).view(np.uint64)
        total += _mixed(bits ^ salt)
    return _mixed(total)


def _mixed(x):
    """Mix the bits of every word (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


MEMORY = "memory: a few numbers for each row: its group, its friends, a digest if it is in the core"
NO_RADIUS = "too few rows to find a radius: the core is empty. Pass radius= or a larger epsilon"


@transforms_pieces
class FriendlyCoreFilter(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):
    """Keep the rows that have many friends; any two rows of the core share a friend.

    The filter of FriendlyCore [1]_: rows that are no friends of most others, outliers above all,
    do not enter the core. An algorithm that is private for neighbouring tables of friends only, an
    average with noise in proportion to their diameter for instance, is private on the core.

    A filter **releases nothing of the rows it keeps**: what :meth:`transform`, :meth:`fit_resample`
    and :meth:`get_support` return is as private as the table, for the eyes of its owner.

    Parameters
    ----------
    radius : float, default=None
        Two rows are friends if they are at most this far apart, between 2^-1000 and 2^1000. None
        finds, privately, a radius within which most pairs of rows are. Must not be computed from X.
    predicate : Predicate, default=None
        Another notion of friends, see :class:`skdp.friendly.Predicate`, in place of a radius:
        ``DistancePredicate(6.0)`` is the same as ``radius=6.0``. Any other is tried on made-up
        rows before anything is charged; beyond them the guarantee rests on **your promise** that
        it keeps that contract, and plan and report say so.
    level : float, default=0.5
        In (0, 1/2]: rows of the core have fewer than ``level * n`` non-friends.
    epsilon : float, default=1.0
        Privacy parameter, > 0, of the filter.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Not used: with ``groups`` one row of every group is read, drawn at random. The core holds
        such rows only, so that a friendly step after it is private for groups too; the other rows
        of a group are left out, whatever they are like.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    radius_ : float
        The radius that was found or given, 0 if the rows were too few to find one. Absent with a
        ``predicate`` other than :class:`skdp.friendly.DistancePredicate`.
    rows_per_group_ : int
        With ``groups`` only: as how many rows a group counts at most; 1 if all groups count alike.
    privacy_report_ : PrivacyReport
        The bill of the filter, and the guarantee for what later steps release of the core.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.friendly.friendly_core : The filter as a function.
    skdp.PrivateMean : With ``method="friendly"``, filter and average in one.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, of
    ``radius_`` together with the *decisions* of the filter about the rows that two tables have in
    common (user guide "FriendlyCore"): friendly steps after it add their own cost, and what they
    release may be published. Not private: the core, that is the results of ``transform``,
    ``fit_resample`` and ``get_support``; parameters that were chosen by looking at the data. The
    core is kept in memory alone, and lost when the fitted filter is pickled or copied.

    With more than 20,000 rows friends are counted in random groups, in time linear in the rows.
    Memory: a few numbers for each row, whatever its columns.

    References
    ----------
    .. [1] Tsfadia, Cohen, Kaplan, Mansour, Stemmer. "FriendlyCore: Practical differentially
       private aggregation". ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import FriendlyCoreFilter
    >>> X = np.random.default_rng(0).normal(size=(5000, 3))
    >>> X[:50] *= 1e4
    >>> core = FriendlyCoreFilter().fit_transform(X)  # local: as private as X
    >>> core.shape, bool(np.isnan(core[:50]).all())
    ((5000, 3), True)
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "predicate": [HasMethods(["friends", "implies"]), None],
        "level": [Interval(Real, 0, 0.5, closed="right")],
    }

    @stores_parameters
    def __init__(
        self,
        radius=None,
        *,
        predicate=None,
        level=0.5,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        steps, events = friendly_core_plan()
        budget = self._budget(Budget.gaussian)
        steps = (*(friend_radius_steps() if self._searches() else ()), *steps)
        failures = tuple((name, budget.failure / 2) for name in events)
        note = own_predicate_note(self.predicate)
        notes = (MEMORY,) if note is None else (MEMORY, note)
        return Plan(budget, steps, failures, assumptions=notes)

    def _searches(self):
        return self.radius is None and self.predicate is None

    def _public_predicate(self):
        """Return who is whose friend, or None where a radius is searched for."""
        if self.radius is not None and self.predicate is not None:
            raise ValueError(
                "radius and predicate were both given. Give one: a radius is the predicate "
                "skdp.friendly.DistancePredicate(radius)."
            )
        return self.predicate if self.radius is None else DistancePredicate(self.radius)

    def _problem(self, kind=None):
        """Return what is wrong with the parameters, or None."""
        try:
            self._public_predicate()
        except ValueError as error:
            return f"cannot tell who is whose friend: {error}"
        return None

    def _check_public(self, n_features):
        check_own_predicate(self._public_predicate(), n_features)

    def _release(self, table):
        rows, curator = annex(table)  # rows decide by noise of their own, and stay in a Local
        n_up, predicate = row_bound(rows, curator), self._public_predicate()
        if predicate is None:
            radius = find_friend_radius(rows, curator, n_rows=max(float(n_up), 2.0))
            predicate = None if radius is None else DistancePredicate(radius)
        if predicate is None:
            curator.doubt(NO_RADIUS)
            core = LocalCore(np.zeros(len(rows), dtype=bool), None, n_up, self.level)
        else:
            core = friendly_core(
                rows, predicate, curator, share=curator.remaining, n_up=n_up, level=self.level
            )
        salts = curator.coins.keys(0, rows.n_features, use="digests")
        members = RowSet(rows, core.mask, salts)
        if isinstance(rows, SampledRows):
            core = LocalCore(rows.among_all(core.mask), core.predicate, core.n_up, core.level)
        fitted = {"_core": _LocalView(core, members)}
        if core.radius is None and predicate is not None:
            return fitted
        return {"radius_": core.radius or 0.0, **fitted}

    def _view(self):
        check_is_fitted(self)
        view = getattr(self, "_core", None)
        if view is None:
            raise AttributeError(
                f"this {type(self).__name__} was pickled or copied after its fit, and the core is "
                "private: it stays behind. Use the filter where it was fitted, or fit it again."
            )
        return view

    def _members(self):
        return vars(self).get("_lent") or self._view().members

    def _local_state(self):
        return {"_lent": self._members()}

    def transform(self, X):
        """Return X with the rows outside the core replaced by NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_core : ndarray of shape (n_samples, n_features)
            **Local, not private.** Rows that equal a row of the core are kept, all others are NaN
            in every column.
        """
        members = self._members()
        X = validate_data(self, numbers_of_dates(X), dtype=[np.float64, np.float32], reset=False)
        return np.where(members.holds(X)[:, None], X, np.nan).astype(X.dtype, copy=False)

    def fit_resample(self, X, y=None, *, groups=None):
        """Fit, and return the rows of the core.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Resampled alike; not used otherwise.
        groups : array-like of shape (n_samples,) or str, default=None
            Whose row each row is, as for :meth:`fit`: of a group at most one row is in the core.

        Returns
        -------
        X_core : array-like of shape (n_core, n_features)
            **Local, not private**: rows of X, and a number of rows that nobody released. Of a
            source a generator of arrays, the rows of the core in each block.
        y_core : array-like of shape (n_core,)
            Only if y is given.
        """
        core = self.fit(X, groups=groups).get_support(local=True)
        index, source = np.flatnonzero(core), source_of(X)
        X_core = safe_indexing(X, index) if source is None else _blocks_of(source, core)
        return X_core if y is None else (X_core, safe_indexing(y, index))

    def get_support(self, *, local=False):
        """Return which rows of the table of the fit are in the core.

        Parameters
        ----------
        local : bool, default=False
            Must be True: the mask is **not private**, it is for the owner of the rows. After a fit
            with ``groups`` it holds no more than one row of a group, drawn at random.

        Returns
        -------
        support : ndarray of shape (n_samples,), bool
            Of a fit with ``groups``: one drawn row of each group that is in the core.
        """
        if local is not True:
            raise ValueError(
                "the support of a core is as private as the rows, no noise protects it. Call "
                "get_support(local=True) where the rows may be seen, and do not publish the result."
            )
        return self._view().core.mask.copy()

    def certificate(self):
        """Return the core with what is proved of it, for a friendly step after the filter.

        Returns
        -------
        core : LocalCore
            **Local, not private**: the core, and with it the predicate under which any two of its
            rows share a friend; see :class:`skdp.friendly.LocalCore`.
        """
        return self._view().core

    def __skdp_contract__(self):
        """Return what this step reads and yields: private rows that are friends."""
        near = DistancePredicate if self._problem() else self._public_predicate()
        near = DistancePredicate if near is None else near
        return Contract(
            (Rows,), yields=lambda kind: Core(near), spends=True, weight=0.5, problem=self._problem
        )


def _blocks_of(source, core):
    for start, block in source.blocks():
        yield block[core[start : start + len(block)]]


class _LocalView(Local):
    def __init__(self, core, members):
        self.core, self.members = core, members
