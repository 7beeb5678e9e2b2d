"""A private line: steps along clipped gradients of weighted squares, every one released."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.chunks import weighed_sum
from skdp.chunks._rows import MappedRows
from skdp.linear._belief import Belief
from skdp.linear._box import SomeColumns
from skdp.linear._front import (
    SIZES,
    Design,
    find_front,
    front_plan,
    size_share,
    weighted_gram,
)
from skdp.linear._target_range import TARGET, visible_target
from skdp.location._clip import Distances, Tail, joined
from skdp.location._counted import release_count
from skdp.location._mean import private_mean
from skdp.mechanisms import ball_rows, row_norms
from skdp.mechanisms._norms import fold
from skdp.scales import LogBins
from skdp.scales._grid_bits import grid_bits

__all__ = ["Line", "Residuals", "line_plan", "private_line"]

STEPS, GROWTH = 4, 1.6  # steps, and how much more of the budget each has than the one before
GRAM = 0.15, 0.25  # share of the Gram matrix, of few and of many coordinates
MANY = 16
ALIGNED = 0.3  # part of what is clipped off that points in one direction, as a rule
HEAVY = 3.0  # weight in the Gram matrix of rows whose gradients are clipped, as a rule
LOSS = 0.15  # of the sampling variance: what weights and clipping move a line by, of heavy tails
SPARE = 1.15  # of the sampling variance that a histogram tells
FEW = 0.45  # noise of a Gram matrix of all the budget beside 1, beyond which there is no line
BELOW, FINE, ABOVE, PER_OCTAVE = 5, 1, 13, 8  # cells of the lengths of gradients
MEAN = "the line is flat: too few rows for its slopes, the mean of the target took the whole budget"
NOTHING = "the line is flat: no column has shown a scale"


@dataclass(frozen=True)
class Line:
    """A released line.

    Attributes
    ----------
    design : Design or None
        The coordinates v of rows, None for a flat line.
    b : ndarray of shape (K,)
        The target, in its unit around its centre, is about b.v.
    covariance : ndarray of shape (K, K)
        Of the noise of b, and of what it was shrunk by.
    sampling : ndarray of shape (K, K)
        The same and, if the residuals vary alike everywhere, what b owes to the choice of rows.
    center, unit : float
        Of the target.
    low, high : float
        Range of the target: public, released, or infinite.
    n_rows : float
    n_steps : int
    """

    design: Design | None
    b: np.ndarray
    covariance: np.ndarray
    sampling: np.ndarray
    center: float
    unit: float
    low: float
    high: float
    n_rows: float
    n_steps: int

    def feature_range(self, n_features):
        """Return what features are clipped to, shape (2, n_features)."""
        if self.design is None:
            return np.tile([[-np.inf], [np.inf]], n_features)
        return np.stack([self.design.low, self.design.high])

    def residuals(self, block):
        """Return the residuals of rows (x, y): each a function of its row, to the last bit."""
        if self.design is None:
            return block[:, -1] - self.center
        pairs = self.design.pairs(block)
        parts = [y - self.center - self.unit * fold(v * self.b) for v, y in pairs]
        return np.concatenate([np.empty(0), *parts])


class Residuals(MappedRows):
    """A view of rows (x, y) with the residuals of a released line in the place of y."""

    def __init__(self, rows, line):
        super().__init__(rows)
        self._line = line

    def _mapped(self, block):
        with np.errstate(all="ignore"):
            return np.column_stack([block[:, :-1], self._line.residuals(block)])


def line_plan(budget, *, fit_intercept=True):
    """Return the plan of :func:`private_line`."""
    plan = front_plan(budget, fit_intercept=fit_intercept)
    steps = [replace(step, at_most=1) if step.label == "centre" else step for step in plan.steps]
    steps += [
        Step("target range", at_most=TARGET[1]),
        Step("gradient sizes", at_most=SIZES[1], times=STEPS),
        Step("gradient", times=STEPS),
    ]
    return replace(plan, steps=tuple(steps))


def private_line(rows, curator, *, known, alpha=0.0, extrapolate=False, fit_intercept=True):
    """Release a line.

    Parameters
    ----------
    rows : Rows of n rows of length d + 1
        The target is the last column.
    curator : Curator
        With the steps of :func:`line_plan`.
    known : ndarray of shape (2, d + 1)
        Public ranges of the columns, NaN where there is none.
    alpha : float, default=0.0
        Of a ridge penalty, as in :class:`sklearn.linear_model.Ridge`.
    extrapolate : bool, default=False
        Neither clip features to what is visible of them, nor look for the range of the target.
    fit_intercept : bool, default=True

    Returns
    -------
    line : Line

    Notes
    -----
    **Privacy** (add or remove one row (x, y)): every release is a function of rows and of earlier
    releases, with the sensitivity proved where it is made. A row contributes to a step the vector
    g = w v (y - b.v), a function of the row, of b, of the frame and of the radius of the weights,
    all released; it is rounded to integers of Euclidean norm at most 2^bits, checked in integers,
    and added: sensitivity 2^bits. The failure events are those of the private mean.

    **Why it is right**: H and g have the same weights, functions of x alone, so the fixed point of
    the steps is weighted least squares, whatever the noise of H, but for the clipping of g.
    """
    d, mu = rows.n_features - 1, curator.budget.mu
    count = release_count(rows, curator, share=0.01, label="row count")
    n = count.n
    if (d + fit_intercept) ** 1.5 / (n * mu) > FEW:
        curator.doubt(MEAN)
        mean, sd = _mean(rows, curator, known[:, -1]) if fit_intercept else (0.0, 0.0)
        return _flat(mean, sd, known[:, -1], n)
    front = find_front(rows, curator, count=count, known=known, fit_intercept=fit_intercept)
    if not front.found:
        curator.doubt(NOTHING)
        return _flat(float(front.center[-1]), math.inf, known[:, -1], n)
    if extrapolate:
        given = np.isfinite(known[:, :-1]).all(axis=0)
        low, high = np.where(given, front.low, -np.inf), np.where(given, front.high, np.inf)
        front = replace(front, low=low, high=high)
    frame = front.whitened(rows, curator, fit_intercept=fit_intercept)
    design = Design(frame, front.low, front.high, fit_intercept)
    center, unit = float(front.center[-1]), float(front.unit[-1])
    low, high = known[:, -1] if np.isfinite(known[0, -1]) else (-np.inf, np.inf)
    target = _Target(design, center, unit, low, high)
    if not (extrapolate or np.isfinite(low)):
        low, high = visible_target(rows, curator, center, unit, n=n)
    line = _descend(rows, curator, target, n, alpha)
    return replace(line, low=float(low), high=float(high))


def _mean(rows, curator, known):
    """Release the mean of the target with all that is left; return the sd of its noise, too."""
    low, high = known
    ball = {}
    if np.isfinite(low):
        ball = {"center": np.array([low / 2 + high / 2]), "radius": high / 2 - low / 2}
    child = curator.child("centre", curator.remaining)
    mean = private_mean(SomeColumns(rows, np.array([rows.n_features - 1])), child, **ball)
    return float(mean.location[0]), float(mean.noise_scale[0])


def _flat(center, sd, known, n):
    low, high = known if np.isfinite(known).all() else (-np.inf, np.inf)
    covariance = np.full((1, 1), sd * sd)
    return Line(None, np.zeros(1), covariance, covariance, center, 1.0, low, high, n, 0)


@dataclass(frozen=True)
class _Target:
    """What a step sees of a row (x, y): v, its weight, and y in units, in its public range."""

    design: Design
    center: float
    unit: float
    low: float
    high: float

    def gradients(self, block, b, radius):
        """Yield w v (y - b.v) of the rows of a block, in parts."""
        for v, y in self.design.pairs(block):
            with np.errstate(all="ignore"):
                root = np.minimum(1.0, radius / row_norms(v))
                residual = (self._scaled(y) - fold(v * b)) * root
                yield v * (root * residual)[:, None]

    def _scaled(self, y):
        return (y.clip(self.low, self.high) - self.center) / self.unit


def _descend(rows, curator, target, n, alpha):
    """Take the steps with all that is left."""
    design, mu = target.design, curator.budget.mu
    K = design.dims
    sizes = size_share(n, mu)
    left = float(curator.remaining) - 4 * sizes
    gram_share = GRAM[K >= MANY] * left
    gram = weighted_gram(rows, curator, design, n=n, share=gram_share)
    penalty = alpha / n * _penalty(design)
    belief = Belief(gram.gram + penalty, gram.sd)
    weights = GROWTH ** np.arange(STEPS)
    shares = (left - gram_share) * weights / weights.sum()
    b, radius, mean_square = np.zeros(K), gram.radius, 0.0
    for number, share in enumerate(shares):

        def parts(block, b=b):
            return target.gradients(block, b, gram.radius)

        last = number == STEPS - 1
        if number < 2 or last:
            noise = math.sqrt(K / share) / (n * mu)
            radius, mean_square = _clip(rows, curator, parts, n, sizes, radius, noise)
        left_over = curator.remaining if last else share
        total, sd = _total(rows, curator, parts, K, radius, left_over)
        b = b + belief.step(total / n - penalty @ b, sd / n)
    sampling = SPARE * mean_square / max(float(np.trace(gram.gram)), 1e-300) / n
    return Line(
        design,
        b,
        belief.covariance(LOSS * sampling),
        belief.covariance(sampling),
        target.center,
        target.unit,
        float(target.low),
        float(target.high),
        n,
        STEPS,
    )


def _penalty(design):
    """Return Q such that |coef|^2 = b Q b in units of the target."""
    Q, k = np.zeros((design.dims, design.dims)), design.frame.dims
    Q[:k, :k] = design.squared_slopes()
    return Q


def _clip(rows, curator, parts, n, share, around, noise):
    """Release a histogram of the lengths of gradients; return where to clip, and a mean square.

    That of clipped gradients, over the square of the part of the rows that are not clipped, each by
    its weight in the slope of the mean gradient.

    Notes
    -----
    **Privacy** (add or remove one row): a row falls into at most one cell: sensitivity 1.
    """
    bins = LogBins.around(around, per_octave=PER_OCTAVE, below=BELOW, above=FINE + ABOVE)
    fine = 1 + PER_OCTAVE * (BELOW + FINE)
    starts, edges = joined(bins, fine, PER_OCTAVE)

    def statistic(start, block):
        counts = np.zeros(bins.n_bins, dtype=np.int64)
        for g in parts(block):
            counts += bins.counts(row_norms(g))
        return counts

    counts = np.add.reduceat(weighed_sum(rows, statistic), starts)
    release = curator.gaussian(counts, sensitivity=1, share=share, label="gradient sizes")
    *within, beyond = release.value.astype(float)
    distances = Distances(np.array(within), edges, release.scale, fine, beyond=beyond)
    tail = Tail(distances, n)
    if tail.empty:
        return around, around * around
    radius = tail.best(noise, ALIGNED).radius
    reach = np.minimum(edges, radius)
    square = np.square(reach) + np.square(np.append(0.0, reach[:-1]))
    clipped = 1 - float(np.clip(distances.counts[edges <= radius].sum() / n, 0.0, 1.0))
    whole = max(1 - HEAVY * clipped, 0.5)
    return radius, max(float(distances.counts @ square) / (2 * n * whole**2), 0.0)


def _total(rows, curator, parts, K, radius, share):
    """Release the sum of gradients clipped to a ball, and the standard deviation of its noise."""
    strength = curator.budget.mu * math.sqrt(float(share))
    bits = grid_bits(strength, noise_bits=45, most=15, unit=rows.unit)

    def statistic(start, block):
        total = np.zeros(K, dtype=np.int64)
        for g in parts(block):
            q = ball_rows(g, center=0.0, radius=radius, bits=bits)
            total += (np.ones(len(q)) @ q).astype(np.int64)
        return total

    exact = weighed_sum(rows, statistic)
    release = curator.gaussian(exact, sensitivity=2**bits, share=share, label="gradient")
    unit = radius / 2**bits
    return release.value * unit, release.scale * unit
