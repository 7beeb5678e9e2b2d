"""Keys of rows that stay with their rows, and random words that are written down."""

import numpy as np
from scipy.special import ndtri

from skdp.audit._draw import Draw
from skdp.mechanisms import RowKeys, make_entropy

__all__ = ["FixedKeys", "Heard", "keyed_normal"]


class FixedKeys:
    """Row keys given by hand: ``keys[i]`` belongs to row i; others come from a fixed stream.

    Notes
    -----
    **Privacy**: none, as keys that are known protect nothing: for audits alone.
    """

    def __init__(self, keys):
        self._keys = np.asarray(keys, dtype=np.uint64)

    def keys(self, start, stop, use=""):
        """Return the keys of rows ``start, ..., stop - 1`` for one use."""
        if start > len(self._keys):  # keys that belong to no row
            return RowKeys(make_entropy(0)).keys(start, stop, use)
        keys = self._keys[start:stop]
        return mixed(keys, use) if use else keys


def mixed(keys, *salt):
    """Return other keys, a function of each key and of ``salt``."""
    x = np.asarray(keys).astype(np.uint64) ^ Draw(*salt).words(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def keyed_normal(keys, *salt):
    """Return a standard normal float for each key."""
    u = (mixed(keys, *salt) >> np.uint64(11)).astype(np.float64)
    return ndtri((u + 0.5) * 2.0**-53)


class Heard:
    """A source of random words that keeps, in ``heard``, the first of each draw."""

    def __init__(self, entropy):
        self._entropy, self.heard = entropy, []

    def __getattr__(self, name):
        return getattr(self._entropy, name)

    def words(self, n):
        """Return n words."""
        words = self._entropy.words(n)
        self.heard += np.asarray(words[:1]).tolist()
        return words
