"""Sensitivity preprocessing of ordered statistics: one lattice path decides a threshold."""

import numpy as np

from skdp.sensitivity._windows import SortedData

__all__ = ["bisected", "bounded_ordered"]

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
