"""Sensitivity preprocessing of median, maximum, minimum, range and sum in closed form.

All functions take ``s``, an ndarray of n int64 of magnitude at most 2^53, a ``sensitivity``
D, an int >= 0 (but for the median at most 2^60 / n), and a public int ``center`` c, the value for
no rows. They return an int g in the same units, which is private. For median and range ``s`` is
sorted; for maximum and minimum it is in any order, which they may change.

**Privacy** (add or remove one row): g is the value of the general recursion
(:func:`skdp.sensitivity.published.bounded_function`), hence moves by at most D.
"""

import numpy as np

__all__ = [
    "STRIP",
    "bounded_max",
    "bounded_median",
    "bounded_min",
    "bounded_range",
    "bounded_sum",
    "max_of_largest",
    "rows_of_max",
    "sorted_ends",
]


STRIP = 2**14  # entries that stay in the first levels of the cache
PART = 1 / 4  # of all entries: longer ends are no cheaper than a sort


def bounded_median(s, *, sensitivity, center):
    """Return the floor of the preprocessed median, the middle two averaged.

    If the median f is at least c, g = min(f, g(without the maximum) + D) (Cummings and Durfee 2020,
    Lemma 5.5), and in the same way down the line q_b, the median without the b largest, until the
    first q_k < c. There removing a minimum and a maximum in turn leaves the median where it is:
    g = c if n - k is even and max(q_k, c - D) if it is odd. So

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


def bounded_max(s, *, sensitivity, center):
    """Return the preprocessed maximum.

    A path of :func:`bounded_ordered` that has dropped a minimum drops minima only, as f stays and
    the threshold grows. So it drops B maxima, while the threshold t lies below ``y_b + b D``
    (y descending), and ends with c >= t + D (n - 2 B): g is the largest t for which some B allows
    that, max_B min(c + (2 B - n) D, min_{b < B} y_b + b D).

    With K D >= y_0 - y_{n-1} no b >= K makes the inner minimum less, as y_b + b D >= y_0 then: of
    all B >= K the last is the best, and only the order of the K largest is of matter.
    """
    n, D, c = len(s), int(sensitivity), int(center)
    if n == 0:
        return c
    width = int(s.max()) - int(s.min())
    _, y = sorted_ends(s, rows_of_max(n, width, D))
    return max_of_largest(y, n, D, c)


def rows_of_max(n, width, D):
    """Return how many of the largest of n entries that lie within a width tell the maximum."""
    return min(n, -(-width // D) + 1) if D else n


def max_of_largest(y, n, D, c):
    """Return the value of :func:`bounded_max`, from the largest entries, rising."""
    b = np.arange(len(y)) * D
    lowest = np.minimum.accumulate(y[::-1] + b)
    last = min(c + n * D, int(lowest[-1]))
    b *= 2
    b += c + (2 - n) * D
    return max(c - n * D, last, int(np.max(np.minimum(b, lowest, out=lowest))))


def bounded_min(s, *, sensitivity, center):
    """Return the preprocessed minimum, the mirror image of :func:`bounded_max`."""
    return -bounded_max(-s, sensitivity=sensitivity, center=-int(center))


def bounded_range(s, *, sensitivity, center=0):
    """Return the preprocessed range, maximum minus minimum, for a centre of at most 0.

    As in :func:`bounded_spread` g is the smallest f(W) + D (n - |W|) over windows W, or c + n D;
    with u_k = s_k - k D that is (n - 1) D + min_j (u_j - max_{i <= j} u_i).
    """
    n, D, c = len(s), int(sensitivity), _nonpositive(center)
    if n == 0:
        return c
    u = s - np.arange(n) * D
    return min(c + n * D, (n - 1) * D + int(np.min(u - np.maximum.accumulate(u))))


def bounded_sum(s, *, sensitivity):
    """Return the preprocessed sum for the centre 0: all entries clipped to +-D. They need no order.

    Every entry adds at most D. That this is the value of the general recursion: with h the clipped
    sum, by induction all neighbours have h - clip(x_i), so the upper limit is h + D - max clip(x_i)
    and the lower one h - D - min clip(x_i). If some x_i >= D and none <= -D, clipping only lowers,
    f >= h, and h is the upper limit. If some are on either side both limits are h; if none is,
    f = h.
    """
    D = int(sensitivity)
    return int(np.clip(s, -D, D).sum())


def _nonpositive(center):
    if center > 0:
        raise ValueError(
            f"statistics of spread need a centre of at most 0. Got {center!r}: pass 0, the spread "
            "of no rows."
        )
    return int(center)


def sorted_ends(s, size):
    """Order integers in place so that the smallest and the largest lie where a sort puts them.

    Shapes: s (n,); returns (k,).
    """
    n = len(s)
    if size > PART * n:
        s.sort()
        return s, s
    s.partition([size, n - 1 - size])
    lowest, highest = s[:size], s[n - size :]
    lowest.sort()
    highest.sort()
    return lowest, highest
