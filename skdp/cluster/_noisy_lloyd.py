"""Steps of Lloyd with noise: sums of clipped rows around each centre, and counts."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.chunks import map_merge
from skdp.cluster._lattice import Lattice
from skdp.mechanisms import ball_sum
from skdp.mechanisms._exact import sqrt_up

__all__ = ["CellSums", "noisy_cell_sums", "private_lloyd"]

MOST_BITS = 20  # a row of the length of its clip radius is 2^20 grid units long
NOISE_BITS = 40  # noise stays below 2^40 grid units
COUNT_WEIGHT = Fraction(1, 2)  # of a count beside a row of unit length


@dataclass(frozen=True)
class CellSums:
    """Released counts (k,) and sums (k, d) of rows around their centres, with their noise.

    ``count_sd`` is the standard deviation of a count, ``sum_sd`` (k,) that of an entry of a sum.
    """

    counts: np.ndarray
    sums: np.ndarray
    count_sd: float
    sum_sd: np.ndarray

    def moved(self, centers, radii):
        """Return the centres moved to their means, where the step is more than noise.

        A centre stays if its rows do not stand out, or if noise would carry it beyond its radius.
        """
        counts = np.maximum(self.counts, 1.0)[:, None]
        noise = self.sum_sd * math.sqrt(self.sums.shape[1])
        sure = (self.counts > 2 * self.count_sd) & (noise < radii * counts[:, 0])
        return np.where(sure[:, None], centers + self.sums / counts, centers)


def noisy_cell_sums(rows, curator, located, centers, radii, *, share, label):
    """Release the number of rows of every cell and the sum of their differences to its centre.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        Noise is Laplace for a pure budget, else Gaussian.
    located : Located
        Rows beyond twice its radius are left out.
    centers : ndarray of shape (k, d)
        Released. A row belongs to the nearest, ties to the first.
    radii : ndarray of shape (k,)
        Released: differences to a centre are clipped to its radius.
    share : float or Fraction
    label : str

    Returns
    -------
    sums : CellSums

    Notes
    -----
    **Privacy** (add or remove one row). A row belongs to one cell or none, by itself
    (:class:`Lattice`), and adds (A, q) there: q an integer vector of length at most 2^bits, A =
    floor(a 2^bits). All cells together have the l2 sensitivity sqrt(4^bits + A^2), whatever k is,
    and the l1 sensitivity A + sqrt(d) 2^bits, as |q|_1 <= sqrt(d) |q|. The sums are exact.
    """
    k, d = centers.shape
    pure = curator.budget.unit == "pure"
    a = float(COUNT_WEIGHT) * (math.sqrt(d) if pure else 1)
    bits = _bits(float(curator.budget.amount) * float(share), d, pure)
    A = math.floor(a * 2**bits)
    lattice = Lattice(located)
    points = lattice.points(located.to_units(centers))

    def statistic(start, block):
        labels, _ = lattice.labels(block, points)
        cells = np.zeros((k, 1 + d), dtype=np.int64)
        for j in range(k):
            mine = block[labels == j]
            total, kept = ball_sum(mine, center=centers[j], radius=radii[j], bits=bits)
            cells[j, 0], cells[j, 1:] = A * kept, total
        return cells

    cells = map_merge(rows, statistic, np.add)
    if pure:
        sensitivity, draw = A + Fraction(sqrt_up(Fraction(d))) * 2**bits, curator.laplace
    else:
        sensitivity, draw = sqrt_up(Fraction(4**bits + A * A)), curator.gaussian
    release = draw(cells, sensitivity=sensitivity, share=share, label=label)
    sd = release.scale * (math.sqrt(2) if pure else 1)
    unit = np.asarray(radii) / 2**bits
    return CellSums(
        release.value[:, 0] / A, release.value[:, 1:] * unit[:, None], sd / A, sd * unit
    )


def private_lloyd(rows, curator, located, centers, *, share, label, radii=None):
    """Take one private step of Lloyd: every centre moves to the noisy mean of its rows.

    Parameters
    ----------
    rows, curator, located, centers, share, label
        As for :func:`noisy_cell_sums`.
    radii : ndarray of shape (k,), default=None
        None takes the distance to the nearest other centre, at most the radius of the ball.

    Returns
    -------
    centers : ndarray of shape (k, d)
    """
    if radii is None:
        radii = nearest_distances(centers, located)
    sums = noisy_cell_sums(rows, curator, located, centers, radii, share=share, label=label)
    return located.to_data(located.to_units(sums.moved(centers, radii)))


def nearest_distances(centers, located):
    """Return for every centre the distance to the nearest other, from 2^-20 to 1 radius."""
    y = located.to_units(centers)
    far = np.sqrt(np.square(y[:, None] - y).sum(axis=2))
    np.fill_diagonal(far, np.inf)
    return np.clip(far.min(axis=1), 2.0**-20, 1.0) * located.radius


def _bits(cost, d, pure):
    noise = (1 + math.sqrt(d)) / cost if pure else 2 / math.sqrt(cost)
    return min(MOST_BITS, max(2, NOISE_BITS - math.ceil(math.log2(noise))))
