"""Tables of one schema, for audits."""

import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skdp.audit._draw import AuditRandom, Sample
from skdp.readers import _rows as blocks


@dataclass(frozen=True)
class Table:
    """A sample with a name."""

    name: str
    data: Sample


def example_table(n_rows=600, n_features=3, *, seed=0):
    """Return a table with columns of different location and scale, and some rows far away."""
    draw = AuditRandom("example", seed)
    X = draw.normal((n_rows, n_features)) * 10.0 ** np.arange(n_features)
    X[: n_rows // 50] *= 30
    return X + 5


def example(estimator, X=None, y=None, groups=None):
    """Return X and y as a sample; an example in the place of what is missing and needed.

    ``groups`` are whose rows they are; True makes some up.
    """
    if isinstance(X, Sample):
        return X
    data = Sample.of(example_table() if X is None else X, y)
    required = get_tags(estimator).target_tags.required or getattr(estimator, "_target", None)
    if y is None and required:
        data = replace(data, y=example_target(estimator, data))
    if groups is None:
        return data
    owners = example_groups(len(data)) if groups is True else np.asarray(groups)
    return replace(data, groups=owners)


def example_groups(n_rows):
    """Return whose row each row is: persons of one row and of many, their rows anywhere."""
    u = AuditRandom("owners of rows").uniform(n_rows)
    return np.floor(n_rows**u).astype(np.int64)


def example_target(estimator, data):
    """Return targets that the numbers in a table tell something of; classes as evenly as can be."""
    numbers = [data.column(j) for j in range(data.n_features) if data.kind(j) in "fiu"]
    target = np.nan_to_num(np.sum(numbers or [np.arange(len(data))], axis=0, dtype=np.float64))
    if not (is_classifier(estimator) or getattr(estimator, "_target", None) == "class"):
        return target
    classes = np.asarray((0, 1) if (known := _classes_of(estimator)) is None else known)
    ranks = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return classes[ranks * len(classes) // max(len(data), 1)]


def _classes_of(estimator):
    """Return the public classes of a classifier, or of the one inside it, None if it has none."""
    steps = getattr(estimator, "steps", None)
    inner = steps[-1][1] if steps else getattr(estimator, "estimator", None)
    return getattr(estimator, "classes", None) if inner is None else _classes_of(inner)


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
    other = data.take(AuditRandom("other").sample(n, 1))
    tables = [
        Table("the table", data),
        Table("a row more", data.inserted(n // 3, _middle(data))),
        Table("a row less", data.take(np.arange(1, n)) if n > 1 else data.joined(data)),
        Table("a far row", data.inserted(n, _shifted(first, 0, 1e9))),
        Table("a row with NaN", data.inserted(n // 2, _missing(first))),
        Table("no rows", data.take([])),
        Table("one row", first),
        Table("rows all alike", alike),
        Table("rows in another order", data.take(AuditRandom("order").sample(n, n))),
        Table("all rows far away", _shifted(data, 1, 1e7)),
        Table("constant columns", _constant(data)),
    ]
    if data.y is not None:
        tables.append(Table("targets all alike", replace(data, y=alike.y)))
        tables.append(Table("targets in another order", replace(data, y=data.y[::-1].copy())))
        tables += [
            Table(name, data.inserted(n // 2, Sample(first.X, y)))
            for name, y in _far_targets(data.y)
        ]
    tables += [] if data.groups is None else list(_other_owners(data))
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


def _other_owners(data):
    """Yield tables of the same rows whose owners have other names, or are others."""
    _, codes = np.unique(data.groups, return_inverse=True)
    other = AuditRandom("owners").sample(codes.max() + 1, codes.max() + 1)[codes]
    names = np.array([f"person-{code}-86243" for code in codes])
    yield Table("owners numbered anew", replace(data, groups=other))
    yield Table("owners with names", replace(data, groups=names))
    yield Table("owners that are objects", replace(data, groups=names.astype(object)))
    yield Table("one owner of all", replace(data, groups=np.zeros_like(codes)))
    yield Table("an owner for each row", replace(data, groups=np.arange(len(data))))


def _far_targets(y):
    """Yield (name, array of one target) of no class, far away, or missing, of the type of y."""
    if y.dtype.kind == "f":
        yield "a far target", np.array([1e300], dtype=y.dtype)
        yield "a missing target", np.array([np.nan], dtype=y.dtype)
    elif y.dtype.kind in "iuOU" and len(y):
        other = "86243-nobody" if y.dtype.kind in "OU" else y.max() + 1
        yield "an unknown class", np.array([other], dtype=y.dtype)


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
    """Return a sample with d columns: those of ``data``, and more like them in other orders.

    The first d of them, if it has as many.
    """
    n, columns, kept = len(data), data.n_features, data.X
    if d <= columns and not hasattr(kept, "iloc"):
        return data.having(kept[:, :d].copy() if data.is_numeric else kept[:, :d])
    draw, parts = AuditRandom("wider", d), [data.X]
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


def framed(data):
    """Return some Tables of the same numbers as frames with names; none without pandas."""
    try:
        import pandas as pd
    except ImportError:
        return []
    if not data.is_numeric:
        return []
    names = [f"column {j}" for j in range(data.n_features)]
    X = {"the table": data.X, "other signs": -data.X, "columns in another order": data.X[:, ::-1]}
    return [
        Table(name, data.having(pd.DataFrame(np.array(rows), columns=names)))
        for name, rows in X.items()
    ]
