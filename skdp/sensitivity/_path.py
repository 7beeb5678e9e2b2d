"""Sensitivity preprocessing of ordered statistics: one lattice path, and the mean by its ends."""

from dataclasses import dataclass

import numpy as np

from skdp.sensitivity._closed import STRIP, sorted_ends
from skdp.sensitivity._windows import Mean, SortedData

STRAIGHT = 12  # equal steps after which a run is worked on as a whole
CHUNK = 64
CHECK = 1 / 16  # part of the rows taken step by step before a bracket of the rest pays


def bounded_ordered(s, statistic, *, sensitivity, center):
    """Return the preprocessed value of a database-ordered statistic of integers.

    Notes
    -----
    **Privacy** (add or remove one row): g moves by at most ``sensitivity``, exactly.
    Removing the smallest entry leaves the largest of all neighbours' values and removing the
    largest the smallest (Cummings and Durfee 2020, Lemma 5.2), so on the window (i, j) of m entries
    g = clip(f, g(i+1, j) - D, g(i, j-1) + D) and g = c on the empty one. With a = i entries removed
    below, b = n - j above, H = g + D (b - a) and F = f + D (b - a) this reads
    H = median(F, H(a+1, b), H(a, b+1)), where H(a+1, b) <= H(a, b+1). To learn whether H >= t: if
    F >= t, that is whether the larger neighbour H(a, b+1) is; else, whether H(a+1, b) is. So a path
    of n steps decides, at whose end H = c + D (b - a), and a bisection over integers t gives g.
    The floor of g is what the recursion makes of the floor of f, since floors commute with
    clipping and with integers added: the value is exact, its sensitivity the integer D.
    """
    return _Path(s, statistic, int(sensitivity), int(center)).value()


def bisected(low, high, reaches):
    """Return the largest integer from low to high that is reached, None if that is not told."""
    while low < high:
        t = (low + high + 1) // 2
        reached = reaches(t)
        if reached is None:
            return None
        low, high = (t, high) if reached else (low, t - 1)
    return low


