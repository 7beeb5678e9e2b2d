"""SensitivityPreprocessor, the step."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skdp._private_part import DropsPrivateState, Local
from skdp.contracts import BoundedStatistic, Contract, Rows
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers._persons import extremes_of, means_of, representatives_of, sums_of
from skdp.sensitivity._bounded import STATISTICS, bounded_columns
from skdp.sensitivity._windows import own_statistic_note, own_statistic_problem
from skdp.table._groups import one_row_per_unit, without_groups
from skdp.table._schema import read_rows
from skdp.utils._compat import HasMethods, Interval, StrOptions, fit_context
from skdp.utils._numbers import PlainNumbers, column_vector, stores_parameters

LOCAL = "_local"


class SensitivityPreprocessor(DropsPrivateState, PlainNumbers, BaseEstimator):
    """Make a statistic of unbounded columns one that a single row moves by a bounded amount.

    Of every column the statistic is replaced by the nearest one that adding or removing a row moves
    by at most ``sensitivity`` [1]_. A mechanism then needs no bounds on the data::

        bounded = SensitivityPreprocessor("median", sensitivity=30.0, center=30000.0).fit(X)
        LaplaceMechanism(epsilon=0.5).fit(bounded.bounded_values()).value_

    **Nothing is released here**: no budget is spent, and what :meth:`bounded_values` returns is as
    private as the table, for the eyes of its owner. A chain of steps must go on with a mechanism.
    Where the result is all that is wanted, :class:`skdp.PrivateMedian` and its kin do both steps in
    one.

    Parameters
    ----------
    statistic : str or object, default="mean"
        ``"mean"``, ``"median"``, ``"min"``, ``"max"``, ``"midrange"``, ``"sum"``, ``"range"``,
        ``"variance"``, ``"std"``, ``"sum_of_squares"``, or one of :mod:`skdp.sensitivity`, such as
        ``Quantile(0.9)`` and ``TrimmedMean(0.1)``, or an ordered statistic of one's own with the
        methods ``total`` and ``weight``, see the notes.
    sensitivity : float or array-like of shape (n_features,)
        Public, > 0: what one row may move the statistic of a column by. Must not be computed from
        X.
    center : float or array-like of shape (n_features,), default=0.0
        Public: the value for no rows, which the statistic leaves by at most the number of rows
        times the sensitivity. Must not be computed from X.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    LaplaceMechanism : Releases the bounded statistic, with pure differential privacy.
    GaussianMechanism : The same with Gaussian noise.
    skdp.sensitivity.bounded_statistic : The statistic as a function.

    Notes
    -----
    **Memory**: for a table of more than 2^17 rows as a rule counts, sums and some entries, by two
    passes. For a sum, a range, a midrange and statistics of one's own, and where these do not tell
    a column, its entries as integers of 64 bits, sorted, and their prefix sums.

    **Privacy**: none by itself; the bounded value moves by at most ``sensitivity``, exactly, in
    integers on a public grid (:func:`skdp.sensitivity.bounded_statistic`). Rows stay as they are:
    there is nothing to fit a model to. Values are kept in memory alone, and lost when the fitted
    step is pickled or copied.

    A statistic of one's own must not fall when an entry grows or is exchanged for a larger one. It
    has ``increasing`` (whether an entry above all others never lowers it), ``total(data, i, j)``,
    an integer made of the sorted integers ``data.s[i:j]`` and their prefix sums ``data.P``, and
    ``weight(m)``, the positive integer by which it is divided. All that is tried on made-up
    integers before any row is read, and is refused where it does not hold; beyond them it is **your
    promise**, on which the guarantee rests, and plan and report say so.

    References
    ----------
    .. [1] Cummings, Durfee. "Individual sensitivity preprocessing for data privacy". SODA 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import GaussianMechanism, SensitivityPreprocessor
    >>> X = np.random.default_rng(0).normal(size=(1000, 1))
    >>> X[0] = 1e12
    >>> step = SensitivityPreprocessor("mean", sensitivity=0.01).fit(X)
    >>> mechanism = GaussianMechanism(epsilon=1.0).fit(step.bounded_values())
    >>> bool(abs(mechanism.value_[0]) < 0.5)
    True
    """

    _parameter_constraints: dict = {
        "statistic": [StrOptions(set(STATISTICS)), HasMethods(["total", "weight"])],
        "sensitivity": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "center": [Real, "array-like"],
    }

    @stores_parameters
    def __init__(self, statistic="mean", *, sensitivity, center=0.0): ...

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, groups=None):
        """Compute the bounded values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows. Read, never stored.
        y : Ignored
            Present for API consistency by convention.
        groups : array-like of shape (n_samples,) or str, default=None
            Whose row each row is, or the name of a column of X that tells. With it the statistic is
            one of a table with one row for each group, and ``sensitivity`` is what a group, with
            all rows, may move it by: for ``"mean"`` the means of the groups, for ``"min"`` and
            ``"max"`` their minima and maxima, for ``"sum"`` their sums, else a row of each that is
            drawn at random, anew by every fit.

        Returns
        -------
        self : object
        """
        X, groups = without_groups(X, groups)
        rows = read_rows(self, X)
        sensitivity, center = self._column_vectors(rows.n_features)
        columns, unit = np.arange(rows.n_features), "row"
        with np.errstate(all="ignore"):
            if groups is not None:
                coins, made = RowKeys(make_entropy(None)), self._of_groups()
                rows, unit = one_row_per_unit(groups, rows, coins, made), "group"
            if rows.n_features > len(columns) and self.statistic == "max":
                columns = columns + len(columns)
            values = bounded_columns(
                rows,
                columns.tolist(),
                [self.statistic] * len(columns),
                sensitivity=sensitivity,
                center=center,
            )
        names = getattr(self, "feature_names_in_", None)
        setattr(self, LOCAL, BoundedValues(values, names, unit, self._promises()))
        return self

    def _of_groups(self):
        """Return what makes one row of all rows of a group."""
        if self.statistic == "mean":
            return lambda rows, coins: representatives_of(means_of(rows, 1, coins), coins)[0]
        if self.statistic in ("min", "max"):
            return extremes_of
        if self.statistic == "sum":
            return sums_of
        return lambda rows, coins: representatives_of(rows, coins)[0]

    def _column_vectors(self, n_features):
        return (
            column_vector("sensitivity", self.sensitivity, n_features, positive=True),
            column_vector("center", self.center, n_features),
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def bounded_values(self):
        """Return the bounded statistics of the columns, for a mechanism to release.

        Returns
        -------
        bounded : BoundedValues
            **Local, not private.**
        """
        check_is_fitted(self)
        local = getattr(self, LOCAL, None)
        if local is None:
            raise AttributeError(
                f"this {type(self).__name__} was pickled or copied after its fit, and what it "
                "learnt is private: it stays behind. Use it where it was fitted, or fit it again."
            )
        return local

    def __skdp_contract__(self):
        """Return what this step reads and yields: a private statistic that a mechanism may take."""
        statistic = self.statistic
        name = statistic if isinstance(statistic, str) else type(statistic).__name__
        bounded = BoundedStatistic(name, float(np.max(self.sensitivity)))
        problem = own_statistic_problem(statistic)
        return Contract(consumes=(Rows,), yields=lambda kind: bounded, problem=lambda kind: problem)

    def _promises(self):
        """Return what a plan says of a statistic of one's own."""
        note = own_statistic_note(self.statistic)
        return () if note is None else (note,)


class BoundedValues(Local):
    """Bounded statistics of the columns of a table: local and private."""

    def __init__(self, values, names, privacy_unit="row", promises=()):
        self.values, self.names, self.privacy_unit = tuple(values), names, privacy_unit
        self.promises = promises
