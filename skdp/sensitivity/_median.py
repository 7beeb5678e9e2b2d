"""Sensitivity preprocessing of the median in closed form."""

import numpy as np

__all__ = ["bounded_median"]


def bounded_median(s, *, sensitivity, center):
    """Return the preprocessed median of integers, the middle two averaged.

    Parameters
    ----------
    s : ndarray of int64 of shape (n,)
        Sorted, of magnitude at most 2^53.
    sensitivity : int, >= 0
    center : int
        Value for no rows, public.

    Returns
    -------
    g : int
        Private. The floor of the preprocessed median.

    Notes
    -----
    **Privacy** (add or remove one row): g is the value of the general recursion, hence moves by at
    most ``sensitivity``. If the median f is at least c, g = min(f, g(without the maximum) + D)
    (Cummings and Durfee 2020, Lemma 5.5), and in the same way down the line q_b, the median
    without the b largest, until the first q_k < c. There removing a minimum and a maximum in turn
    leaves the median where it is: g = c if n - k is even and max(q_k, c - D) if it is odd. So

        g = min( min_{b < k} q_b + b D,  end + k D ).

    Terms with b >= (f - c) / D exceed f and are left out. Otherwise everything is mirrored. The
    arithmetic is in half units, in which medians and mirrors are exact; the floor comes last.
    """
    n, D, c = len(s), 2 * int(sensitivity), 2 * int(center)
    if n == 0:
        return c // 2
    f = int(s[n // 2]) + int(s[(n - 1) // 2])
    if f >= c:
        return _above(s, f, D, c) // 2
    return -_above(-s[::-1], -f, D, -c) // 2


def _above(s, f, D, c):
    n = len(s)
    terms = min(n, (f - c) // D + 2) if D else n
    m = np.arange(n, n - terms, -1)
    q = s[m // 2] + s[(m - 1) // 2]
    below = np.flatnonzero(q < c)
    k = int(below[0]) if below.size else terms
    g = int(np.min(q[:k] + D * np.arange(k)))
    if below.size:
        end = c if (n - k) % 2 == 0 else max(int(q[k]), c - D)
    elif k == n:
        end = c
    else:
        return g
    return min(g, end + k * D)
