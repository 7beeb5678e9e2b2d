"""The road of FriendlyCore: cluster random parts of the table, agree on one tuple of centres."""

from skdp.cluster.friendly._parts import kmeans_oracle, part_tuples, pca_oracle
from skdp.cluster.friendly._strategy import friendly_centers, friendly_road_steps

__all__ = [
    "friendly_centers",
    "friendly_road_steps",
    "kmeans_oracle",
    "part_tuples",
    "pca_oracle",
]
