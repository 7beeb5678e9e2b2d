"""How fine the grid of a sum may be, so that its noise can be drawn."""

import math

__all__ = ["grid_bits"]


def grid_bits(strength, *, noise_bits, most, least=1, power=1):
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

    Returns
    -------
    bits : int
        Entries of size one are ``2^bits`` grid units, and what is summed is ``2^(power bits)``.
    """
    return min(most, max(least, (noise_bits + math.floor(math.log2(strength))) // power))
