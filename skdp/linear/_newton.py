"""Gradients that linear models release: Newton steps of classes, and least squares of numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import LogBins
from skdp.kernel._gradients import THIN, LogitCalibration, LogitIntercepts, LogitStep, probabilities
from skdp.kernel._sums import GRID, BallTotal
from skdp.kernel._sums import Distances as DistanceCells
from skdp.location._clip import Distances, Tail, joined
from skdp.scales._column_noise import LEAST_SQUARES

MOST_STEPS = 8
GRADIENT = Step("gradient", times=MOST_STEPS, of=(LogitStep,))
LARGEST = 2.0  # step, as the root of its mean square in units of a score
FLATTEST = 0.05  # curvature, of that without slopes, at least
STEEPEST = 8  # times its mean is the curvature of some rows of a rare class
KEPT = 0.25  # of the weight of second derivatives from step to step: they change with the model

LAST = 0.02, 0.1  # least and largest part of the steps for a last one of the intercepts, and before
# it for one of the size of all slopes
CALIBRATION = Step("calibration", at_most=LAST[1], of=(LogitCalibration,))
INTERCEPT = Step("intercept", of=(LogitIntercepts,))
CLEAR = 3  # sd of the noise of a curvature, below which no step is divided by it
COSTLY = 0.05  # of the entropy of the classes: noise of the intercepts that costs more is doubted
REACH = 2.5, 4.0  # standard deviations of the scores that a calibration looks at, around their mean
QUIET = 0.05  # noise of a factor for which it looks farther
FACTORS = 0.5, 2.0  # least and largest of a calibration
STEEP = 0.75  # factor below which a step from there is no guide: curvatures grow as slopes shrink
APART, SETTLED = 0.5, 3.0  # beforehand: deviation of factors from 1, and odds that there is none
# Last step of the intercept of two classes, odds by a factor of two: of 594 reliable models of the
# tables of honesty.py, half "look", 40 took one as long, and 4 of the 8 that were worse than none.
JUMP = math.log(2)
RATES = (
    "class frequencies are lost in noise: probabilities may be far off. Use a larger epsilon or"
    " more rows"
)
UNSETTLED = (
    "the fit has not converged: slopes may be far off. Use a larger epsilon, or leave out "
    "columns that explain little"
)

BELOW, FINE, ABOVE = 5, 1, 13  # octaves of lengths: narrow cells up to FINE, whole octaves above

SQUARES = 0.2  # of what the steps have
SIZES = 0.4  # of that
SQUARE_SIZES = Step("squares sizes", at_most=SQUARES * SIZES, of=(DistanceCells,))
SQUARED = Step("squares", at_most=SQUARES, of=(BallTotal,))
LEAST_SQUARES_STEPS = SQUARE_SIZES, SQUARED
PER_OCTAVE = 2  # cells of lengths: wide ones stand out of their noise
NEAR = 1 / 8  # radii within which half of the rows hide the others,
FEW = 10  # unless so many times the rows that nobody sees stand out
ALIGNED = 0.3  # part of what is clipped off that points in one direction, as a rule

UNTOLD = (
    "how far least squares are from the line was not told, and intervals of slopes are infinite: "
    "the rows are too few, raise epsilon, or most targets are one number"
)


class NewtonStep:
    """Second derivatives: what steps have released of them, and one number times a Gram matrix.

    Each counts by how little noise it has: one number may be wrong by half, the released matrices
    are those of the model of their step, so that later ones count for more.
    """

    def __init__(self, gram, noise, most):
        self._gram, self._gram_noise, self._most, self.mean = gram, noise, most, most
        self._largest = 0.25 if len(most) == 1 else 0.25 * len(most) / (len(most) - 1)
        self._sums, self._weight = 0.0, 0.0

    def add(self, matrices, sd):
        """Add the matrices of one step; ``sd`` is the noise of an entry on the diagonal."""
        self._sums = KEPT * self._sums + matrices / sd**2
        self._weight = KEPT * self._weight + 1 / sd**2
        size = max(np.trace(self._gram), 1e-300)
        seen = np.trace(self._sums, axis1=1, axis2=2) / self._weight / size
        self.mean = np.clip(seen, FLATTEST * self._most, self._most)

    def of(self, k, steepest=STEEPEST):
        """Return the matrix of column k, positive, and the largest eigenvalue of its noise.

        Where released ones are noise it is the mean curvature, ``steepest`` times.
        """
        mean = min(steepest * self.mean[k], self._largest)
        noise = math.sqrt(2 * len(self._gram) / self._weight)
        part = 1 / (1 + (noise / mean) ** 2)
        both = part * self._sums[k] / self._weight + (1 - part) * mean * self._gram
        noise = math.hypot(part * noise, (1 - part) * mean * self._gram_noise)
        return floored(both, 0.0), noise

    def inverse(self, k, penalty):
        """Return the inverse by which steps of column k go: nowhere longer than noise allows."""
        matrix, noise = self.of(k)
        return inverse(floored(matrix, noise / 2) + noise / 2 * np.eye(len(matrix)) + penalty)


def release_step(table, question, *, share):
    """Release the gradient of the log-likelihood and its second derivatives, clipped.

    Shapes: gradient (K, c); curvature (c, K, K).
    """
    told = table.ask(question, GRADIENT, share=share)
    curvature = told.value[:, :, 1:] * (told.step * question.radius / question.gain)
    symmetric = (curvature + curvature.transpose(0, 2, 1)) / 2
    return told.real[:, :, 0].T, symmetric, told.sd, told.bits


def inverse(S):
    """Return the inverse of a positive matrix, finite if it is singular."""
    values, V = np.linalg.eigh(S)
    return (V / np.maximum(values, 1e-14 * np.max(values))) @ V.T


def floored(S, least):
    """Return a symmetric matrix with eigenvalues of at least ``least``."""
    values, V = np.linalg.eigh(S)
    return (V * np.maximum(values, least)) @ V.T


def ended(table, design, radius, B, start, *, mean, spread, n, bits, share):
    """Release both, say what is doubtful, and return B after them; see :func:`_calibrated`.

    ``start`` are the intercepts of a model without slopes, ``bits`` those of the grid of steps; the
    intercepts take all that ``share`` leaves.
    """
    told, share = {"mean": mean, "spread": spread, "n": n}, Fraction(share)
    B, cost, held = _calibrated(table, design, radius, B, share=share, **told)
    move, error = _last_step(table, design, radius, B, bits)
    B[-1] += move
    if _is_costly(start, error, cost):
        table.doubt(RATES)
    if held or (len(move) == 1 and abs(move[0]) > JUMP):
        table.doubt(UNSETTLED)
    return B


def share_of_last(strength, start):
    """Return the part of the steps for a last one of the intercepts, whose residuals are whole.

    Noise of a tenth of the rows of the rarest class is little beside what clipping takes of them.
    """
    rarest = float(np.min([prior := probabilities(start[None]), 1 - prior]))
    return float(np.clip((10 / (strength * rarest)) ** 2, *LAST))


def _last_step(table, design, radius, B, bits):
    """Release a Newton step of the intercepts of all rows, clipped by nothing, and its noise."""
    question = LogitIntercepts(design, radius, B, bits)
    told = table.ask(question, INTERCEPT, share=table.remaining)
    (gradient, second), sd = told.value, told.scale
    second, noise = second / question.gain, CLEAR * sd / question.gain
    if B.shape[1] > 1:  # diag(p) - p p^T is at most twice its diagonal
        gradient, second = gradient - gradient.mean(), 2 * second
    second = np.maximum(second, noise)
    return np.clip(gradient / second, -LARGEST, LARGEST), sd / second


def _calibrated(table, design, radius, B, *, mean, spread, n, share):
    """Release by which factor all slopes are too steep, or not steep enough.

    Shapes: B (K, c); mean (c,); B (K, c).
    """
    columns, sd = B.shape[1], max(math.sqrt(spread / B.shape[1]), 1e-3)
    strength = n * table.budget.mu * math.sqrt(share) * sd / 4
    width = sd * float(np.clip(QUIET * strength, *REACH))
    question = LogitCalibration(design, radius, B, GRID["most"], mean, width)
    told = table.ask(question, CALIBRATION, share=share)
    second = told.value[2:] / (THIN * question.gain) * (1 + (columns > 1))
    g, sd = told.value[:2], told.scale
    least = CLEAR * sd / question.gain
    weight = np.maximum(second[0], least)
    middle = np.clip(second[1] / weight, -1.0, 1.0)
    gradient = float(np.sum(g[1] - middle * (g[0] - g[0].mean() * (columns > 1))))
    steep = max(float(np.sum(second[2] - middle * second[1])), least)
    noise = sd * math.sqrt(columns + float(middle @ middle)) / (steep * width)
    off = gradient / (steep * width)
    believed = 1 / (1 + (noise / APART) ** 2)
    likely = noise / math.hypot(noise, APART) * math.exp(min(believed * (off / noise) ** 2 / 2, 99))
    factor = 1 + believed * off / (1 + SETTLED / likely)
    B = B * (kept := float(np.clip(factor, *FACTORS)))
    B[-1] += (1 - kept) * (mean + width * middle)
    cost = believed * (2 * noise) ** 2 - max(1 + off - 2 * noise, 0.0) ** 2
    cost *= steep * width**2 * question.step / n / 2
    return B, cost, factor < STEEP


def _is_costly(start, error, cost):
    """Tell whether errors of intercepts, p (1 - p) / 2 of their squares, or a cost are much."""
    p = probabilities(start[None])[0]
    both = np.append(p, 1 - p) if len(p) == 1 else p
    entropy = -both @ np.log(np.maximum(both, 1e-300))
    return bool(max((p * (1 - p)) @ np.square(error) / 2, cost) > COSTLY * entropy)


# --- how far plain least squares are from a line: one gradient without weights, widely clipped


def release_lengths(table, gradients, *, around, share, step, per_octave=8):
    """Release a histogram of the lengths of gradients."""
    bins = LogBins.around(around, per_octave=per_octave, below=BELOW, above=FINE + ABOVE)
    fine = 1 + per_octave * (BELOW + FINE)
    starts, edges = joined(bins, fine, per_octave)
    question = DistanceCells(np.zeros(gradients.dims), bins, starts=starts)
    told = table.map(gradients).ask(question, step, share=share)
    *within, beyond = told.value.astype(float)
    return Distances(np.array(within), edges, told.scale, fine, beyond=beyond)


def release_total(table, gradients, *, radius, share, step):
    """Release the sum of gradients clipped to a ball, and the standard deviation of its noise."""
    told = table.map(gradients).ask(BallTotal(radius), step, share=share)
    return told.real, told.sd


@dataclass(frozen=True)
class LeastSquares:
    """What the gradient g of plain squares at a line tells of least squares."""

    shift: np.ndarray  # shape (K,): least squares are about that far from the line
    inverse: np.ndarray  # shape (K, K): of a matrix that is no larger than the Gram matrix
    noise: float  # standard deviation of the privacy noise of g along any direction
    sd: float  # the same with the choice of rows, at most
    # length of what the rows that are clipped, and those that nobody sees, may add to g; infinite
    # if nothing is told
    excess: float
    gradient: np.ndarray | None = None  # shape (K,): g itself, for each row
    unseen: float = 0.0  # part of the rows that nobody may see

    @classmethod
    def unknown(cls, K):
        """Return what tells nothing."""
        return cls(np.zeros(K), np.eye(K), math.inf, math.inf, math.inf)

    @property
    def told(self):
        """Whether anything is told."""
        return math.isfinite(self.excess)

    def beside(self, T):
        """Return shift, noise, sd and excess of coefficients T b, each of shape (len(T),)."""
        with np.errstate(all="ignore"):
            length = np.linalg.norm(T @ self.inverse, axis=1)
            sizes = [length * size for size in (self.noise, self.sd, self.excess)]
            shift = np.nan_to_num(T @ self.shift)
        return shift, *(np.nan_to_num(size, nan=math.inf, posinf=math.inf) for size in sizes)


def ends(z, shift, noise, excess):
    """Return how far below and above a model least squares of these rows are."""
    half = z * noise + ALIGNED * excess
    return np.minimum(shift, 0.0) - half, np.maximum(shift, 0.0) + half


def named(told, name):
    """Return the attributes of an estimator that tell what :meth:`LeastSquares.beside` does."""
    names = "shift", "noise_scale", "scale", "excess"
    return {f"{name}_{part}_": values for part, values in zip(names, told, strict=True)}


def least_squares(table, gradients, *, share, matrix, sd, offset, radius, n, slope=0.0):
    """Release how far plain least squares, or a greatest likelihood, are from a model b.

    Shapes: matrix (K, K); offset (K,).

    Notes
    -----
    **Why it is right**: with S the mean of v v^T and G that of v (y - b.v), over these rows or over
    the population, least squares are b + S^-1 G for *every* b: no straight line, no errors alike
    everywhere are asked for. The mean of the clipped vectors is G of these rows, but for noise of
    known size and for what is clipped off, no longer than its mean length, which the histogram
    tells with an extrapolated tail; for the population also for the choice of n rows, of a variance
    of at most E |v (y - b.v)|^2 / n along any direction, which the histogram of lengths bounds (the
    sandwich's meat is no larger than its trace). Weights w <= 1, and features clipped towards their
    centre, make H = E w v v^T no larger than S with one coordinate, and what the noise of H rarely
    exceeds is taken off besides: least squares lie between b and b + H^-1 G. With several, where
    far rows have less weight, that is so as a rule. With classes H holds the second derivatives
    near b, and all of this is so to first order in the distance of b.

    Most targets may be one number where half of the lengths are next to nothing: then nothing is
    told, unless the line is so steep that these lengths would be longer. Half of the rows lie on
    it then, and the excess counts what ten times the rows that nobody sees may add, all as far off
    the line as it is spread, in one direction.
    """
    K, mu, sizes = len(offset), table.budget.mu, SIZES * float(share)
    lengths = release_lengths(
        table,
        gradients,
        around=radius,
        share=sizes,
        step=SQUARE_SIZES,
        per_octave=PER_OCTAVE,
    )
    tail = Tail(lengths, n, false=LEAST_SQUARES)
    inverse = _inverse(matrix, sd)
    hidden = tail.empty or not np.isfinite(tail.excess(radius)[0])
    alike = not hidden and _nearly_equal(lengths, tail, radius, n)
    if hidden or inverse is None or (alike and not radius < slope < math.inf):
        return LeastSquares.unknown(K)
    beside = FEW * tail.unseen / n * math.sqrt(K) * slope / ALIGNED if alike else 0.0
    share -= Fraction(sizes)
    clip = tail.best(math.sqrt(K / share) / (n * mu), ALIGNED)
    total, sd = release_total(table, gradients, radius=clip.radius, share=share, step=SQUARED)
    drawn = min(clip.spread, clip.radius) / math.sqrt(n)
    gradient, shift = total / n, inverse @ (total / n - offset)
    sampled, excess, unseen = math.hypot(sd / n, drawn), clip.excess + beside, tail.unseen / n
    return LeastSquares(shift, inverse, sd / n, sampled, excess, gradient, unseen)


def _nearly_equal(lengths, tail, radius, n):
    """Return whether lengths are those of equal rows: next to none stands out of them.

    Where most targets are one number, gradients shrink with every step as far as noise lets them,
    and the few rows that are worth a slope are not seen.
    """
    beyond = lengths.edges > NEAR * radius
    clear = FEW * tail.unseen
    return lengths.counts[~beyond].sum() > n / 2 and lengths.counts[beyond].sum() < clear


def _inverse(matrix, sd):
    """Return the inverse of a released matrix less its noise, None if that hides a direction."""
    values, vectors = np.linalg.eigh(matrix)
    values -= sd * math.sqrt(2 * len(values))
    if not values[0] > 0:
        return None
    return (vectors / values) @ vectors.T
