"""Tables of one schema, for audits."""

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skdp._config import config_context
from skdp.audit._draw import Draw

__all__ = ["Table", "example_table", "tables_like"]


@dataclass(frozen=True)
class Table:
    """A table with a name, and whether it may hold invalid rows or none at all."""

    name: str
    X: object
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


def single_precision(X):
    """Return X with values that float32 holds exactly, where it holds them at all."""
    with np.errstate(all="ignore"):
        rounded = X.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, X)


def tables_like(X):
    """Return a list of tables of the schema of X that have little else in common with it."""
    n, d = X.shape
    X = single_precision(X)
    far = np.full((1, d), 1e9)
    order = Draw("order").sample(n, n)
    bad = np.insert(X, n // 2, np.nan, axis=0)
    bad[n // 2, 1:] = 3.0
    tables = [
        Table("the table", X),
        Table("a row more", np.insert(X, n // 3, X.mean(axis=0), axis=0)),
        Table("a row less", X[1:] if n > 1 else np.repeat(X, 2, axis=0)),
        Table("a far row", np.concatenate([X, far])),
        Table("a row with NaN", bad, ignore=True),
        Table("no rows", X[:0], ignore=True),
        Table("one row", X[:1]),
        Table("rows all alike", np.repeat(X[:1], n, axis=0)),
        Table("rows in another order", X[order]),
        Table("all rows far away", X + 1e7),
        Table("all rows huge", np.where(X < 0, -1e300, 1e300)),
        Table("constant columns", np.where(np.arange(d) == d - 1, X, 2.0)),
        Table("column-major", np.asfortranarray(X)),
    ]
    with np.errstate(all="ignore"):
        single = X.astype(np.float32)
    if np.array_equal(single, X):
        tables.append(Table("float32", single))
    return tables


@contextmanager
def memory_mapped(X):
    """Lend a read-only memory map with the values of X."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "rows"
        np.ascontiguousarray(X).tofile(path)
        mapped = np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)
        yield Table("memory map", mapped)
        del mapped
