"""Histograms of positive floats on a logarithmic axis, and reading a scale off a noisy one."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from skdp.scales._noise_level import noise_level, rounded_level

__all__ = ["LogBins", "Reading", "clear_levels", "highest_window", "read_scale", "top_scale"]

LOWEST_OCTAVE, HIGHEST_OCTAVE = -1074, 1024  # all positive float64 lie in [2^-1074, 2^1024)
LARGEST = float(np.finfo(np.float64).max)
FALSE_ANCHOR = 2e-4  # probability that noise alone passes for a scale


@dataclass(frozen=True)
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


class Reading(NamedTuple):
    """What a released histogram of lengths tells: nothing, that they are zeros, or a scale.

    Attributes
    ----------
    seen : bool
        Whether anything stands out of the noise.
    scale : float
        Below which all but a tail of the lengths lie; 0.0 if there is none. Where most are zeros,
        below which all lie that stand out.
    bulk : float
        The same, but 0.0 where most are zeros.

    See Also
    --------
    read_scale

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins, read_scale
    >>> bins = LogBins(1, low=-8, high=8)
    >>> counts = bins.counts(np.random.default_rng(0).uniform(size=1000))
    >>> reading = read_scale(counts, 1.0, 1000, bins)
    >>> reading.seen, reading.scale
    (True, 1.0)
    """

    seen: bool
    scale: float = 0.0
    bulk: float = 0.0

    @property
    def nothing(self):
        """Whether nothing stands out of the noise."""
        return not self.seen

    @property
    def zeros(self):
        """Whether zeros stand out, and nothing else."""
        return self.seen and self.scale == 0


def read_scale(counts, scale, n_rows, bins, *, tail=0.1, law="gaussian"):
    """Read off a noisy log histogram the scale below which all but a tail of the values lie.

    The anchor is the highest window of 1, 2, 4... bins that holds a good part of the rows, or, if
    there is none, the highest that stands clear of the noise. From two bins above the anchor the
    mass is summed downwards until it exceeds the tail and the noise of the sum. Where that ends
    among zeros, most values are alike; the scale then is that of the highest window that stands
    clear, and zero only if there is none but theirs.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Released counts.
    scale : float
        Of their noise: the standard deviation, or b of Laplace noise.
    n_rows : float
        Released number of values.
    bins : LogBins
    tail : float, default=0.1
        Part of the values that may lie above the answer.
    law : {"gaussian", "laplace"}, default="gaussian"
        Of the noise.

    Returns
    -------
    reading : Reading
        Nothing is seen where there are no values, and no scale where all of them are zeros, with a
        probability of at least 1 - 2e-4, whatever the law.

    See Also
    --------
    LogBins, Reading, top_scale

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins, read_scale
    >>> bins = LogBins(1, low=-8, high=8)
    >>> counts = bins.counts(np.random.default_rng(0).uniform(0, 20, size=1000))
    >>> read_scale(counts, 1.0, 1000, bins).scale
    32.0
    """
    counts = np.asarray(counts, dtype=np.float64)
    widths = [2**i for i in range(3 if bins.per_octave < 4 else bins.per_octave.bit_length() + 1)]
    sd = scale * (math.sqrt(2) if law == "laplace" else 1)
    heavy = seen = beside = -1
    for width, clear in zip(widths, clear_levels(bins, widths, scale, law=law), strict=True):
        clear = clear[: counts.size - width + 1]
        heavy = max(heavy, highest_window(counts, width, np.maximum(clear, 0.3 * n_rows)))
        seen = max(seen, highest_window(counts, width, clear))
        beside = max(beside, highest_window(counts[1:], width, clear[1:]))
    anchor = heavy if heavy >= 0 else seen
    if anchor < 0:
        return Reading(False)
    start = min(anchor + max(2, bins.per_octave // 2), counts.size - 1)
    mass = np.cumsum(counts[start::-1])
    enough = mass > np.maximum(tail * n_rows, 2.5 * sd * np.sqrt(np.arange(1, mass.size + 1)))
    stop = int(np.argmax(enough)) if enough.any() else start - anchor
    top = start - stop
    others = beside + 1 if top == 0 and beside >= 0 else top
    return Reading(True, bins.upper_edge(others), bins.upper_edge(top))


def top_scale(counts, scale, n_rows, bins, **options):
    """Return the scale of the bulk, as :func:`read_scale` tells it, or None for nothing.

    Parameters
    ----------
    counts, scale, n_rows, bins
        As for :func:`read_scale`.
    **options
        Its ``tail`` and ``law``.

    Returns
    -------
    scale : float or None

    See Also
    --------
    read_scale

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins, top_scale
    >>> bins = LogBins(1, low=-8, high=8)
    >>> top_scale(bins.counts(np.full(1000, 3.0)), 1.0, 1000, bins)
    4.0
    """
    told = read_scale(counts, scale, n_rows, bins, **options)
    return None if told.nothing else told.bulk


def clear_levels(bins, widths, scale, *, law="gaussian"):
    """Return for every width, per first bin of a window, what noise alone rarely exceeds.

    Parameters
    ----------
    bins : LogBins
    widths : sequence of int
        Of all windows that are looked at.
    scale, law
        As for :func:`read_scale`.

    Returns
    -------
    levels : list of ndarray of shape (n_bins,)
        Exceeded by noise alone, in any window of any width, with a probability of at most 2e-4.
    """
    levels = _levels(bins, tuple(widths), law)
    return [rounded_level(x * scale, w) for x, w in zip(levels, widths, strict=True)]


@lru_cache(maxsize=64)
def _levels(bins, widths, law):
    """Return for every width, per bin, the level that noise alone in a window rarely exceeds.

    In units of the scale of the noise. The probability falls as 1/octave^2: scales near 1 are
    likelier than 2^900, a public prior. Over all bins and widths the probabilities sum to less than
    FALSE_ANCHOR, and beyond 2^+-60 to less than a fiftieth of it: with p bins per octave the sum of
    1/(1 + |octave|)^2 is at most 2 p + 2.
    """
    octave = bins.low + np.maximum(np.arange(bins.n_bins) - 1, 0) / bins.per_octave
    octave[0] = 0.0
    share = 1 / (np.square(1 + np.abs(octave)) * (4.3 * bins.per_octave * len(widths)))
    share *= FALSE_ANCHOR
    return [noise_level(share, width, law=law) for width in widths]


def highest_window(counts, width, threshold):
    """Return the fullest bin of the highest window of ``width`` bins above a threshold, or -1.

    ``counts`` are released; the outer bins of a window may hold noise only. ``threshold`` is a
    number or one per window.
    """
    hits = np.flatnonzero(np.convolve(counts, np.ones(width), "valid") > threshold)
    if not hits.size:
        return -1
    return int(hits[-1] + np.argmax(counts[hits[-1] : hits[-1] + width]))
