"""How far rows are spread, at most, by released histograms of their distances from a point."""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["Squares", "mean_square"]

SURE = 2.0  # standard deviations of the noise, which are added


def mean_square(counts, edges, sd, n):
    """Return an upper bound of the mean of squared distances, and the part of it that is noise.

    Notes
    -----
    A row in a cell is no farther than its edge, so the exact counts would give an upper bound. The
    noise in their sum is known, and ``SURE`` of its standard deviations are added. What lies in no
    cell that is given is not in it.
    """
    weight = np.square(edges)
    noise = SURE * sd * math.sqrt(np.sum(np.square(weight))) / n
    return max(float(counts @ weight) / n, 0.0) + noise, noise


@dataclass(frozen=True)
class Squares:
    """The mean of squared distances from a point: at most ``square``, in squares of ``unit``.

    ``noise`` is what of it stands for noise.
    """

    center: float
    unit: float
    square: float
    noise: float

    def deviation(self, mean, sd):
        """Return an upper bound of the standard deviation of the rows.

        Notes
        -----
        The variance is the mean square less the square of the distance of the mean, of which
        ``SURE`` standard deviations are taken off first.
        """
        offset = max(abs(mean - self.center) - SURE * sd, 0.0) / self.unit
        return math.sqrt(max(self.square - offset * offset, self.noise)) * self.unit

    def least(self, mean, sd):
        """Return a low estimate of the same, 0 where the noise hides it; parameters as there.

        Notes
        -----
        ``square`` less twice ``noise`` is, as surely as ``SURE`` says, no more than the mean square
        of the edges of cells. A row lies up to half an octave below its edge, so the value may be
        too large by a factor of at most sqrt(2): no bound, but what verdicts compare with.
        """
        offset = (abs(mean - self.center) + SURE * sd) / self.unit
        return math.sqrt(max(self.square - 2 * self.noise - offset * offset, 0.0)) * self.unit
