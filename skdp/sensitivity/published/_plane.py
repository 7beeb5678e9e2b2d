"""Two statistics at once, with a joint bound in l1."""

import numpy as np

from skdp.sensitivity._bounded import BITS, BoundedValue, _positive
from skdp.sensitivity._grid import Grid
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._windows import Mean
from skdp.sensitivity.published._recursion import bounded_function

__all__ = ["bounded_plane", "bounded_plane_function"]


def bounded_plane(x, y, *, sensitivity, center=(0.0, 0.0)):
    """Return the means of two columns such that one row moves them by a bounded l1 distance.

    Parameters
    ----------
    x, y : array-like of float of shape (n,)
        Two columns of the same rows. Rows with NaN or infinity in either count as absent.
    sensitivity : float
        Public or released, > 0: l1 distance that one row may move the pair by.
    center : pair of float, default=(0.0, 0.0)
        Public or released: values for no rows.

    Returns
    -------
    bounded : BoundedValue
        With a ``value`` of two ints, ``origin`` of two floats and an l1 ``sensitivity``: release it
        with one ``curator.laplace``. That is half the noise of two single means with the same
        sensitivity each.

    See Also
    --------
    bounded_plane_function, skdp.sensitivity.bounded_statistic

    Notes
    -----
    **Privacy** (add or remove one row): |dx| + |dy| = max(|dx + dy|, |dx - dy|), so l1 balls are
    squares in u = x + y, v = x - y, and the nearest point of the intersection of balls is found by
    clipping u and v separately: two runs of the recursion, each with the whole sensitivity D
    (Cummings and Durfee 2020, Section 8; l1 in three dimensions and more fails). 2 x = u + v and
    2 y = u - v are integers and move by at most 2 D in l1.

    Examples
    --------
    >>> from skdp.sensitivity.published import bounded_plane
    >>> value = bounded_plane([1.0, 2.0, 3.0], [2.0, 2.0, 500.0], sensitivity=1.0)
    >>> len(value.value), len(value.origin)
    (2, 2)
    """
    unit = _positive(sensitivity) / 2**BITS
    x, y = (np.asarray(z, dtype=np.float64).ravel() for z in (x, y))
    present = np.isfinite(x) & np.isfinite(y)
    x, y = (Grid(float(c), unit).integers(z[present]) for z, c in zip((x, y), center, strict=True))
    u, v = (
        bounded_ordered(np.sort(w), Mean(), sensitivity=2**BITS, center=0) for w in (x + y, x - y)
    )
    origin = np.asarray(center, dtype=np.float64)
    return BoundedValue(np.array([u + v, u - v]), 2 * 2**BITS, unit / 2, origin, "plane of means")


def bounded_plane_function(records, function, *, sensitivities, center, unit=1):
    """Return a preprocessed pair of numbers that depends on at most 20 records in any way.

    Parameters
    ----------
    records, sensitivities, unit
        As for :func:`bounded_function`; the sensitivities are in l1.
    function : callable
        Maps a tuple of records to a pair of numbers.
    center : pair of int
        In units.

    Returns
    -------
    u, v : int
        Private, in units: sum and difference of the pair. The pair itself, twice, is
        (u + v, u - v), which record i moves by at most ``2 * sensitivities[i]`` in l1.

    See Also
    --------
    bounded_plane, bounded_function

    Notes
    -----
    **Privacy**: as for :func:`bounded_plane`.

    Examples
    --------
    >>> from skdp.sensitivity.published import bounded_plane_function
    >>> def corner(records):
    ...     return max(x for x, _ in records), max(y for _, y in records)
    ...
    >>> records = [(1, 2), (3, 1), (900, 5)]
    >>> u, v = bounded_plane_function(records, corner, sensitivities=4, center=(0, 0))
    >>> (u + v) / 2, (u - v) / 2
    (7.0, 2.0)
    """
    pairs = (lambda r: _combine(function(r), 1), lambda r: _combine(function(r), -1))
    centers = (_combine(center, 1), _combine(center, -1))
    return tuple(
        bounded_function(records, f, sensitivities=sensitivities, center=c, unit=unit)
        for f, c in zip(pairs, centers, strict=True)
    )


def _combine(pair, sign):
    first, second = pair
    return first + sign * second
