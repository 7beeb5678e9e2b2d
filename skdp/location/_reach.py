"""How far the rows of every column reach from a centre."""

import numpy as np

from skdp.chunks import map_merge
from skdp.location._clip import Distances, Tail
from skdp.mechanisms import finite_rows
from skdp.scales import LogBins, top_scale

__all__ = ["Reach", "release_reach"]

BINS = LogBins(2)
OCTAVES_BELOW, OCTAVES_ABOVE = 6, 10


class Reach:
    """A released histogram of the distances of one column from a centre.

    Parameters
    ----------
    counts : ndarray of shape (BINS.n_bins,)
        Released, of distances in units of ``unit``.
    scale : float
        Of the noise in the counts.
    law : {"gaussian", "laplace"}
    n_rows : float
        Released number of rows.
    unit : float
    """

    def __init__(self, counts, scale, law, n_rows, unit):
        self._counts, self._scale, self._law = np.asarray(counts, dtype=np.float64), scale, law
        self._n, self._unit = n_rows, unit

    def beyond(self, tail):
        """Return the radius beyond which a part ``tail`` of the rows lies; 0.0 if none is seen."""
        return self._unit * (self._top(self._n, tail=tail) or 0.0)

    def _top(self, n, **options):
        return top_scale(self._counts, self._scale, n, BINS, law=self._law, **options)

    def best(self, noise, power=1):
        """Return the radius at which noise and bias of a mean of clipped powers balance.

        Parameters
        ----------
        noise : float
            Standard deviation of the noise in the mean, per unit of the clip radius.
        power : {1, 2}, default=1

        Returns
        -------
        radius : float
            0.0 if nothing but zeros is seen.
        """
        bulk = self._top(1.0)  # the farthest rows that are seen
        if not bulk:
            return 0.0
        top = int(BINS.index(np.array([bulk]))[0])
        part = slice(
            max(1, top - OCTAVES_BELOW * BINS.per_octave),
            min(BINS.n_bins - 1, top + OCTAVES_ABOVE * BINS.per_octave),
        )
        octaves = (np.arange(part.start, part.stop) + 1 - top) / BINS.per_octave
        counts = self._counts[part]
        edges = np.exp2(power * octaves)
        tail = Tail(Distances(counts, edges, self._scale, counts.size, self._law), self._n)
        radius = 1.0 if tail.empty else tail.best(noise, 1.0).radius
        return min(self._unit * bulk * radius ** (1 / power), 2.0**1000)


def release_reach(rows, noise, *, center, unit, n_rows, share, label):
    """Release how far the entries of every column are from a point.

    Parameters
    ----------
    rows : ArrayRows of length d
    noise : ColumnNoise
    center, unit : ndarrays of shape (d,)
        Public or released; lengths near the unit are found in fewer rows.
    n_rows : float
        Released number of rows.
    share : float
    label : str

    Returns
    -------
    reach : list of d Reach

    Notes
    -----
    **Privacy** (add or remove one row): an entry falls into one bin of its column's histogram, as a
    function of itself, so d of all numbers move, by 1 each; rows with NaN or infinity into none.
    """

    def statistic(start, block):
        Z = np.asarray(block[finite_rows(block)], dtype=np.float64)
        return BINS.column_counts(np.abs(Z - center) / unit)

    counts = map_merge(rows, statistic, np.add)
    release = noise.spread(counts, columns=rows.n_features, share=share, label=label)
    law = release.scale, noise.law
    return [Reach(c, *law, n_rows, u) for c, u in zip(release.value, unit, strict=True)]
