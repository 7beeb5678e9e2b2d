"""Private clustering."""

from skdp.cluster._kmeans import FriendlyCoreKMeans
from skdp.cluster._lloyd_kmeans import LloydKMeans

__all__ = ["FriendlyCoreKMeans", "LloydKMeans"]
