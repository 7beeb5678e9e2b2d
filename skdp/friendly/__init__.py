"""Friends: rows or tuples close to each other, cores of those with many, and what is safe there."""

from skdp.friendly._average import RadiusGrid, friendly_average, friendly_mean, friendly_mean_plan
from skdp.friendly._core import LocalCore, friendly_core, friendly_core_plan
from skdp.friendly._diameter import diameter_tests, find_diameter
from skdp.friendly._filters import group_friends, noisy_filter, replace_one_filter
from skdp.friendly._match import FusedMatch, MatchPredicate, Predicate
from skdp.friendly._tuples import (
    friendly_tuple_average,
    friendly_tuples,
    friendly_tuples_plan,
    reorder,
)
from skdp.kernel.pairs._distance import (
    DistancePredicate,
    h_index,
    soft_core_average,
    soft_core_sensitivity,
)

__all__ = [
    "DistancePredicate",
    "FusedMatch",
    "LocalCore",
    "MatchPredicate",
    "Predicate",
    "RadiusGrid",
    "diameter_tests",
    "find_diameter",
    "friendly_average",
    "friendly_core",
    "friendly_core_plan",
    "friendly_mean",
    "friendly_mean_plan",
    "friendly_tuple_average",
    "friendly_tuples",
    "friendly_tuples_plan",
    "group_friends",
    "h_index",
    "noisy_filter",
    "reorder",
    "replace_one_filter",
    "soft_core_average",
    "soft_core_sensitivity",
]
