"""Sensitivity preprocessing: bounded statistics of unbounded data."""

from skdp.sensitivity._bounded import bounded_statistic, release_bounded
from skdp.sensitivity._personal import (
    PersonalBudgets,
    PersonalReport,
    personal_laplace,
    personal_select,
)
from skdp.sensitivity._personal_groups import personal_median, personal_statistic
from skdp.sensitivity._windows import Quantile, TrimmedMean, WinsorisedMean

__all__ = [
    "PersonalBudgets",
    "PersonalReport",
    "Quantile",
    "TrimmedMean",
    "WinsorisedMean",
    "bounded_statistic",
    "personal_laplace",
    "personal_median",
    "personal_select",
    "personal_statistic",
    "release_bounded",
]
