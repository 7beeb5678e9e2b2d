"""GroupMap: a function of all rows of a person as a step of a pipeline."""

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.contracts import Contract, Joined, Rows
from skdp.preprocessing._row_map import MapByFunction
from skdp.readers._ids import persons_of
from skdp.readers._rows import rows_of
from skdp.readers._tables import Tables, tables_of
from skdp.rowwise._form import N_TAME, dummy_rows
from skdp.rowwise._groups import map_groups, map_groups_in_pieces, result_of
from skdp.table._schema import look_at
from skdp.utils._compat import Interval, fit_context, safe_indexing
from skdp.utils._numbers import stores_parameters

HELD_BYTES = 2**28  # about, of rows of a table in pieces that wait for others of their person
WHOSE = (
    "a GroupMap makes one row of all rows of a group, so it must know whose rows they are: pass "
    "transform(X, groups=ids)."
)
NO_GROUPS = (
    "this pipeline makes one row of all rows of a group, by a GroupMap, so it must know whose rows "
    "they are: pass fit(X, groups=ids)."
)
FAILS = (
    "func fails on all made-up rows with the columns and the types of X, so that nobody can tell "
    "how many numbers it returns. The first time: {error}. It is given all rows of one group, a "
    "table with the columns of X, and must return one number or a vector of them. Pass n_features "
    "to say how many."
)
OTHER = (
    "func returns {n} numbers for made-up rows, and n_features={given}. It must return as many "
    "for every group, with NaN where there is nothing to return."
)
SOME = (
    "func returns other numbers of numbers for some made-up rows. It must return as many for every "
    "group, with NaN where there is nothing to return."
)


