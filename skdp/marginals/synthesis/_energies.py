"""How much of the energy of noisy vectors is not noise: empirical Bayes over many of them."""

import numpy as np
from scipy.special import chndtr

__all__ = ["EnergyPrior"]

GRID = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])  # in sds of the noise's own energy
CERTAIN = 30.0  # above which no prior is needed
ROUNDS = 60
WIDTH = 0.05  # of an interval, in sds of the noise's own energy


class EnergyPrior:
    """A prior of the energies ``|x|^2`` of vectors that are seen with noise.

    Notes
    -----
    ``|x + z|^2`` has the noncentral chi-square law of ``free`` degrees of freedom and noncentrality
    ``|x|^2``. A prior on a few multiples of ``sqrt(2 free)``, zero among them, is fitted to all
    vectors by maximum likelihood (Kiefer and Wolfowitz 1956; the EM algorithm, whose steps lose
    nothing). If most vectors are noise, zero gets most of the prior, and a vector must stand out
    among as many others to count.
    """

    def __init__(self, seen, free):
        self.prior = np.full(len(GRID), 1 / len(GRID))
        unsure = (seen - free) < CERTAIN * np.sqrt(2 * free)
        if not unsure.any():
            return
        chances = _likelihood(seen[unsure], free[unsure])
        for _ in range(ROUNDS):
            parts = chances * self.prior
            self.prior = np.mean(parts / parts.sum(axis=1, keepdims=True), axis=0)

    def energy(self, seen, free):
        """Return the expected ``|x|^2`` of one vector, given what is seen of it."""
        unit = np.sqrt(2.0 * free)
        if seen - free >= CERTAIN * unit:
            return float(seen - free)
        parts = _likelihood(np.array([seen]), np.array([free]))[0] * self.prior
        return float(unit * (parts @ GRID) / parts.sum())


def _likelihood(seen, free):
    """Return the probability of a narrow interval around what is seen, for every grid point."""
    unit = np.sqrt(2.0 * free)[:, None]
    seen, free, center = seen[:, None], free[:, None], np.maximum(GRID * unit, 1e-9)
    ends = (np.maximum(seen + side * WIDTH * unit, 0.0) for side in (-1, 1))
    low, high = (np.nan_to_num(chndtr(end, free, center)) for end in ends)
    return np.maximum(high - low, 0.0) + 1e-300
