"""The recursion of Cummings and Durfee for any function of a few records, and in the plane."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from skdp.sensitivity._bounded import BITS, BoundedValue, _positive
from skdp.sensitivity._cells import Grid
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._windows import Mean

__all__ = ["bounded_function", "bounded_groups", "bounded_plane", "bounded_plane_function"]

MOST_RECORDS = 20
MOST_STATES = 2**21


def bounded_function(records, function, *, sensitivities, center, unit=1):
    """Return the preprocessed value of any function of at most 20 records.

    Parameters
    ----------
    records : sequence of n <= 20 objects
    function : callable
        Maps a tuple of records to a number of Python or numpy, for every subset of the records. It
        must not depend on their order. Infinity is clipped; NaN, or an error, counts as the centre.
    sensitivities : int or sequence of n ints, >= 0
        In units. One of its own for every record, a function of that record alone.
    center : int
        Value for no records, public, in units.
    unit : int, float or Fraction, default=1
        Public. Values are rounded down to multiples of it.

    Returns
    -------
    g : int
        Private, in units.

    See Also
    --------
    bounded_groups, skdp.sensitivity.bounded_statistic

    Notes
    -----
    **Privacy** (add or remove record i): g moves by at most ``sensitivities[i]``, exactly, whatever
    the function is (Cummings and Durfee 2020, Definition 3.1): g clips f to the interval that the
    values of all databases with one record less allow, and that interval is never empty, since the
    values without i and without j lie within D_j and D_i of the value without both. Time and
    memory grow as 2^n, the function is called 2^n times. More than 20 records raise an error, which
    tells their number: for tables whose size is public.

    Examples
    --------
    >>> from skdp.sensitivity.published import bounded_function
    >>> bounded_function([3, 5, 900], max, sensitivities=2, center=0)
    6
    """
    records = list(records)
    n = len(records)
    if n > MOST_RECORDS:
        raise ValueError(
            f"the general recursion takes at most {MOST_RECORDS} records. Got more: use a "
            "statistic with a fast form, or groups."
        )
    each = [sensitivities] * n if np.ndim(sensitivities) == 0 else list(sensitivities)
    if len(each) != n or any(d < 0 for d in each):
        raise ValueError(
            "sensitivities must be one number >= 0, or one per record. Got another number of them, "
            "or one below 0."
        )
    unit, center = exact_number(unit), int(center)
    values = [_floor(function, members, unit, center) for members in _subsets(records)]
    return bounded_subsets(values, [int(d) for d in each], center)[-1]


def bounded_subsets(values, sensitivities, center):
    """Return the recursion's values on all subsets, from the function's values on them.

    Subset number S holds record i if bit i of S is set. ``values[0]`` is not used.
    """
    g = [center] * len(values)
    for S in range(1, len(values)):
        low, high, bits = -math.inf, math.inf, S
        while bits:
            bit = bits & -bits
            near, D = g[S ^ bit], sensitivities[bit.bit_length() - 1]
            low, high = max(low, near - D), min(high, near + D)
            bits ^= bit
        g[S] = min(max(values[S], low), high)
    return g


def _subsets(records):
    for S in range(2 ** len(records)):
        yield tuple(record for i, record in enumerate(records) if S >> i & 1)


def _floor(function, members, unit, center):
    if not members:
        return center
    try:
        value = function(members)
        if value in (math.inf, -math.inf):
            return float(value)
        return math.floor(exact_number(value) / unit)
    except Exception:  # an error would tell about the records
        return center


def exact_number(x):
    """Return a real number of Python or numpy as a Fraction, exactly."""
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, np.bool_ | np.integer):
        x = int(x)
    return Fraction(*x.as_integer_ratio())


def bounded_groups(groups, function, *, sensitivities, center):
    """Return the preprocessed value of a database-ordered statistic of groups of integers.

    Parameters
    ----------
    groups : sequence of K sequences of int
        Entries of the rows with the first sensitivity, the second, ...
    function : callable
        Maps a non-empty sorted list of ints to an int; database-ordered as in
        :mod:`skdp.sensitivity._windows`.
    sensitivities : sequence of K ints, >= 0
    center : int
        Value for no rows, public.

    Returns
    -------
    g : int
        Private.

    Raises
    ------
    ValueError
        If the product over groups of (n_k + 1)(n_k + 2) / 2 exceeds 2^21. That tells about the
        sizes: for teaching, or where they are public. Else see :func:`personal_statistic`.

    See Also
    --------
    bounded_function, skdp.sensitivity.personal_statistic

    Notes
    -----
    **Privacy** (add or remove one row): a row of group k moves g by at most ``sensitivities[k]``,
    exactly: g is the value of the general recursion. By induction over the size of S,
    g(S + x) <= g(S + y) for x <= y of one group, since f and all terms of the limits are ordered so
    and clip is monotone. So of a group only the smallest and the largest can bind, and what is left
    of every group is a window. Windows of the joint data would give wrong values.

    Examples
    --------
    >>> from skdp.sensitivity.published import bounded_groups
    >>> bounded_groups([[3, 5], [900]], max, sensitivities=[1, 2], center=0)
    4
    """
    groups = tuple(tuple(sorted(int(x) for x in group)) for group in groups)
    D = [int(d) for d in sensitivities]
    if len(D) != len(groups) or any(d < 0 for d in D):
        raise ValueError(
            f"one sensitivity >= 0 per group is needed. Got {len(D)} of {len(groups)}."
        )
    states = 1
    for group in groups:
        states *= (len(group) + 1) * (len(group) + 2) // 2
    if states > MOST_STATES:
        raise ValueError(
            f"the groups have more than {MOST_STATES} sets of windows: use personal_statistic, "
            "which takes groups of any size."
        )

    @cache
    def g(windows):
        entries = sorted(x for (i, j), s in zip(windows, groups, strict=True) for x in s[i:j])
        if not entries:
            return int(center)
        low, high = [], []
        for k, (i, j) in enumerate(windows):
            if i < j:
                low.append(g((*windows[:k], _window(i + 1, j), *windows[k + 1 :])) - D[k])
                high.append(g((*windows[:k], _window(i, j - 1), *windows[k + 1 :])) + D[k])
        return min(max(function(entries), *low), *high)

    return g(tuple(_window(0, len(group)) for group in groups))


def _window(i, j):
    return (i, j) if i < j else (0, 0)


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
