"""Which source reads a table, imported if the caller has its library, and rows in memory."""

from functools import partial
from importlib import import_module
from operator import methodcaller
from pathlib import PurePath

import numpy as np
from joblib import effective_n_jobs

from skdp.readers._calendar import calendar_of
from skdp.readers._raw import (
    has_two_dimensions,
    kept,
    library,
    no_rows,
    numbers,
    refuse_masked,
    schema_of,
)
from skdp.readers._rows import Source
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

ONE_SHOT = (
    "X is an iterator or a stream, which can be read only once, and a fit reads its rows several "
    "times. Pass a list of batches, an object whose __iter__ starts anew each time, a Table of "
    "Arrow, the path of parquet files, or for other files polars.scan_csv(path) and the like."
)

BROKEN = (
    'X could not be read to its end. Under invalid_rows="ignore" nothing more is told: read it '
    "once without that to see what failed."
)
# The modules of this room that read the tables of a package; ``source(X)`` gives None for others.
READERS = {
    "dask": "skdp.readers._dask",
    "dask_expr": "skdp.readers._dask",
    "polars": "skdp.readers._lazy",
    "pyarrow": "skdp.readers._lazy",
}
IN_MEMORY = {"numpy", "pandas", "polars"}


class BatchRows(Source):
    """Rows of the batches of an iterable: arrays of two dimensions, or frames, of one schema."""

    def __init__(self, batches, first):
        schema = schema_of(first)
        super().__init__(len(schema))
        self.names, self._batches, self._head = schema.names, batches, no_rows(first)
        self.decode = partial(numbers, schema)

    def head(self):
        """Return no rows of the first batch."""
        return self._head

    def pieces(self):
        """Yield (number of rows, batch): a copy where batches wait for threads.

        Else an iterable that fills one array again and again, as readers do to save memory, would
        have its last rows counted several times.
        """
        threads = effective_n_jobs(None) > 1
        for batch in self._batches:
            yield self._checked(batch, threads)

    @staticmethod
    def _checked(batch, keep):
        schema_of(batch)  # a table
        return len(batch), kept(batch) if keep else batch


def source_of(X):
    """Return the Source of a table that is not one array or frame of numpy, pandas or polars.

    Only types are looked at, the first batch of batches, and the schema of files.
    """
    if isinstance(X, Source):
        return X
    refuse_masked(X)
    if _is_path(X) or (isinstance(X, list | tuple) and X and all(map(_is_path, X))):
        return import_module("skdp.readers._parts").source(X)
    reader = READERS.get(_library_of(X))
    source = None if reader is None else import_module(reader).source(X)
    return _of_batches(X) if source is None else source


def _library_of(X):
    return type(X).__module__.partition(".")[0]


def converted(X):
    """Return the Source of an array or frame of numbers that is converted block by block.

    None for what scikit-learn reads: arrays that need no conversion, and whatever it refuses.
    """
    return in_memory(X) if _library_of(X) in IN_MEMORY else None


def _is_path(X):
    return isinstance(X, str | PurePath)


def _of_batches(X):
    """Return the rows of an iterable of tables that is no table itself, else None."""
    if hasattr(X, "__array__") or isinstance(X, bytes | dict):
        return None
    if hasattr(X, "__arrow_c_stream__"):
        raise TypeError(ONE_SHOT)
    if not hasattr(X, "__iter__"):
        return None
    if (batches := _silent(iter, X)) is X:
        raise TypeError(ONE_SHOT)
    if any(hasattr(X, name) for name in ("shape", "dtype", "columns")):
        return None
    first = _silent(next, batches, None)
    return BatchRows(X, first) if has_two_dimensions(first) else None


def _silent(function, *arguments):
    """Return what a reader gives; what it says or raises is not told where no entry may tell."""
    if get_config()["invalid_rows"] == "error":
        return function(*arguments)
    try:
        with quiet():
            return function(*arguments)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # it may depend on an entry, or quote it
        failure = ValueError(BROKEN)
    raise failure


# --- rows in memory: of an array or a memory map, of a frame of pandas, polars or Arrow


class ArrayRows(Source):
    """The rows of a two-dimensional array or memory map.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), of real numbers
        Never written to, never kept beyond the fit; what is neither float64 nor float32 is
        converted block by block.
    block_rows : int, default=None
        Rows per block; by default about 16 MB, a public function of the number of columns.

    See Also
    --------
    map_merge, count_rows

    Notes
    -----
    **Privacy**: exact and private: what is computed here is released through a Curator.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows, map_merge
    >>> rows = ArrayRows(np.arange(10.0).reshape(5, 2), block_rows=2)
    >>> map_merge(rows, lambda start, block: len(block), lambda a, b: a + b)
    5
    """

    random_access = in_memory = True

    def __init__(self, X, *, block_rows=None):
        super().__init__(X.shape[1], n_rows=len(X), block_rows=block_rows)
        self._X, self.finite = X, X.dtype.kind in "iub"

    def pieces(self):
        """Yield (number of rows, slice of the array)."""
        for start in range(0, len(self), step := self.shared_rows()):
            raw = self._X[start : start + step]
            yield len(raw), raw

    def head(self):
        """Return no rows of the array."""
        return self._X[:0]

    @staticmethod
    def decode(raw):
        """Return a slice of the array as floats."""
        return raw if raw.dtype in (np.float64, np.float32) else raw.astype(np.float64)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return np.asarray(self._X[indices], dtype=np.float64)


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


def in_memory(X):
    """Return the rows of what is converted block by block, None for what scikit-learn looks at.

    Converted are arrays of narrow types, DataFrames of polars, and those of pandas with plain
    numbers or dates. Others are left: arrays without entries, frames without columns, and in pandas
    those without rows, and names that are no text, or come twice. With polars a row would tell
    otherwise whether types that numpy does not have are refused.
    """
    if type(X) in (np.ndarray, np.memmap):
        is_narrow = X.ndim == 2 and X.size and X.dtype.kind in "fiub" and X.dtype.itemsize <= 8
        return ArrayRows(X) if is_narrow and X.dtype not in (np.float64, np.float32) else None
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
