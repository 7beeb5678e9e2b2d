"""The best window of sorted integers, by branch and bound with certified bounds."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skdp.sensitivity._closed import STRIP, sorted_ends

__all__ = [
    "End",
    "Sums",
    "exact_sums",
    "most_left_out",
    "products",
    "smallest_window",
    "sums_of_ends",
    "window_of_ends",
]

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
        cells = cells[:, (low < _above(best)) & price.some_left(cells[0], cells[2])]
        a0, a1, b0, b1 = cells
        single = (a0 == a1) & (b0 == b1)
        low, value = price.bounds(a0, a0, b0, b0)  # the largest window of every cell
        hopeful = np.flatnonzero(single & (low < _above(best)))
        if value.size:
            hopeful = np.append(hopeful, np.argmin(value))
        for at in hopeful[np.argsort(low[hopeful])]:
            if low[at] < _above(best):
                best = min(best, price.exact(int(a0[at]), int(b0[at])))
        wide = single & ~(sums.low.alone(a0) & sums.high.alone(b0))
        untold = min(untold, np.min(low[wide], initial=np.inf))
        cells = cells[:, ~single]
        if cells.shape[1]:
            stack.append(_quarters(*cells))
    return None if untold < _above(best) else best


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
