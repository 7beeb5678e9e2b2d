"""What clipping takes from the trace of a covariance matrix: what is seen, and the tail beyond."""

import math

import numpy as np

__all__ = ["TailLoss"]

RARE = 0.02  # probability that a row lies farther than what is reckoned with
STEEP, HEAVIEST = 8.0, 1.0  # rows at the start of a slope for one at its end; least power

FAR, FEW = 0.01, 10.0  # rows in the tail: that part of all, or that many standard deviations
NEXT = 8.0  # times an edge: how far rows beyond it are looked for


class TailLoss:
    """What clipping to a radius takes from the mean squared distance, by released counts.

    Notes
    -----
    Post-processing. For an edge t: up to t, the rows in the released cells and so many standard
    deviations of their noise, all at the far ends of their cells. Beyond t, U rows, those that are
    counted up to 8 t and to the last cell that stands out, and so many standard deviations of that
    noise. These are assumed to thin out as a power law at least as steep as before,
    P(> x t) <= P(> t) x^-a, with the least slope a that the counts allow from an edge on beyond
    which at least eight times as many rows lie.
    None of U such rows is beyond X t, X^a = U / RARE, but with probability RARE. Up to there
    x^2 - 1 has the mean 2 (X^(2 - a) - 1) / (2 - a); X^2 - 1 more, times ``sure`` / 2, for how much
    a sum of U terms varies. The answer is the least over all t in the
    tail, and no less than the cells tell up to the last one that stands out.
    """

    def __init__(self, distances, n, top, *, sure):
        self._edges, self._counts, self._sd = distances.edges, distances.counts, distances.sd
        self._n, self._top, self._sure = n, top, sure
        usable = []
        for i, t in enumerate(self._edges):
            stop = max(int(np.searchsorted(self._edges, NEXT * t, side="right")), top)
            power, rows = self._slope(i, stop)
            if power > HEAVIEST and rows <= max(FAR * n, FEW * self._sd):
                usable.append((i, power, rows))
        self._usable = usable

    def __call__(self, radii):
        """Return the loss for every radius, infinite where the tail may hold anything."""
        radii = np.asarray(radii, dtype=np.float64)
        least = np.full(radii.shape, math.inf)
        if not self._usable:
            return least
        gains = np.maximum(np.square(self._edges)[:, None] - np.square(radii), 0.0)
        seen = np.cumsum(self._counts[:, None] * gains, axis=0)
        told = seen[self._top - 1].copy()
        seen += self._sure * self._sd * np.sqrt(np.cumsum(np.square(gains), axis=0))
        for i, power, rows in self._usable:
            start = np.maximum(self._edges[i], radii)
            left = np.maximum(rows * (self._edges[i] / start) ** power, RARE)
            far = self._excess(power, left) * np.square(start) + rows * gains[i]
            least = np.minimum(least, np.maximum(seen[i], 0.0) + far)
        return np.maximum(least, told) / self._n

    def _slope(self, i, stop):
        """Return the least power of the tail before edge i, and the most rows beyond it."""
        beyond = self._counts[i + 1 : stop]
        noise = self._sure * self._sd
        most = max(float(beyond.sum()), 0.0) + noise * math.sqrt(max(len(beyond), 1))
        mass = np.cumsum(self._counts[: i + 1][::-1])  # in the cells down from edge i
        rows = most + mass - noise * np.sqrt(np.arange(1, i + 2))
        enough = np.flatnonzero(rows[:-1] >= STEEP * most)  # the lowest cell has no lower edge
        if not enough.size:
            return 0.0, most
        j = int(enough[0])
        octaves = math.log(self._edges[i] / self._edges[i - j - 1])
        return math.log(rows[j] / most) / octaves, most

    def _excess(self, power, rows):
        """Return what ``rows`` of a power law beyond 1 have in squares beyond 1, as a rule."""
        far = np.log(rows / RARE) / power
        gap = np.minimum((2 - power) * far, 600.0)
        mean = 2 * far if abs(power - 2) < 1e-9 else 2 * np.expm1(gap) / (2 - power)
        return rows * mean + self._sure / 2 * np.expm1(np.minimum(2 * far, 600.0))
