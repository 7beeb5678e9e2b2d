"""Rows of parts whose lengths are known: files of parquet, their row groups, fragments, a query."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from glob import glob
from itertools import accumulate
from pathlib import Path

import numpy as np
from joblib import effective_n_jobs

from skdp.readers._loop import CHANGED
from skdp.readers._raw import COLUMNS, TableError, numbers, schema_of
from skdp.readers._rows import Source, rows_of, take

BLOCK_BYTES = 2**22  # batches are there twice: as they are read, and as an array


@dataclass(frozen=True)
class Part:
    """Rows that are read in batches."""

    n_rows: int
    # `read(batch_rows)` gives an iterable of batches, the same at every pass, of about that many
    # rows at most
    read: Callable
    name: str  # public: of a file, or of the kind of table
    only: Callable | None = None  # `only(names)` gives what reads the columns of these names alone

    def batches(self, batch_rows):
        """Yield the batches."""
        n_rows, batches = 0, iter(call_library(self.name, self.read, batch_rows))
        while (batch := call_library(self.name, next, batches, None)) is not None:
            n_rows += len(batch)
            yield batch
        if n_rows != self.n_rows:
            raise TableError(CHANGED)


class PartRows(Source):
    """Rows of parts of known lengths, one part after the other."""

    def __init__(self, head, parts, heads=()):
        schema = schema_of(head)
        n_rows, block_rows = sum(part.n_rows for part in parts), rows_of(BLOCK_BYTES, len(schema))
        super().__init__(len(schema), n_rows=n_rows, block_rows=block_rows)
        self.names, self.decode = schema.names, partial(numbers, schema)
        self._head, self._parts, self._heads = head, parts, heads

    def head(self):
        """Return a table of no rows."""
        return self._head

    def heads_of_pieces(self):
        """Return tables of no rows of the types of all pieces, see :class:`Source`."""
        return self._heads or [self._head]

    def columns(self, places):
        """Return the rows of some columns, None if a part is read as a whole."""
        names = [self.names[j] for j in places]
        if len(set(self.names)) < len(self.names) or not all(part.only for part in self._parts):
            return None
        parts = [replace(part, read=part.only(names), only=None) for part in self._parts]
        return PartRows(self._head.select(names), parts, [one.select(names) for one in self._heads])

    def pieces(self):
        """Yield (number of rows, batch)."""
        for part in self._parts:
            for batch in part.batches(self.shared_rows()):
                yield len(batch), batch

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array; reads only the parts they are in."""
        indices = np.asarray(indices, dtype=np.intp)
        stops = np.fromiter(accumulate(part.n_rows for part in self._parts), np.intp)
        part = np.searchsorted(stops, indices, side="right")
        used, place = np.unique(part, return_inverse=True)
        few = PartRows(self._head, [self._parts[i] for i in used])
        few.decode = self.decode
        lengths = np.array([part.n_rows for part in few._parts], dtype=np.intp)
        behind = (stops[used] - np.cumsum(lengths))[place]
        return take(few, indices - behind)


def call_library(name, function, *args):
    """Return what a function of a library returns; what it raises says ``name`` and no more."""
    try:
        return function(*args)
    except TableError as error:
        failure = TableError(*error.args)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # panics of polars are no Exceptions
        failure = TableError(
            f"{name} could not be read: is it there, whole, and a table of numbers, with the same "
            "columns throughout?"
        )
    raise failure


BUFFER_BYTES = 2**20  # of each column: else a row group is in memory as a whole


class StoredFile:
    """A parquet file that stays as it is."""

    def __init__(self, filesystem, path):
        self.path, self._filesystem = path, filesystem
        self._stamp, self._metadata = self._now(), None
        with self.open() as file:
            schema, self._metadata = file.schema_arrow, file.metadata
        self.columns = _columns(schema)
        self.head = schema.empty_table()
        self.head = self.head if self.columns is None else self.head.select(self.columns)

    def groups(self, wanted=None):
        """Return the Parts that are its row groups, or those of the wanted numbers."""
        return groups_of(self._metadata, self.open, self.path, wanted)

    def groups_of_columns(self):
        """Return the Parts that are its row groups, without an index of pandas."""
        return groups_of(self._metadata, self.open, self.path, columns=self.columns)

    def open(self, coded=None):
        """Return the file, open; text of the columns with these names is read as it is coded."""
        from pyarrow.parquet import ParquetFile

        if self._now() != self._stamp:
            raise TableError(CHANGED)
        stream = self._filesystem.open_input_file(self.path)
        options = {"pre_buffer": False, "buffer_size": BUFFER_BYTES, "read_dictionary": coded}
        return ParquetFile(stream, metadata=self._metadata, **options)

    def _now(self):
        info = self._filesystem.get_file_info(self.path)
        return info.size, info.mtime_ns


