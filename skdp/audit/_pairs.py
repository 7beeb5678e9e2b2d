"""Neighbouring tables to try a sensitivity on."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.audit._draw import AuditRandom
from skdp.audit._frame_rows import UNKNOWN, hostile_frame, hostile_frame_row
from skdp.audit._samples import Sample

__all__ = ["Pair", "draw_pair", "long_pairs", "mutated"]

EPSILONS = (None, None, 10.0, 100.0)  # large ones lead a small table into the deep branches
FAR = (0.0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308, np.nan, np.inf, -np.inf)
SENTINELS = (-999.0, -1.0, 99.0, 9999.0)  # that stand for gaps in many tables
EXTREMES = (*FAR, *SENTINELS)
WIDE = 2.0**53
WHOLE = 101  # entries of rows of small whole numbers


@dataclass(frozen=True)
class Pair:
    """A table and its neighbour.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """

    table: object  # shape (n, d) or: the smaller of the two
    row: object  # shape (d,) or: what the larger one has in addition
    position: int  # index of that row
    seed: int = 0  # of the noise in the first run and of the row keys
    # whether the first run is on the larger table, and the replay on the smaller
    remove: bool = False
    epsilon: float | None = None  # epsilon for the two runs, None for the estimator's own
    y: np.ndarray | None = None  # shape (n,): the targets of the rows of `table`
    target: object = None  # the target of `row`

    def sides(self):
        """Return (sample, keys) of the first run and of the replay; common rows share keys."""
        data = Sample(self.table, self.y)
        keys = AuditRandom("keys", self.seed).words(len(data) + 1)
        smaller = data, np.delete(keys, self.position)
        larger = data.inserted(self.position, self.added()), keys
        return (larger, smaller) if self.remove else (smaller, larger)

    def added(self):
        """Return the row that the larger table has in addition, a Sample."""
        row = self.row
        if not hasattr(row, "columns"):
            row = np.asarray(row)[None]
            with np.errstate(all="ignore"):
                row = row.astype(self.table.dtype, copy=False)
        return Sample(row, None if self.y is None else np.array([self.target], self.y.dtype))

    def __str__(self):
        row = self.row.to_numpy()[0] if hasattr(self.row, "columns") else self.row
        entries = [f"{x:.6g}" if isinstance(x, float) else str(x) for x in row[:6]]
        entries += ["..."] if len(row) > 6 else []
        entries += [] if self.y is None else [f"target {self.target}"]
        entries = ", ".join(entries)
        own = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        verb = "remove" if self.remove else "add"
        return (
            f"{verb} row ({entries}) at {self.position} of {len(self.table)} rows "
            f"(seed {self.seed}{own})"
        )


def draw_pair(X, draw, rows=None, *, other_epsilon=True):
    """Return a pair with a table of 0 to 60 rows of X, now and then repeated ten times.

    Every second table is rounded to whole numbers, and one in eight is of a narrower type.
    """
    data = Sample.of(X)
    table = _table(data, draw, rows) if data.is_numeric else hostile_frame(data, draw)
    row, target = _row(data, table.X, draw, rows), _target(data, draw)
    return Pair(
        table.X,
        row,
        draw.below(len(table) + 1),
        seed=draw.below(2**31),
        remove=draw.chance(0.5),
        epsilon=draw.choice(EPSILONS) if other_epsilon else None,
        y=table.y,
        target=target,
    )


def long_pairs(X, n_rows, n_pairs, draw, rows=None):
    """Yield pairs of tables of many rows: all rows behind a new one move on by one.

    Of arrays of numbers every second table has positive entries of many sizes, whose sums are
    rounded if they are sums of floats, and one in eight is of single precision.
    """
    data = Sample.of(X)
    own = table = broad = data.take(draw.below(len(data), n_rows))
    places = 0, n_rows // 2, n_rows, n_rows - 1
    if data.is_numeric:
        u = draw.uniform((n_rows, data.n_features))
        broad = own.having(draw.uniform(u.shape) * 10.0 ** (6 * u - 2))
    for i in range(n_pairs):
        if data.is_numeric:
            table = own if i % 4 > 1 else broad
            table = table.having(table.X.astype(np.float32)) if i % 8 == 3 else table
        row = _row(data, table.X, draw, rows)
        if data.is_numeric and table is broad and (i % 4 == 0 or draw.chance(0.5)):
            row = np.full(data.n_features, 1e9)
        yield Pair(
            table.X,
            row,
            places[i % 4],
            seed=draw.below(2**31),
            remove=draw.chance(0.5),
            y=table.y,
            target=_target(data, draw),
        )


def mutated(pair, X, draw, rows=None):
    """Return a pair that differs from ``pair`` in one respect."""
    kind, data, table = draw.below(5), Sample.of(X), pair.table
    if kind == 0:
        return replace(pair, row=_row(data, table, draw, rows), target=_target(data, draw))
    if kind == 1 and data.is_numeric:
        with np.errstate(all="ignore"):
            return replace(pair, row=pair.row * 2.0 ** (4 * draw.uniform() - 2))
    if kind <= 2:
        return replace(pair, seed=draw.below(2**31))
    if kind == 3 and len(table) and data.is_numeric:
        table = table.copy()
        with np.errstate(all="ignore"):  # of gaps among whole numbers
            table[draw.below(len(table))] = _row(data, table, draw, rows)
        return replace(pair, table=table)
    return replace(pair, position=draw.below(len(table) + 1), remove=not pair.remove)


def _table(data, draw, rows):
    n = draw.choice((0, 1, 2, 3, 60, 60)) if draw.chance(0.3) else draw.below(61)
    repeated = draw.chance(0.5)
    table = data.take(draw.below(len(data), n) if repeated else draw.sample(len(data), n))
    n = len(table)
    if n and draw.chance(0.1):
        table = table.take(np.zeros(n))
    X = table.X
    with np.errstate(all="ignore"):
        if draw.chance(0.3):
            X = X * 10.0 ** draw.choice((-200, -3, -1, 1, 3, 200))
        if draw.chance(0.1):
            X = X + 1e8
    for _ in range(draw.below(4) if n and draw.chance(0.3) else 0):
        X[draw.below(n)] = _row(data, X, draw, rows)
    if draw.chance(0.5):
        X = np.rint(X)
    if rows is not None and n and draw.chance(0.12):  # most entries of a column are one number
        j, code = draw.below(X.shape[1]), rows[draw.below(len(rows))]
        X[draw.uniform(n) < 0.7, j] = code[j]
    if draw.chance(0.125):
        with np.errstate(all="ignore"):
            X = X.astype(np.float32) if draw.chance(0.5) else np.clip(X, -WIDE, WIDE).astype(int)
    table = table.having(X)
    return table.take(np.repeat(np.arange(n), 10)) if draw.chance(0.05) else table


def _row(data, table, draw, rows):
    """Return a hostile row."""
    if not data.is_numeric:
        return hostile_frame_row(data, draw, rows).X
    X, d = data.X, data.n_features
    if rows is not None and len(rows) and draw.chance(0.3):
        return np.asarray(rows[draw.below(len(rows))], dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    kind = draw.below(8)
    with np.errstate(all="ignore"):
        if kind in (0, 6):  # a corner of the box, scaled, at times with an extreme
            factor = 10.0 ** draw.choice((-3, 0, 1, 3, 6))
            row = np.where(draw.uniform(d) < 0.5, low, high) * factor
            if kind == 6:
                row[draw.below(d)] = draw.choice(EXTREMES)
            return row
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
        if kind == 7:
            return draw.below(WHOLE, d).astype(np.float64)
    return X[draw.below(len(X))].copy()


def _target(data, draw):
    """Return a hostile target, None if there are none."""
    y = data.y
    if y is None:
        return None
    own = y[draw.below(len(y))]
    if y.dtype.kind == "f":
        return draw.choice((own, y.min(), y.max(), 1e3 * own, *EXTREMES))
    if y.dtype.kind == "b" or not draw.chance(0.1):
        return own
    return y.max() + 1 if y.dtype.kind in "iu" else UNKNOWN
