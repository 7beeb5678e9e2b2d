"""A noisy tree of counts: where the rows are, found by counts alone."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtri

from skdp.cluster._synopsis import ReleaseRequest, WeightedCells, weighted_kmeans
from skdp.kernel._clusters import Grid, GridCells
from skdp.scales._column_noise import CLUSTER_BLOCKS, CLUSTER_WINDOWS, onto_simplex

KEEP = 2.5  # noise sds above which a cell is kept
MOST_OPEN = 20000
FAINTEST, FAINT = 25.0, 60.0  # noise sds of a cluster that a fine grid would cut into noise
PER_AXIS, STRONG = (5, 6), 300.0  # halvings of an axis in the first grid, from so many noise sds
MOST_STAGES = 3  # after the first grid
MANY = 8  # clusters, which tend to be small

# A cluster that straddles the border of two cells is seen in neither of them, and no cut of the
# space is kind to all clusters: sums over all windows of neighbouring cells find it
SOLID = 1.0  # noise sds that a cell of a seen window must hold itself


@dataclass(frozen=True)
class Schedule:
    """A first grid of ``2^first`` cells, then at most ``stages`` stages of ``bits`` halvings.

    ``first_part``: part of the budget of the search for the grid; ``tau``: resolution at which to
    stop.
    """

    first: int
    first_part: float
    bits: int
    stages: int
    tau: float

    @property
    def depth(self):
        """Halvings in all."""
        return self.first + self.bits * self.stages


def schedule(signal, n_clusters, *, flat, p):
    """Return the schedule for clusters of ``signal`` noise sds: many tend to be small.

    ``flat`` tells that the cells are those of all coordinates, not of a subspace; ``p`` is the
    number of axes. Along one axis the first grid has 32 or 64 cells at most: in finer ones a
    cluster would be many cells of noise.
    """
    plan = _schedule(signal, n_clusters, flat)
    spare = plan.first - PER_AXIS[signal >= STRONG] * p
    if spare <= 0:
        return plan
    return replace(plan, first=plan.first - spare, stages=min(plan.stages + 1, MOST_STAGES))


def _schedule(signal, n_clusters, flat):
    if flat and signal < (FAINT if n_clusters < MANY else FAINTEST):
        return Schedule(6 if signal < FAINTEST else 8, 0.7, 2, 3, 0.03)
    if signal < 100:
        return Schedule(10, 0.7, 2, 2, 0.03) if flat else Schedule(8, 0.6, 2, 3, 0.03)
    if signal < STRONG:
        return Schedule(10, 0.5, 3, 3, 0.03)
    return Schedule(12, 0.4, 4, 2, 0.01) if flat else Schedule(8, 0.25, 4, 3, 0.01)


def refine_tree(located, space, plan, *, n_clusters, share, seed, step):
    """Release the counts of a grid, then of the parts of its dense cells, stage by stage.

    A search for :func:`skdp.cluster._synopsis.run_parallel`, which asks for ``step``.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.GridCells`. Which cells are open is known from
    earlier releases; the rest is post-processing.
    """
    grid = HalvedBox(space.half, plan.depth)
    cells = partial(GridCells, located, space, plan.depth)
    first_share = Fraction(plan.first_part) * share
    stage_share = (share - first_share) / max(plan.stages, 1)
    release = yield ReleaseRequest(cells(plan.first), first_share, step)
    codes, weights, sd, leaves = _first_grid(release, grid, plan.first, located.n_rows)
    n_cells, level = 2**plan.first, plan.first
    for below in range(level + plan.bits, plan.depth + 1, plan.bits):
        opened = _standing_out(weights, sd, n_cells)
        leaves.append(_cells(grid, codes[~opened], level, weights[~opened], sd))
        codes, weights = codes[opened], weights[opened]
        whole = _joined([*leaves, _cells(grid, codes, level, weights, sd)])
        if not len(codes) or _fine_enough(grid, level, weights, whole, n_clusters, plan.tau, seed):
            return whole
        children = codes[:, None] * 2**plan.bits + np.arange(2**plan.bits)
        release = yield ReleaseRequest(cells(below, children.ravel()), stage_share, step)
        y = release.value.astype(np.float64).reshape(children.shape)
        inner, total = _consistent(y, release.scale, weights, sd)
        kept = inner > 0
        hopeless = ~kept.any(axis=1)
        leaves.append(_cells(grid, codes[hopeless], level, total[hopeless], sd))
        codes, weights, sd = children[kept], inner[kept], release.scale
        n_cells, level = kept.size, below
    return _joined([*leaves, _cells(grid, codes, level, weights, sd)])


def _first_grid(release, grid, level, n_rows):
    """Return the dense cells of a level, and the rest as leaves."""
    y, sd = release.value.astype(np.float64), release.scale
    dense = dense_cells(y, grid, level, sd)
    codes = np.flatnonzero(dense)
    blocks = sparse_blocks(y, dense, grid, level, sd)
    weights = np.concatenate([y[codes], *(w for _, _, w, _ in blocks)])
    if not len(weights):
        return codes, y[codes], sd, [_cells(grid, np.zeros(1, dtype=np.int64), 0, n_rows, sd)]
    weights = onto_simplex(weights[None], np.array([n_rows]))[0]
    ends = np.cumsum([len(codes), *(len(c) for _, c, _, _ in blocks)])
    parts = np.split(weights, ends[:-1])
    leaves = [
        _cells(grid, c[w > 0], above, w[w > 0], noise[w > 0])
        for (above, c, _, noise), w in zip(blocks, parts[1:], strict=True)
    ]
    return codes[parts[0] > 0], parts[0][parts[0] > 0], sd, leaves


def _standing_out(weights, sd, n_cells):
    """Return which cells are worth to be opened: at most 20000, and such as noise hardly makes."""
    height = max(KEEP, 0.85 * (math.sqrt(2 * math.log(8 * n_cells)) - 0.3))
    opened = weights > height * sd
    if np.count_nonzero(opened) > MOST_OPEN:
        opened &= weights >= np.partition(weights[opened], -MOST_OPEN)[-MOST_OPEN]
    return opened


def _consistent(y, sd, estimate, estimate_sd):
    """Make the counts of children agree with those of their parents; drop what is noise."""
    width, variance = y.shape[1], estimate_sd**2
    inner = width * sd**2
    total = (estimate * inner + y.sum(axis=1) * variance) / (inner + variance)
    y = y + ((total - y.sum(axis=1)) / width)[:, None]
    return onto_simplex(np.where(y > KEEP * sd, y, -np.inf), np.maximum(total, 1.0)), total


def _cells(grid, codes, level, weights, sd):
    halves = np.broadcast_to(grid.sides(level), (len(codes), len(grid.half)))
    weights, sds = (np.broadcast_to(v, len(codes)) for v in (np.maximum(weights, 1.0), sd))
    return WeightedCells(grid.centres(codes, level), halves, weights, sds)


def _joined(parts):
    fields = ("centres", "halves", "weights", "sds")
    return WeightedCells(*(np.concatenate([getattr(p, f) for p in parts]) for f in fields))


def _fine_enough(grid, level, estimate, synopsis, n_clusters, tau, seed):
    inside = estimate.sum() * np.square(2 * grid.sides(level)).sum() / 12
    box = grid.half
    return inside < tau * weighted_kmeans(synopsis, n_clusters, n_init=2, seed=seed, box=box)[1]


class HalvedBox(Grid):
    """A Grid that knows where its cells lie."""

    def sides(self, level):
        """Return the half sides of the cells of a level, shape (p,)."""
        halvings = np.bincount(self.axes[:level], minlength=len(self.half))
        return self.half / np.exp2(halvings)

    def shape(self, level):
        """Return the number of cells along every axis."""
        return tuple(2 ** np.bincount(self.axes[:level], minlength=len(self.half)))

    def positions(self, codes, level):
        """Return the places of cells along the axes, shape (len(codes), p)."""
        position = np.zeros((len(codes), len(self.half)), dtype=np.int64)
        for i, axis in enumerate(self.axes[:level]):
            position[:, axis] = 2 * position[:, axis] + ((codes >> (level - 1 - i)) & 1)
        return position

    def centres(self, codes, level):
        """Return the centres of cells, shape (len(codes), p)."""
        return (2 * self.positions(codes, level) + 1) * self.sides(level) - self.half


def dense_cells(counts, grid, level, sd):
    """Return for every code of a level whether its cell belongs to a window that is seen."""
    codes = np.arange(len(counts))
    place = tuple(grid.positions(codes, level).T)
    table = np.zeros(grid.shape(level))
    table[place] = counts
    return seen_in_windows(table, sd, CLUSTER_WINDOWS * _prior_odds(grid))[place] & (
        counts > SOLID * sd
    )


def _prior_odds(grid):
    """Return how much rarer false cells must be: in a large box they lie far from everything."""
    return max(1.0, float(grid.half.max())) ** -3


def seen_in_windows(table, sd, false=CLUSTER_WINDOWS):
    """Return which cells of a p-dimensional table lie in a window that noise alone rarely passes.

    Windows are 1, 2 or (up to three axes) 3 cells wide along every axis.
    """
    seen = np.zeros(table.shape, dtype=bool)
    widths = (1, 2, 3) if table.ndim <= 3 else (1, 2)
    windows = list(product(*[[w for w in widths if w <= size] for size in table.shape]))
    clear = -ndtri(false / (table.size * len(windows)))
    for window in windows:
        sums = table
        for axis, width in enumerate(window):
            span = sums.shape[axis] - width + 1
            sums = sum(np.take(sums, range(i, i + span), axis=axis) for i in range(width))
        high = sums > clear * math.sqrt(math.prod(window)) * sd
        for axis, width in enumerate(window):  # every cell of the window, not its corner alone
            pad = [(0, 0)] * table.ndim
            wide = [
                np.pad(high, [*pad[:axis], (i, width - 1 - i), *pad[axis + 1 :]])
                for i in range(width)
            ]
            high = np.logical_or.reduce(wide)
        seen |= high
    return seen


def sparse_blocks(counts, dense, grid, level, sd):
    """Return what stands out at coarser levels only: diffuse mass between the dense cells.

    From fine to coarse, a block whose cells that are not yet taken sum to more than noise becomes a
    leaf, and takes them.
    """
    rest, free = np.where(dense, 0.0, counts), (~dense).astype(np.float64)
    blocks, false = [], CLUSTER_BLOCKS * _prior_odds(grid)
    for above in range(level - 1, -1, -1):
        rest, free = rest.reshape(-1, 2).sum(axis=1), free.reshape(-1, 2).sum(axis=1)
        noise = sd * np.sqrt(free)
        out = rest > -ndtri(false / len(rest)) * np.maximum(noise, sd)
        codes = np.flatnonzero(out)
        blocks.append((above, codes, rest[codes], noise[codes]))
        rest[codes] = free[codes] = 0.0
    return blocks
