"""RowMap: a function of each row as a step of a pipeline."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.contracts import Contract, Rows
from skdp.readers._tables import tables_of
from skdp.rowwise._form import dummy_rows, form_of
from skdp.rowwise._map import MIXES, SAME, detect_row_mixing, is_elementwise, map_rows
from skdp.table._batched import NamesOutMixin, transforms_tables
from skdp.utils._compat import StrOptions, fit_context
from skdp.utils._numbers import PlainNumbers, stores_parameters


def _goes_back(row_map):
    if row_map.inverse_func is None and row_map.func is not None:
        raise AttributeError(
            "this RowMap does not know how to undo its function: pass inverse_func=, as in "
            "RowMap(np.log1p, inverse_func=np.expm1)."
        )
    return True


class MapByFunction(TransformerMixin, BaseEstimator):
    """Base of maps by a function of the caller, whose business entries are."""

    def _table(self, X, *, reset):
        """Return a table in memory, a frame as it is."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.no_validation = True  # entries are the function's business
        return tags


@transforms_tables
class RowMap(NamesOutMixin, PlainNumbers, MapByFunction):
    """Map every row by a function of that row alone.

    In a private pipeline a row may have no influence on what becomes of the other rows. So the
    function is called for each row by itself: it is given tables of one row.

    Parameters
    ----------
    func : callable, default=None
        Maps a table of shape (n, d) to one of shape (n, k), row by row. None returns the table.
        It is given copies, of the class of X: an array, or a DataFrame with the columns of X.
    vectorized : {"auto"} or bool, default="auto"
        Whether ``func`` is called for many rows at once. ``"auto"``: only if it is a
        :class:`numpy.ufunc` of one entry, as ``np.log1p``, without a signature and not made by
        :func:`numpy.frompyfunc`; else for every row by itself: some microseconds for a row of an
        array, and what pandas takes for a table of one row, 0.1 to 3 milliseconds, for one of a
        DataFrame. True: on **your promise** that it maps every row by itself, to the last bit,
        whatever the other rows (a matrix product does not); the guarantee of a pipeline then rests
        on it, and its plan says so. False: as "auto", without the trial of :meth:`fit`.
    inverse_func : callable, default=None
        Undoes ``func``: maps a table of shape (n, k) to one of shape (n, d). It is what
        :meth:`inverse_transform` calls, for released centers or rows of your own; it reads no rows
        of a fit. None: there is no ``inverse_transform``, unless ``func`` is None.
    feature_names_out : {"one-to-one"}, callable or None, default=None
        Names of the columns returned, as for :class:`sklearn.preprocessing.FunctionTransformer`:
        the callable is given the RowMap and the names that came in. None: those of the DataFrame
        that ``func`` returns, if it does.

    Attributes
    ----------
    vectorized_ : bool
        Whether the function is called for many rows at once.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PublicFit : A transformer that was fitted on public rows.

    Notes
    -----
    Of a table that comes in pieces each is mapped where it is, anew whenever rows are read, perhaps
    in another thread or process: there ``func`` is pickled.

    **Privacy**: spends nothing and releases nothing; what :meth:`transform` returns is as private
    as the rows. Row i of it is a function of row i alone, by construction, unless
    ``vectorized=True``: proof in :func:`skdp.rowwise._map.map_rows`. How many columns there are,
    and of which types, is learnt from made-up rows with the columns and types of X: numbers come
    back as floats, text, dates and categories of a DataFrame in their types, and a row on which
    ``func`` raises an exception, or returns anything else, is missing (NaN), which decides on no
    other row.
    Assumed: ``func`` keeps no memory of earlier calls and reaches for no other data. The trial of
    :meth:`fit`, on made-up rows, is a help against habits, such as subtracting a mean, and no
    proof.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import RowMap
    >>> RowMap(np.log1p).fit_transform([[0.0, 1.0]]).shape
    (1, 2)
    >>> RowMap(lambda X: X - X.mean(axis=0)).fit([[0.0], [1.0]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: func mixes rows...
    """

    _parameter_constraints: dict = {
        "func": [callable, None],
        "inverse_func": [callable, None],
        "vectorized": ["boolean", StrOptions({"auto"})],
        "feature_names_out": [callable, StrOptions({"one-to-one"}), None],
    }

    @stores_parameters
    def __init__(
        self, func=None, *, inverse_func=None, vectorized="auto", feature_names_out=None
    ): ...

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Try the function on made-up rows with the columns and types of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If ``func`` mixes made-up rows, fails on all of them, or returns another number of
            columns for some.
        """
        X = self._table(X, reset=True)
        known = is_elementwise(self.func)
        self.vectorized_ = known or self.vectorized is True
        if self.func is None:
            return self
        rows = dummy_rows(X)
        verdict = None if known or self.vectorized is False else detect_row_mixing(self.func, rows)
        if verdict == MIXES:
            raise ValueError(
                "func mixes rows: what it makes of a row depends on the rows beside it, so it "
                "would carry private values from one row to all others. Use a private estimator "
                "for what it computes from the table, or public numbers in its place. "
                "vectorized=False calls it for every row by itself."
            )
        if self.vectorized is True and verdict not in (None, SAME):
            raise ValueError(
                "func does not keep what vectorized=True promises: it gives a row other last bits "
                "among other rows, as matrix products do. Use vectorized='auto'."
            )
        self._form = form_of(self.func, rows, trusted=known)
        return self

    def transform(self, X):
        """Map every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_mapped : ndarray or DataFrame of shape (n_samples, n_columns)
            A DataFrame if ``func`` returns one. **Local, not private**: as private as X.

        Raises
        ------
        ValueError
            If ``func`` fails on a row, unless under ``invalid_rows="ignore"``.
        """
        check_is_fitted(self)
        X = self._table(X, reset=False)
        return (
            X if self.func is None else map_rows(self.func, X, self._form, at_once=self.vectorized_)
        )

    @available_if(_goes_back)
    def inverse_transform(self, X):
        """Undo :meth:`transform` by ``inverse_func``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Rows as ``transform`` returns them, or released ones, such as centers of clusters.

        Returns
        -------
        X_original : ndarray or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return X if self.inverse_func is None else self.inverse_func(X)

    def _names_out(self, input_features):
        if input_features is None:
            default = [f"x{j}" for j in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", default)
        names = np.asarray(input_features, dtype=object)
        if self.func is None or self.feature_names_out == "one-to-one":
            return names
        if self.feature_names_out is None and self._form.names is not None:
            return np.asarray(self._form.names, dtype=object)
        if self.feature_names_out is None:
            raise AttributeError(
                "the names of the columns are unknown. Set feature_names_out of the RowMap."
            )
        return np.asarray(self.feature_names_out(self, names), dtype=object)

    def _table(self, X, *, reset):
        tables = tables_of(X)
        return super()._table(X if tables is None else tables.head(), reset=reset)

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, each by itself."""
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
