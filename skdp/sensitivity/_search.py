"""The best window of sorted integers, by branch and bound with certified bounds."""

import numpy as np

from skdp.sensitivity._ends import STRIP, sorted_ends

__all__ = ["smallest_window"]

HALF = 16  # bits of the lower half of an entry
CELLS = 2**17  # cells that are worked on together
SLACK = 2.0**-46  # relative error of all float arithmetic below, with room to spare


def smallest_window(s, statistic, D, best):
    """Return min(best, min over windows of floor(f(window)) + D * (entries left out)).

    Parameters
    ----------
    s : ndarray of int64 of shape (n,)
        In any order, of magnitude at most 2^31; n < 2^30. Ordered in place, as far as need be.
    statistic : object
        ``floor(m, Q, S)`` in Python's integers, and ``at_least(squares, m)`` in floats, which
        grows with the sum of squares and falls with m.
    D, best : int

    Returns
    -------
    best : int

    Notes
    -----
    A cell is a rectangle [a0, a1] x [b0, b1] of numbers of entries left out below and above. All
    its windows hold the one of (a1, b1), and have at most n - a0 - b0 entries: sums of squares grow
    with the window, so ``at_least(squares(a1, b1), n - a0 - b0) + D (a0 + b0)`` bounds them from
    below. Cells that cannot improve are dropped, others are cut in four; what cannot be cut is
    evaluated in Python's integers. Float bounds are lowered by a certified slack, see `_Sums`.

    To leave out k entries costs k D at least, so with the price p of the whole no more than p / D
    of them are left out, at either end: the order of those between is of no matter.
    """
    n = len(s)
    if n == 0 or best <= 0:
        return best
    sums = _Sums(s)
    best = min(best, statistic.floor(*sums.whole))
    most = min(n - 1, best // D) if D else n - 1  # leaving out more costs more than `best`
    price = _Price(n, statistic, D, sums.of_ends(*sorted_ends(s, most)))
    for a, b in _first_guesses(n, most, price):
        best = min(best, price.exact(a, b))
    most = min(most, best // D) if D else most
    stack = [np.array([[0], [most], [0], [most]])]
    while stack:
        cells = stack.pop()
        if cells.shape[1] > CELLS:
            stack += [cells[:, :CELLS], cells[:, CELLS:]]
            continue
        low, _ = price.bounds(*cells)
        cells = cells[:, (low < _above(best)) & (cells[0] + cells[2] < n)]
        a0, a1, b0, b1 = cells
        single = (a0 == a1) & (b0 == b1)
        low, value = price.bounds(a0, a0, b0, b0)  # the largest window of every cell
        hopeful = np.flatnonzero(single & (low < _above(best)))
        if value.size:
            hopeful = np.append(hopeful, np.argmin(value))
        for at in hopeful[np.argsort(low[hopeful])]:
            if low[at] < _above(best):
                best = min(best, price.exact(int(a0[at]), int(b0[at])))
        cells = cells[:, ~single]
        if cells.shape[1]:
            stack.append(_quarters(*cells))
    return best


def _first_guesses(n, most, price):
    """Return the most promising (a, b) of a geometric grid."""
    steps = np.unique(np.append(0, np.geomspace(1, max(most, 1), 40).astype(np.int64)))
    steps = steps[steps <= most]
    a, b = (x.ravel() for x in np.meshgrid(steps, steps))
    inside = a + b < n
    a, b = a[inside], b[inside]
    _, value = price.bounds(a, a, b, b)
    order = np.argsort(value)[:3]
    return [(int(a[i]), int(b[i])) for i in order]


def _above(best):
    """Return a float at least as large as the integer."""
    return np.nextafter(float(best), np.inf)


def _quarters(a0, a1, b0, b1):
    """Cut cells into halves along both sides, where these have more than one number."""
    a, b = (a0 + a1) // 2, (b0 + b1) // 2
    corners = (
        (a0, a, b0, b),
        (a + 1, a1, b0, b),
        (a0, a, b + 1, b1),
        (a + 1, a1, b + 1, b1),
    )
    cells = np.concatenate([np.stack(corner) for corner in corners], axis=1)
    return cells[:, (cells[0] <= cells[1]) & (cells[2] <= cells[3])]


class _Price:
    """What a window costs: the statistic and D for every entry left out."""

    def __init__(self, n, statistic, D, sums):
        self._n, self._statistic, self._D, self._sums = n, statistic, D, sums

    def exact(self, a, b):
        """Return the price of one window, in Python's integers."""
        m, Q, S = self._sums.exact(a, b)
        return self._statistic.floor(m, Q, S) + self._D * (a + b)

    def bounds(self, a0, a1, b0, b1):
        """Return certified lower bounds of the prices in cells, before floors, and estimates."""
        squares, error = self._sums.squares(a1, b1)
        size = np.maximum(self._n - a0 - b0, 1)
        value = self._statistic.at_least(squares, size)
        lowered = self._statistic.at_least(np.maximum(squares - error, 0.0), size)
        out = float(self._D) * (a0 + b0)
        return lowered * (1 - SLACK) + out * (1 - SLACK), value + out


class _Sums:
    """Sums of squares of windows, in floats with a certified error, and exactly.

    The entries less one of them, y = +-(h 2^16 + l), are at most 2^32, so h <= 2^16. Sums of h h,
    h l and l l over any entries are nonnegative int64, at most 2^62: those of a window, of all less
    those left out, are exact and Q = A 2^32 + B 2^17 + C is a sum of nonnegative terms, with a
    relative error of a few 2^-53. S^2 / m <= Q, so Q - S^2 / m is wrong by less than 16 * 2^-53 Q.
    """

    def __init__(self, s):
        self._n, self._origin = len(s), s[len(s) // 2]
        parts = (s[i : i + STRIP] for i in range(0, len(s), STRIP))
        self._all = sum(np.array([p.sum() for p in self._products(part)]) for part in parts)

    @property
    def whole(self):
        """Size, sum of squares and sum of all entries as Python's integers."""
        return self._exact(self._n, self._all)

    def of_ends(self, lowest, highest):
        """Return these sums with those of the smallest and of the largest entries."""
        self._low, self._high = (
            [np.concatenate([[0], np.cumsum(p)]) for p in self._products(end)]
            for end in (lowest, highest[::-1])
        )
        return self

    def _products(self, s):
        y = s - self._origin
        size = np.abs(y)
        high, low = size >> HALF, size & (2**HALF - 1)
        return y, high * high, high * low, low * low

    def _less(self, a, b):
        """Return all sums without the a smallest and the b largest entries."""
        return (
            total - low[a] - high[b]
            for total, low, high in zip(self._all, self._low, self._high, strict=True)
        )

    def squares(self, a, b):
        """Return the sums of squared deviations of windows and bounds of their errors."""
        b = np.minimum(b, self._n - a)  # empty where they cross
        S, A, B, C = (x.astype(np.float64) for x in self._less(a, b))
        Q = A * 2.0 ** (2 * HALF) + B * 2.0 ** (HALF + 1) + C
        return np.maximum(Q - S * S / np.maximum(self._n - a - b, 1), 0.0), SLACK * Q

    def exact(self, a, b):
        """Return size, sum of squares and sum of one window as Python's integers."""
        return self._exact(self._n - a - b, self._less(a, b))

    @staticmethod
    def _exact(m, sums):
        S, A, B, C = map(int, sums)
        return m, (A << 2 * HALF) + (B << HALF + 1) + C, S
