"""Integers in the order of the floats: cells of the whole line whose edges are no data."""

import numpy as np

__all__ = [
    "BELOW_ALL",
    "TOP",
    "float_to_key",
    "key_to_float",
    "octave_keys",
    "subdivide_keys",
    "whole_keys",
]

TOP = int(np.float64(np.finfo(np.float64).max).view(np.int64))  # of the largest float
BELOW_ALL = -TOP - 1  # of -inf
MANTISSA = 52
BIAS = 1023
ONE_BY_ONE, GROUP = 64, 64  # octaves around 1 that are cells of their own; of a group beyond them
CODES = 8  # whole numbers up to this are cells of their own: most codes; single years are too light


def float_to_key(x):
    """Return for every number an integer, in the order of the numbers; 0 for 0.0 and -0.0.

    Notes
    -----
    The bits of a magnitude, read as an integer, grow with it. With the sign of the number they are
    its key: neighbouring floats have neighbouring keys.
    """
    x = np.asarray(x, dtype=np.float64)
    return np.where(np.signbit(x), -1, 1) * np.abs(x).view(np.int64)


def key_to_float(keys):
    """Return the numbers of keys, float64: undoes :func:`float_to_key`."""
    keys = np.asarray(keys, dtype=np.int64)
    return np.abs(keys).view(np.float64) * np.sign(keys)


def octave_keys():
    """Return the keys of the edges of cells (a, b] for all floats, rising, with both ends.

    Zero has a cell of its own. The octaves from 2^-64 to 2^64 are one cell each, on either side;
    beyond them 64 at a time; the subnormal numbers are one more.
    """
    near = np.arange(-ONE_BY_ONE, ONE_BY_ONE + 1)
    far = np.append(np.arange(ONE_BY_ONE + GROUP, BIAS, GROUP), BIAS - 1)
    exponents = np.concatenate([-far[::-1], near, far])
    side = (exponents + BIAS) << MANTISSA
    return np.concatenate([[BELOW_ALL], -side[::-1], [-1, 0], side, [TOP]])


def whole_keys():
    """Return the keys of the edges of cells (a, b] of whole numbers, rising, with both ends.

    Those from -7 to 8 have a cell each; beyond them cells are those of :func:`octave_keys`.
    """
    octaves = octave_keys()
    far = octaves[np.abs(key_to_float(octaves)) > CODES]
    return np.sort(np.concatenate([far, float_to_key(np.arange(-CODES, CODES + 1))]))


def subdivide_keys(low, high, parts, *, whole=False):
    """Return at most ``parts - 1`` keys that divide the cell (low, high] evenly, and high - 1.

    So the number at the upper edge, be it a small integer or another short binary number, is alone
    in its cell. If ``whole``, for a cell of several whole numbers, the keys are those of the whole
    numbers below, and the largest one is alone.
    """
    low, high = int(low), int(high)  # differences are beyond 64 bits
    even = {low + (high - low) * i // parts for i in range(1, parts)} | {high - 1}
    if whole:
        even = set(float_to_key(np.floor(key_to_float(sorted(even)))).tolist())
    return sorted(key for key in even if key > low)