class GroupMap(MapByFunction):
    """Make one row of all rows of a group, by a function of these rows alone.

    With ``groups`` a fit protects persons with all their rows. After this step of a private
    pipeline the table has one row per person, so every estimator that follows protects persons at
    the price of rows: medians of patients' longest stays, models of customers' totals.

    Parameters
    ----------
    func : callable
        Maps the rows of one group, a table with the columns of X, to a number or to a vector of k
        numbers. It is given copies, of the class of X: an array, or a DataFrame whose index counts
        from 0. The rows are in the order in which they stand in X.
    n_features : int, default=None
        How many numbers ``func`` returns. None finds out by a trial on made-up rows.
    feature_names_out : list of str, default=None
        Names of these numbers. None: those of the Series or dict that ``func`` returns on made-up
        rows, if it does, else g0, g1, ...

    Attributes
    ----------
    n_features_out_ : int
        How many numbers ``func`` returns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    RowMap : A function of each row by itself.
    PrivateGroupBy : One fit for each level of a column.

    Notes
    -----
    In a pipeline y becomes that of the first row of each person. Of a table that is read in pieces
    the rows of a person may lie in several: they wait in memory for the last of them. Where more
    than about 256 MB would wait at once, the table is read several times, for some of the persons
    each time; one whose rows are sorted by person is read once. What ``transform`` returns has one
    row per group, in the order of their first rows in X, so a pipeline with a GroupMap has no
    ``predict`` and no ``transform``: apply ``pipe[1:]`` to what
    ``pipe[0].transform(X, groups=ids)`` returns.

    **Privacy** (add or remove one person with all rows): spends nothing and releases nothing. The
    function is called for the rows of one person at a time, so to add or remove a person adds or
    removes one row of its result and changes no other: proof in
    :func:`skdp.rowwise._groups.map_groups`. How many columns there are is declared or learnt from
    made-up rows. A person on whose rows ``func`` raises an exception, or returns anything else, is
    missing (NaN), which decides on no other person. Assumed: ``func`` keeps no memory of earlier
    calls and reaches for no other data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import GroupMap, PrivateMean, make_private_pipeline
    >>> stays, patients = [[1.0], [5.0], [2.0]], [7, 7, 8]
    >>> GroupMap(lambda rows: rows.max(axis=0)).fit_transform(stays, groups=patients)
    array([[5.],
           [2.]])
    >>> rng = np.random.default_rng(0)
    >>> patient, days = rng.integers(900, size=4000), rng.gamma(2.0, 3.0, size=(4000, 1))
    >>> longest = make_private_pipeline(GroupMap(np.max), PrivateMean(bounds=(0, 60)), epsilon=2.0)
    >>> longest.fit(days, groups=patient)[-1].location_.shape
    (1,)
    """

    _parameter_constraints: dict = {
        "func": [callable],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "feature_names_out": ["array-like", None],
    }

    @stores_parameters
    def __init__(self, func, *, n_features=None, feature_names_out=None): ...

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, groups=None):
        """Try the function on made-up rows with the columns and types of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y, groups : Ignored
            Present for API consistency by convention.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If ``func`` fails on all made-up rows and ``n_features`` is not given, or returns
            another number of numbers than it says.
        """
        X = self._table(X, reset=True)
        rows = dummy_rows(X.head() if isinstance(X, Tables) else X)
        sizes, names = _tried(self.func, rows, self.n_features)
        if len(sizes) > 1:
            raise ValueError(SOME)
        if sizes and self.n_features not in (None, *sizes):
            raise ValueError(OTHER.format(n=sizes[0], given=self.n_features))
        self.n_features_out_ = sizes[0] if self.n_features is None else int(self.n_features)
        if self.feature_names_out is not None:
            names = list(map(str, self.feature_names_out))
            if len(names) != self.n_features_out_:
                raise ValueError(
                    f"feature_names_out must have {self.n_features_out_} names, one for each "
                    f"number that func returns. Got {len(names)}."
                )
        self._names = names or [f"g{j}" for j in range(self.n_features_out_)]
        return self

    def transform(self, X, groups=None):
        """Make one row of the rows of each group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        groups : array-like of shape (n_samples,)
            Whose row each row is.

        Returns
        -------
        rows : ndarray or DataFrame of shape (n_groups, n_features_out)
            A DataFrame if X is one. In the order of the first rows of the groups. **Local, not
            private**: as private as X.
        """
        check_is_fitted(self)
        if groups is None:
            raise ValueError(WHOSE)
        X = self._table(X, reset=False)
        if isinstance(X, Tables):
            look_at(X, entries=False)
        n_rows = len(X) if isinstance(X, Tables) else X.shape[0]
        persons = persons_of(groups, n_rows, ignore=False)
        return self._joined(X, persons)[0]

    def fit_transform(self, X, y=None, *, groups=None):
        """Fit, then transform; see :meth:`transform`."""
        return self.fit(X).transform(X, groups=groups)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : Ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        return np.asarray(self._names, dtype=object)

    def _joined(self, X, persons):
        if isinstance(X, Tables):
            told = {"most": rows_of(HELD_BYTES, X.n_features)}
            of_pieces = self.func, X.pieces, persons, self.n_features_out_
            (values, firsts), X = map_groups_in_pieces(*of_pieces, **told), X.head()
        else:
            values, firsts = map_groups(self.func, X, persons, self.n_features_out_)
        if hasattr(X, "iloc"):
            values = type(X)(values, columns=self._names)
        elif hasattr(X, "columns"):
            values = type(X)(values, schema=self._names, orient="row")
        return values, firsts

    def _table(self, X, *, reset):
        tables = tables_of(X)
        if tables is None:
            return super()._table(X, reset=reset)
        validate_data(self, tables.head(), reset=reset, skip_check_array=True)
        return tables

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_out_")

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, of each group one."""
        return Contract(consumes=(Rows,), yields=lambda kind: Joined())


def _tried(func, rows, n_features):
    """Return the sizes of the results on made-up rows, at most two, and names if they have some."""
    several = [list(range(n)) for n in (N_TAME, 2, 1)]
    trials = [*several, *([i] for i in range(rows.shape[0]))]
    sizes, names, failure = {}, None, None
    for places in trials:
        try:
            with np.errstate(all="ignore"):
                values, found = result_of(func(safe_indexing(rows, places)))
        except KeyboardInterrupt:  # of the user
            raise
        except BaseException as error:
            failure = failure or f"{type(error).__name__}: {error}".strip().rstrip(".")
            continue
        sizes[len(values)], names = None, names or found
    if not sizes and n_features is None:
        raise ValueError(FAILS.format(error=failure))
    return list(sizes), names
