"""Transformers of scikit-learn that map every row by itself, to the last bit."""

import numpy as np
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer as _SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.rowwise._dummy_rows import dummy_rows
from skdp.rowwise._form import form_of
from skdp.rowwise._map import map_rows
from skdp.utils._compat import safe_indexing

__all__ = ["by_rows", "maps_rows_at_once"]


class ByRows:
    """A transformer that learns from types alone, and to which a row is a matter of its own.

    In front of a class of scikit-learn it changes nothing but this: ``fit`` reads made-up rows of
    the columns and types of X, and a row on which ``transform`` fails decides on nothing else.
    """

    row_wise_of = None

    def fit(self, X, y=None):
        """Learn the columns of X and their types; no row is looked at."""
        rows = dummy_rows(X if hasattr(X, "dtype") or hasattr(X, "columns") else np.asarray(X))
        super().fit(safe_indexing(rows, [0]))
        self._form = form_of(super().transform, rows, trusted=True)
        return self

    def transform(self, X):
        """Map every row by itself."""
        check_is_fitted(self)
        X = X if hasattr(X, "shape") else np.asarray(X)
        return map_rows(super().transform, X, self._form, at_once=True)

    def fit_transform(self, X, y=None):
        """Fit, then map every row by itself."""
        return self.fit(X).transform(X)


def _by_rows(cls):
    space = {"__module__": __name__, "__doc__": ByRows.__doc__, "row_wise_of": cls}
    return type(cls.__name__, (ByRows, cls), space)


class _Rows(preprocessing.Normalizer):
    """Divides rows by norms of numbers that lie side by side.

    A sum over a column-major table, as frames give it, has other last bits for a single row.
    """

    def transform(self, X):
        """Scale every row to unit norm."""
        A = validate_data(
            self, X, dtype=[np.float64, np.float32], reset=False, order="C", copy=True
        )
        return preprocessing.normalize(A, norm=self.norm, copy=False)


Binarizer = _by_rows(preprocessing.Binarizer)
Normalizer = type(
    "Normalizer",
    (ByRows, _Rows),
    {"__module__": __name__, "row_wise_of": preprocessing.Normalizer},
)
PolynomialFeatures = _by_rows(preprocessing.PolynomialFeatures)
OneHotEncoder = _by_rows(preprocessing.OneHotEncoder)
OrdinalEncoder = _by_rows(preprocessing.OrdinalEncoder)
SimpleImputer = _by_rows(_SimpleImputer)

BY_ROWS = {
    cls.row_wise_of: cls
    for cls in (
        Binarizer,
        Normalizer,
        PolynomialFeatures,
        OneHotEncoder,
        OrdinalEncoder,
        SimpleImputer,
    )
}

# Fitted, these work entry by entry: the result for a row has the same bits in every table.
ENTRY_BY_ENTRY = {
    preprocessing.Binarizer,
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    preprocessing.PolynomialFeatures,
    preprocessing.RobustScaler,
    preprocessing.StandardScaler,
}
CONTAINERS = {
    ColumnTransformer: "transformers_",
    FeatureUnion: "transformer_list",
    Pipeline: "steps",
}


def by_rows(step):
    """Let a step of scikit-learn, which must be row-wise, treat rows as :class:`ByRows` says."""
    cls = BY_ROWS.get(type(step))
    if cls is not None:
        step.__class__ = cls
    return step


def maps_rows_at_once(transformer):
    """Return whether a fitted transformer is known to map rows by themselves when given many."""
    if isinstance(transformer, str):
        return True  # "passthrough", "drop"
    if type(transformer) in CONTAINERS:
        parts = getattr(transformer, CONTAINERS[type(transformer)])
        return all(maps_rows_at_once(part[1]) for part in parts)
    if type(transformer) is preprocessing.FunctionTransformer:
        return transformer.func is None
    if any(map(_beyond_floats, getattr(transformer, "categories_", ()))):
        return False  # a column of integers with a gap is read as floats, which would merge them
    return type(transformer) in ENTRY_BY_ENTRY or isinstance(transformer, ByRows)


def _beyond_floats(categories):
    return categories.dtype.kind in "iu" and bool(np.any(np.abs(categories.astype(float)) >= 2**53))
