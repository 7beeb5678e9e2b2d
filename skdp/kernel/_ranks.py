"""Ranks of thresholds in columns, and cells of the order of all floats."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from skdp.kernel._plain import (
    ColumnNumber,
    Columns,
    ColumnTuple,
    PerColumn,
    Vector,
    public,
    refuse,
    whole,
    within,
)
from skdp.kernel._statistic import Choice, OnePerColumn, Statistic
from skdp.mechanisms import _compiled, finite_rows
from skdp.readers._loop import order_of_floats, places, strips

PARTS = 1000  # quantiles are searched at thousandths
MOST_WORTH = 2.0**60  # scores are integers of 64 bits


def in_order(x, name, sizes=None):
    """Refuse what are no places in the order of the floats, see :func:`order_of_floats`."""
    refuse(x.dtype != np.uint64, f"{name} in the order of the floats")


@public
class Balance(OnePerColumn):
    """In every column, the rows up to a threshold less the others.

    **Privacy** (add or remove one row): given the thresholds it moves every column by exactly 1.
    """

    thresholds: Annotated[PerColumn, in_order]
    each = "thresholds"

    def total(self, block):
        """Return the balance, shape (d,)."""
        below = np.count_nonzero(order_of_floats(block) <= self.thresholds, axis=0)
        return 2 * below - len(block)


MODES = "all", "finite", "entries", "target"
COMPARED = 48  # edges of a column, at most, with each of which the compiled loop compares


def ranks_of(block, columns, starts, edges, rows, center=None, unit=None, *, distances=False):
    """Return how many entries of columns are at most each of their edges, and of how many rows.

    By the compiled loops. ``edges`` are flat, the rising ones of column j from ``starts[j]`` on.
    """
    k = len(columns)
    counts, n = np.zeros(len(edges), dtype=np.int64), 0
    center, unit = (np.zeros(k) if x is None else _compiled.plain(x) for x in (center, unit))
    columns, starts = (_compiled.plain(x, np.int64) for x in (columns, starts))
    fields = columns, starts, _compiled.plain(edges), center, unit, counts
    for _, x in _compiled.plain_parts(block):
        n += _compiled.loops.ranks(x, *fields, x.shape[1], MODES.index(rows), distances)
    for first, end in pairwise(starts.tolist()):
        if end - first > COMPARED:  # each entry was counted at one edge alone
            np.cumsum(counts[first:end], out=counts[first:end])
    return counts, n


@public
class Thresholds(Statistic):
    """Ranks of thresholds, less those searched for, in thousandths of a row.

    **Privacy** (add or remove one row): it adds ``1000 [x <= t] - parts`` to every threshold, at
    most ``max(parts, 1000 - parts)`` in size, and nothing if it holds NaN or infinity.
    """

    columns: Columns  # may repeat
    thresholds: Vector
    # thousandths of the quantiles searched for
    parts: Annotated[np.ndarray, "k", whole, within(0, PARTS)]
    center: Vector  # what is subtracted from entries
    unit: Vector | None = None  # given it, distances from the centre, divided by it, are looked at

    @property
    def _most(self):
        return [max(p, PARTS - p) for p in np.asarray(self.parts).tolist()]

    @property
    def squared_l2(self):
        return sum(p * p for p in self._most)

    @property
    def l1(self):
        return sum(self._most)

    def _upto(self, x, i):
        y = x - self.center[i]
        y = y if self.unit is None else np.abs(y) / self.unit[i]
        return np.count_nonzero(y <= self.thresholds[i])

    def ahead(self, levels):
        """Return the ranks from what :class:`skdp.readers._loop.Levels` counts."""
        unit = [None] * len(self.columns) if self.unit is None else self.unit.tolist()
        names = list(zip(self.columns.tolist(), self.center.tolist(), unit, strict=True))
        parts, at = np.array(self.parts, dtype=np.int64), places(self.thresholds, closed=True)
        told = levels.ranks(names, at.tolist(), parts.tolist(), closed=True)
        return PARTS * told[0] - parts * told[1]

    def total(self, block):
        """Return the ranks, shape (k,)."""
        if _compiled.loops is not None:
            starts = np.arange(len(self.columns) + 1)
            asked = self.columns, starts, self.thresholds, "finite", self.center, self.unit
            below, n = ranks_of(block, *asked, distances=self.unit is not None)
            return PARTS * below - np.array(self.parts, dtype=np.int64) * n
        ranks, parts = (np.array(of, dtype=np.int64) for of in ([0] * len(self.parts), self.parts))
        with np.errstate(over="ignore"):
            for strip in strips(block, self.columns):
                below = [self._upto(x, i) for i, x in enumerate(strip)]
                ranks += PARTS * np.array(below, dtype=np.int64) - parts * strip.shape[1]
        return ranks


@public
class RankScores(Choice):
    """How far candidates are from a quantile of a column in rank.

    **Privacy** (add or remove one row): with p = num / den the score of a candidate r is ``-|num
    #{x > r} - (den - num) #{x < r}|``, which a row moves by at most max(num, den - num). The
    candidates do not depend on rows. From every score a public number is taken, which moves
    nothing.
    """

    column: ColumnNumber
    # of the quantile
    numerator: int
    denominator: Annotated[int, within(1, 2**20)]
    grid: Vector  # the candidates
    # by how much candidates are less likely from the start
    nats: Annotated[np.ndarray, "k", within(0, math.inf)]
    worth: float = 1.0  # what a nat is of a score; chosen by the kernel

    def check(self, shape):
        super().check(shape)
        refuse(not 0 <= self.numerator <= self.denominator, "a quantile")

    def at(self, offer):
        amount = float(offer.budget.amount * offer.share)
        epsilon = amount if offer.budget.measure == "pure" else math.sqrt(8 * amount)
        return replace(self, worth=min(2 * self.most * offer.unit / epsilon, MOST_WORTH))

    @property
    def most(self):
        return int(max(self.numerator, self.denominator - self.numerator))

    @property
    def squared_l2(self):
        return len(self.grid) * self.most**2

    @property
    def l1(self):
        return len(self.grid) * self.most

    def total(self, block):
        """Return the weighed rows above candidates less those below, shape (k,)."""
        x = np.sort(np.asarray(block[finite_rows(block), self.column], dtype=np.float64))
        below, upto = (np.searchsorted(x, self.grid, side=side) for side in ("left", "right"))
        return self.numerator * (len(x) - upto) - (self.denominator - self.numerator) * below

    def scores(self, exact):
        nats = np.asarray(self.nats, dtype=np.float64)
        handicaps = np.rint(np.minimum(nats * self.worth, MOST_WORTH)).astype(np.int64)
        return -np.abs(exact) - handicaps


@public
class KeyRanks(OnePerColumn):
    """Twice the number of entries of columns up to a threshold, less the number of rows.

    **Privacy** (add or remove one row): given the thresholds it moves every column by exactly 1, or
    none if the row holds NaN or infinity.
    """

    columns: ColumnTuple
    thresholds: Annotated[Vector, in_order]  # zeros are one

    def ahead(self, levels):
        """Return the ranks from what :class:`skdp.readers._loop.Levels` counts."""
        names = [(j, 0.0, None) for j in self.columns]
        half = [PARTS // 2] * len(names)
        told = levels.ranks(names, self.thresholds.tolist(), half, closed=False)
        return 2 * told[0] - told[1]

    def total(self, block):
        """Return the ranks, shape (k,)."""
        ranks = np.zeros(len(self.columns), dtype=np.int64)
        for strip in strips(block, list(self.columns)):
            upto = places(strip, closed=False) <= self.thresholds[:, None]
            ranks += 2 * np.count_nonzero(upto, axis=1) - strip.shape[1]
        return ranks
