"""Sensitivity preprocessing of median, maximum, minimum, range and sum in closed form.

The best window of sorted integers is found by branch and bound with certified bounds.

Closed forms take ``s``, an ndarray of n int64 of magnitude at most 2^53, a ``sensitivity``
D, an int >= 0 (but for the median at most 2^60 / n), and a public int ``center`` c, the value for
no rows. They return an int g in the same units, which is private. For median and range ``s`` is
sorted; for maximum and minimum it is in any order, which they may change.

**Privacy** (add or remove one row): g is the value of the general recursion
(:func:`skdp.sensitivity.published.bounded_function`), hence moves by at most D.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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


HALF = 16  # bits of the lower half of an entry
CELLS = 2**17  # cells that are worked on together
SLACK = 2.0**-46  # relative error of all float arithmetic below, with room to spare


def smallest_window(s, statistic, D, best):
    """Return min(best, min over windows of floor(f(window)) + D * (entries left out)).

    Notes
    -----
    A cell is a rectangle [a0, a1] x [b0, b1] of numbers of entries left out below and above. All
    its windows hold the one of (a1, b1), and have at most n - a0 - b0 entries: sums of squares grow
    with the window, so ``at_least(squares(a1, b1), n - a0 - b0) + D (a0 + b0)`` bounds them from
    below. Cells that cannot improve are dropped, others are cut in four; what cannot be cut is
    evaluated in Python's integers. Float bounds are lowered by a certified slack, see `Sums`.

    To leave out k entries costs k D at least, so with the price p of the whole no more than p / D
    of them are left out, at either end: the order of those between is of no matter.
    """
    n = len(s)
    if n == 0 or best <= 0:
        return best
    origin = s[n // 2]
    parts = (s[i : i + STRIP] for i in range(0, n, STRIP))
    whole = sum(np.array([p.sum() for p in products(part - origin)]) for part in parts)
    best = min(best, statistic.floor(*exact_sums(n, whole)))
    most = most_left_out(n, D, best)
    ends = (end - origin for end in sorted_ends(s, most))
    return window_of_ends(sums_of_ends(n, whole, *ends), statistic, D, best)


def most_left_out(n, D, best):
    """Return how many entries may be left out at either end: more cost more than ``best``."""
    return min(n - 1, best // D) if D else n - 1


def window_of_ends(sums, statistic, D, best):
    """Return what :func:`smallest_window` returns, None if the :class:`Sums` do not tell."""
    n = sums.n
    price = _Price(n, statistic, D, sums)
    most = most_left_out(n, D, best)
    for a, b in _first_guesses(sums.low.size(most), sums.high.size(most), price):
        best = min(best, price.exact(a, b))
    most = most_left_out(n, D, best) if D else most
    untold = np.inf
    last = sums.low.size(most), sums.high.size(most)
    stack = [np.array([[0], [last[0]], [0], [last[1]]])]
    while stack:
        cells = stack.pop()
        if cells.shape[1] > CELLS:
            stack += [cells[:, :CELLS], cells[:, CELLS:]]
            continue
        low, _ = price.bounds(*cells)
        cells = cells[:, (low < _float_above(best)) & price.some_left(cells[0], cells[2])]
        a0, a1, b0, b1 = cells
        single = (a0 == a1) & (b0 == b1)
        low, value = price.bounds(a0, a0, b0, b0)  # the largest window of every cell
        hopeful = np.flatnonzero(single & (low < _float_above(best)))
        if value.size:
            hopeful = np.append(hopeful, np.argmin(value))
        for at in hopeful[np.argsort(low[hopeful])]:
            if low[at] < _float_above(best):
                best = min(best, price.exact(int(a0[at]), int(b0[at])))
        wide = single & ~(sums.low.alone(a0) & sums.high.alone(b0))
        untold = min(untold, np.min(low[wide], initial=np.inf))
        cells = cells[:, ~single]
        if cells.shape[1]:
            stack.append(_quarters(*cells))
    return None if untold < _float_above(best) else best


def _first_guesses(most_low, most_high, price):
    """Return the most promising (a, b) of a geometric grid."""
    a, b = (x.ravel() for x in np.meshgrid(_geometric(most_low), _geometric(most_high)))
    inside = price.some_left(a, b)
    a, b = a[inside], b[inside]
    _, value = price.bounds(a, a, b, b)
    order = np.argsort(value)[:3]
    return [(int(a[i]), int(b[i])) for i in order]


def _geometric(most):
    steps = np.unique(np.append(0, np.geomspace(1, max(most, 1), 40).astype(np.int64)))
    return steps[steps <= most]


def _float_above(best):
    """Return a float at least as large as the integer."""
    return np.nextafter(float(best), np.inf)


def _quarters(a0, a1, b0, b1):
    """Cut cells into halves along both sides, where these have more than one number."""
    a, b = (a0 + a1) // 2, (b0 + b1) // 2
    corners = ((a0, a, b0, b), (a + 1, a1, b0, b), (a0, a, b + 1, b1), (a + 1, a1, b + 1, b1))
    cells = np.concatenate([np.stack(corner) for corner in corners], axis=1)
    return cells[:, (cells[0] <= cells[1]) & (cells[2] <= cells[3])]


class _Price:
    """What a window costs: the statistic and D for every entry left out."""

    def __init__(self, n, statistic, D, sums):
        self._n, self._statistic, self._D, self._sums = n, statistic, D, sums

    def exact(self, a, b):
        """Return the price of one window, in Python's integers."""
        m, Q, S = self._sums.exact(a, b)
        return self._statistic.floor(m, Q, S) + self._D * (self._n - m)

    def some_left(self, a, b):
        """Return where the largest windows hold an entry."""
        return self._sums.out(a, b) < self._n

    def bounds(self, a0, a1, b0, b1):
        """Return certified lower bounds of the prices in cells, before floors, and estimates."""
        squares, error = self._sums.squares(a1, b1)
        out = self._sums.out(a0, b0)
        size = np.maximum(self._n - out, 1)
        value = self._statistic.at_least(squares, size)
        lowered = self._statistic.at_least(np.maximum(squares - error, 0.0), size)
        out = float(self._D) * out
        return lowered * (1 - SLACK) + out * (1 - SLACK), value + out


