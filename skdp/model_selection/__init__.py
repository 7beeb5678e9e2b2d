"""Choosing parameters at a price that is known before."""

from skdp.model_selection._private_search import PrivateSearchCV
from skdp.model_selection._scorers import (
    AccuracyScorer,
    DistanceScorer,
    LogDensityScorer,
    RowScorer,
)
from skdp.model_selection._scoring import LogLossScorer, ReportScorer, SquaredErrorScorer
from skdp.model_selection._search_report import SearchReport, search_report

__all__ = [
    "AccuracyScorer",
    "DistanceScorer",
    "LogDensityScorer",
    "LogLossScorer",
    "PrivateSearchCV",
    "ReportScorer",
    "RowScorer",
    "SearchReport",
    "SquaredErrorScorer",
    "search_report",
]
