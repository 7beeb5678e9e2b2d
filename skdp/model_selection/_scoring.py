"""The scorer that a ``scoring`` parameter stands for."""

from functools import partial

from sklearn.utils import get_tags

from skdp.model_selection._report_scorer import ReportScorer
from skdp.model_selection._scorers import (
    AccuracyScorer,
    DistanceScorer,
    LogDensityScorer,
    RowScorer,
    ScaledScorer,
)
from skdp.model_selection._target_scorers import (
    LogLossScorer,
    SquaredErrorScorer,
    with_public_scale,
)

__all__ = ["SCORERS", "own_scorer_notes", "scorer_of"]

SCORERS = {
    "accuracy": AccuracyScorer,
    "distance": DistanceScorer,
    "log_density": LogDensityScorer,
    "neg_log_loss": LogLossScorer,
    "neg_squared_error": SquaredErrorScorer,
    "r2": partial(ReportScorer, "r2"),
    "roc_auc": ReportScorer,
    "neg_brier_score": partial(ReportScorer, "brier_score"),
    "neg_mean_absolute_error": partial(ReportScorer, "mean_absolute_error"),
}
OWN = RowScorer, ScaledScorer, LogDensityScorer, ReportScorer
BY_TYPE = {"classifier": "accuracy", "regressor": "neg_squared_error"}


def own_scorer_notes(scoring):
    """Return what a plan says of a scorer that is not one of these, nor a RowScorer."""
    if scoring is None or isinstance(scoring, (str, *OWN)):
        return ()
    return (
        f"scoring {type(scoring).__name__}: on your promise that the score of a row depends on "
        "that row and the model alone; a RowScorer is given one row at a time",
    )


def scorer_of(scoring, estimator):
    """Return the scorer that a ``scoring`` parameter stands for."""
    if scoring is None:
        density = "log_density" if hasattr(estimator, "score_samples") else "distance"
        scoring = BY_TYPE.get(get_tags(estimator).estimator_type, density)
        if scoring == "accuracy" and hasattr(estimator, "predict_proba"):
            scoring = "roc_auc"
    scorer = SCORERS[scoring]() if isinstance(scoring, str) else scoring
    return with_public_scale(scorer, estimator)
