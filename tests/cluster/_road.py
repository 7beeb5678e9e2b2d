"""The density road as the estimator takes it, with everything that it releases."""

from skdp.accounting import Plan
from skdp.cluster._density import density_centers, density_steps
from skdp.cluster._locate import locate
from skdp.cluster._refine import refine

__all__ = ["density_kmeans", "density_plan"]


def density_plan(budget):
    """Return the plan of :func:`density_kmeans`; ``budget`` is a Gaussian Budget."""
    return Plan(budget, density_steps())


def density_kmeans(rows, curator, n_clusters, *, n_init=30, seed=0):
    """Return a :class:`skdp.cluster._refine.Refined`."""
    located = locate(rows, curator)
    start = density_centers(rows, curator, located, n_clusters, n_init=n_init, seed=seed)
    return refine(rows, curator, located, start.centers, **start.known)