def products(y):
    """Return integers of at most 2^32, and what the sums of their squares are made of.

    With y = +-(h 2^16 + l) these are y, h h, h l and l l, so that y y = h h 2^32 + h l 2^17 + l l.
    """
    size = np.abs(y)
    high, low = size >> HALF, size & (2**HALF - 1)
    return y, high * high, high * low, low * low


def exact_sums(m, sums):
    """Return size, sum of squares and sum of m entries as Python's integers."""
    S, A, B, C = map(int, sums)
    return m, (A << 2 * HALF) + (B << HALF + 1) + C, S


@dataclass(frozen=True)
class End:
    """Numbers of entries that may be left out at one end, and sums of :func:`products` of these.

    Between two numbers that are no neighbours there are others, of which only that is known.
    """

    out: np.ndarray  # shape (k,)
    sums: np.ndarray  # shape (4, k)

    @cached_property
    def inner(self):
        at = np.arange(len(self.out))
        at[:-1] += np.diff(self.out) > 1
        return at

    def alone(self, at):
        """Return where no other number lies before the next."""
        return self.inner[at] == at

    def size(self, most):
        """Return the place of the last number that is at most ``most``."""
        return int(np.searchsorted(self.out, most, side="right")) - 1


def sums_of_ends(n, whole, lowest, highest):
    """Return the :class:`Sums` of n entries of which these, less their origin, are outermost."""
    return Sums(n, whole, *(end_of(end) for end in (lowest, highest[::-1])))


def end_of(entries):
    """Return the :class:`End` of some outermost entries, from the outermost on."""
    sums = [np.concatenate([[0], np.cumsum(p)]) for p in products(entries)]
    return End(np.arange(len(entries) + 1), np.array(sums))


class Sums:
    """Sums of squares of windows, in floats with a certified error, and exactly.

    The entries less one of them are at most 2^32. Sums of h h, h l and l l over any entries
    (:func:`products`) are nonnegative int64, at most 2^62: those of a window, of all less those
    left out, are exact and Q = A 2^32 + B 2^17 + C is a sum of nonnegative terms, with a relative
    error of a few 2^-53. S^2 / m <= Q, so Q - S^2 / m is wrong by less than 16 * 2^-53 Q.
    """

    def __init__(self, n, whole, low, high):
        self.n, self._all, self.low, self.high = n, whole, low, high

    def out(self, a, b):
        """Return how many entries the largest windows leave out."""
        return self.low.out[a] + self.high.out[b]

    def _less(self, a, b):
        return self._all.reshape(-1, *[1] * np.ndim(a)) - self.low.sums[:, a] - self.high.sums[:, b]

    def squares(self, a, b):
        """Return sums of squared deviations that no window lacks, and bounds of their errors."""
        a, b = self.low.inner[a], self.high.inner[b]
        m = self.n - self.out(a, b)
        S, A, B, C = np.where(m > 0, self._less(a, b), 0).astype(np.float64)
        Q = A * 2.0 ** (2 * HALF) + B * 2.0 ** (HALF + 1) + C
        return np.maximum(Q - S * S / np.maximum(m, 1), 0.0), SLACK * Q

    def exact(self, a, b):
        """Return size, sum of squares and sum of one window as Python's integers."""
        return exact_sums(self.n - int(self.out(a, b)), self._less(a, b))