class _Path:
    def __init__(self, s, statistic, D, c):
        self.n, self.f, self.D, self.c = len(s), statistic, D, c
        largest = max(abs(int(s[0])), abs(int(s[-1]))) if self.n else 0
        heaviest = max(self.n, int(statistic.weight(self.n))) if self.n else 1
        self.wide = 2 * heaviest * (largest + abs(c) + 2 * self.n * D) >= 2**62
        self.data = SortedData(s, wide=self.wide)

    def value(self):
        return bisected(*self.bracket(0, self.n), self.reaches)

    def bracket(self, i, j):
        """Return bounds of g on a window from its prefixes and suffixes, in O(m).

        With h_r = clip(f(r smallest), h_{r-1} - D, h_{r-1} + D), h_0 = c, monotonicity of clip and
        of the neighbours gives h_m <= g. If f grows along prefixes, the upper clip alone acts once
        h has met f, so that h_m = min(c + m D, min_r max(f_r, c - r D) + (m - r) D).
        """
        m, c, D = j - i, self.c, self.D
        if m == 0 or not self.f.increasing:
            return c - m * D, c + m * D
        r = np.arange(1, m + 1, dtype=object if self.wide else np.int64)
        size = r.astype(np.int64)
        weight, rD = self.f.weight(r), r * D
        prefix = self.f.total(self.data, i, i + size) // weight
        low = np.min(np.maximum(prefix, c - rD) - rD) + m * D
        suffix = self.f.total(self.data, j - size, j) // weight
        high = np.max(np.minimum(suffix, c + rD) + rD) - m * D
        return min(c + m * D, int(low)), max(c - m * D, int(high))

    def reaches(self, t):
        """Return whether g >= t."""
        total, weight, data, c, D = self.f.total, self.f.weight, self.data.one, self.c, self.D
        i, j, v = 0, self.n, t  # v = t + D (a - b)
        straight, dropped_max, steps, check = 0, None, 0, int(CHECK * self.n) + 1
        while True:
            reach = (j - i) * D
            if v - c > reach:  # |g - c| <= m D
                return False
            if c - v >= reach:
                return True
            drop_max = total(data, i, j) >= v * weight(j - i)  # f >= v
            if drop_max:
                j, v = j - 1, v - D
            else:
                i, v = i + 1, v + D
            straight = straight + 1 if drop_max is dropped_max else 0
            dropped_max = drop_max
            steps += 1
            if straight == STRAIGHT:
                i, j, v = self._run(i, j, v, drop_max)
                straight = 0
            elif steps == check:
                steps, check = 0, 4 * check
                low, high = self.bracket(i, j)
                if v <= low or v > high:
                    return v <= low

    def _run(self, i, j, v, drop_max):
        """Take all further steps in one direction, in growing chunks."""
        c, D, chunk = self.c, self.D, CHUNK
        while True:
            # along a run only one of the two ends of the path can come
            left = (j - i) * D - (c - v if drop_max else v - c)
            most = max(0, min(j - i, left // (2 * D) + 1))
            r = np.arange(min(chunk, most))
            rD = (r.astype(object) if self.wide else r) * D
            at, bound = ((i, j - r), v - rD) if drop_max else ((i + r, j), v + rD)
            over = self.f.total(self.data, *at) >= bound * self.f.weight(at[1] - at[0])
            stop = np.flatnonzero(over != drop_max)
            taken = int(stop[0]) if stop.size else len(r)
            if drop_max:
                j, v = j - taken, v - taken * D
            else:
                i, v = i + taken, v + taken * D
            if stop.size or len(r) == most:
                return i, j, v
            chunk *= 4


ENDS = 1 / 64  # part of the entries that is sorted, at either end
CELLS = 2**12  # of those between
KNOTS = 2**10  # ranks between, at which sums are bounded
LEAST = 2**12  # entries: fewer are sorted at once
FIRST, SELDOM = 8, 4  # steps before the rest is bounded, and how many times more the next time


def bounded_mean(s, *, sensitivity, center):
    """Return the preprocessed mean of integers, that of :func:`bounded_ordered`, mostly unsorted.

    Notes
    -----
    **Privacy** (add or remove one row): the value is the one of :func:`bounded_ordered`, to the
    last digit, so it moves by at most ``sensitivity``.

    A path takes steps into both ends until those left are no longer worth more than D each; from
    there on bounds of g on the window that is left decide. Those need lower bounds L_q of the sums
    of the q smallest entries alone: :class:`Outline`. Where they do not decide, all is sorted.
    """
    n, D, c = len(s), int(sensitivity), int(center)
    if n >= LEAST and D:
        largest = max(abs(int(s.min())), abs(int(s.max())))
        if 2 * n * (largest + abs(c) + 2 * n * D) < 2**62:
            g = mean_of_ends(outline(s), D, c)
            if g is not None:
                return g
    s.sort()
    return bounded_ordered(s, Mean(), sensitivity=D, center=c)


def mean_of_ends(outline, D, center):
    """Return the value of :func:`bounded_mean` of an :class:`Outline`, None if it does not tell."""
    return _Ends(outline, int(D), int(center)).value()


@dataclass(frozen=True)
class Outline:
    """A table whose outermost entries are sorted, with bounds of the sums of its smallest ones."""

    n: int
    # lowest, highest: shape (k,): the outermost entries
    lowest: np.ndarray
    highest: np.ndarray
    total: int  # sum of all
    rank: np.ndarray  # ndarray of int64, rising from k to less than n - k: some ranks between
    # ndarray of int64 of the same shape: lower bounds of the sums of so many smallest entries;
    # exact at k
    least: np.ndarray


def outline(s):
    """Return the :class:`Outline` of integers, which are ordered in place as far as need be."""
    n, k = len(s), int(ENDS * len(s))
    lowest, highest = sorted_ends(s, k)
    total = int(sum(s[i : i + STRIP].sum() for i in range(0, n, STRIP)))
    return Outline(n, lowest, highest, total, *_between(s[k : n - k], lowest, highest, total))


def _between(s, lowest, highest, total):
    """Return ranks from k on, and lower bounds of the sums of so many smallest entries.

    With r entries in the cells up to an edge, and t in the cell behind, e to f, the sum of the
    r + x smallest of s is at least that of lower edges, and that of all less what the others are at
    most, those of the cell and beyond each its upper edge.
    """
    first, width = int(lowest[-1]), int(highest[0]) - int(lowest[-1])
    shift = max(0, width.bit_length() - (CELLS.bit_length() - 1))
    counts = np.zeros(CELLS, dtype=np.int64)
    for i in range(0, len(s), STRIP):
        counts += np.bincount((s[i : i + STRIP] - first) >> shift, minlength=CELLS)
    edge = first + (np.arange(CELLS) << shift)
    upper = edge + (1 << shift) - 1
    upto = np.concatenate([[0], np.cumsum(counts)])
    least = lowest.sum() + np.concatenate([[0], np.cumsum(counts * edge)])
    most = np.concatenate([[0], np.cumsum((counts * upper)[::-1])])[::-1]
    least = np.maximum(least, total - highest.sum() - most)
    x = np.unique(np.linspace(0, len(s) - 1, KNOTS).astype(np.int64))
    cell = np.searchsorted(upto, x, side="right") - 1
    bound = np.maximum(
        least[cell] + (x - upto[cell]) * edge[cell],
        least[cell + 1] - (upto[cell + 1] - x) * upper[cell],
    )
    return len(lowest) + x, bound


class _Ends:
    """The paths of a table of which an :class:`Outline` is known.

    Its bounds reach over all ranks.
    """

    def __init__(self, outline, D, c):
        self.n, self.k, self.total = n, k, _ = outline.n, len(outline.lowest), outline.total
        self.D, self.c = D, c
        self.low = np.concatenate([[0], np.cumsum(outline.lowest)])
        self.high = np.concatenate([[0], np.cumsum(outline.highest[::-1])])
        self.rank = np.concatenate([np.arange(k), outline.rank, np.arange(n - k, n + 1)])
        self.least = np.concatenate([self.low[:-1], outline.least, self.total - self.high[::-1]])

    def value(self):
        """Return g, or None if the ends do not tell it."""
        return bisected(*self.bracket(0, 0), self.reaches)

    def bracket(self, a, b):
        """Return bounds of g on the window without the a smallest and the b largest entries.

        Those of :func:`bounded_ordered` are, with A_r the mean of the r smallest, and B_r of the r
        largest, ``min_r max(floor A_r, c - r D) + (m - r) D`` from below and
        ``max_r min(floor B_r, c + r D) - (m - r) D`` from above. Between two ranks q < q' A_r grows
        with r, so it is no less than A_q, and -r D no less than with r = q' - 1; B grows as the
        smallest go, so it is no more than with q' - 1 of them gone, or the smallest r left.
        """
        D, c, m = self.D, self.c, self.n - a - b
        first, last = np.searchsorted(self.rank, [a, self.n - b])
        rank, sums = self.rank[first : last + 1], self.least[first : last + 1]
        before = sums[0]
        r = rank[1:] - a  # of prefixes that end at knots
        mean = (sums[1:] - before) // r
        longest = np.append(r[1:] - 1, m)
        low = np.min(np.maximum(mean - longest * D, c - 2 * longest * D)) + m * D
        left = rank[-1] - rank[:-1]  # of suffixes that begin at knots
        mean = (sums[-1] - sums[:-1]) // left
        longest = np.append(left[0], left[:-1] - 1)
        high = np.max(np.minimum(mean + longest * D, c + 2 * longest * D)) - m * D
        return max(c - m * D, min(c + m * D, int(low))), min(c + m * D, max(c - m * D, int(high)))

    def reaches(self, t):
        """Return whether g >= t, as a path tells, or None if it leaves the ends."""
        low, high = memoryview(self.low), memoryview(self.high)
        D, c, v, a, b, steps, check = self.D, self.c, t, 0, 0, 0, FIRST
        while True:
            m = self.n - a - b
            if v - c > m * D:  # |g - c| <= m D
                return False
            if c - v >= m * D:
                return True
            if steps == check:
                steps, check = 0, SELDOM * check
                least, most = self.bracket(a, b)
                if v <= least or v > most:
                    return v <= least
            if max(a, b) + 1 >= self.k:
                return None
            if self.total - low[a] - high[b] >= v * m:  # f >= v
                b, v = b + 1, v - D
            else:
                a, v = a + 1, v + D
            steps += 1
