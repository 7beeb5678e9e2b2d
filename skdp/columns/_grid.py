"""Grids of numbers: whether released ranks show that a column holds multiples of 1, of 0.1, ..."""

import math

import numpy as np

__all__ = ["between", "grid_of", "multiple_in", "multiples"]

POWERS = 9  # of ten, below the span of the ranks
SURE = 4.0  # twice the log likelihood that empty cells need over those of a smooth density
WRONG, SHOWS = 4.0, 3.0  # noises: of one cell that cannot be empty, and of one that is not
STRANGE = 4.0  # standard deviations of the sum of squares of empty cells
LEAST, MOST, EXACT = 2, 300, 2.0**52  # cells, powers, numbers of multiples


def multiples(x, power):
    """Return the numbers of the largest multiples of a power of ten at or below numbers."""
    with np.errstate(over="ignore"):
        k = np.rint(x / 10.0**power)
    return k - (_number(k, power) > x)


def multiple_in(low, high, value, power):
    """Return a multiple in (low, high], the first from a value on or the last; None without any."""
    first, last = multiples(np.array([low, high]), power)
    if first == last:
        return None
    k = multiples(np.array([value]), power)[0]
    k += _number(k, power) < value
    return float(_number(min(max(k, first + 1), last), power))


def between(k, power):
    """Return the numbers in the middle between multiples and those that follow them."""
    return _number(k + 0.5, power)


def _number(k, power):
    """Return the floats nearest to k times a power of ten."""
    return k * 10.0**power if power >= 0 else k / 10.0**-power


def grid_of(cuts, rank, raw, c):
    """Return the power of ten whose multiples hold all rows, None if none does.

    Shapes: cuts, rank, which rises, and raw, the least squares of ranks, (m,); their covariance c,
    (m, m).

    Notes
    -----
    Cells between cuts that hold no multiple must be as empty as their noise is small, and be more
    likely empty than filled as evenly as the places around them. The coarsest grid is taken. No
    interval knows of it: a wrong one costs accuracy where it moves estimates to a multiple.
    """
    if len(cuts) < LEAST:
        return None
    mass, noise = np.diff(raw), c[1:, 1:] + c[:-1, :-1] - c[1:, :-1] - c[:-1, 1:]
    sd = np.sqrt(np.maximum(np.diag(noise), 1e-9))
    top = math.floor(math.log10(max(cuts[-1] / 2 - cuts[0] / 2, 1e-300)))
    for power in range(min(top, MOST), max(top - POWERS, -MOST), -1):
        numbers = multiples(cuts, power)
        if not np.abs(numbers).max() <= EXACT:
            return None
        empty = np.diff(numbers) == 0
        seen = np.count_nonzero(mass[~empty] > SHOWS * sd[~empty])
        if empty.sum() < LEAST or seen < LEAST or (mass[empty] > WRONG * sd[empty]).any():
            continue
        first, length = numbers[:-1][empty], np.diff(cuts)[empty] / 10.0**power
        low, high = (np.interp(_number(first + step, power), cuts, rank) for step in (-1, 2))
        smooth = (high - low) / 3 * length
        of_empty = noise[np.ix_(empty, empty)] + np.diag(0.25 + 1e-9 * sd[empty] ** 2)
        of_smooth, of_mass = np.linalg.solve(of_empty, np.stack([smooth, mass[empty]], axis=1)).T
        n, strange = empty.sum(), mass[empty] @ of_mass
        likely = smooth @ of_smooth - 2 * smooth @ of_mass
        if strange <= n + STRANGE * math.sqrt(2 * n) and likely > SURE:
            return power
    return None
