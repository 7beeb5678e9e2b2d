"""Rows from noisy tables, column by column, by logits; and how near they are to these tables."""

from dataclasses import dataclass
from itertools import product
from math import log, prod, sqrt

import numpy as np
from scipy.sparse import csr_array

from skdp.kernel._layout import set_numbers
from skdp.marginals._residuals import correlated_noise, table_of
from skdp.utils._numbers import public_words

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


CHANCE = 0.05  # with which exact rows may seem further from a table than noise explains


@dataclass(frozen=True)
class TableAgreement:
    """Rows beside one released table."""

    columns: tuple  # tuple of int: places of its columns in the domain
    # half the sum of the absolute differences of the shares of all cells: the total variation
    # distance, but for the noise of the release
    distance: float
    # what the noise of the release adds to it on average, if the rows have the exact shares
    noise: float
    bound: float  # what it adds at most, with probability 0.95


def table_agreements(measurement, sets, codes):
    """Return a TableAgreement for every set of columns.

    Shapes: codes (n_rows, n_columns).

    Notes
    -----
    Let the rows have the exact shares p of a table S of n rows. The release is ``n p + z`` of
    ``n + z_0`` rows, so that its shares are off by ``(z - z_0 p) / (n + z_0)``. As
    ``z = z_0 / cells + sum over T of (H_i^T for i in T, 1 / L_i for others) z_T``, T not empty,
    with orthogonal summands, that is a normal vector of known law, but for the common divisor:

    * its entries have variances ``v^2 + sd_0^2 (1 / cells - p)^2``, v^2 the variance of a cell
      but for its part of z_0; the mean of an absolute value is ``sqrt(2 / pi)`` times the root;
    * it is a linear image of standard normals of norm s at most, ``s^2 = max over T of sd_T^2
      times the product of 1 / L_i for i not in T, + sd_0^2 |1 / cells - p|^2``. So half the sum of
      absolute values is a function of them with the Lipschitz constant ``sqrt(cells) s / 2``, and
      is above its mean by ``sqrt(2 log(1 / c))`` times this with probability c at most (Gaussian
      concentration).

    So rows that have the exact shares of a table are beyond ``bound`` with probability 0.05 at
    most. Distances far above it are of what the rows have missed; those far below the noise say
    that the rows are nearer to the release than the truth is.
    """
    n = max(float(measurement.values[0]), 1.0)
    return tuple(_agreement(measurement, n, columns, codes) for columns in sets)


def _agreement(measurement, n, columns, codes):
    shares = table_of(measurement.layout, measurement.values, columns) / n
    keys = np.ravel_multi_index(tuple(codes[:, c] for c in columns), shares.shape)
    made = np.bincount(keys, minlength=shares.size).reshape(shares.shape) / len(codes)
    count = measurement.sd[0] * (1 / made.size - made)
    cell, most = _noise_of_residuals(measurement, columns)
    mean = np.sqrt(cell + np.square(count)).sum() / sqrt(2 * np.pi)
    slope = sqrt(made.size * (most + np.sum(np.square(count)))) / 2
    distance = float(np.abs(made - shares).sum() / 2)
    bound = mean + slope * sqrt(-2 * log(CHANCE))
    return TableAgreement(tuple(columns), distance, float(mean) / n, float(bound) / n)


def _noise_of_residuals(measurement, columns):
    """Return the variance of a cell, and of the noisiest direction, but for the number of rows."""
    noise = correlated_noise(measurement, columns)
    if noise is not None:
        return np.sum(np.square(noise), axis=1), np.linalg.norm(noise, 2) ** 2
    levels = [measurement.layout.levels[place] for place in columns]
    cell = most = 0.0
    for inside in product((False, True), repeat=len(levels)):
        subset = sorted(place for place, i in zip(columns, inside, strict=True) if i)
        if not subset:
            continue
        variance = measurement.sd[set_numbers(measurement.layout, [subset])[0]] ** 2
        pairs = list(zip(levels, inside, strict=True))
        cell += variance * prod(1 - 1 / n if i else 1 / n**2 for n, i in pairs)
        most = max(most, variance * prod(1.0 if i else 1 / n for n, i in pairs))
    return cell, most


FEWEST, MOST = 8192, 32768  # rows that a model is fitted on
BLOCK, BLOCKS = 128, 256  # rows of a block; blocks of many rows, or of few
SWEEPS, GROUPS = (8, 20), 300  # sweeps of a fit; groups in all of them, if sweeps may be fewer


class PublicUniforms:
    """Uniform numbers in [0, 1) that are a function of a key: rows need no secret chance."""

    def __init__(self, *key):
        self.key, self.calls = key, 0

    def random(self, n):
        """Return the next n numbers, an array of float."""
        self.calls += 1
        return (public_words(n, *self.key, self.calls) >> np.uint64(11)) * 2.0**-53


def sample_codes(tables, n_rows, rng, *, order=None):
    """Return rows whose tables are near to released ones.

    Shapes: codes (n_rows, n_columns).

    Notes
    -----
    Every column is drawn given those before it, by the law of :func:`fit_conditional`. The laws are
    fitted one after the other on rows that are drawn on the way, which are the answer if their
    number fits; otherwise the laws draw as many as are wanted. What rows say of combinations that
    are in no table follows from the largest entropy, column by column, and is an extrapolation.
    """
    order = _strongest_first(tables) if order is None else list(order)
    n_fit = min(max(n_rows, FEWEST), MOST)
    codes = np.zeros((n_fit, len(tables.levels)), dtype=np.int32)
    laws, debts = [], []
    for number, column in enumerate(order):
        groups = groups_of(tables, column, set(order[:number]))
        sweeps = int(np.clip(GROUPS // len(groups), *SWEEPS))
        law, keys, chances = fit_conditional(column, groups, codes, sweeps)
        laws.append(law)
        debts.append(Debts(BLOCK))
        codes[:, column] = debts[-1].draw(keys, chances, rng.random(n_fit))
    if n_rows == n_fit:
        return codes
    if n_rows < n_fit:
        return _drawn(
            laws, [Debts(min(BLOCK, max(n_rows // BLOCKS, 1))) for _ in laws], n_rows, rng
        )
    for debt in debts:
        debt.block = max(BLOCK, n_rows // BLOCKS)
    more = _drawn(laws, debts, n_rows - n_fit, rng)
    return np.concatenate([codes, more])


def _drawn(laws, debts, n_rows, rng):
    codes = np.zeros((n_rows, len(laws)), dtype=np.int32)
    for start in range(0, n_rows, MOST):
        part = codes[start : start + MOST]
        for law, debt in zip(laws, debts, strict=True):
            keys = Keys(law.groups, part)
            part[:, law.column] = debt.draw(keys, law.chances(keys), rng.random(len(part)))
    return codes


def _strongest_first(tables):
    """Return the columns in an order in which each depends much on those before it."""
    d = len(tables.levels)
    strength = np.zeros((d, d))
    for columns in tables.sets:
        for a, i in enumerate(columns):
            for j in columns[:a]:
                strength[i, j] = strength[j, i] = tables.law((j, i)).strength
    order = [int(np.argmax(strength.sum(axis=1)))]
    while len(order) < d:
        near = strength[:, order].sum(axis=1)
        near[order] = -1.0
        order.append(int(np.argmax(near)))
    return order
