"""Rows of a frame in memory, of pandas, polars or Arrow, converted block by block."""

from functools import partial
from operator import methodcaller

import numpy as np

from skdp.readers._calendar import calendar_of
from skdp.readers._raw import library, no_rows, numbers, schema_of
from skdp.readers._rows import Source

__all__ = ["FrameRows", "source"]


class FrameRows(Source):
    """Rows of a frame that never is an array as a whole."""

    random_access = in_memory = True

    def __init__(self, X):
        schema = schema_of(X)
        super().__init__(len(schema), n_rows=len(X))
        self.names, self.decode = schema.names, _decoder(X, schema)
        self._X, self._part = X, X.iloc if library(X) == "pandas" else X

    def head(self):
        """Return no rows of the frame."""
        return no_rows(self._X)

    def pieces(self):
        """Yield (number of rows, part of the frame)."""
        for start in range(0, len(self), step := self.shared_rows()):
            raw = self._part[start : start + step]
            yield len(raw), raw

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        indices = np.asarray(indices, dtype=np.intp)
        is_arrow = library(self._X) == "pyarrow"
        raw = self._X.take(indices) if is_arrow else self._part[indices]
        return self.decode(raw).astype(np.float64, copy=False)


def _decoder(X, schema):
    """Return what makes floats of parts of a frame; their types are its own, and not asked again.

    Types that numpy does not have are read by :func:`skdp.readers._raw.numbers`.
    """
    types = list(X.dtypes) if library(X) == "pandas" else [None]
    if not all(map(_is_plain, types)):
        return partial(numbers, schema)
    single = all(dtype == np.float32 for dtype in types)
    return methodcaller("to_numpy", dtype=np.float32 if single else np.float64)


def _is_plain(dtype):
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def source(X):
    """Return the rows of a DataFrame of polars, or one of pandas of plain numbers or with dates.

    None for what scikit-learn looks at: other types, frames without columns, and in pandas those
    without rows, and names that are no text, or come twice. With polars a row would tell otherwise
    whether types that numpy does not have are refused.
    """
    if type(X).__name__ != "DataFrame" or not X.shape[1]:
        return None
    if library(X) == "polars":
        return FrameRows(X) if all(schema_of(X).readable) else None
    if not X.columns.is_unique:
        return None
    named = all(isinstance(name, str) for name in X.columns)
    types = list(X.dtypes)
    if any(map(calendar_of, types)):  # scikit-learn would refuse the types without rows alone
        return FrameRows(X) if named and all(schema_of(X).readable) else None
    plain = len(X) and all(_is_plain(dtype) and dtype.itemsize <= 8 for dtype in types)
    return FrameRows(X) if plain and named else None
