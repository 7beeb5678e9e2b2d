"""A second look at every cluster, along the line in which it is longest, tells which hold two."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._refine import BINS
from skdp.cluster._synopsis import inside, public_kmeans, to_data, to_units
from skdp.kernel._cluster_sums import COUNT, GAIN_BITS, MEAN, Gain, LineMoments
from skdp.kernel._clusters import LineCells, Nearest, Reaches
from skdp.kernel._lattice import bounded
from skdp.scales._column_noise import KEPT_BIN, onto_simplex, significant_tail

LOOKS, LOOK_PART = 4, Fraction(12, 100)
LEAST = 300.0  # noise sds of a cluster that is worth a second look
WIDEST = 64  # columns: a matrix for every cluster drowns in noise
# Parts of what a look may spend
DISTANCES, MOMENTS, LINES, GAIN = (Fraction(part, 100) for part in (14, 38, 32, 16))  # of a look
LOOK_STEPS = tuple(
    Step(label, at_most=LOOK_PART * part, times=LOOKS, of=(kind,))
    for label, part, kind in (
        ("line distances", DISTANCES, Reaches),
        ("line moments", MOMENTS, LineMoments),
        ("line cells", LINES, LineCells),
        ("line gain", GAIN, Gain),
    )
)
FEW = 6.0  # noise sds of a cluster whose distances tell nothing
BULK, TIGHT = 0.9, 0.5  # rows in the core; noise in the moments, in parts of the core's variance
SURE = 3.0  # noise sds of a count
PER_CELL, KEEP, FINEST = 8.0, 2.5, 10  # noise sds of a cell on average, of a kept one; halvings
HALF = 4.0  # standard deviations of a line that its cells cover at least
CONVINCED, WORTHWHILE = 1.5, 0.005  # noise sds, part of the cost, that a better start gains
CANDIDATES, TINY, FAR, DISTORTED = (
    100,
    2.0**-40,
    2.0**100,
    0.1,
)  # clips of the gain in squared radii


@dataclass(frozen=True)
class Lines:
    """A line through every cluster, in units of the table. Everything is released.

    ``centers`` and unit ``directions`` (k, d); ``sigmas`` and ``far`` (k,): standard deviations
    along the lines, and how far out rows were seen; ``counts`` (k,) of rows; ``cost``: their sum of
    squared distances to the centers, in located radii. A cluster that was not seen stays where it
    was, with no count.
    """

    centers: np.ndarray
    directions: np.ndarray
    sigmas: np.ndarray
    far: np.ndarray
    counts: np.ndarray
    cost: float


def split_merge_is_useful(located, n_clusters, mu, share):
    """Return whether clusters of mean size stand out enough; from released values alone."""
    d = len(located.center)
    signal = located.n_rows * mu * math.sqrt(share) / n_clusters
    return n_clusters > 1 and d <= WIDEST and signal > LEAST


@np.errstate(over="ignore", invalid="ignore")
def release_split_merge(table, located, centers, *, share, n_init, seed):
    """Split clusters that hold two, and give up centres that share one, while that pays.

    The first search sees all clusters in the same few directions, in which some coincide. Here
    every cluster gets a direction of its own, the longest of its second moments, and noisy counts
    along it. The cells of all clusters, in all columns, are a synopsis; k-means of it proposes new
    centres, and a noisy sum over the rows tells what they gain.

    Shapes: centers (k, d); centers (k, d).

    Notes
    -----
    **Privacy** (add or remove one row): of the releases of a look; how many there are, and what
    they are about, depends on earlier releases only.
    """
    share = LOOK_PART * share
    for i in range(LOOKS):
        lines = _lines(table, located, centers, share)
        if lines is None:
            break
        points, weights = _line_cells(table, located, centers, lines, share)
        moved = inside(located, lines.centers)
        if len(points) <= len(centers):
            return moved
        proposed = inside(located, _kmeans(located, points, weights, moved, n_init, seed + i))
        pair = moved, proposed
        centers, better = _compare_inertia(
            table, located, pair, (points, weights), lines.cost, share
        )
        if not better:
            break
    return centers


def _rule(located, centers):
    return Nearest(located, to_units(located, centers))


def _reaches(table, located, centers, noise, share):
    """Release how far out the rows of every cluster lie.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.Reaches`.
    """
    k, d = centers.shape
    rule, units = _rule(located, centers), located.units(to_units(located, centers))
    release = table.ask(Reaches(rule, BINS), share=share, label="line distances")
    counts = release.value.reshape(k, -1).astype(np.float64)
    clip, far, n = np.array([_reach(h, release.scale, d, noise) for h in counts]).T
    if not n.any():
        return None
    clip[n == 0], far[n == 0] = np.median(clip[n > 0]), np.median(far[n > 0])
    return clip * units * located.radius, far * units * located.radius, n


def _reach(counts, sd, d, noise):
    """Return where to clip a cluster, how far out its rows are seen, and their number."""
    last = significant_tail(counts, sd)
    w = np.where(counts > KEPT_BIN * sd, counts, 0.0)[:last]
    n = float(w.sum())
    if n < FEW * sd:
        return 0.0, 0.0, 0.0
    edges = np.array([BINS.upper_edge(i) for i in range(last)])
    core = edges[int(np.argmax(np.cumsum(w) >= BULK * n))]
    quiet = np.square(edges) * math.sqrt(2 * d) * noise / n <= TIGHT * core**2 / d
    return float(max(core, edges[quiet].max(initial=0.0))), float(edges[-1]), n


def _lines(table, located, centers, share):
    """Release where every cluster is, and in which direction it is longest; None if none is seen.

    Notes
    -----
    **Privacy**: of :func:`_reaches` and :class:`skdp.kernel._cluster_sums.LineMoments`.
    """
    k, d = centers.shape
    noise = math.sqrt(1 + COUNT**2 + MEAN**2) / (table.budget.mu * math.sqrt(MOMENTS * share))
    reaches = _reaches(table, located, centers, noise, DISTANCES * share)
    if reaches is None:
        return None
    clip, far, seen = reaches
    question = LineMoments(_rule(located, centers), centers, clip)
    release = table.ask(question, share=MOMENTS * share, label="line moments")
    question = replace(question, bits=release.bits)
    one, weight, bits = question.one, question.weight, release.bits
    value, sd = np.split(release.value.astype(np.float64), [1, d + 1], axis=1), release.scale
    n = value[0][:, 0] / one
    n = np.where(n > SURE * sd / one, n, np.maximum(seen, 1.0))
    means, mean_sd = value[1] / (weight * 2.0**bits * n[:, None]), sd / (weight * 2.0**bits * n)
    length = np.sqrt(np.square(means).sum(axis=1))
    still = (seen == 0) | (length < mean_sd * math.sqrt(d))
    means *= np.where(still, 0, 1 / np.maximum(length, 1))[:, None]
    moments = value[2].reshape(k, d, d) / (4.0**bits * n[:, None, None])
    moments = (moments + moments.transpose(0, 2, 1)) / 2 - means[:, :, None] * means[:, None]
    values, vectors = np.linalg.eigh(moments)
    edge = math.sqrt(2 * d) * sd / (4.0**bits * n)  # spectral norm of the noise
    squares = np.maximum(values.sum(axis=1), 0) * np.square(clip / located.radius)
    return Lines(
        bounded(centers + means * clip[:, None]),
        vectors[:, :, -1],
        np.sqrt(np.maximum(values[:, -1], edge)) * clip,
        far,
        np.where(seen > 0, n, 0.0),
        float(n[seen > 0] @ squares[seen > 0]),
    )


def _line_cells(table, located, centers, lines, share):
    """Release the counts of rows in cells along the line of their cluster.

    Shapes: points (m, d); weights (m,).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.LineCells`.
    """
    sd = 1 / (table.budget.mu * math.sqrt(LINES * share))
    depth = np.log2(np.maximum(lines.counts / (PER_CELL * sd), 1.0))
    cells = 2 ** np.minimum(depth, FINEST).astype(np.int64)
    halves = np.minimum(lines.far, lines.sigmas * np.maximum(HALF, cells))
    widths, ends = lines.far / halves, np.cumsum(cells)
    question = LineCells(
        _rule(located, centers), lines.centers, lines.far, lines.directions, cells, widths
    )
    release = table.ask(question, share=LINES * share, label="line cells")
    points, weights = [], []
    for i, y in enumerate(np.split(release.value.astype(np.float64), ends[:-1])):
        if cells[i] == 1:  # small, or not seen before
            w = np.where(y > KEEP * release.scale, y, 0.0)
        else:
            kept = np.where(y > KEEP * release.scale, y, -np.inf)[None]
            w = onto_simplex(kept, lines.counts[i : i + 1])[0]
        z = ((2 * np.flatnonzero(w) + 1) / cells[i] - 1) * halves[i]
        points.append(bounded(lines.centers[i] + z[:, None] * lines.directions[i]))
        weights.append(w[w > 0])
    return np.concatenate(points), np.concatenate(weights)


def _kmeans(located, points, weights, start, n_init, seed):
    """Return the better of k-means from ``start`` and from ``n_init`` public starts."""
    k, start, points = len(start), to_units(located, start), to_units(located, points)
    fits = [
        public_kmeans(points, k, weights=weights, init=start, seed=seed),
        public_kmeans(points, k, weights=weights, n_init=n_init, seed=seed),
    ]
    return to_data(located, min(fits, key=lambda fit: fit[1])[0])


def _compare_inertia(table, located, pair, cells, cost, share):
    """Release what the second of two sets of centres gains; return the better, and which it is.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._cluster_sums.Gain`.
    """
    old, new = (_rule(located, centers) for centers in pair)
    question = Gain(old, new, _clip(located, pair, *cells))
    release = table.ask(question, share=GAIN * share, label="line gain")
    clip = question.clip
    gain, sd = (float(x) * clip / 2.0**GAIN_BITS for x in (release.value[0], release.scale))
    better = gain > max(CONVINCED * sd, WORTHWHILE * cost)
    return pair[better], better


def _clip(located, pair, points, weights):
    """Return the smallest clip that hardly changes what released cells gain.

    No less than a row at an old centre would lose: cells do not tell of rows too few to be seen.
    """

    def gains(points):
        seen = to_units(located, points)
        before, after = (
            [np.square(to_units(located, c) - z).sum(axis=1).min() for z in seen] for c in pair
        )
        return np.clip(np.nan_to_num(np.array(before) - np.array(after)), -FAR, FAR)

    gain, lost = gains(points), -gains(pair[0]).min()
    levels = np.maximum(np.quantile(np.abs(gain), np.linspace(0, 1, CANDIDATES)), TINY)
    total = np.clip(gain, -levels[:, None], levels[:, None]) @ weights
    true = np.abs(total - total[-1]) <= DISTORTED * abs(total[-1])
    first = CANDIDATES - np.argmin(true[::-1]) if not true.all() else 0
    return float(max(levels[first], lost))
