"""Choosing parameters at a price that is known before."""

from skdp.model_selection._private_search import PrivateSearchCV
from skdp.model_selection._report_scorer import ReportScorer
from skdp.model_selection._scorers import (
    AccuracyScorer,
    DistanceScorer,
    LogDensityScorer,
    RowScorer,
)
from skdp.model_selection._search_report import SearchReport, search_report
from skdp.model_selection._target_scorers import LogLossScorer, SquaredErrorScorer

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
