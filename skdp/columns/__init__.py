"""Columns: where their entries lie without bounds, how far they reach, and moments between bounds.

Engines: functions of rows, public parameters and noise.
"""

from skdp.columns._pair import Moments, bounded_moments
from skdp.columns._ranks_search import find_quantiles, rank_steps

__all__ = [
    "Moments",
    "bounded_moments",
    "find_quantiles",
    "rank_steps",
]
