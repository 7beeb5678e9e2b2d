"""Tables of one schema, for audits."""

import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skdp._config import config_context
from skdp.audit._draw import Draw
from skdp.audit._samples import Sample
from skdp.chunks import _rows as blocks

__all__ = [
    "Table",
    "example",
    "example_table",
    "single_precision",
    "small_blocks",
    "tables_like",
    "wider",
]


@dataclass(frozen=True)
class Table:
    """A sample with a name, and whether it may hold invalid rows or none at all."""

    name: str
    data: Sample
    ignore: bool = False

    def config(self):
        """Return the context in which it is fitted."""
        return config_context(invalid_rows="ignore" if self.ignore else None)


def example_table(n_rows=600, n_features=3, *, seed=0):
    """Return a table with columns of different location and scale, and some rows far away."""
    draw = Draw("example", seed)
    X = draw.normal((n_rows, n_features)) * 10.0 ** np.arange(n_features)
    X[: n_rows // 50] *= 30
    return X + 5


def example(estimator, X=None, y=None):
    """Return X and y as a sample; an example in the place of what is missing and needed."""
    if isinstance(X, Sample):
        return X
    data = Sample.of(example_table() if X is None else X, y)
    if y is None and get_tags(estimator).target_tags.required and data.is_numeric:
        target = data.X.sum(axis=1)
        if is_classifier(estimator):
            target = (target > np.median(target)).astype(int)
        return Sample(data.X, target)
    return data


def single_precision(data):
    """Return a sample with values that float32 holds exactly, where it holds them at all."""
    if not data.is_numeric:
        return data
    with np.errstate(all="ignore"):
        rounded = data.X.astype(np.float32).astype(np.float64)
    return data.having(np.where(np.isfinite(rounded), rounded, data.X))


def tables_like(data):
    """Return a list of tables of the schema of a sample that have little else in common with it."""
    data = single_precision(data)
    n = len(data)
    first, alike = data.take([0]), data.take(np.zeros(n))
    other = data.take(Draw("other").sample(n, 1))
    tables = [
        Table("the table", data),
        Table("a row more", data.inserted(n // 3, _middle(data))),
        Table("a row less", data.take(np.arange(1, n)) if n > 1 else data.joined(data)),
        Table("a far row", data.inserted(n, _shifted(first, 0, 1e9))),
        Table("a row with NaN", data.inserted(n // 2, _missing(first)), ignore=True),
        Table("no rows", data.take([]), ignore=True),
        Table("one row", first),
        Table("rows all alike", alike),
        Table("rows in another order", data.take(Draw("order").sample(n, n))),
        Table("all rows far away", _shifted(data, 1, 1e7)),
        Table("constant columns", _constant(data)),
    ]
    if data.y is not None:
        tables.append(Table("targets all alike", Sample(data.X, alike.y)))
        tables.append(Table("targets in another order", Sample(data.X, data.y[::-1].copy())))
    if not data.is_numeric:
        tables.append(Table("rows all alike, but one", alike.inserted(n // 2, other)))
        return tables
    tables.append(Table("all rows huge", data.having(np.where(data.X < 0, -1e300, 1e300))))
    tables.append(Table("column-major", data.having(np.asfortranarray(data.X))))
    with np.errstate(all="ignore"):
        single = data.X.astype(np.float32)
    if np.array_equal(single, data.X):
        tables.append(Table("float32", data.having(single)))
    return tables


def _middle(data):
    """Return a row in the middle of all others, as far as columns have a middle."""
    return data.take([0]).having(data.X.mean(axis=0)[None]) if data.is_numeric else data.take([0])


def _shifted(data, factor, offset):
    """Return the rows with ``factor x + offset`` for x in all columns of floats."""
    if data.is_numeric:
        return data.having(factor * data.X + offset)
    for j in range(data.n_features):
        if data.kind(j) == "f":
            data = data.replaced(j, [factor * x + offset for x in data.column(j)])
    return data


def _missing(row):
    """Return a row with a missing entry in its first column."""
    if row.is_numeric:
        X = np.full_like(row.X, 3.0)
        X[:, 0] = np.nan
        return row.having(X)
    missing = row
    for j in range(row.n_features):
        missing = row.replaced(j, [np.nan if row.kind(j) == "f" else None])
        if missing is not row:
            break
    return missing


def _constant(data):
    """Return a table whose columns but the last are constant."""
    d = data.n_features
    if data.is_numeric:
        return data.having(np.where(np.arange(d) == d - 1, data.X, 2.0))
    for j in range(d - 1):
        data = data.replaced(j, data.column(j)[:1] * len(data))
    return data


def wider(data, d):
    """Return a sample with d columns: those of ``data``, and more like them in other orders."""
    n, columns, kept = len(data), data.n_features, data.X
    draw, parts = Draw("wider", d), [data.X]
    for k in range(1, -(-d // columns)):
        parts.append(
            data.take(draw.sample(n, n))
            .renamed([f"{name} {k}" for name in getattr(kept, "columns", ())])
            .X
        )
    if not hasattr(kept, "columns"):
        return data.having(np.concatenate(parts, axis=1)[:, :d].copy())
    if hasattr(kept, "iloc"):
        return data.having(sys.modules["pandas"].concat(parts, axis=1).iloc[:, :d])
    return data.having(sys.modules["polars"].concat(parts, how="horizontal")[:, :d])


@contextmanager
def small_blocks(n_bytes=2**14):
    """Let tables be cut into blocks of about ``n_bytes``, so that short ones have several."""
    whole, blocks.BLOCK_BYTES = blocks.BLOCK_BYTES, n_bytes
    try:
        yield
    finally:
        blocks.BLOCK_BYTES = whole


@contextmanager
def memory_mapped(data):
    """Lend a read-only memory map with the values of a sample of numbers, as a list."""
    if not data.is_numeric:
        yield []
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "rows"
        np.ascontiguousarray(data.X).tofile(path)
        mapped = np.memmap(path, dtype=data.X.dtype, mode="r", shape=data.X.shape)
        yield [Table("memory map", data.having(mapped))]
        del mapped
