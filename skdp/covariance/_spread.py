"""How far the rows are from the centre of a frame: released histograms and what they tell."""

import math

import numpy as np

from skdp.location._clip import Clip, Distances, Tail
from skdp.mechanisms import row_norms
from skdp.scales import LogBins, top_scale

__all__ = ["Spread", "release_size", "release_spread"]

BELOW, FINE, ABOVE = 6, 2, 12  # octaves around the square root of the number of coordinates
FAR = 2.5  # rows beyond that many times the distance that a twentieth exceed are outliers


class Spread(Tail):
    """A released histogram of distances, read as the law of the distance.

    Notes
    -----
    Nothing here is more than post-processing. The histogram ends at the highest cells that stand
    out of the noise.
    """

    def __init__(self, distances, n_rows):
        super().__init__(distances, n_rows)
        self._sd, self._raw = distances.sd, distances.counts
        self.distances = distances

    def quantile(self, part):
        """Return a distance that about ``part`` of the rows exceed."""
        top = len(self._edges) - 1
        mass = np.cumsum(self._raw[top::-1])
        cells = np.arange(1, len(mass) + 1)
        enough = mass > np.maximum(part * self._n, 3.5 * self._sd * np.sqrt(cells))
        return float(self._edges[top - int(np.argmax(enough))]) if enough.any() else self._edges[0]

    def mean_square(self, radii):
        """Return the mean of the squared distance clipped to each of ``radii``."""
        reach = np.minimum(self._edges, np.atleast_1d(radii)[:, None])
        low = np.minimum(self._lower, reach)
        return (reach * reach + low * low) / 2 @ self._counts / self._n

    def best_radius(self, noise, alignment):
        """Return the Clip whose noise and bias balance, its excess that of the squared lengths.

        ``noise`` is the Frobenius norm of the noise of the covariance per squared radius. Clipping
        takes the excess from its trace: ``alignment`` times that from its Frobenius norm as a rule.
        """
        d = self.distances
        tail = Tail(Distances(d.counts, d.edges**2, d.sd, d.fine), self._n)
        squares = tail.candidates()
        squares = squares[squares <= (FAR * self.quantile(0.05)) ** 2]
        excess = tail.excess(squares)
        loss = np.square(noise * squares) + np.square(alignment * excess)
        best = int(np.argmin(np.nan_to_num(loss, nan=math.inf)))
        return Clip(math.sqrt(squares[best]), float(excess[best]))


def release_spread(rows, curator, frame, *, per_octave, share, label):
    """Release how many rows lie at which distance from the centre of a frame.

    Returns
    -------
    spread : Spread

    Notes
    -----
    **Privacy** (add or remove one row): one row falls into at most one cell: sensitivity 1.
    """
    bins = LogBins.around(
        math.sqrt(frame.dims), per_octave=per_octave, below=BELOW, above=FINE + ABOVE
    )
    fine = 1 + per_octave * (BELOW + FINE)
    last = bins.n_bins - 1
    starts = np.append(np.arange(fine), np.arange(fine, last, per_octave))
    edges = np.array([bins.upper_edge(i) for i in np.append(starts[1:], last) - 1])

    def statistic(block):
        total = np.zeros(bins.n_bins, dtype=np.int64)
        for y in frame.parts(block):
            total += bins.counts(row_norms(y))
        return total

    counts = np.add.reduceat(rows.total(statistic)[:last], starts)
    release = curator.gaussian(counts, sensitivity=1, share=share, label=label)
    return Spread(Distances(release.value.astype(float), edges, release.scale, fine), rows.n)


def release_size(rows, curator, frame, *, share, label):
    """Release the root mean square of the lengths of the rows in a frame, over all floats.

    It leaves out the longest hundredth. 0.0 if the others are zeros, None if nothing is seen.

    Notes
    -----
    **Privacy** (add or remove one row): one row falls into at most one bin: sensitivity 1.
    """
    bins = LogBins(1)

    def statistic(block):
        total = np.zeros(bins.n_bins, dtype=np.int64)
        for y in frame.parts(block):
            total += bins.counts(row_norms(y))
        return total

    release = curator.gaussian(rows.total(statistic), sensitivity=1, share=share, label=label)
    top = top_scale(release.value, release.scale, rows.n, bins, tail=0.01)
    if not top:
        return top
    at = int(bins.index(np.array([top / 2]))[0])  # the bin below this edge
    cells = np.arange(max(at - 7, 1), at + 1)
    parts = np.maximum(release.value[cells], 0) / rows.n
    ratios = np.exp2(cells - at) ** 2
    mean_square = parts @ ratios * (7 / 12)  # evenly spread over an octave
    return top * math.sqrt(float(np.clip(mean_square, 1e-4, 1.0)))
