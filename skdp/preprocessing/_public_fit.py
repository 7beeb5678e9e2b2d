"""PublicFit: a transformer of scikit-learn, fitted on public rows."""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.contracts import Contract, Rows
from skdp.readers._tables import tables_of
from skdp.rowwise._form import column_kind, dummy_rows, form_of
from skdp.rowwise._map import MIXES, SAME, detect_row_mixing, map_rows, maps_rows_at_once
from skdp.table._batched import NamesOutMixin, transforms_tables
from skdp.utils._compat import HasMethods, StrOptions, fit_context, safe_indexing
from skdp.utils._numbers import stores_parameters

N_TRIAL = 67
UNFITTED = (
    "this %(name)s is not fitted, and PublicFit never fits it on private rows. Pass public rows to "
    "fit it on, PublicFit(%(name)s(...), X_public), or one that was fitted on public rows."
)


@transforms_tables
class PublicFit(NamesOutMixin, TransformerMixin, BaseEstimator):
    """Fit a transformer on public rows, and only transform the private ones.

    Every transformer of scikit-learn may so enter a private pipeline: a scaler whose scales were
    published, components learnt on open data.

    Parameters
    ----------
    estimator : transformer
        Is cloned and fitted on ``X_public``; without ``X_public``, a fitted transformer, used as it
        is.
    X_public : array-like of shape (n_public, n_features), default=None
        Public rows with the columns of the private ones. The guarantee does not cover them. None:
        ``estimator`` is fitted, and what it has learnt is taken to be public.
        Every fit learns the same: a ``random_state`` that is None is 0.
    y_public : array-like of shape (n_public,), default=None
    vectorized : {"auto"} or bool, default="auto"
        Whether many rows are transformed at once. ``"auto"``: only by transformers of scikit-learn
        that work entry by entry, such as scalers and encoders; others are given one row at a time,
        some hundred microseconds each, because a row has other last bits among other rows in a
        matrix product. True: on **your promise** that every row is mapped by itself to the last
        bit; the plan of a pipeline lists it. False: never.

    Attributes
    ----------
    estimator_ : transformer
        Fitted on the public rows.
    vectorized_ : bool
        Whether it transforms many rows at once.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    RowMap : A function of each row.

    Notes
    -----
    **Privacy**: spends nothing; :meth:`fit` reads no private row but the names and types of the
    columns. What :meth:`transform` returns is as private as the rows; row i of it is a function of
    row i alone, as for :class:`RowMap`, and a row that cannot be transformed is missing.

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
        "vectorized": ["boolean", StrOptions({"auto"})],
    }

    @stores_parameters
    def __init__(self, estimator, X_public=None, y_public=None, *, vectorized="auto"): ...

    def __sklearn_clone__(self):
        if self.X_public is not None:
            return super().__sklearn_clone__()
        return type(self)(self.estimator, vectorized=self.vectorized)  # what it knows is public

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
        tables = tables_of(X)
        X = X if tables is None else tables.head()
        validate_data(self, X, skip_check_array=True)
        if self.X_public is None:
            check_is_fitted(self.estimator, msg=UNFITTED)
            self.estimator_ = self.estimator
            rows = dummy_rows(X if hasattr(X, "shape") else np.asarray(X))
        else:
            self.estimator_ = _seeded(clone(self.estimator)).fit(self.X_public, self.y_public)
            rows = _some_rows(self.X_public)
        known = getattr(self.estimator_, "n_features_in_", self.n_features_in_)
        if known != self.n_features_in_:
            raise ValueError(
                f"X has {self.n_features_in_} features, but {type(self.estimator).__name__} was "
                f"fitted on public rows with {known}. Pass rows with the same columns."
            )
        if _numeric(rows) and not _numeric(X, "fiubO"):
            raise ValueError(
                f"X has columns that are no numbers, but {type(self.estimator).__name__} was "
                "fitted on public rows of numbers. Convert X first, with astype(float)."
            )
        rows = self._named_as_private(rows)
        known = maps_rows_at_once(self.estimator_)
        self._form = form_of(self.estimator_.transform, rows, trusted=known)
        self.vectorized_ = self.vectorized is True or (known and self.vectorized == "auto")
        if known:
            return self
        verdicts = {
            detect_row_mixing(self.estimator_.transform, table) for table in self._trials(rows)
        }
        if MIXES in verdicts and self.vectorized is not False:
            raise ValueError(
                f"the transform of {type(self.estimator).__name__} mixes rows: what it makes of a "
                "row depends on the rows beside it. Use a transformer that maps each row by itself."
            )
        if self.vectorized is True and not verdicts <= {None, SAME}:
            raise ValueError(
                f"{type(self.estimator).__name__} does not keep what vectorized=True promises: it "
                "gives a row other last bits among other rows. Use vectorized='auto'."
            )
        return self

    def _named_as_private(self, rows):
        """Return public rows with their columns in the order of the private ones."""
        names = getattr(self, "feature_names_in_", None)
        known = getattr(self.estimator_, "feature_names_in_", None)
        if names is None or known is None or not hasattr(rows, "columns"):
            return rows
        if not set(names) <= set(rows.columns):
            raise ValueError(
                "X has columns whose names the public rows lack. Pass public rows with columns of "
                "the same names."
            )
        return rows[list(names)]

    def _trials(self, rows):
        """Yield public tables to try the transform on."""
        yield rows
        numbers = getattr(rows, "dtype", None) is not None and rows.dtype.kind == "f"
        if numbers and get_tags(self.estimator_).input_tags.allow_nan:
            gaps = rows.copy()
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
        return map_rows(self.estimator_.transform, X, self._form, at_once=self.vectorized_)

    def _names_out(self, input_features):
        return self.estimator_.get_feature_names_out(input_features)

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, each by itself."""
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())


def _seeded(estimator):
    """Give a public seed to what has none, so that it learns the same in every fit."""
    for name, value in estimator.get_params().items():
        if name.rpartition("__")[2] == "random_state" and value is None:
            estimator.set_params(**{name: 0})
    return estimator


def _numeric(X, kinds="fiub"):
    """Return whether all columns have types of these kinds."""
    X = X if hasattr(X, "dtype") or hasattr(X, "columns") else np.asarray(X)
    dtypes = [X.dtype] if hasattr(X, "dtype") else list(X.dtypes)
    return {column_kind(dtype) for dtype in dtypes} <= set(kinds)


def _some_rows(X):
    """Return up to ``N_TRIAL`` public rows, dense."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    X = X[:N_TRIAL].toarray() if sparse.issparse(X) else X
    return safe_indexing(X, list(range(min(N_TRIAL, X.shape[0]))))
