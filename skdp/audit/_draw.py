"""Rows that audits make up: seeds, samples of every kind, frames."""

import sys
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from scipy.special import ndtri

from skdp.mechanisms import make_entropy
from skdp.utils._compat import safe_indexing


class AuditRandom:
    """Choices that are a function of ``key``, any values with a ``repr``."""

    def __init__(self, *key):
        self._entropy = make_entropy(crc32(repr(key).encode()))

    def words(self, n):
        """Return n words, an array of uint64."""
        return self._entropy.words(n)

    def uniform(self, size=None):
        """Return floats in (0, 1)."""
        count = 1 if size is None else int(np.prod(size))
        u = ((self.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return float(u[0]) if size is None else u.reshape(size)

    def below(self, n, size=None):
        """Return integers in 0, ..., n - 1."""
        if size is None:
            return int(self.uniform() * n)
        return (self.uniform(size) * n).astype(np.intp)

    def normal(self, size):
        """Return standard normal floats."""
        return ndtri(self.uniform(size))

    def choice(self, options):
        """Return one of the options."""
        return options[self.below(len(options))]

    def chance(self, p):
        """Return True with probability p."""
        return self.uniform() < p

    def sample(self, n, size):
        """Return ``size`` of 0, ..., n - 1, all different."""
        return np.argsort(self.words(n), kind="stable")[:size]


@dataclass(frozen=True, eq=False)
class Sample:
    """A table and its targets."""

    X: object  # ndarray, or DataFrame of pandas or polars
    y: object = None  # shape (n_samples,)
    # shape (n_samples,): whose row each row is; with it an estimator is fitted with groups
    groups: object = None

    @classmethod
    def of(cls, X, y=None, groups=None):
        """Return X and y as a sample: numbers as float64, frames and other entries as they are."""
        if isinstance(X, cls):
            return X
        if not hasattr(X, "columns"):
            X = np.asarray(X)
            X = X.astype(np.float64) if X.dtype.kind in "fiub" else X.astype(object)
        y, groups = (None if x is None else np.asarray(x) for x in (y, groups))
        return cls(X, y, groups)

    def __len__(self):
        return self.X.shape[0]

    @property
    def n_features(self):
        """Number of columns."""
        return self.X.shape[1]

    @property
    def is_numeric(self):
        """Whether X is an array of numbers."""
        return not hasattr(self.X, "columns") and self.X.dtype != object

    def fit(self, estimator, **parameters):
        """Fit an estimator on it."""
        y = () if self.y is None else (self.y,)
        owners = {} if self.groups is None else {"groups": self.groups}
        return estimator.fit(self.X, *y, **owners, **parameters)

    def having(self, X):
        """Return another table with the same targets."""
        return replace(self, X=X)

    def take(self, indices):
        """Return the rows at ``indices``."""
        indices = np.asarray(indices, dtype=np.intp)
        X = self.X[indices] if not hasattr(self.X, "columns") else safe_indexing(self.X, indices)
        X = X.reset_index(drop=True) if hasattr(X, "iloc") else X
        y, groups = (None if x is None else x[indices] for x in (self.y, self.groups))
        return Sample(X, y, groups)

    def joined(self, other):
        """Return these rows and those of ``other``, of a new group unless they have some."""
        y = None if self.y is None else np.concatenate([self.y, other.y])
        groups = None if self.groups is None else np.concatenate([self.groups, self._of(other)])
        if not hasattr(self.X, "columns"):
            return Sample(np.concatenate([self.X, other.X]), y, groups)
        if not hasattr(self.X, "iloc"):
            return Sample(self.X.vstack(other.X), y, groups)
        if not (len(self) and len(other)):
            return Sample((self if len(self) else other).X, y, groups)
        X = sys.modules["pandas"].concat([self.X, other.X], ignore_index=True)
        return Sample(X, y, groups)

    def _of(self, other):
        if other.groups is not None:
            return other.groups
        return np.full(len(other), other_id(self.groups), dtype=self.groups.dtype)

    def inserted(self, position, row):
        """Return these rows with one more at ``position``, a sample of one row."""
        order = np.insert(np.arange(len(self)), position, len(self))
        return self.joined(row).take(order)

    def kind(self, j):
        """Return the kind of column j, as numpy names it: "f", "i", "u", "b", or "O"."""
        if not hasattr(self.X, "columns"):
            return self.X.dtype.kind
        dtype = self.X.dtypes.iloc[j] if hasattr(self.X, "iloc") else self.X.dtypes[j]
        if hasattr(dtype, "is_numeric"):  # polars
            signs = dtype.is_float(), dtype.is_integer(), str(dtype) == "Boolean"
            return next((k for k, is_it in zip("fib", signs, strict=True) if is_it), "O")
        return dtype.kind if getattr(dtype, "kind", "O") in "fiub" else "O"

    def column(self, j):
        """Return the entries of column j, a list."""
        if not hasattr(self.X, "columns"):
            return self.X[:, j].tolist()
        column = self.X.iloc[:, j] if hasattr(self.X, "iloc") else self.X.to_series(j)
        return column.tolist() if hasattr(self.X, "iloc") else column.to_list()

    def replaced(self, j, entries):
        """Return it with other entries in column j, of the same type; itself if that is too narrow.

        Entries of integers that are none, categories that are unknown to an Enum.
        """
        try:
            return self.having(self._with_column(j, list(entries)))
        except Exception:
            return self

    def _with_column(self, j, entries):
        X = self.X
        if not hasattr(X, "columns"):
            X = X.copy()
            X[:, j] = entries
            return X
        if hasattr(X, "iloc"):
            X = X.copy()
            dtype = X.dtypes.iloc[j]
            column = sys.modules["pandas"].Series(entries, index=X.index, dtype=dtype)
            X.isetitem(j, column)
            return X
        name = X.columns[j]
        return X.with_columns(sys.modules["polars"].Series(name, entries, dtype=X.dtypes[j]))

    def renamed(self, names):
        """Return it with other names of its columns, if it has names."""
        if not hasattr(self.X, "columns"):
            return self
        X = self.X.clone() if hasattr(self.X, "clone") else self.X.copy()
        X.columns = names
        return self.having(X)


def other_id(groups, *, smaller=False):
    """Return an id of the type of ``groups`` that is none of them, before or behind all others."""
    if groups.dtype.kind not in "iuf":
        return "" if smaller else "~"
    if not len(groups):
        return 0
    return groups.min() - 1 if smaller else groups.max() + 1


UNKNOWN = "86243-nobody"  # a category that no table has
FLOATS = (0.0, 1e300, -1e300, 1e-300, 1e9, np.nan, np.inf, -np.inf)
WHOLE = (0, 1, -1, 127, 2**15, 2**31 - 1, -(2**31), 2**53, 2**62)


def hostile_frame(data, draw):
    """Return a table of 0 to 60 rows of a sample, some of them hostile."""
    n = draw.choice((0, 1, 2, 3, 60, 60)) if draw.chance(0.3) else draw.below(61)
    table = data.take(draw.below(len(data), n))
    if n and draw.chance(0.1):
        table = table.take(np.zeros(n))
    for _ in range(draw.below(4) if n and draw.chance(0.3) else 0):
        table = table.inserted(draw.below(n), hostile_frame_row(data, draw))
    return table.take(np.repeat(np.arange(len(table)), 10)) if draw.chance(0.05) else table


def hostile_frame_row(data, draw, rows=None):
    """Return a sample of one row that has hostile entries in one column, in all, or in none."""
    if rows is not None and len(rows) and draw.chance(0.3):
        return Sample.of(rows).take([draw.below(len(rows))])
    row = data.take([draw.below(len(data))])
    kind, d = draw.below(3), data.n_features
    for j in ((), (draw.below(d),), range(d))[kind]:
        row = row.replaced(j, [_entry(data, j, draw)])
    return row


def _entry(data, j, draw):
    kind, own = data.kind(j), data.column(j)[draw.below(len(data))]
    if kind == "f":
        return draw.choice((own, 1e3 * own, *FLOATS))
    if kind in "iu":
        return draw.choice((own, *WHOLE))
    return draw.choice((own, own, None, UNKNOWN)) if kind == "O" else own
