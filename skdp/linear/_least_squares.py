"""How far plain least squares are from a line: one gradient without weights, widely clipped."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.linear._gradients import release_lengths, release_total
from skdp.location._clip import Tail

__all__ = ["SQUARES", "LeastSquares", "least_squares", "least_squares_steps"]

SQUARES = 0.3  # of what the steps have
SIZES = 0.4  # of that
PER_OCTAVE = 2  # cells of lengths: wide ones stand out of their noise
FALSE = 1e-4, 1e-6  # probability that noise passes for rows, in narrow cells and in wide ones
NEAR = 1 / 8  # radii within which half of the rows hide the others,
FEW = 10  # unless so many times the rows that nobody sees stand out
MISSED = 0.7  # weight of what is clipped off beside noise


UNTOLD = (
    "how far least squares are from the line was not told, and its intervals for the population "
    "are infinite: the rows are too few, or most targets are one number"
)


@dataclass(frozen=True)
class LeastSquares:
    """What the gradient g of plain squares at a line tells of least squares.

    Attributes
    ----------
    shift : ndarray of shape (K,)
        Least squares are about that far from the line.
    inverse : ndarray of shape (K, K)
        Of a matrix that is no larger than the Gram matrix.
    sd : float
        Standard deviation of g along any direction, at most: noise, and the choice of rows.
    excess : float
        Length of what the rows that are clipped, and those that nobody sees, may add to g; infinite
        if nothing is told.
    """

    shift: np.ndarray
    inverse: np.ndarray
    sd: float
    excess: float

    @classmethod
    def unknown(cls, K):
        """Return what tells nothing."""
        return cls(np.zeros(K), np.eye(K), math.inf, math.inf)


def least_squares_steps():
    """Return the planned steps of :func:`least_squares`."""
    return Step("squares sizes", at_most=SQUARES * SIZES), Step("squares", at_most=SQUARES)


def least_squares(rows, curator, target, b, *, gram, penalty, radius, n):
    """Release with all that is left how far plain least squares are from a line b, or spend less.

    Parameters
    ----------
    rows, curator
    target : _Target
        What is seen of a row.
    b : ndarray of shape (K,)
        Released.
    gram : WeightedGram
    penalty : ndarray of shape (K, K)
        Of a ridge, over n.
    radius : float
        To which gradients were clipped.
    n : float
        Released number of rows.

    Returns
    -------
    squares : LeastSquares
        Unknown, and most of what was left is left still, where lengths or matrix tell nothing.

    Notes
    -----
    **Privacy** (add or remove one row): the lengths and the clipped sum of the vectors
    v (y - b.v), functions of the row and of releases: :mod:`skdp.linear._gradients`.

    **Why it is right**: with S = E v v^T and G = E v (y - b.v) of the population, least squares are
    b + S^-1 G for *every* b: no straight line, no errors alike everywhere are asked for. The mean
    of the clipped vectors is G, but for noise of known size; for the choice of n rows, of a
    variance of at most E |v (y - b.v)|^2 / n along any direction, which the histogram of lengths
    bounds (the sandwich's meat is no larger than its trace); and for what is clipped off, no longer
    than its mean length, which the histogram tells with an extrapolated tail. Weights w <= 1, and
    features clipped towards their centre, make H = E w v v^T no larger than S with one coordinate,
    and what the noise of H rarely exceeds is taken off besides: least squares lie between b and
    b + H^-1 G. With several, where far rows have less weight, that is so as a rule.
    """
    whole = target.everywhere()
    K, mu, sizes = len(b), curator.budget.mu, SIZES * float(curator.remaining)

    def parts(block):
        return whole.gradients(block, b, math.inf)

    lengths = release_lengths(
        rows,
        curator,
        parts,
        around=radius,
        share=sizes,
        label="squares sizes",
        per_octave=PER_OCTAVE,
    )
    tail = Tail(lengths, n, false=FALSE)
    inverse = _inverse(gram, penalty)
    hidden = tail.empty or not np.isfinite(tail.excess(radius)[0])
    if hidden or inverse is None or _alike(lengths, tail, radius, n):
        curator.doubt(UNTOLD)
        return LeastSquares.unknown(K)
    share = curator.remaining
    clip = tail.best(math.sqrt(K / share) / (n * mu), MISSED)
    total, sd = release_total(
        rows, curator, parts, dims=K, radius=clip.radius, share=share, label="squares"
    )
    g = total / n - penalty @ b
    drawn = min(clip.spread, clip.radius) / math.sqrt(n)
    return LeastSquares(inverse @ g, inverse, math.hypot(sd / n, drawn), clip.excess)


def _alike(lengths, tail, radius, n):
    """Return whether lengths are those of equal rows: next to none stands out of them.

    Where most targets are one number, gradients shrink with every step as far as noise lets them,
    and the few rows that are worth a slope are not seen.
    """
    beyond = lengths.edges > NEAR * radius
    clear = FEW * tail.unseen
    return lengths.counts[~beyond].sum() > n / 2 and lengths.counts[beyond].sum() < clear


def _inverse(gram, penalty):
    """Return the inverse of a released matrix less its noise, None if that hides a direction."""
    values, vectors = np.linalg.eigh(gram.gram + penalty)
    values -= gram.sd * math.sqrt(2 * len(values))
    if not values[0] > 0:
        return None
    return (vectors / values) @ vectors.T
