"""Paths of parquet files: of a file, a folder, a pattern, or a list of these."""

from glob import glob
from pathlib import Path

from skdp.chunks._raw import TableError

__all__ = ["files_of", "source"]

ENDINGS = (".parquet", ".parq", ".pq")
NEEDS_PYARROW = (
    "reading parquet files needs pyarrow. Install it with `pip install pyarrow`, or pass arrays, "
    "frames or batches of them."
)
NO_FILE = (
    "X is text, which can name parquet files only, and names none: no file, folder or pattern with "
    "parquet files is found there. Pass a table of numbers, a path of this machine, or "
    "pyarrow.dataset.dataset(...) for what lies elsewhere."
)


def source(X):
    """Return the rows of the parquet files that a path, or a list of paths, names.

    Raises
    ------
    ImportError
        Without pyarrow.
    TableError
        If there are no such files, or they cannot be read.
    """
    files = files_of(X if isinstance(X, list | tuple) else [X])
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(NEEDS_PYARROW) from None
    from skdp.chunks._parquet import rows_of_files

    return rows_of_files(files)


def files_of(paths):
    """Return the files that are named, in order: those of a folder or a pattern are sorted.

    A folder stands for all files below it with an ending of parquet; names that begin with a dot or
    an underscore are left out.

    Raises
    ------
    TableError
        If a path names no file.
    """
    return [file for path in paths for file in _files(str(path))]


def _files(path):
    try:
        if Path(path).is_file():
            return [path]
        if Path(path).is_dir():
            found = [file for file in Path(path).rglob("*") if _is_parquet(file.relative_to(path))]
        else:
            found = [Path(name) for name in glob(path, recursive=True)]
    except (OSError, ValueError):  # no name of a file at all
        found = []
    if not (files := sorted(str(file) for file in found if file.is_file())):
        raise TableError(NO_FILE)
    return files


def _is_parquet(file):
    return file.suffix in ENDINGS and not any(part.startswith((".", "_")) for part in file.parts)
