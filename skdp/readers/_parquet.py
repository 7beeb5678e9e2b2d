"""Parquet files, row group by row group."""

from functools import partial

from joblib import effective_n_jobs

from skdp.readers._loop import CHANGED
from skdp.readers._parts import Part, PartRows, call_library
from skdp.readers._raw import COLUMNS, TableError, schema_of

__all__ = ["StoredFile", "groups_of", "rows_of_files"]

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
    schemas = [schema_of(file.head) for file in files]
    if any(schema != schemas[0] for schema in schemas):
        raise TableError(COLUMNS)
    return PartRows(files[0].head, [part for file in files for part in file.groups_of_columns()])


def _columns(schema):
    """Return the names of the columns beside those that hold an index of pandas, None for all."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    index = {name for name in stored if isinstance(name, str)}  # else a range, which is not stored
    return [name for name in schema.names if name not in index] if index else None


def _batches(open_file, group, columns, batch_rows):
    options = {"row_groups": [group], "columns": columns}
    threads = effective_n_jobs(None) > 1
    yield from open_file().iter_batches(batch_rows, use_threads=threads, **options)
