"""PublicFit: a transformer of scikit-learn, fitted on public rows."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._compat import HasMethods, fit_context, safe_indexing
from skdp.contracts import Contract, Rows
from skdp.preprocessing._by_itself import MIXES, PROBE_ROWS, SAME, as_table, map_rows, probe

__all__ = ["PublicFit"]


class PublicFit(TransformerMixin, BaseEstimator):
    """Fit a transformer on public rows, and only transform the private ones.

    Every transformer of scikit-learn may so enter a private pipeline: a scaler whose scales were
    published, components learnt on open data.

    Parameters
    ----------
    estimator : transformer
        Is cloned and fitted on ``X_public``.
    X_public : array-like of shape (n_public, n_features)
        Public rows with the columns of the private ones. The guarantee does not cover them.
    y_public : array-like of shape (n_public,), default=None

    Attributes
    ----------
    estimator_ : transformer
        Fitted on the public rows.
    vectorized_ : bool
        Whether it transforms all rows at once. If that gives a row other last bits than the row
        would have by itself, as matrix products do, the rows are transformed one by one.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    RowMap : A function of each row.

    Notes
    -----
    **Privacy**: spends nothing; :meth:`fit` reads no private row but the names of its columns. What
    :meth:`transform` returns is as private as the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import PublicFit
    >>> census = np.random.default_rng(0).normal(40, 15, size=(100, 1))
    >>> PublicFit(StandardScaler(), census).fit([[1.0], [2.0]]).transform([[40.0]]).shape
    (1, 1)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "transform"])],
        "X_public": "no_validation",
        "y_public": "no_validation",
    }

    def __init__(self, estimator, X_public, y_public=None):
        self.estimator = estimator
        self.X_public = X_public
        self.y_public = y_public

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Fit on the public rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Private rows: only the names and the number of their columns are looked at.
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If the fitted transformer mixes rows.
        """
        validate_data(self, X, skip_check_array=True)
        self.estimator_ = clone(self.estimator).fit(self.X_public, self.y_public)
        n = min(PROBE_ROWS, len(self.X_public))
        rows = safe_indexing(self.X_public, list(range(n)))
        rows = rows if hasattr(rows, "shape") else np.asarray(rows)
        verdicts = [probe(self.estimator_.transform, table) for table in self._trials(rows)]
        if MIXES in verdicts:
            raise ValueError(
                f"the transform of {type(self.estimator).__name__} mixes rows: what it makes of a "
                "row depends on the rows beside it. Use a transformer that maps each row by itself."
            )
        self.vectorized_ = all(verdict == SAME for verdict in verdicts)
        return self

    def _trials(self, rows):
        """Yield public tables to try the transform on."""
        yield rows
        if get_tags(self.estimator_).input_tags.allow_nan and not hasattr(rows, "columns"):
            gaps = np.array(rows, dtype=np.float64)
            gaps[::3] = np.nan  # what is filled in must not come from the rows beside
            yield gaps

    def transform(self, X):
        """Transform private rows by what the public ones taught.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_new : ndarray or DataFrame
            **Local, not private**: as private as X.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        X = X if hasattr(X, "shape") else np.asarray(X)
        Z = map_rows(self.estimator_.transform, X, together=self.vectorized_)
        return Z if hasattr(Z, "columns") else as_table(Z, X.shape[0])

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns, as the fitted transformer tells them.

        Parameters
        ----------
        input_features : array-like of str, default=None

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, each by itself."""
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
