"""A noisy tree of counts: where the rows are, found by counts alone."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from skdp.cluster._parallel_search import ReleaseRequest
from skdp.cluster._scan import HalvedBox, dense_cells, sparse_blocks
from skdp.cluster._synopsis import WeightedCells, weighted_kmeans
from skdp.kernel._clusters import GridCells
from skdp.scales._simplex import onto_simplex

__all__ = ["Schedule", "refine_tree", "schedule"]

KEEP = 2.5  # noise sds above which a cell is kept
MOST_OPEN = 20000
FAINTEST, FAINT = 25.0, 60.0  # noise sds of a cluster that a fine grid would cut into noise
PER_AXIS, STRONG = (5, 6), 300.0  # halvings of an axis in the first grid, from so many noise sds
MOST_STAGES = 3  # after the first grid
MANY = 8  # clusters, which tend to be small


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

    A search for :func:`skdp.cluster._parallel_search.run_parallel`, which asks for ``step``.

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
