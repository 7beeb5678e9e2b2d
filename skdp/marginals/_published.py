"""The relaxed projection of Dwork, Nikolov and Talwar as they published it, for all orders."""

from math import comb

import numpy as np

from skdp.marginals._frank_wolfe import relaxed_projection
from skdp.marginals._parities import from_parities, to_parities
from skdp.marginals._shrink import row_count

__all__ = ["PublishedProjection"]

STEPS = 300
MOST_PRODUCTS = 2**20


class PublishedProjection:
    """Frank-Wolfe over the semidefinite relaxation, order by order, n fixed.

    Parameters
    ----------
    measurement : Measurement
        Of binary attributes.

    Notes
    -----
    In the paper noise of standard deviation ``c / sqrt(p_S)`` is added to the parity of S, so the
    metric of its projection is ``p_S ~ 1 / sd_S^2``. Sets of one size are projected on n times the
    relaxed body of that size, n being the released number of rows, at least 10.

    For ``sum of p_S = 1`` the mean squared noise ``sum of p_S sd_S^2`` is the harmonic mean of the
    variances. If the certified gap is larger, what Frank-Wolfe has not finished may be more than
    the projection can take away, and parities of this size stay as released (user guide "Marginals
    as published"). A first call decides on that; later ones, which ask for slopes, go along.
    """

    def __init__(self, measurement):
        self.layout, self.stay = measurement.layout, {}
        self.precision = 1 / np.square(to_parities(measurement.layout, measurement.sd))

    @staticmethod
    def fits(layout):
        """Whether attributes are binary and the matrices of the relaxation not too large."""
        d = len(layout.subsets[1])
        largest = (
            min(comb(d, (k + 1) // 2), len(sets) * comb(k, k // 2))
            * min(comb(d, k // 2), len(sets) * comb(k, k // 2))
            for k, sets in enumerate(layout.subsets)
        )
        return layout.binary and max(largest) <= MOST_PRODUCTS

    def __call__(self, values):
        n, parities = row_count(values), to_parities(self.layout, values)
        parities[0] = n
        for k, sets in enumerate(self.layout.subsets[1:], start=1):
            here = self.layout.orders == k
            p = self.precision[here]
            found = relaxed_projection(
                parities[here], sets, len(self.layout.levels), n=n, weights=p, steps=STEPS
            )
            if not self.stay.setdefault(k, found.gap > 1 / np.mean(p)):
                parities[here] = found.values
        return from_parities(self.layout, parities)
