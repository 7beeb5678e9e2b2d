"""Friends: rows close to each other, how many a row has, and the average of rows with many."""

from skdp.friendly._certificate import h_index
from skdp.friendly._distance import DistancePredicate
from skdp.friendly._soft_core import GridVector, soft_core_average, soft_core_sensitivity

__all__ = [
    "DistancePredicate",
    "GridVector",
    "h_index",
    "soft_core_average",
    "soft_core_sensitivity",
]
