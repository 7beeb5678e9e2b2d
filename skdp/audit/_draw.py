"""Reproducible choices for audits. Nothing here protects anybody."""

from zlib import crc32

import numpy as np
from scipy.special import ndtri

from skdp.mechanisms import make_entropy


class AuditRandom:
    """Choices that are a function of ``key``, any values with a ``repr``."""

    def __init__(self, *key):
        self._entropy = make_entropy(crc32(repr(key).encode()))

    def words(self, n):
        """Return n words, an array of uint64."""
        return self._entropy.words(n)

    def uniform(self, size=None):
        """Return floats in (0, 1)."""
        count = 1 if size is None else int(np.prod(size))
        u = ((self.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return float(u[0]) if size is None else u.reshape(size)

    def below(self, n, size=None):
        """Return integers in 0, ..., n - 1."""
        if size is None:
            return int(self.uniform() * n)
        return (self.uniform(size) * n).astype(np.intp)

    def normal(self, size):
        """Return standard normal floats."""
        return ndtri(self.uniform(size))

    def choice(self, options):
        """Return one of the options."""
        return options[self.below(len(options))]

    def chance(self, p):
        """Return True with probability p."""
        return self.uniform() < p

    def sample(self, n, size):
        """Return ``size`` of 0, ..., n - 1, all different."""
        return np.argsort(self.words(n), kind="stable")[:size]
