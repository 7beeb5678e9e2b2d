"""A set of rows that is asked for its members and keeps none of them."""

import numpy as np

from skdp.chunks import map_merge

__all__ = ["RowSet"]


class RowSet:
    """Digests of rows, salted by secret words: two different rows share one with 2^-63 or so."""

    def __init__(self, rows, mask, salts):
        self._salts = salts
        parts = map_merge(
            rows,
            lambda start, block, index: [digests(block[index], salts)],
            list.__add__,
            lambda start, stop: np.flatnonzero(mask[start:stop]),
        )
        self._members = np.sort(np.concatenate(parts))

    def holds(self, X):
        """Tell for each row of X whether it is a member, bit for bit."""
        found = digests(X, self._salts)
        place = np.minimum(np.searchsorted(self._members, found), max(0, len(self._members) - 1))
        return self._members[place] == found if len(self._members) else np.zeros(len(X), dtype=bool)


def digests(X, salts):
    """Return a 64-bit digest of every row, the same for float32, float64 and both zeros."""
    total = np.zeros(len(X), dtype=np.uint64)
    for j, salt in enumerate(salts):
        bits = (np.asarray(X[:, j], dtype=np.float64) + 0.0).view(np.uint64)
        total += _mixed(bits ^ salt)
    return _mixed(total)


def _mixed(x):
    """Mix the bits of every word (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
