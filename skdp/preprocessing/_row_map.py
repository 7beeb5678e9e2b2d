"""RowMap: a function of each row as a step of a pipeline."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._compat import StrOptions, fit_context
from skdp.contracts import Contract, Rows
from skdp.preprocessing._by_itself import MIXES, SAME, as_table, made_up_rows, map_rows, probe

__all__ = ["RowMap"]


class RowMap(TransformerMixin, BaseEstimator):
    """Map every row by a function of that row alone.

    In a private pipeline a row may have no influence on what becomes of the other rows. RowMap
    makes sure of that: it tries the function on public made-up rows, together and one by one, and
    calls it for each row by itself unless that makes no difference, to the last bit.

    Parameters
    ----------
    func : callable, default=None
        Maps a table of shape (n, d) to one of shape (n, k), row by row. None returns the table.
        It is given what ``transform`` is given: a DataFrame stays one.
    vectorized : {"auto"} or bool, default="auto"
        Whether ``func`` is called for all rows at once. ``"auto"`` tries; True refuses a function
        that fails the trial; False calls it for every row by itself, which takes some
        microseconds per row and is row-wise whatever the function does.
    feature_names_out : {"one-to-one"}, callable or None, default=None
        Names of the columns returned, as for :class:`sklearn.preprocessing.FunctionTransformer`:
        the callable is given the RowMap and the names that came in.

    Attributes
    ----------
    vectorized_ : bool
        Whether the function is called for all rows at once.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PublicFit : A transformer that was fitted on public rows.

    Notes
    -----
    **Privacy**: spends nothing and releases nothing; what :meth:`transform` returns is as private
    as the rows. The trial cannot see all that a function may do: one that keeps a state
    between calls, or reads a file with private rows, is beyond it.

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
        "vectorized": ["boolean", StrOptions({"auto"})],
        "feature_names_out": [callable, StrOptions({"one-to-one"}), None],
    }

    def __init__(self, func=None, *, vectorized="auto", feature_names_out=None):
        self.func = func
        self.vectorized = vectorized
        self.feature_names_out = feature_names_out

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Try the function on made-up rows with the columns of X.

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
            If ``func`` mixes rows.
        """
        X = self._table(X, reset=True)
        verdict = SAME if self.func is None else probe(self.func, made_up_rows(X))
        if verdict == MIXES and self.vectorized is not False:
            raise ValueError(
                "func mixes rows: what it makes of a row depends on the rows beside it, so it "
                "would carry private values from one row to all others. Use a private estimator "
                "for what it computes from the table, or public numbers in its place. "
                "vectorized=False calls it for every row by itself."
            )
        if verdict != SAME and self.vectorized is True:
            raise ValueError(
                "func could not be shown to treat every row by itself, to the last bit (matrix "
                "products do not), so vectorized=True is refused. Use vectorized='auto'."
            )
        self.vectorized_ = bool(verdict == SAME and self.vectorized is not False)
        return self

    def transform(self, X):
        """Map every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_mapped : ndarray of shape (n_samples, n_columns) or what ``func`` returns
            **Local, not private**: as private as X.
        """
        check_is_fitted(self)
        X = self._table(X, reset=False)
        if self.func is None:
            return X
        Z = map_rows(self.func, X, together=self.vectorized_)
        table = as_table(Z, X.shape[0])
        return Z if hasattr(Z, "columns") else table

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        if input_features is None:
            default = [f"x{j}" for j in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", default)
        names = np.asarray(input_features, dtype=object)
        if self.func is None or self.feature_names_out == "one-to-one":
            return names
        if self.feature_names_out is None:
            raise AttributeError(
                "the names of the columns are unknown. Set feature_names_out of the RowMap."
            )
        return np.asarray(self.feature_names_out(self, names), dtype=object)

    def _table(self, X, *, reset):
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.no_validation = True  # entries are the function's business
        return tags

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, each by itself."""
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
