"""Neighbouring tables to try a sensitivity on."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.audit._draw import (
    UNKNOWN,
    AuditRandom,
    Sample,
    hostile_frame,
    hostile_frame_row,
    other_id,
)
from skdp.readers._persons import GRAIN

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


def long_pairs(X, n_rows, n_pairs, draw):
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
        row = _row(data, table.X, draw, None)
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


CAPS = (1, 2, 3, 8)
SEVERAL = 4  # different rows of the person that comes or goes
MOST_ROWS = 60


@dataclass(frozen=True)
class GroupPair:
    """A table of persons and its neighbour, which has one more."""

    table: Sample  # the smaller of the two, with groups
    # what the larger one has in addition: all of one group, which `table` does not have
    rows: Sample
    # ndarray of int of shape (len(rows),): numbers of these rows in the larger one, rising
    places: np.ndarray
    seed: int = 0  # of the noise in the first run and of the row keys
    # whether the first run is on the larger table, and the replay on the smaller
    remove: bool = False
    epsilon: float | None = None  # epsilon for the two runs, None for the estimator's own

    def sides(self):
        """Return (sample, keys) of the first run and of the replay; common rows share keys."""
        n, k = len(self.table), len(self.rows)
        keys = AuditRandom("keys", self.seed).words(n + k)
        order = np.empty(n + k, dtype=np.intp)
        order[self.places] = n + np.arange(k)
        order[np.delete(np.arange(n + k), self.places)] = np.arange(n)
        smaller = self.table, np.delete(keys, self.places)
        larger = self.table.joined(self.rows).take(order), keys
        return (larger, smaller) if self.remove else (smaller, larger)

    def __str__(self):
        own = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        verb, n = "remove" if self.remove else "add", len(np.unique(self.table.groups))
        where = f"from {self.places[0]} on" if len(self.places) else "nowhere"
        return (
            f"{verb} a group of {len(self.rows)} rows {where} to {len(self.table)} rows of {n} "
            f"groups (seed {self.seed}{own})"
        )


def draw_group_pair(data, draw, rows=None, *, cap="auto", other_epsilon=True):
    """Return a pair with a table of few rows of ``data``, a Sample with groups.

    The person that comes or goes has as many rows as tell caps apart: none, one, and as many as the
    cap, one less and one more; more than are kept of any person. They lie first, last, or anywhere.
    """
    plain = replace(data, groups=None)
    pairs = [draw_pair(plain, draw, rows, other_epsilon=other_epsilon) for _ in range(SEVERAL)]
    table = Sample(pairs[0].table, pairs[0].y)
    table = _of_few(table, draw) if draw.chance(0.5) else _of_whole(data, draw)
    added = [pair.added() for pair in pairs]
    several = added[0]
    for other in added[1:]:
        several = several.joined(other)
    m = draw.choice(CAPS) if cap == "auto" else cap
    k = draw.choice((0, 1, m - 1, m, m, m + 1, m + 1, 3 * m))
    k = draw.choice((GRAIN * m + 1, 1000)) if draw.chance(0.04) else k
    alike = draw.chance(0.5)
    several = several.take(np.zeros(k) if alike else draw.below(SEVERAL, k))
    owner = other_id(table.groups, smaller=draw.chance(0.5))
    several = replace(several, groups=np.full(k, owner, dtype=table.groups.dtype))
    n = len(table)
    places = draw.choice((np.arange(k), n + np.arange(k), np.sort(draw.sample(n + k, k))))
    return GroupPair(
        table, several, places, seed=pairs[0].seed, remove=pairs[0].remove, epsilon=pairs[0].epsilon
    )


def mutated_group_pair(pair, draw):
    """Return a pair that differs from ``pair`` in one respect."""
    k, n = len(pair.rows), len(pair.table)
    kind = draw.below(4)
    if kind == 0 and k:
        return replace(pair, rows=pair.rows.take(np.zeros(k)))
    if kind == 1 and pair.rows.is_numeric:
        with np.errstate(all="ignore"):
            scaled = pair.rows.X * 2.0 ** (4 * draw.uniform() - 2)
        return replace(pair, rows=pair.rows.having(scaled))
    if kind == 2:
        return replace(pair, seed=draw.below(2**31))
    return replace(pair, places=np.sort(draw.sample(n + k, k)), remove=not pair.remove)


def _of_few(table, draw):
    """Return a table with owners at random, some of many rows."""
    n = len(table)
    return replace(table, groups=draw.below(draw.choice((1, 3, n + 1)), n))


def _of_whole(data, draw):
    """Return all rows of some persons."""
    _, codes = np.unique(data.groups, return_inverse=True)
    chosen, few = np.zeros(len(data), dtype=bool), draw.below(MOST_ROWS + 1)
    for person in draw.sample(codes.max() + 1, codes.max() + 1) if few else ():
        if np.count_nonzero(chosen) >= few:
            break
        chosen |= codes == person
    return data.take(np.flatnonzero(chosen)[:MOST_ROWS])
