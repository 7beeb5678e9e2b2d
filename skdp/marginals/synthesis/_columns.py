"""One column given others: a multinomial logit whose tables with them are the released ones."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

__all__ = ["Conditional", "Debts", "Keys", "fit_conditional", "groups_of"]

LONGEST = 2.0  # largest change of a logarithm in one step
FURTHEST = 3.0  # largest logarithm by which a debt changes a chance


@dataclass(frozen=True, eq=False)
class Group:
    """Columns before one column that are in a table with it."""

    columns: tuple  # tuple of int
    shape: tuple  # tuple of int: their numbers of levels
    # shares, ridge: shape (product of ``shape``, levels of the column)
    shares: np.ndarray
    ridge: np.ndarray


def groups_of(tables, column, before):
    """Return the Groups of a column among those before it, the column by itself first."""
    single = tables.singles[column][None]
    found = [Group((), (), single, np.full_like(single, 1e-9))]
    inside = {tuple(c for c in s if c in before) for s in tables.sets if column in s}
    for columns in sorted(inside, key=len, reverse=True):
        if not columns or any(set(columns) < set(other) for other in inside):
            continue
        law = tables.law(tuple(sorted((*columns, column))))
        if law.strength > 0:
            axis = sum(c < column for c in columns)
            shape = tuple(tables.levels[c] for c in columns)
            shares, ridge = (
                np.moveaxis(cells, axis, -1).reshape(-1, tables.levels[column])
                for cells in (law.shares, law.ridge)
            )
            found.append(Group(columns, shape, shares, ridge))
    return found


class Keys:
    """Which cell of every group each row is in, as a sparse matrix of zeros and ones."""

    def __init__(self, groups, codes):
        sizes = [len(group.shares) for group in groups]
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        keys = np.empty((len(codes), len(groups)), dtype=np.int32)
        for number, group in enumerate(groups):
            key = np.zeros(len(codes), dtype=np.int64)
            for column, levels in zip(group.columns, group.shape, strict=True):
                key = key * levels + codes[:, column]
            keys[:, number] = key
        self.keys = keys
        self.matrix = self.several((keys + self.starts[:-1].astype(np.int32)).ravel())

    def several(self, places):
        """Return the matrix of rows whose cells, one of every group, are at these places."""
        each = self.keys.shape[1]
        ends = np.arange(0, len(places) + 1, each, dtype=np.int32)
        ones = np.ones(len(places), dtype=np.float32)
        return csr_array((ones, places, ends), shape=(len(ends) - 1, self.starts[-1]))

    def one(self, number):
        """Return the matrix of one group."""
        n, cells = len(self.keys), self.starts[number + 1] - self.starts[number]
        ones, ends = np.ones(n, dtype=np.float32), np.arange(n + 1, dtype=np.int32)
        return csr_array((ones, self.keys[:, number], ends), shape=(n, cells))


@dataclass(frozen=True, eq=False)
class Conditional:
    """The law of one column given those before it."""

    column: int
    groups: list  # list of Group
    # shape (cells of all groups, levels): logarithms: those of the groups of a row add up
    weights: np.ndarray

    def chances(self, keys):
        """Return the probability of every level for every row."""
        logs = keys.matrix @ self.weights
        logs -= logs.max(axis=1, keepdims=True)
        return _proper(np.exp(logs, out=logs))


def fit_conditional(column, groups, codes, sweeps):
    """Return the Conditional whose tables, on given rows, are the released ones, and its chances.

    Shapes: codes (n_rows, n_columns); chances (n_rows, levels).

    Notes
    -----
    With q(l | row) proportional to ``exp(sum over groups g of w_g[cell of the row in g, l])``, the
    weights maximise the concave function::

        sum_g <w_g, y_g> - mean over rows of log sum_l exp(...) - sum_g <r_g, w_g^2> / 2

    whose gradient is ``y_g - r_g w_g`` minus the table that q makes on these rows: among all laws
    with these tables q is the one of largest entropy, and the ridge r leaves a gap where noise is.
    One group at a time: every row is in one cell of it, so a change d of its weights changes the
    second term by at most ``<current table, exp(d) - 1>`` (log x <= x - 1), and the best d for
    that bound solves ``current exp(d) + r d = y - r w``, cell by cell. No such step loses.
    """
    keys = Keys(groups, codes)
    weights = np.zeros((keys.starts[-1], groups[0].shares.shape[1]), dtype=np.float32)
    weights[0] = np.log(np.maximum(groups[0].shares[0], 1e-7))
    start = np.exp(weights[0]) / np.exp(weights[0]).sum()
    chances = np.tile(start, (len(codes), 1))
    matrices = [keys.one(number) for number in range(len(groups))] if len(groups) > 1 else []
    for _ in range(sweeps):
        for number, matrix in enumerate(matrices):
            group, here = groups[number], slice(*keys.starts[number : number + 2])
            made = (matrix.T @ chances) / len(codes)
            step = _best_step(made, group.ridge, group.shares - group.ridge * weights[here])
            weights[here] += step
            chances *= np.take(np.exp(step), matrix.indices, axis=0)
            _proper(chances)
    return Conditional(column, groups, weights), keys, chances


def _best_step(made, ridge, wanted):
    """Return d with ``made exp(d) + ridge d = wanted``, cell by cell, within LONGEST."""
    made = made.astype(np.float64) + 1e-12
    step = np.clip((wanted - made) / (made + ridge), -LONGEST, LONGEST)
    for _ in range(4):
        grown = made * np.exp(step)
        step -= np.clip((grown + ridge * step - wanted) / (grown + ridge), -1.0, 1.0)
        step = np.clip(step, -LONGEST, LONGEST)
    return step.astype(np.float32)


def _proper(chances):
    chances /= _row_sums(chances)[:, None]
    return chances


def _row_sums(cells):
    """Return the sums of rows with few cells, for which ``sum`` takes four times as long."""
    return np.einsum("ij->i", cells)


class Debts:
    """Draws levels so that tables come out nearer to their expectation than by chance.

    Rows are drawn in blocks. What a table has had too few of after some blocks, the debt, raises
    the chances in the next one: so deviations do not add up, and the tables of n rows are off by
    about what a block is off by.
    """

    def __init__(self, block):
        self.block, self.debt, self.usual = block, None, None

    def draw(self, keys, chances, uniforms):
        """Return a level for every row, an array of int."""
        if self.debt is None:
            self.usual = keys.matrix.T @ chances / len(chances)
            self.debt = np.zeros_like(self.usual)
        usual = self.usual * self.block + 0.5
        drawn = np.empty(len(chances), dtype=np.int64)
        blocks = keys.matrix.indices.reshape(len(chances), -1)
        cells = None
        for start in range(0, len(chances), self.block):
            here = slice(start, start + self.block)
            places = blocks[here].ravel()
            if cells is None or len(places) < len(cells.indices):
                cells = keys.several(places.copy())
                turned = cells.T  # of the same memory
            cells.indices[:] = places  # to make and check a matrix takes as long as to use it
            tilt = cells @ np.clip(self.debt / usual, -1.0, 1.0)
            tilted = chances[here] * np.exp(np.clip(tilt, -FURTHEST, FURTHEST))
            shares = np.cumsum(tilted, axis=1)
            passed = shares < uniforms[here, None] * shares[:, -1:]
            level = _row_sums(passed.view(np.uint8).astype(np.int32))
            level = np.minimum(level, chances.shape[1] - 1)
            owed = chances[here].copy()
            owed[np.arange(len(level)), level] -= 1.0
            self.debt += turned @ owed
            drawn[here] = level
        return drawn