def groups_of(metadata, open_file, name, wanted=None, columns=None):
    """Return the Parts that are row groups of a parquet file."""
    groups = range(metadata.num_row_groups) if wanted is None else wanted
    return [_group(metadata.row_group(i).num_rows, open_file, i, columns, name) for i in groups]


def _group(n_rows, open_file, i, columns, name):
    def only(names):
        return partial(_batches, partial(open_file, names), i, names)

    return Part(n_rows, partial(_batches, open_file, i, columns), name, only)


def rows_of_files(paths):
    """Return the rows of the parquet files of this machine that have these names."""
    from pyarrow.fs import LocalFileSystem

    here = LocalFileSystem()
    files = [call_library(path, StoredFile, here, path) for path in paths]
    heads = [file.head for file in files]
    schemas = list(map(schema_of, heads))
    if any(schema != schemas[0] for schema in schemas):
        raise TableError(COLUMNS)
    return PartRows(heads[0], [part for file in files for part in file.groups_of_columns()], heads)


def _columns(schema):
    """Return the names of the columns beside those that hold an index of pandas, None for all."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    index = {name for name in stored if isinstance(name, str)}  # else a range, which is not stored
    return [name for name in schema.names if name not in index] if index else None


def _batches(open_file, group, columns, batch_rows):
    options = {"row_groups": [group], "columns": columns}
    threads = effective_n_jobs(None) > 1
    yield from open_file().iter_batches(batch_rows, use_threads=threads, **options)


ENDINGS = (".parquet", ".parq", ".pq")
MAGIC = b"PAR1"
NEEDS_PYARROW = (
    "reading parquet files needs pyarrow. Install it with `pip install pyarrow`, or pass arrays, "
    "frames or batches of them."
)
NO_PARQUET = (
    "X names a file that is no parquet file, the only kind that is read by its path. Pass what a "
    "reader of its kind makes of it: polars.scan_csv(path), dask.dataframe.read_csv(path), "
    "pyarrow.dataset.dataset(path, format=...), or np.load(path, mmap_mode='r')."
)
PARTITIONED = (
    "X names a folder with subfolders such as month=1, whose names hold a column that the files do "
    "not. Pass pyarrow.dataset.dataset(path, partitioning='hive') or polars.scan_parquet(path), or "
    "to leave this column out a pattern: path + '/**/*.parquet'."
)
NO_FILE = (
    "X is text, which can name parquet files only, and names none: no file, folder or pattern with "
    "parquet files is found there. Pass a table of numbers, a path of this machine, or "
    "pyarrow.dataset.dataset(...) for what lies elsewhere or is stored otherwise."
)


def source(X):
    """Return the rows of the parquet files that a path, or a list of paths, names."""
    files = files_of(X if isinstance(X, list | tuple) else [X])
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(NEEDS_PYARROW) from None
    return rows_of_files(files)


def files_of(paths):
    """Return the files that are named, in order: those of a folder or a pattern are sorted.

    A folder stands for all files below it with an ending of parquet; names that begin with a dot or
    an underscore are left out.
    """
    return [file for path in paths for file in _files(str(path))]


def _files(path):
    try:
        if Path(path).is_file():
            found = [Path(path)]
        elif Path(path).is_dir():
            found = [file for file in Path(path).rglob("*") if _is_parquet(file.relative_to(path))]
        else:
            found = [Path(name) for name in glob(path, recursive=True)]
    except (OSError, ValueError):  # no name of a file at all
        found = []
    if not (files := sorted(str(file) for file in found if file.is_file())):
        raise TableError(NO_FILE)
    if not all(map(_says_parquet, files)):
        raise TableError(NO_PARQUET)
    below = (Path(file).relative_to(path).parent for file in files if Path(path).is_dir())
    if any("=" in part for folder in below for part in folder.parts):
        raise TableError(PARTITIONED)
    return files


def _says_parquet(path):
    """Return whether a file says, by its ending or its first bytes, that it is one of parquet."""
    if Path(path).suffix in ENDINGS:
        return True
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return True  # to be told by who reads it


def _is_parquet(file):
    return file.suffix in ENDINGS and not any(part.startswith((".", "_")) for part in file.parts)
