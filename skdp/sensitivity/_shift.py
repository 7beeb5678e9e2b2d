"""The affine map of rows that gives a table the bounded value of a statistic."""

from dataclasses import dataclass

import numpy as np

from skdp.sensitivity._bounded import CLOSED, ORDERED, SQUARES, bounded_statistic
from skdp.sensitivity._windows import Quantile

__all__ = ["StatisticMap", "statistic_map"]

QUANTILES = {"median": Quantile(0.5), "min": Quantile(0), "max": Quantile(1)}


@dataclass(frozen=True)
class StatisticMap:
    """The map ``x -> pivot + factor * (x - pivot) + shift``. Private: it was computed from rows.

    Attributes
    ----------
    shift, factor, pivot : float
        A shift for locations and sums, a factor about the mean for measures of spread.
    """

    shift: float = 0.0
    factor: float = 1.0
    pivot: float = 0.0

    def __repr__(self):
        return "StatisticMap(private)"

    def apply(self, x):
        """Return the image of numbers; those that are not finite stay what they are."""
        x = np.asarray(x, dtype=np.float64)
        if self.factor != 1:
            x = self.pivot + self.factor * (x - self.pivot)
        return x + self.shift


def statistic_map(x, statistic, *, sensitivity, center=0.0):
    """Return the map after which the statistic of the finite entries of x is the bounded one.

    Parameters
    ----------
    x, statistic, sensitivity, center
        As for :func:`bounded_statistic`.

    Returns
    -------
    mapping : StatisticMap
        ``statistic(mapping.apply(x))`` is the bounded value, up to rounding. A shift by g - f for
        locations, (g - f) / n for a sum; a factor g / f for range and standard deviation,
        sqrt(g / f) for variance and sum of squares. Identity if there are no finite entries, or
        nothing to scale.

    Notes
    -----
    **Privacy**: none. Map and mapped rows are as private as the rows. Of the mapped table the named
    statistic alone is bounded, up to rounding: for a guarantee release the
    :class:`BoundedValue` itself.
    """
    bounded = bounded_statistic(x, statistic, sensitivity=sensitivity, center=center)
    g = bounded.origin + bounded.unit * bounded.value
    x = np.asarray(x, dtype=np.float64).ravel()
    x = x[np.isfinite(x)]
    if x.size == 0:
        return StatisticMap()
    if bounded.statistic == "sum":
        return StatisticMap(shift=(g / x.size) - _mean(x))
    if not isinstance(statistic, str) or statistic in ORDERED or statistic in CLOSED:
        ordered = ORDERED.get(statistic) or QUANTILES.get(statistic) or statistic
        return StatisticMap(shift=g - _location(x, ordered))
    factor = _factor(x, statistic, g)
    return StatisticMap(factor=factor, pivot=_mean(x)) if factor != 1 else StatisticMap()


def _mean(x):
    return float(np.sum(x / x.size))  # cannot overflow


def _location(x, ordered):
    """Return an ordered statistic of floats: locations commute with shifts and scales."""
    s = np.sort(x)
    pivot = s[len(s) // 2]
    scale = max(abs(s[0] / 4), abs(s[-1] / 4), 2.0**-1000)
    s = s / scale - pivot / scale
    data = _Floats(s, np.append(0.0, np.cumsum(s)))
    n = len(s)
    return float(pivot + scale * (ordered.total(data, 0, n) / ordered.weight(n)))


def _factor(x, statistic, g):
    scale = max(np.max(np.abs(x)), 2.0**-1000)
    y = x / scale
    if statistic == "range":
        f = np.max(y) - np.min(y)
    else:
        f = np.std(y) * (np.sqrt(len(y)) if statistic == "sum_of_squares" else 1)
    if not f > 0:
        return 1.0
    return float((np.sqrt(g) if statistic in SQUARES else g) / scale / f)


@dataclass(frozen=True)
class _Floats:
    s: np.ndarray
    P: np.ndarray
