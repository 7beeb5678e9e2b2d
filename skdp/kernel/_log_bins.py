"""Bins of positive floats on a logarithmic axis."""

import math

import numpy as np

from skdp.kernel._statistic import MOST_CELLS, public, refuse

__all__ = ["HIGHEST_OCTAVE", "LARGEST", "LOWEST_OCTAVE", "LogBins"]

LOWEST_OCTAVE, HIGHEST_OCTAVE = -1074, 1024  # all positive float64 lie in [2^-1074, 2^1024)
LARGEST = float(np.finfo(np.float64).max)


@public
class LogBins:
    """Bins ``[2^(i/p), 2^((i+1)/p))`` for ``p`` bins per octave over a public range of octaves.

    Bin 0 takes what lies below the range, zeros included; the last bin takes what lies above.

    Parameters
    ----------
    per_octave : int
    low, high : int, default=all of float64
        The range is ``[2^low, 2^high)``.

    See Also
    --------
    read_scale

    Notes
    -----
    **Privacy**: a value falls into one bin, and NaN into none. So a histogram with one value per
    row has sensitivity 1 (l1 and l2, add or remove one row). The bin is found by frexp and
    comparisons with constants, so it is a function of the value alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins
    >>> bins = LogBins(1, low=0, high=4)  # below 1; [1, 2), [2, 4), [4, 8), [8, 16); from 16 on
    >>> bins.counts(np.array([0.0, 1.0, 3.0, 3.5, 100.0])).tolist()
    [1, 1, 2, 0, 0, 1]
    """

    per_octave: int
    low: int = LOWEST_OCTAVE
    high: int = HIGHEST_OCTAVE

    @classmethod
    def around(cls, value, *, per_octave, below, above):
        """Return bins for ``below`` octaves up to that of a public value, and ``above`` over it."""
        octave = math.frexp(min(max(value, 0.0), LARGEST))[1] if value > 0 else LOWEST_OCTAVE
        low = min(max(octave - below, LOWEST_OCTAVE), HIGHEST_OCTAVE - 1)
        return cls(per_octave, low, max(low + 1, min(octave + above, HIGHEST_OCTAVE)))

    def check(self):
        """Raise ValueError for bins that no histogram has."""
        refuse(self.per_octave < 1 or self.low >= self.high, "bins of some octaves")
        refuse(self.n_bins > MOST_CELLS, "a histogram has from 1 to 2^24 cells")

    @property
    def n_bins(self):
        """Number of bins, with the two outer ones."""
        return self.per_octave * (self.high - self.low) + 2

    def index(self, values):
        """Return the bin of every value; -1 for NaN.

        Parameters
        ----------
        values : ndarray of float64, >= 0 or NaN

        Returns
        -------
        index : ndarray of int64, same shape
        """
        mantissa, exponent = np.frexp(values)
        bins = (exponent.astype(np.int64) - 1 - self.low) * self.per_octave
        if self.per_octave > 1:
            steps = np.exp2(np.arange(1, self.per_octave) / self.per_octave) / 2
            bins += np.searchsorted(steps, mantissa, side="right")
        bins += 1
        np.clip(bins, 0, self.n_bins - 1, out=bins)
        bins[values == 0] = 0
        bins[np.isinf(values)] = self.n_bins - 1
        bins[np.isnan(values)] = -1
        return bins

    def counts(self, values):
        """Return the histogram of a one-dimensional array."""
        index = self.index(np.asarray(values, dtype=np.float64))
        return np.bincount(index[index >= 0], minlength=self.n_bins)

    def column_counts(self, values):
        """Return the histograms of the columns of an array of shape (n, d), shape (d, n_bins)."""
        n, d = values.shape
        index = self.index(np.asarray(values, dtype=np.float64).reshape(-1)).reshape(n, d)
        flat = (index + np.arange(d) * self.n_bins)[index >= 0]
        return np.bincount(flat, minlength=d * self.n_bins).reshape(d, self.n_bins)

    def upper_edge(self, index):
        """Return the upper edge of a bin, at most the largest float; 0 for the lowest bin."""
        if index <= 0:
            return 0.0 if self.low == LOWEST_OCTAVE else 2.0**self.low
        exponent = self.low + index / self.per_octave
        return LARGEST if exponent >= HIGHEST_OCTAVE else 2.0**exponent
