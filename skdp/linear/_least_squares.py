"""How far plain least squares are from a line: one gradient without weights, widely clipped."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import LogBins
from skdp.kernel._sums import BallTotal
from skdp.kernel._sums import Distances as DistanceCells
from skdp.location._clip import Distances, Tail, joined
from skdp.scales._significance import LEAST_SQUARES

BELOW, FINE, ABOVE = 5, 1, 13  # octaves of lengths: narrow cells up to FINE, whole octaves above


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
    shift = inverse @ (total / n - offset)
    return LeastSquares(shift, inverse, sd / n, math.hypot(sd / n, drawn), clip.excess + beside)


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
