"""How fine the grid of a sum may be, so that its noise can be drawn."""

import math

__all__ = ["ROOM", "grid_bits", "unit_bits"]

ROOM = 60  # bits of noise and of sums of rows with weights, in grid units


def grid_bits(strength, *, noise_bits, most, least=1, power=1, unit=1, n=0.0):
    """Return a resolution at which the noise of a sum stays below ``2^noise_bits`` grid units.

    One row moves the sum by ``strength`` scales of the noise at most: mu, of the whole budget. Sums
    of rows to a ``power``, 2 for products, have ``2^(power bits)`` units of an entry of one. With
    weights of ``unit`` sums and noise are so many times larger; both stay below 2^60 for n rows.
    """
    weight = unit_bits(unit)
    if weight:
        noise_bits = min(noise_bits, ROOM - weight)
        most = min(most, (ROOM - weight - math.ceil(math.log2(max(n, 1.0)))) // power)
    return max(least, min(most, (noise_bits + math.floor(math.log2(strength))) // power))


def unit_bits(unit):
    """Return the number of bits by which weights make sums of rows larger, 0 without weights."""
    return math.ceil(math.log2(unit))
