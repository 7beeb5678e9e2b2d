"""Columns of which some quantiles are public: what a report tells of them, with all in between."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from numbers import Integral, Real

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtri

__all__ = ["Column", "stated_columns"]

ALIKE = 0.1  # correlation of columns: the median of pairs in some forty tables
ENDS = 3.5  # where the least and the largest entry are, in normal scores: of some 4000
GRID = ndtri((np.arange(4000) + 0.5) / 4000)
TOLD = (
    "quantiles of a column are a dict of values by probability, two or more of them, from 0 for "
    "the least to 1 for the largest entry, and values must not fall. Got "
)


@dataclass(frozen=True)
class Column:
    """A law with stated quantiles: a monotone curve through them, in normal scores.

    Two quantiles are those of a normal law. Below the first and above the last one the curve goes
    on as a line, but never beyond a stated least or largest entry. Equal neighbours are an atom.
    """

    # scores, values: tuple of float: normal scores of the probabilities, rising; and quantiles,
    # which do not fall
    scores: tuple
    values: tuple
    whole: bool  # whether entries are whole numbers

    @classmethod
    def of(cls, quantiles):
        """Return the column of a dict of quantiles; whole numbers tell of whole numbers."""
        if not _is_told(quantiles):
            raise ValueError(f"{TOLD}{quantiles!r}.")
        p, values = zip(*sorted(quantiles.items()), strict=True)
        scores = np.clip(ndtri(np.array(p, dtype=float)), -ENDS, ENDS)
        whole = all(isinstance(value, Integral) for value in values)
        return cls(tuple(scores.tolist()), tuple(map(float, values)), whole)

    def at(self, z):
        """Return the entries of these normal scores."""
        s, v = np.array(self.scores), np.array(self.values)
        curve = PchipInterpolator(s, v)
        below, above = np.minimum(z - s[0], 0), np.maximum(z - s[-1], 0)
        first, last = curve.derivative()(s[[0, -1]])
        x = curve(np.clip(z, s[0], s[-1]))
        x += below * (first if s[0] > -ENDS else 0) + above * (last if s[-1] < ENDS else 0)
        return np.rint(x) if self.whole else x

    def standard(self, x):
        """Return entries in standard deviations from the mean of the law."""
        law = self.at(GRID)
        return (x - law.mean()) / (law.std() or 1.0)


def stated_columns(columns, rows, n_rows):
    """Return entries of columns that a common cause makes alike, and the same in standard units.

    Shapes: returns (n_rows, n_columns).
    """
    own, common = rows.normal(size=(n_rows, len(columns))), rows.normal(size=(n_rows, 1))
    scores = sqrt(1 - ALIKE) * own + sqrt(ALIKE) * common
    X = np.column_stack([column.at(score) for column, score in zip(columns, scores.T, strict=True)])
    z = [column.standard(x) for column, x in zip(columns, X.T, strict=True)]
    return X, np.column_stack(z)


def _is_told(quantiles):
    if not isinstance(quantiles, Mapping) or len(quantiles) < 2:
        return False
    if not all(isinstance(x, Real) for pair in quantiles.items() for x in pair):
        return False
    p, values = np.array(sorted(quantiles.items()), dtype=float).T
    return bool(
        np.isfinite(values).all() and p[0] >= 0 and p[-1] <= 1 and np.diff(values).min() >= 0
    )
