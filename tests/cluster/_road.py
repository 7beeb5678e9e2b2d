"""The density road as the estimator takes it, with everything that it releases."""

from skdp.accounting import Plan
from skdp.cluster._density import DENSITY_STEPS, density_road
from skdp.cluster._outlying_groups import release_ball_cover
from skdp.kernel._table import Table

__all__ = ["density_kmeans", "density_plan"]


def density_plan(budget):
    """Return the plan of :func:`density_kmeans`; ``budget`` is a Gaussian Budget."""
    return Plan(budget, DENSITY_STEPS)


def density_kmeans(rows, curator, n_clusters, *, n_init=30, seed=0):
    """Return a :class:`skdp.cluster._shrunken_centers.RefinedCenters`."""
    located = release_ball_cover(Table(rows, curator), n_clusters)
    return density_road(Table(rows, curator), located, n_clusters, n_init=n_init, seed=seed)[0]
