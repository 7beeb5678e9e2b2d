"""Noisy Lloyd steps: from public centres in one ball, and of clusters with a clip radius each."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.accounting._plan import release_mechanism
from skdp.cluster._shrunken_centers import NoisyLloydStep, cluster_sums, in_table, refined
from skdp.cluster._synopsis import inside, public_kmeans, to_data, to_units
from skdp.kernel._bins import LogBins
from skdp.kernel._cluster_sums import ClusterTotals
from skdp.kernel._clusters import Nearest, Reaches
from skdp.kernel._lattice import LIMIT
from skdp.scales._column_noise import KEPT_BIN, significant_tail
from skdp.utils._numbers import public_words

BINS = LogBins(4, -8, 4)  # distances in units of the located radius
SYNOPSIS_LEAF = 3.0  # noise sds: lighter leaves, far away, would blow up the radius
CANDIDATES = 30
SKEW, BIAS = 0.3, 0.6  # part of the length clipped off that is taken for bias

MOST_STEPS = 12
RADII = Step("radii", times=MOST_STEPS, of=(Reaches,))
CLUSTERS = Step("clusters", times=MOST_STEPS, of=(ClusterTotals,))
REFINE_STEPS = RADII, CLUSTERS
ADAPTIVE = 300.0  # noise sds of a cluster from which steps are cheap: go on until they are small
LOW = 60.0  # below, one step in many columns
EXPLORE = 0.04  # part of the budget of a step that is not the last
SETTLED = 0.003  # of the radius: a centre that moved by less has arrived
RADII_SHARE = 0.06
GROWTH = 1.85  # of the shares from step to step
PULLED, WIDER = 0.6, 4.0  # a mean residual so long, in radii: the rows lie beyond the ball
FARTHER = 1.25, 2.0  # radii, in few and many columns, to which squared distances are clipped
TINY = 2.0**-20  # smallest clip radius, in located radii

COUNT_WEIGHT = 0.5  # of a count beside a row of unit length
SURE, ALIVE = 2.0, 3.0  # noise sds of a count: to move a centre, to have rows at all
STAYED = (
    "some centers did not move in the last step: their rows do not exceed the noise. Use more "
    "rows, a larger epsilon or fewer clusters"
)

SAMPLE = 128  # points per centre


def radii_from_cells(synopsis, centres, *, noise):
    """Read the radii of all clusters off released cells: post-processing.

    Of the candidates for the clip radius r, take that with the least sum of the squared mean of
    what is clipped off and of the noise ``r noise / N``.

    Shapes: centres (k, p); returns (k,).
    """
    squares = np.square(synopsis.centres[:, None] - centres).sum(axis=2)
    labels = squares.argmin(axis=1)
    k, p = centres.shape
    weights = np.bincount(labels, synopsis.weights, minlength=k)
    corner = np.sqrt(np.square(synopsis.halves).sum(axis=1) / 3)
    reach = np.sqrt(squares[np.arange(len(labels)), labels]) + corner
    solid = synopsis.weights > SYNOPSIS_LEAF * synopsis.sds
    radii = np.full(k, float(np.median(reach)))
    for j in range(k):
        mine = np.flatnonzero((labels == j) & solid)
        if not mine.size:
            mine = np.flatnonzero(labels == j)
        if mine.size:
            w = synopsis.weights[mine]
            v = synopsis.centres[mine] - centres[j]
            radii[j] = _best_radius(reach[mine], v, w, p * noise**2)
    return radii, np.maximum(weights, 1.0)


def _best_radius(reach, v, w, variance):
    total = max(w.sum(), 1.0)
    candidates = np.quantile(reach, np.linspace(0, 1, CANDIDATES))
    off = w * np.maximum(1 - candidates[:, None] / reach, 0) / total  # part clipped off
    length = np.sqrt(np.square(v).sum(axis=1))
    bias = np.sqrt(np.square(off @ v).sum(axis=1)) + SKEW * off @ length
    loss = np.square(bias) + variance * np.square(candidates / total)
    return float(candidates[np.argmin(loss)])


def release_radii(table, located, centres, *, noise, share):
    """Release how far the rows of every cluster lie from its centre; choose radii from that.

    Shapes: centres (k, d); radii (k,).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.Reaches`.
    """
    k, d = centres.shape
    question, units = Reaches(Nearest(located, centres), BINS), located.units(centres)
    release = table.ask(question, RADII, share=share)
    counts = release.value.reshape(k, -1).astype(np.float64)
    pooled = _significant_bins(counts.sum(axis=0) / k, release.scale / math.sqrt(k))
    variance = d * noise**2
    radii = np.empty(k)
    for j in range(k):
        clear = counts[j][counts[j] > 2.5 * release.scale].sum() > 12 * release.scale
        w = _significant_bins(counts[j], release.scale) if clear else pooled
        radii[j] = _balanced(w, variance)
    return radii * units


def _significant_bins(counts, sd):
    """Return the bins that stand out, up to the last that does so clearly; zeros elsewhere."""
    inside = np.arange(len(counts)) < significant_tail(counts, sd)
    return np.where((counts > KEPT_BIN * sd) & inside, counts, 0.0)


def _balanced(w, variance):
    """Return the upper edge of a bin that balances clipping and noise; 1 if nothing is seen."""
    edges = np.array([BINS.upper_edge(i) for i in range(BINS.n_bins)])
    middle = edges * 2.0 ** (-1 / 8)
    total = max(w.sum(), 1.0)
    excess = np.maximum(middle - edges[:, None], 0) @ w / total
    loss = np.square(BIAS * excess) + variance * np.square(edges / total)
    return float(edges[np.argmin(loss)]) if w.any() else 1.0


def refine(
    table,
    located,
    centers,
    *,
    synopsis=None,
    subspace=None,
    share=None,
    max_steps=MOST_STEPS,
):
    """Move centres to the means of their clusters by private sums in small balls.

    Shapes: centers (k, d).

    Notes
    -----
    **Privacy**: of :func:`skdp.cluster._refine.release_radii` and
    :func:`skdp.cluster._shrunken_centers.cluster_sums`; the moves, and how many there are, are
    post-processing.
    """
    left = table.remaining if share is None else min(Fraction(share), table.remaining)
    k, d = centers.shape
    signal = located.n_rows * table.budget.mu * math.sqrt(left) / k
    run = _Run(table, located, synopsis, subspace)
    run.start(to_units(located, centers))
    if signal > ADAPTIVE:
        for _ in range(max_steps - 1):
            run.step(Fraction(EXPLORE) * left, new_radii=run.radii is None, last=left / 2)
            if run.settled():
                break
        run.step(left - run.spent)
    else:
        for part in _parts(min(1 if signal < LOW and d > 3 else 2, max_steps)):
            run.step(part * left)
    return refined(
        table, located, run.moved, run.moved.mean()[0],
        noise=np.sqrt(run.variance), radii=run.radii, n_steps=run.n_steps,
    )  # fmt: skip


def _parts(n_steps):
    """Return shares that grow from step to step and sum to one."""
    parts = [Fraction(GROWTH) ** t for t in range(n_steps)]
    return [part / sum(parts) for part in parts]


class _Run:
    """Centres ``y`` in units of the located radius, and the variance of their noise."""

    def __init__(self, table, located, synopsis, subspace):
        self.table, self.located = table, located
        self.synopsis = synopsis
        lifted = subspace is not None and subspace.W is not None and not subspace.mapped
        self.W = subspace.W if lifted else None

    def start(self, y):
        """Begin at centres that nothing is known about."""
        self.y, self.variance, self.radii = y, np.full(len(y), np.inf), None
        self.spent, self.n_steps = Fraction(0), 0
        self.wider = np.ones(len(y))

    def step(self, share, *, new_radii=True, last=None):
        """Take one noisy Lloyd step.

        ``share`` pays for new radii as well. With ``last``, the share of a later step, radii suit
        the smaller noise of that step, and are paid for in addition.
        """
        self.n_steps += 1
        d = self.y.shape[1]
        weight = 0.3 if d <= 8 else 0.15
        buy = new_radii and self.synopsis is None
        radii_share = Fraction(RADII_SHARE) * (last or share) if buy else Fraction(0)
        share -= 0 if last else radii_share
        self.spent += share + radii_share
        noise = math.sqrt((1 + weight**2) / float(last or share)) / self.table.budget.mu
        known = None
        if buy:
            self.radii = release_radii(
                self.table, self.located, self.y, noise=noise, share=radii_share
            )
        elif self.synopsis is not None:
            self.radii, known = radii_from_cells(self.synopsis, self.y, noise=noise)
        units = self.located.units(self.y)
        self.radii = np.clip(self.radii * self.wider, TINY * units, LIMIT * units)
        told = cluster_sums(
            self.table,
            Nearest(self.located, self.y),
            to_data(self.located, self.y),
            radii=self.radii * self.located.radius,
            weight=weight,
            share=share,
            step=CLUSTERS,
            squares=FARTHER[d > 3],
        ).scaled(self.radii.max())
        counts = told.counts if known is None else (told.counts + known) / 2
        self._move(np.maximum(counts, 1.0), told)

    def _move(self, counts, told):
        """Move every centre by its mean residual, as far as that is more than noise."""
        d = self.y.shape[1]
        sd = told.sum_sd / counts
        step = told.sums / counts[:, None]
        v, v0 = sd**2, self.variance
        length = np.sqrt(np.square(step).sum(axis=1))
        pulled = length - 3 * sd * math.sqrt(d) > PULLED * self.radii
        self.wider = np.where(pulled, WIDER, 1.0)
        prior = np.square(self.radii * (1.0 if d <= 3 else 1.5)) / d
        small = np.square(step).sum(axis=1) <= d * (v0 + v) * (1 + 3 * math.sqrt(2 / d))
        again = np.isfinite(v0) & small  # both releases tell where the centre is
        prior = np.where(again, np.minimum(v0, prior), prior)
        gain = prior / (prior + v)
        y = self.y + gain[:, None] * step
        known = v < prior  # else the step is noise, and tells little
        self.variance = np.where(known | again, gain * v, v0)
        if self.W is not None:
            y = _shrunk(y, self.variance, self.W)
        self.moved = NoisyLloydStep(self.y, y - self.y, gain[:, None], counts, told)
        self.y = y

    def settled(self):
        """Whether no centre has moved by more than noise and a small part of its radius."""
        known = np.where(np.isfinite(self.variance), self.variance, 0)
        noise = self.y.shape[1] * known
        moved = np.square(self.moved.moves).sum(axis=1)
        return bool(np.all(moved <= noise + np.square(SETTLED * self.radii)))


def _shrunk(y, variance, W):
    """Shrink the parts of centres outside a subspace towards it (James and Stein)."""
    moved = np.isfinite(variance)
    d, p = W.shape
    if d - p < 3 or not moved.any():
        return y
    inside = (y @ W) @ W.T
    outside = y - inside
    v = variance[moved]
    tau = max(float(np.mean(np.square(outside[moved]).sum(axis=1) / (d - p) - v)), 0.0)
    outside[moved] *= (tau / np.maximum(tau + v, 1e-300))[:, None]
    return inside + outside


# --- several noisy steps of Lloyd from centres that do not depend on the rows


def equal_step(budget, n_steps):
    """Return the planned step of each of ``n_steps`` equal steps."""
    mechanism = release_mechanism(budget)
    return Step("step", mechanism, Fraction(1, n_steps), n_steps, of=(ClusterTotals,))


def lloyd_run(table, located, n_clusters, init, *, n_steps, seed=0):
    """Release centres by equal steps with everything that is left of the budget.

    Shapes: init (n_clusters, d); centers (n_clusters, d).

    Notes
    -----
    **Privacy**: that of :func:`skdp.cluster._shrunken_centers.cluster_sums`, step by step. What
    follows from a step, and where a cluster without rows starts again, is computed from releases
    and public numbers.
    """
    d, share = table.n_features, Fraction(table.remaining / n_steps)
    planned = equal_step(table.budget, n_steps)
    y = to_units(located, _start(located, init, n_clusters, d, seed))
    radii = np.full(n_clusters, max(0.25, n_clusters ** (-1 / d)))  # of even cells of the ball
    for i in range(n_steps):
        step = lloyd_step(table, located, y, radii, share=share, step=planned)
        ends = step.y + step.moves
        if i < n_steps - 2:
            ends = _reseed_empty(ends, step.told, radii, "revival", i, seed)
        centers = inside(located, to_data(located, ends))
        y = to_units(located, centers)
    if not step.gains.all():
        table.doubt(STAYED)
    return centers, *in_table(located, *step.inertia(y))


def lloyd_step(table, located, y, radii, *, share, step):
    """Take one private step of Lloyd: every centre moves to the noisy mean of its rows.

    A centre stays if its rows do not stand out, or if noise would carry it beyond its radius.
    """
    d = y.shape[1]
    pure = table.budget.measure == "pure"
    told = cluster_sums(
        table,
        Nearest(located, y),
        to_data(located, y),
        radii=radii * located.radius,
        weight=COUNT_WEIGHT * (math.sqrt(d) if pure else 1),
        share=share,
        step=step,
    ).scaled(radii.max())
    counts = np.maximum(told.counts, 1.0)
    sure = told.counts > SURE * told.count_sd
    sure &= told.sum_sd * math.sqrt(d) < radii * counts
    gains = sure.astype(np.float64)[:, None] * np.ones(d)
    return NoisyLloydStep(y, gains * told.sums / counts[:, None], gains, counts, told)


def _start(located, init, k, d, seed):
    if not isinstance(init, str):
        return to_data(located, to_units(located, init))
    points = spread_points(k, d, seed) if init == "spread" else ball_points(k, d, init, seed)
    return to_data(located, points)


def _reseed_empty(y, told, radii, *key):
    """Put a centre without rows beside that of a large cluster, the more the larger first."""
    lost = np.flatnonzero(told.counts < ALIVE * told.count_sd)
    large = np.argsort(-told.counts, kind="stable")[: len(lost)]
    y, offsets = y.copy(), ball_points(*y.shape, *key)
    for j, i in zip(lost, large, strict=True):
        if told.counts[i] >= ALIVE * told.count_sd:
            y[j] = y[i] + offsets[j] * radii[i] / math.sqrt(2)
    return y


def ball_points(n, d, *key):
    """Return n public uniform points of the unit ball, shape (n, d), a function of ``key``."""
    words = public_words(n * (d + 1), *key)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    length, direction = uniform[:n] ** (1 / d), ndtri(uniform[n:]).reshape(n, d)
    return direction * (length / np.sqrt(np.square(direction).sum(axis=1)))[:, None]


@lru_cache(maxsize=16)
def spread_points(k, d, seed=0):
    """Return k points spread evenly over the unit ball: centres of k-means of a uniform sample.

    Shapes: points (k, d).
    """
    sample = ball_points(k * SAMPLE, d, "ball", seed)
    return public_kmeans(sample, k, seed=seed)[0]
