"""The density road of private k-means: find clusters by counts, then sum in small balls."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._lattice import Lattice
from skdp.cluster._locate import locate_steps
from skdp.cluster._lockstep import in_step
from skdp.cluster._refine import cluster_sums, refine_steps
from skdp.cluster._search import FLAT, search_cells, search_steps
from skdp.cluster._subspace import Subspace
from skdp.cluster._synopsis import Synopsis, weighted_kmeans

__all__ = ["Start", "density_centers", "density_steps"]

LIFT_PART = 0.2
STRONG = 300.0  # noise sds of a cluster that a few cells of noise cannot outweigh
WORTHLESS = 15.0, 30.0  # noise sds of a cluster, in few and many columns: below, centres are off
WEAK = "weak signal: a cluster of mean size hardly stands out of the noise"


@dataclass(frozen=True)
class Start:
    """Centres to refine. Everything is released.

    ``centers`` (k, d) in units of the table; ``synopsis``: cells in the coordinates of
    ``subspace``, in units of the located radius.
    """

    centers: np.ndarray
    synopsis: Synopsis
    subspace: Subspace

    @property
    def known(self):
        """What :func:`refine` can use: the cells in few columns, else the subspace."""
        flat = self.subspace.W is None
        return {"synopsis": self.synopsis} if flat else {"subspace": self.subspace}


def density_steps():
    """Return every step that the density road may take, a tuple of Step."""
    return (*locate_steps(), *search_steps(), Step("lift", at_most=LIFT_PART), *refine_steps())


def density_centers(rows, curator, located, n_clusters, *, n_init=30, seed=0, share=None):
    """Find centres by counts alone: a subspace, a noisy tree of counts on it, k-means of its cells.

    Parameters
    ----------
    rows : ArrayRows of n rows of length d
    curator : Curator
        With the steps of :func:`density_steps`.
    located : Located
    n_clusters : int
    n_init : int, default=30
        Starts of the k-means on released cells; costs no budget.
    seed : int, default=0
        Public, for k-means on released cells.
    share : float or Fraction, default=None
        For this search and the refinement after it; None is all that remains.

    Returns
    -------
    start : Start

    Notes
    -----
    **Privacy** (add or remove one row): every release is a function of the rows and of earlier
    releases whose sensitivity is proved where it is made, plus Gaussian noise; shares depend on
    earlier releases only (user guide "Accounting", theorem 2).
    """
    share = curator.remaining if share is None else min(Fraction(share), curator.remaining)
    before, mu = curator.remaining, curator.budget.mu
    signal = located.n_rows * mu * math.sqrt(share) / n_clusters
    if signal < WORTHLESS[rows.n_features > FLAT]:
        curator.doubt(WEAK)
    search = search_cells(
        located, n_clusters=n_clusters, signal=signal, share=share, mu=mu, seed=seed
    )
    (found,) = in_step([search], rows, curator)
    subspace, synopsis = found.subspace, found.synopsis
    cells = synopsis.cautious if signal < STRONG else synopsis
    points, _ = weighted_kmeans(cells, n_clusters, n_init=n_init, seed=seed, box=subspace.half)
    if subspace.mapped:
        left = share - (before - curator.remaining)
        y = _lifted(rows, curator, located, subspace, points, share=Fraction(LIFT_PART) * left)
    else:
        y = subspace.lift(points)
    return Start(located.inside(located.to_data(y)), synopsis, subspace)


def _lifted(rows, curator, located, subspace, points, *, share):
    """Release the means in all d coordinates of the clusters of a random projection.

    Notes
    -----
    **Privacy**: of :func:`skdp.cluster._refine.cluster_sums`, with one ball for all; the label of a
    row comes from its coordinates in the subspace, rounded to integers one by one.
    """

    def on_grid(Z):
        return np.trunc(np.clip(Z, -subspace.half, subspace.half) * 2.0**22)

    lattice, C = Lattice(located), on_grid(points)
    counts, sums, _ = cluster_sums(
        rows,
        curator,
        lambda block: lattice.labels(block, C, lambda Q: on_grid(subspace.coordinates(Q)))[0],
        np.broadcast_to(located.center, (len(points), rows.n_features)),
        radii=np.full(len(points), located.radius),
        weight=0.15,
        share=share,
        label="lift",
    )
    return sums / np.maximum(counts, 1.0)[:, None]
