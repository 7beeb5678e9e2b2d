"""The density road of private k-means: find clusters by counts, then sum in small balls."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Plan, Step
from skdp.cluster._grid import Grid, count_cells
from skdp.cluster._lattice import Lattice
from skdp.cluster._locate import Located, locate, locate_steps
from skdp.cluster._refine import cluster_sums, refine, refine_steps
from skdp.cluster._subspace import Subspace, find_subspace, whole_space
from skdp.cluster._synopsis import Synopsis, weighted_kmeans
from skdp.cluster._tree import grow, schedule

__all__ = [
    "KMeansRelease",
    "Start",
    "density_centers",
    "density_kmeans",
    "density_plan",
    "density_steps",
]

GRAM_SHARE, TREE_SHARE, LIFT_PART = 0.12, 0.40, 0.2
FLAT = 3  # columns up to which the tree grows in all coordinates
STRONG = 300.0  # noise sds of a cluster that a few cells of noise cannot outweigh
WORTHLESS = 15.0, 30.0  # noise sds of a cluster, in few and many columns: below, centres are off
WEAK = "weak signal: a cluster of mean size hardly stands out of the noise"


@dataclass(frozen=True)
class Start:
    """Centres to refine. Everything is released.

    ``centers`` (k, d) in units of the table; ``synopsis``: cells in the coordinates of
    ``subspace``, in units of the located radius; ``left``: share that is left of what was given.
    """

    centers: np.ndarray
    synopsis: Synopsis
    subspace: Subspace
    left: Fraction

    @property
    def known(self):
        """What :func:`refine` can use: the cells in few columns, else the subspace."""
        flat = self.subspace.W is None
        return {"synopsis": self.synopsis} if flat else {"subspace": self.subspace}


@dataclass(frozen=True)
class KMeansRelease:
    """Released clusters: see :class:`skdp.cluster._refine.Refined` and ``located``."""

    centers: np.ndarray
    n_rows: float
    counts: np.ndarray
    noise_scale: np.ndarray
    radii: np.ndarray
    n_refused: int
    located: Located


def density_steps():
    """Return every step that the density road may take, a tuple of Step."""
    search = (
        Step("gram", at_most=GRAM_SHARE),
        Step("cells", at_most=TREE_SHARE, times=4),
        Step("lift", at_most=LIFT_PART),
    )
    return (*locate_steps(), *search, *refine_steps())


def density_plan(budget):
    """Return the plan of :func:`density_kmeans`; ``budget`` is a Gaussian Budget."""
    return Plan(budget, density_steps())


def density_kmeans(rows, curator, n_clusters, *, n_init=30, seed=0):
    """Release k centres of small mean squared distance, without bounds.

    Parameters
    ----------
    rows : ArrayRows of n rows of length d
    curator : Curator
        With the steps of :func:`density_steps`.
    n_clusters : int
    n_init : int, default=30
        Starts of the k-means on released cells; costs no budget.
    seed : int, default=0
        Public, for k-means on released cells.

    Returns
    -------
    release : KMeansRelease

    Notes
    -----
    **Privacy** (add or remove one row): every release is a function of the rows and of earlier
    releases whose sensitivity is proved where it is made, plus Gaussian noise; shares depend on
    earlier releases only (user guide "Accounting", theorem 2).
    """
    located = locate(rows, curator)
    start = density_centers(rows, curator, located, n_clusters, n_init=n_init, seed=seed)
    done = refine(rows, curator, located, start.centers, **start.known)
    return KMeansRelease(
        done.centers, located.n_rows, done.counts, done.noise_scale, done.radii, done.n_refused,
        located,
    )  # fmt: skip


def density_centers(
    rows, curator, located, n_clusters, *, n_init=30, seed=0, share=None, choose=None
):
    """Find centres by counts alone: a subspace, a noisy tree of counts on it, k-means of its cells.

    Parameters
    ----------
    rows, curator, n_clusters, n_init, seed
        As in :func:`density_kmeans`.
    located : Located
    share : float or Fraction, default=None
        For this search and the refinement after it; None is all that remains.
    choose : callable, default=None
        ``choose(synopsis, box=half)`` returns the number of centres from released cells, which are
        then those of a search for ``n_clusters``.

    Returns
    -------
    start : Start
    """
    share = curator.remaining if share is None else min(Fraction(share), curator.remaining)
    before = curator.remaining
    signal = located.n_rows * curator.budget.mu * math.sqrt(share) / n_clusters
    if signal < WORTHLESS[rows.n_features > FLAT]:
        curator.doubt(WEAK)
    if rows.n_features <= FLAT:
        subspace = whole_space(located.half)
    else:
        most = min(max(n_clusters - 1, 2), 2 if signal < 30 else 3 if signal < 100 else 6)
        gram_share = Fraction(GRAM_SHARE) * share
        subspace = find_subspace(rows, curator, located, most=most, share=gram_share)
    plan = schedule(signal, n_clusters, flat=subspace.W is None)
    grid = Grid(subspace.half, plan.depth)
    synopsis = grow(
        count_cells(rows, located, subspace, grid),
        grid,
        curator,
        plan,
        n_rows=located.n_rows,
        n_clusters=n_clusters,
        share=Fraction(TREE_SHARE) * share,
        seed=seed,
    )
    if choose is not None:
        n_clusters = choose(synopsis, box=subspace.half)
    cells = synopsis.cautious if signal < STRONG else synopsis
    points, _ = weighted_kmeans(cells, n_clusters, n_init=n_init, seed=seed, box=subspace.half)
    left = share - (before - curator.remaining)
    if subspace.mapped:
        y = _lifted(rows, curator, located, subspace, points, share=Fraction(LIFT_PART) * left)
        left = share - (before - curator.remaining)
    else:
        y = subspace.lift(points)
    return Start(located.inside(located.to_data(y)), synopsis, subspace, left)


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
