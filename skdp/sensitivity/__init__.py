"""Sensitivity preprocessing: bounded statistics of unbounded data."""

from skdp.sensitivity._bounded import (
    STATISTICS,
    BoundedRelease,
    BoundedValue,
    bounded_column,
    bounded_statistic,
    release_bounded,
    release_mechanism,
)
from skdp.sensitivity._extremes import bounded_max, bounded_min, bounded_range, bounded_sum
from skdp.sensitivity._grid import Grid, integer_column
from skdp.sensitivity._groups import bounded_groups
from skdp.sensitivity._median import bounded_median
from skdp.sensitivity._path import bounded_ordered
from skdp.sensitivity._personal import (
    PersonalBudgets,
    PersonalRelease,
    PersonalReport,
    personal_laplace,
    personal_select,
)
from skdp.sensitivity._personal_groups import (
    PersonalStatistic,
    personal_median,
    personal_statistic,
)
from skdp.sensitivity._plane import bounded_plane, bounded_plane_function
from skdp.sensitivity._recursion import bounded_function
from skdp.sensitivity._shift import StatisticMap, statistic_map
from skdp.sensitivity._spread import StandardDeviation, SumOfSquares, Variance, bounded_spread
from skdp.sensitivity._windows import (
    Mean,
    Midrange,
    Quantile,
    Sum,
    TrimmedMean,
    WinsorisedMean,
)

__all__ = [
    "STATISTICS",
    "BoundedRelease",
    "BoundedValue",
    "Grid",
    "Mean",
    "Midrange",
    "PersonalBudgets",
    "PersonalRelease",
    "PersonalReport",
    "PersonalStatistic",
    "Quantile",
    "StandardDeviation",
    "StatisticMap",
    "Sum",
    "SumOfSquares",
    "TrimmedMean",
    "Variance",
    "WinsorisedMean",
    "bounded_column",
    "bounded_function",
    "bounded_groups",
    "bounded_max",
    "bounded_median",
    "bounded_min",
    "bounded_ordered",
    "bounded_plane",
    "bounded_plane_function",
    "bounded_range",
    "bounded_spread",
    "bounded_statistic",
    "bounded_sum",
    "integer_column",
    "personal_laplace",
    "personal_median",
    "personal_select",
    "personal_statistic",
    "release_bounded",
    "release_mechanism",
    "statistic_map",
]
