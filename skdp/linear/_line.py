"""A private line: steps along clipped gradients of weighted squares, every one released."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.covariance._run import COLUMNS, squared_slopes
from skdp.kernel._coordinates import BesideLine, Design, SomeColumns
from skdp.kernel._gradients import LineGradients
from skdp.kernel._sums import BallTotal, Distances
from skdp.linear._front import (
    LEAST,
    SIZES,
    TARGET_RANGE,
    front_plan,
    release_preprocessing,
    release_target_range,
    size_share,
    weighted_gram,
)
from skdp.linear._newton import (
    ALIGNED,
    LEAST_SQUARES_STEPS,
    SQUARES,
    UNTOLD,
    LeastSquares,
    least_squares,
    release_lengths,
    release_total,
)
from skdp.location._clip import Tail
from skdp.location._mean import private_mean
from skdp.location._release import ROW_COUNT, release_count

# --- what is believed of the error of a model, and the gain of a step along its gradient

WIDE = 4.0  # times the size of the coefficients that the first gradient tells
SURPRISE = 4.0  # times the square of a gradient that is expected: the belief was too sure
FAINT = 0.25  # of the noise of the first gradient: what noise may hide


class ErrorPosterior:
    """Independent normal errors along the eigenvectors of a released matrix.

    Steps b <- b + K h along noisy gradients h = S (b* - b) + noise, of which S is known but for the
    noise of its release: H = S + E. If the error b* - b has independent entries of variances m
    along the eigenvectors of H, with eigenvalues l, then h has the mean l (b* - b) and, beside
    that of its own noise, the variance of E (b* - b): (sum m + m_i) sd^2 / 2, sd the noise on the
    diagonal of H. The gain k = l m / (l^2 m + all of that) is that of least variance (Kalman).
    So the first steps are as short as what is not known of S demands, the last ones are averages
    weighted by precision, and where little is known of the coefficients they shrink towards 0.

    Notes
    -----
    Post-processing. That E is the same in all steps, and not independent of the errors, is left
    out; a step does not diverge for it: with many coordinates of like variance the largest gain
    k l is 1, and that for small l is 1 / (sd sqrt(2 K)), beside |E| of about sd sqrt(2 K).
    """

    def __init__(self, H, sd):
        values, self.vectors = np.linalg.eigh(H)
        K, mean, squares = len(H), float(np.mean(values)), float(values @ values)
        self._squares = max(squares - K * (K + 1) / 2 * sd * sd, K * mean * mean, 1e-300)
        self.values = np.maximum(values, 0.0)
        self._sd, self.variances = sd, None

    def step(self, gradient, sd):
        """Return by how much to move the coefficients for a gradient with noise ``sd``."""
        h, v = self.vectors.T @ gradient, sd * sd
        if self.variances is None:
            size = max(h @ h - len(h) * v, FAINT * len(h) * v) / self._squares
            self.variances = np.full(len(h), WIDE * size)
        m, values = self._wide_enough(h, v), self.values
        unknown = self._unknown(m, v)
        gain = values * m / np.maximum(values**2 * m + unknown, 1e-300)
        self.variances = np.square(1 - gain * values) * m + np.square(gain) * unknown
        return self.vectors @ (gain * h)

    def _unknown(self, m, v):
        return v + self._sd**2 / 2 * (m.sum() + m)

    def _wide_enough(self, h, v):
        """Return the variances, larger ones if a gradient is far longer than they explain."""
        m = self.variances
        expected = np.sum(np.square(self.values) * m + self._unknown(m, v))
        surprise = h @ h - SURPRISE * expected
        return m + max(surprise, 0.0) / self._squares

    def covariance(self, square=0.0):
        """Return the covariance of the error of the coefficients.

        ``square`` is the variance of a gradient of this table, of all its like, per unit of l.
        """
        tau = self._sd * math.sqrt(2 * len(self.values))
        m = self.variances + square * self.values / np.square(self.values + tau)
        return (self.vectors * m) @ self.vectors.T


STEPS, GROWTH = 4, 1.6  # steps, and how much more of the budget each has than the one before
GRADIENT_SIZES = Step("gradient sizes", at_most=SIZES[1], times=STEPS, of=(Distances,))
GRADIENT = Step("gradient", times=STEPS, of=(BallTotal,))
GRAM = 0.15, 0.25  # share of the Gram matrix, of few and of many coordinates
MANY = 16
HEAVY = 3.0  # weight in the Gram matrix of rows whose gradients are clipped, as a rule
LOSS = 0.15  # of the sampling variance: what weights and clipping move a line by, of heavy tails
SPARE = 1.15  # of the sampling variance that a histogram tells
FEW = 0.45  # noise of a Gram matrix of all the budget beside 1, beyond which there is no line
MEAN = (
    "the line is flat: too few rows for its slopes. Predictions are the mean of the target. Use"
    " a larger epsilon or more rows"
)
NOTHING = (
    "the line is flat: no column has a known scale. Use a larger epsilon, more rows, or pass "
    "feature_range if it is public"
)
COSTLY = 0.05  # of the variance of the target: what two standard deviations of noise may cost
NOISY = (
    "noise may cost a line more than it explains. Use a larger epsilon, more rows or fewer "
    "columns, or pass target_range if it is public"
)
WORSE = (
    "least squares are so far off that the mean of the target may predict better than the line. "
    "Use a larger epsilon or more rows, or pass target_range if it is public"
)
# Of the squared unit of the target, and of the rows. On 133 tables of honesty.py, half "look",
# 15 of 830 reliable lines were worse than the mean, 11 of 22 with less to see, 5 of 12 blurred.
LITTLE, BLURRED = 0.02, 0.07
HIDDEN = (
    "too little of the target is seen, as of one that is a single number in most rows. Use a "
    "larger epsilon or more rows, or pass target_range if it is public"
)


@dataclass(frozen=True)
class Line:
    """A released line."""

    design: Design | None  # the coordinates v of rows, None for a flat line
    b: np.ndarray  # shape (K,): the target, in its unit around its centre, is about b.v
    covariance: np.ndarray  # shape (K, K): of the noise of b, and of what it was shrunk by
    # shape (K, K): the same and, if the residuals vary alike everywhere, what b owes to the choice
    # of rows
    sampling: np.ndarray
    # center, unit: of the target
    center: float
    unit: float
    # low, high: range of the target: public, released, or infinite
    low: float
    high: float
    n_rows: float
    n_steps: int
    squares: LeastSquares | None = None  # what was asked of least squares

    def feature_range(self, n_features):
        """Return what features are clipped to, shape (2, n_features)."""
        if self.design is None:
            return np.tile([[-np.inf], [np.inf]], n_features)
        return self.design.edges.copy()

    def beside(self, columns):
        """Return the view of rows (x, y) with what it leaves of y; x are some columns."""
        return BesideLine(columns, self.design, self.b, self.center, self.unit)


def line_plan(budget, *, fit_intercept=True, robust=False):
    """Return the plan of :func:`private_line`."""
    plan = front_plan(budget, fit_intercept=fit_intercept)
    steps = [replace(step, at_most=1) if step.label == "centre" else step for step in plan.steps]
    steps += [
        TARGET_RANGE,
        GRADIENT_SIZES,
        replace(GRADIENT, times=STEPS + robust),
        *(LEAST_SQUARES_STEPS if robust else ()),
    ]
    return replace(plan, steps=tuple(steps))


def private_line(table, *, known, alpha=0.0, extrapolate=False, fit_intercept=True, robust=False):
    """Release a line.

    Shapes: known (2, d + 1).

    Notes
    -----
    **Privacy** (add or remove one row (x, y)): every release is a function of rows and of earlier
    releases. A row contributes to a step the vector g = w v (y - b.v), a function of the row, of b,
    of the frame and of the radius of the weights, all released:
    :mod:`skdp.kernel._gradients`. The failure events are those of the private mean.

    **Why it is right**: H and g have the same weights, functions of x alone, so the fixed point of
    the steps is weighted least squares, whatever the noise of H, but for the clipping of g.
    """
    d, mu = table.n_features - 1, table.budget.mu
    count = release_count(table, ROW_COUNT)
    n = count.n
    if (d + fit_intercept) ** 1.5 / (n * mu) > FEW:
        table.doubt(MEAN)
        mean, sd = _mean(table, known[:, -1]) if fit_intercept else (0.0, 0.0)
        return _zero_slopes(mean, sd, known[:, -1], n)
    front = release_preprocessing(table, count=count, known=known, fit_intercept=fit_intercept)
    if not front.found:
        table.doubt(NOTHING)
        return _zero_slopes(float(front.center[-1]), math.inf, known[:, -1], n)
    given = np.isfinite(known[:, :-1]).all(axis=0)
    wide = np.where(given, front.low, -np.inf), np.where(given, front.high, np.inf)
    if extrapolate:
        front = replace(front, low=wide[0], high=wide[1])
    frame, apart = front.whitened(table, fit_intercept=fit_intercept)
    if not apart:
        table.doubt(COLUMNS)
    design = Design(frame, np.stack([front.low, front.high]), fit_intercept)
    center, unit = float(front.center[-1]), float(front.unit[-1])
    low, high = known[:, -1] if np.isfinite(known[0, -1]) else (-np.inf, np.inf)
    target, reach = _Target(design, center, unit, low, high, wide if robust else None), math.inf
    if not (extrapolate or np.isfinite(low)):
        low, high = release_target_range(table, center, unit, n=n)
        reach = max(high / unit - center / unit, center / unit - low / unit)
    line = _descend(table, target, n, alpha, reach)
    return replace(line, low=float(low), high=float(high))


def _mean(table, known):
    """Release the mean of the target with all that is left; return the sd of its noise, too."""
    low, high = known
    ball = {}
    if np.isfinite(low):
        ball = {"center": np.array([low / 2 + high / 2]), "radius": high / 2 - low / 2}
    target = table.map(SomeColumns(np.array([table.n_features - 1])))
    child = target.child("centre", target.remaining)
    mean = private_mean(child, **ball)
    return float(mean.location[0]), float(mean.noise_scale[0])


def _zero_slopes(center, sd, known, n):
    low, high = known if np.isfinite(known).all() else (-np.inf, np.inf)
    covariance = np.full((1, 1), sd * sd)
    return Line(None, np.zeros(1), covariance, covariance, center, 1.0, low, high, n, 0)


@dataclass(frozen=True)
class _Target:
    """What a step sees of a row (x, y): v, its weight, and y in units, in its public range.

    ``wide`` are the public ranges of the features if least squares are asked for.
    """

    design: Design
    center: float
    unit: float
    low: float
    high: float
    wide: tuple | None = None

    def gradients(self, b, radius):
        """Return the map of rows to w v (y - b.v)."""
        return self._of(self.design, b, radius)

    def everywhere(self, b):
        """Return the map to v (y - b.v) of features that are clipped to public ranges only."""
        return self._of(replace(self.design, edges=np.stack(self.wide)), b, None)

    def _of(self, design, b, radius):
        edges = np.array([self.low, self.high])
        return LineGradients(design, b, self.center, self.unit, edges, radius)


def _descend(table, target, n, alpha, reach):
    """Take the steps with all that is left; one more where least squares cannot be told.

    ``reach`` is how many units the target is seen to reach.
    """
    design, mu = target.design, table.budget.mu
    K = design.dims
    sizes = size_share(n, mu)
    kept = SQUARES * float(table.remaining) if target.wide else 0.0
    left = float(table.remaining) - kept - 4 * sizes
    gram_share = GRAM[K >= MANY] * left
    gram = weighted_gram(table, design, n=n, share=gram_share)
    penalty = alpha / n * _penalty(design)
    belief = ErrorPosterior(gram.gram + penalty, gram.sd)
    weights = GROWTH ** np.arange(STEPS)
    shares = (left - gram_share) * weights / weights.sum()
    b, radius, mean_square = np.zeros(K), gram.radius, 0.0

    def descended(b, radius, share):
        gradients = target.gradients(b, gram.radius)
        total, sd = release_total(table, gradients, radius=radius, share=share, step=GRADIENT)
        return b + belief.step(total / n - penalty @ b, sd / n)

    for number, share in enumerate(shares):
        last = number == STEPS - 1
        if number < 2 or last:
            gradients = target.gradients(b, gram.radius)
            lengths = release_lengths(
                table, gradients, around=radius, share=sizes, step=GRADIENT_SIZES
            )
            radius, mean_square = _clip(lengths, n, radius, math.sqrt(K / share) / (n * mu))
        left_over = table.remaining - Fraction(kept) if last else share
        b = descended(b, radius, left_over)
    squares = None
    if target.wide:
        squares = least_squares(
            table,
            target.everywhere(b),
            share=table.remaining,
            matrix=gram.gram + penalty,
            sd=gram.sd,
            offset=penalty @ b,
            radius=radius,
            n=n,
            slope=_slope(design, gram.gram, b),
        )
    spare = target.wide and table.remaining  # least squares were not told
    if spare:
        table.doubt(UNTOLD)
        b = descended(b, radius, spare)
    left_over = mean_square / max(float(np.trace(gram.gram)), 1e-300)  # variance beside the line
    told = left_over + max(float(b @ gram.gram @ b) - float(b[-1] ** 2) * design.fit_intercept, 0.0)
    if 4 * float(np.vdot(gram.gram, belief.covariance())) > COSTLY * told:
        table.doubt(NOISY)
    if squares is not None and squares.told:
        explained = _explained(design, gram.gram, b, squares.gradient)
        blurred = squares.unseen > BLURRED and reach < LEAST and explained < COSTLY * told
        if told < LITTLE or blurred:
            table.doubt(HIDDEN)
        elif explained < -COSTLY * told:
            table.doubt(WORSE)
    sampling = SPARE * left_over / n
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
        STEPS + bool(spare),
        squares,
    )


def _slope(design, gram, b):
    """Return the standard deviation of the values of a line, less where far rows weigh less."""
    k = design.frame.dims
    with np.errstate(all="ignore"):
        return math.sqrt(np.fmax(b[:k] @ gram[:k, :k] @ b[:k], 0.0))


def _explained(design, gram, b, gradient):
    """Return by how much a line is nearer to the target than its mean is, in squares a row.

    Of residuals e around a line b.v, with v about 0 in the mean and g = E v e, that is
    ``Var(b.v) + 2 b.g - (E e)^2``: g is what plain least squares have told.
    """
    k = design.frame.dims
    slopes = b[:k] @ (gram[:k, :k] @ b[:k] + 2 * gradient[:k])
    return float(slopes - np.square(gradient[k:]).sum())


def _penalty(design):
    """Return Q such that |coef|^2 = b Q b in units of the target."""
    Q, k = np.zeros((design.dims, design.dims)), design.frame.dims
    Q[:k, :k] = squared_slopes(design.frame)
    return Q


def _clip(lengths, n, around, noise):
    """Return where to clip gradients of released lengths, and a mean square.

    That of clipped gradients, over the square of the part of the rows that are not clipped, each by
    its weight in the slope of the mean gradient.
    """
    tail = Tail(lengths, n)
    if tail.empty:
        return around, around * around
    radius = tail.best(noise, ALIGNED).radius
    edges = lengths.edges
    reach = np.minimum(edges, radius)
    square = np.square(reach) + np.square(np.append(0.0, reach[:-1]))
    clipped = 1 - float(np.clip(lengths.counts[edges <= radius].sum() / n, 0.0, 1.0))
    whole = max(1 - HEAVY * clipped, 0.5)
    return radius, max(float(lengths.counts @ square) / (2 * n * whole**2), 0.0)
