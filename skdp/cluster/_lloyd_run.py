"""Several noisy steps of Lloyd from centres that do not depend on the rows."""

import math
from fractions import Fraction

import numpy as np

from skdp.cluster._noisy_lloyd import noisy_cell_sums
from skdp.cluster._starts import ball_points, spread_points

__all__ = ["lloyd_run"]


def lloyd_run(rows, curator, located, n_clusters, init, *, n_steps, seed=0):
    """Release centres by equal steps with everything that is left of the budget.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        With a step "step" of ``n_steps`` times.
    located : Located
    n_clusters : int
    init : {"spread", "random"} or ndarray of shape (n_clusters, d)
        As for :class:`LloydKMeans`.
    n_steps : int
    seed : int, default=0
        Public.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d)

    Notes
    -----
    **Privacy**: that of :func:`noisy_cell_sums`, step by step. What follows from a step, and where
    a cluster without rows starts again, is computed from releases and public numbers.
    """
    d, share = rows.n_features, curator.remaining / n_steps
    centers = _start(located, init, n_clusters, d, seed)
    reach = max(0.25, n_clusters ** (-1 / d))  # radii of even cells of the ball
    for i in range(n_steps):
        radii = np.full(n_clusters, reach * located.radius)
        sums = noisy_cell_sums(
            rows, curator, located, centers, radii, share=Fraction(share), label="step"
        )
        moved = sums.moved(centers, radii)
        if i < n_steps - 2:
            moved = _revived(moved, sums, radii, "revival", i, seed)
        centers = located.inside(located.to_data(located.to_units(moved)))
    return centers


def _start(located, init, k, d, seed):
    if not isinstance(init, str):
        return located.to_data(located.to_units(init))
    points = spread_points(k, d, seed) if init == "spread" else ball_points(k, d, init, seed)
    return located.to_data(points)


def _revived(centers, sums, radii, *key):
    """Put a centre without rows beside that of a large cluster, the more the larger first."""
    lost = np.flatnonzero(sums.counts < 3 * sums.count_sd)
    large = np.argsort(-sums.counts, kind="stable")[: len(lost)]
    centers = centers.copy()
    offsets = ball_points(*centers.shape, *key)
    for j, i in zip(lost, large, strict=True):
        if sums.counts[i] >= 3 * sums.count_sd:
            centers[j] = centers[i] + offsets[j] * radii[i] / math.sqrt(2)
    return centers
