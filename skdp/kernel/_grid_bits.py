"""How fine the grid of a sum may be, so that its noise can be drawn."""

import math

__all__ = ["ROOM", "grid_bits", "unit_bits"]

ROOM = 60  # bits of noise and of sums of rows with weights, in grid units


def grid_bits(strength, *, noise_bits, most, least=1, power=1, unit=1, n=0.0):
    """Return a resolution at which the noise of a sum stays below ``2^noise_bits`` grid units.

    Parameters
    ----------
    strength : float
        By how many scales of the noise one row moves the sum at most: mu for the whole budget.
    noise_bits : int
    most, least : int
        The resolution lies between them, whatever the noise.
    power : int, default=1
        Of the entries that are summed: 1 for rows, 2 for their products.
    unit : int, default=1
        Of rows with weights: sums and noise are so many times larger, and the grid is so coarse
        that both stay below 2^60.
    n : float, default=0.0
        Released number of rows, with weights that of persons' worth of them.

    Returns
    -------
    bits : int
        Entries of size one are ``2^bits`` grid units, and what is summed is ``2^(power bits)``.
    """
    weight = unit_bits(unit)
    if weight:
        noise_bits = min(noise_bits, ROOM - weight)
        most = min(most, (ROOM - weight - math.ceil(math.log2(max(n, 1.0)))) // power)
    return max(least, min(most, (noise_bits + math.floor(math.log2(strength))) // power))


def unit_bits(unit):
    """Return the number of bits by which weights make sums of rows larger, 0 without weights."""
    return math.ceil(math.log2(unit))
