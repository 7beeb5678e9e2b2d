"""Paths of parquet files: of a file, a folder, a pattern, or a list of these."""

from glob import glob
from pathlib import Path

from skdp.readers._raw import TableError

__all__ = ["files_of", "source"]

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
    from skdp.readers._parquet import rows_of_files

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
