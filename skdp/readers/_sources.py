"""Which source reads a table; nothing is imported that the caller has not imported."""

from functools import partial
from importlib import import_module
from pathlib import PurePath

from joblib import effective_n_jobs

from skdp.readers._raw import has_two_dimensions, kept, no_rows, numbers, refuse_masked, schema_of
from skdp.readers._rows import Source
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

ONE_SHOT = (
    "X is an iterator or a stream, which can be read only once, and a fit reads its rows several "
    "times. Pass a list of batches, an object whose __iter__ starts anew each time, a Table of "
    "Arrow, the path of parquet files, or for other files polars.scan_csv(path) and the like."
)


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
IN_MEMORY = dict.fromkeys(("numpy", "pandas", "polars"), "skdp.readers._array")


def source_of(X):
    """Return the Source of a table that is not one array or frame of numpy, pandas or polars.

    Only types are looked at, the first batch of batches, and the schema of files.
    """
    if isinstance(X, Source):
        return X
    refuse_masked(X)
    if _is_path(X) or (isinstance(X, list | tuple) and X and all(map(_is_path, X))):
        return import_module("skdp.readers._parts").source(X)
    source = _read_by(READERS, X)
    return _of_batches(X) if source is None else source


def converted(X):
    """Return the Source of an array or frame of numbers that is converted block by block.

    None for what scikit-learn reads: arrays that need no conversion, and whatever it refuses.
    """
    return _read_by(IN_MEMORY, X)


def _read_by(readers, X):
    reader = readers.get(type(X).__module__.partition(".")[0])
    return None if reader is None else import_module(reader).source(X)


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
