"""Neighbouring tables to try a sensitivity on."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.audit._draw import Draw

__all__ = ["Pair", "draw_pair", "mutated"]

EPSILONS = (None, None, 10.0, 100.0)  # large ones lead a small table into the deep branches
EXTREMES = (0.0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308, np.nan, np.inf, -np.inf)


@dataclass(frozen=True)
class Pair:
    """A table and its neighbour.

    Parameters
    ----------
    table : ndarray of shape (n, d)
        The smaller of the two.
    row : ndarray of shape (d,)
        What the larger one has in addition.
    position : int
        Index of that row.
    seed : int, default=0
        Of the noise in the first run and of the row keys.
    remove : bool, default=False
        Whether the first run is on the larger table, and the replay on the smaller.
    epsilon : float, default=None
        Epsilon for the two runs, None for the estimator's own.
    """

    table: np.ndarray
    row: np.ndarray
    position: int
    seed: int = 0
    remove: bool = False
    epsilon: float | None = None

    def sides(self):
        """Return (table, keys) of the first run and of the replay; common rows share keys."""
        keys = Draw("keys", self.seed).words(len(self.table) + 1)
        smaller = self.table, np.delete(keys, self.position)
        larger = np.insert(self.table, self.position, self.row, axis=0), keys
        return (larger, smaller) if self.remove else (smaller, larger)

    def __str__(self):
        entries = ", ".join(f"{x:.6g}" for x in self.row[:6]) + (
            ", ..." if len(self.row) > 6 else ""
        )
        own = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        verb = "remove" if self.remove else "add"
        return (
            f"{verb} row ({entries}) at {self.position} of {len(self.table)} rows "
            f"(seed {self.seed}{own})"
        )


def draw_pair(X, draw, rows=None, *, other_epsilon=True):
    """Return a pair with a table of 0 to 60 rows of X, now and then repeated ten times."""
    table = _table(X, draw)
    row = _row(X, table, draw, rows)
    return Pair(
        table,
        row,
        draw.below(len(table) + 1),
        seed=draw.below(2**31),
        remove=draw.chance(0.5),
        epsilon=draw.choice(EPSILONS) if other_epsilon else None,
    )


def mutated(pair, X, draw, rows=None):
    """Return a pair that differs from ``pair`` in one respect."""
    kind = draw.below(5)
    table = pair.table
    if kind == 0:
        return replace(pair, row=_row(X, table, draw, rows))
    if kind == 1:
        with np.errstate(all="ignore"):
            return replace(pair, row=pair.row * 2.0 ** (4 * draw.uniform() - 2))
    if kind == 2:
        return replace(pair, seed=draw.below(2**31))
    if kind == 3 and len(table):
        table = table.copy()
        table[draw.below(len(table))] = _row(X, table, draw, rows)
        return replace(pair, table=table)
    return replace(pair, position=draw.below(len(table) + 1), remove=not pair.remove)


def _table(X, draw):
    n = draw.choice((0, 1, 2, 3, 60, 60)) if draw.chance(0.3) else draw.below(61)
    repeated = draw.chance(0.5)
    table = X[draw.below(len(X), n) if repeated else draw.sample(len(X), n)]
    if n and draw.chance(0.1):
        table = np.repeat(table[:1], n, axis=0)
    with np.errstate(all="ignore"):
        if draw.chance(0.3):
            table = table * 10.0 ** draw.choice((-200, -3, -1, 1, 3, 200))
        if draw.chance(0.1):
            table = table + 1e8
    for _ in range(draw.below(4) if n and draw.chance(0.3) else 0):
        table[draw.below(n)] = _row(X, table, draw, None)
    return np.repeat(table, 10, axis=0) if draw.chance(0.05) else table


def _row(X, table, draw, rows):
    """Return a hostile row."""
    d = X.shape[1]
    if rows is not None and len(rows) and draw.chance(0.3):
        return np.asarray(rows[draw.below(len(rows))], dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    kind = draw.below(6)
    with np.errstate(all="ignore"):
        if kind == 0:  # a corner of the box, scaled
            return np.where(draw.uniform(d) < 0.5, low, high) * 10.0 ** draw.choice(
                (-3, 0, 1, 3, 6)
            )
        if kind == 1 and len(table):  # a duplicate
            return table[draw.below(len(table))].copy()
        if kind == 2 and len(table):  # nearly one: half-way ties, the last bit
            return table[draw.below(len(table))] * (1 + draw.choice((2.0**-52, -1e-6, 1.0, -2.0)))
        if kind == 3:
            return np.full(d, draw.choice(EXTREMES))
        if kind == 4:  # an extreme in one column
            row = X[draw.below(len(X))].copy()
            row[draw.below(d)] = draw.choice(EXTREMES)
            return row
    return X[draw.below(len(X))].copy()
