"""Hostile rows and public fields for statistics of columns and ranks."""

from dataclasses import replace

import numpy as np

from skdp.accounting import Budget
from skdp.kernel._bins import OctaveCells, UniformCells
from skdp.kernel._bounded import Bernstein, BoundedSums, BoxedSquares, Powers
from skdp.kernel._columns import MOST_ENTRY, ColumnCells, EdgeCells, WeighedCells
from skdp.kernel._ranks import Balance, RankScores, Thresholds
from skdp.kernel._statistic import Offer
from tests.kernel._examples import OFFER, hostile, wild

__all__ = ["EXAMPLES"]

PURE = Offer(Budget.pure(1.0), 0.5, 1)
ROWS = "all", "target", "finite", "entries"  # that are counted
WEIGHED = replace(OFFER, unit=3 * 2**10)


def finite(rng, d):
    """Return public numbers of all magnitudes, one a column."""
    row = hostile(rng, d, 3)[-1]
    return np.where(np.isfinite(row), row, 0.0)


def rising(rng, most):
    """Return rising numbers of all magnitudes, infinity among them."""
    x = np.unique(hostile(rng, 1, most).ravel())
    return x[~np.isnan(x)]


def _column_cells(rng):
    d = int(rng.integers(1, 4))
    columns = rng.choice(d, size=int(rng.integers(1, d + 1)), replace=False)
    k = len(columns)
    first, halvings = int(rng.choice([0, 1000, 2040])), int(rng.integers(0, 3))
    octaves = OctaveCells(first, int(rng.choice([3, 40, 2047])), halvings)
    uniform = UniformCells(float(finite(rng, 1)[0]), float(wild(rng)), 120)
    folded = bool(rng.random() < 0.3)
    cells = tuple(octaves if folded or rng.random() < 0.5 else uniform for _ in range(k))
    center = finite(rng, k) if rng.random() < 0.5 else None
    unit = wild(rng, k) if rng.random() < 0.5 else None
    if rng.random() < 0.5:  # cells of all floats: nothing is outside
        cells = (OctaveCells(),) * k
    rows = str(rng.choice(ROWS[2:]))
    return ColumnCells(columns, cells, center, unit, folded, rows), hostile(rng, d)


def _edge_cells(rng):
    d = int(rng.integers(1, 4))
    most = int(rng.choice([9, 60]))  # edges, compared or searched
    edges = tuple(np.append(-np.inf, np.union1d(rising(rng, most)[1:], [np.inf])) for _ in range(d))
    return EdgeCells(np.arange(d), edges, str(rng.choice(ROWS))), hostile(rng, d)


def _weighed_cells(rng):
    asked, block = _edge_cells(rng)
    most = int(rng.choice([2, MOST_ENTRY]))
    sizes = [(int(rng.integers(1, 5)), len(edges) - 1) for edges in asked.edges]
    matrices = tuple(rng.integers(-most, most + 1, size=size) for size in sizes)
    if rng.random() < 0.5:  # every cell is a longest one, and one row is in a cell of all columns
        matrices = tuple(np.full(size, most) for size in sizes)
        block = np.concatenate([block, np.full((1, block.shape[1]), 1e300)])
    return WeighedCells(asked.columns, asked.edges, matrices), block


def _thresholds(rng):
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    parts, columns = rng.choice([0, 1, 500, 999, 1000], size=k), rng.integers(0, d, size=k)
    unit, center = (wild(rng, k) if rng.random() < 0.5 else None), finite(rng, k)
    if rng.random() < 0.5:  # a row that is on the far side of all of them
        parts, center, unit = np.full(k, 250), np.zeros(k), None
    return Thresholds(columns, finite(rng, k), parts, center, unit), hostile(rng, d)


def _balance(rng):
    d = int(rng.integers(1, 4))
    return Balance(rng.integers(0, 2**64, size=d, dtype=np.uint64)), hostile(rng, d)


def _rank_scores(rng):
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 8))
    grid, nats = np.sort(finite(rng, k)), rng.random(k) * 100
    numerator, denominator = rng.choice([[1, 2], [0, 1], [1, 1], [999_999, 1_000_000]]).tolist()
    asked = RankScores(int(rng.integers(d)), numerator, denominator, grid, nats)
    return asked.at(PURE), hostile(rng, d)


def _bounds(rng):
    """Return bounds, and rows of which some lie at them."""
    d = int(rng.integers(1, 8))
    low = np.where(rng.random(d) < 0.5, rng.normal(size=d), rng.choice([-1e300, 0.0, 1e16], size=d))
    high = low + np.maximum(np.abs(low) * 2.0**-50, rng.choice([1.0, 100.0, 5e-324, 1e300], size=d))
    block = hostile(rng, d)
    block[:4] = low, high, low / 2 + high / 2, np.where(rng.random(d) < 0.5, low, high)
    return low, high, block


def _moments(cls, *offers):
    def make(rng):
        low, high, block = _bounds(rng)
        asked = cls(low, high, int(rng.integers(1, 3)), entries=bool(rng.random() < 0.5))
        return asked.at(offers[int(rng.integers(len(offers)))]), block

    return make


def _bounded_sums(rng):
    """Return sums of entries seen from zero, from points anywhere, or from intervals in bounds."""
    low, high, block = _bounds(rng)
    part = np.sort(rng.choice([0.0, 0.2, 0.5, 1.0], size=(2, len(low))), axis=0)
    inside = np.clip(low + part * (high - low), low, high)
    point = np.broadcast_to(rng.choice([-3.0, 0.5, 1e300], size=len(low)), (2, len(low)))
    start = [None, point, inside][int(rng.integers(3))]
    asked = BoundedSums(low, high, entries=bool(rng.random() < 0.5), start=start)
    if not ((asked.most > 0) & np.isfinite(asked.most)).all():
        asked = replace(asked, start=None)
    return asked.at([OFFER, PURE, WEIGHED][int(rng.integers(3))]), block


def _boxed_squares(rng):
    d = int(rng.integers(1, 8))
    level = rng.choice([0.0, 0.3, 0.5, 1.0], size=d) if rng.random() < 0.7 else rng.random(d)
    block = hostile(rng, d)
    block[0], block[1], block[2] = 0.0, 1.0, np.where(level > 0.5, 0.0, 1.0)
    asked = BoxedSquares(level, bool(rng.random() < 0.5))
    return asked.at([OFFER, PURE, WEIGHED][int(rng.integers(3))]), block


EXAMPLES = {
    ColumnCells: _column_cells,
    EdgeCells: _edge_cells,
    WeighedCells: _weighed_cells,
    Thresholds: _thresholds,
    Balance: _balance,
    RankScores: _rank_scores,
    Powers: _moments(Powers, OFFER, PURE, WEIGHED),
    Bernstein: _moments(Bernstein, PURE, replace(PURE, unit=5 * 2**10)),
    BoundedSums: _bounded_sums,
    BoxedSquares: _boxed_squares,
}
