"""How good a model is, told privately: reports, scores and displays."""

from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._confusion import PrivateConfusionMatrix
from skdp.metrics._cross_val import CrossValidation, cross_val_plan, private_cross_val_score
from skdp.metrics._functions import (
    PrivateScore,
    private_accuracy_score,
    private_brier_score_loss,
    private_confusion_matrix,
    private_log_loss,
    private_mean_absolute_error,
    private_mean_squared_error,
    private_r2_score,
    private_report_by_group,
    private_roc_auc_score,
)
from skdp.metrics._regression_report import PrivateRegressionReport
from skdp.metrics._report_methods import PrivateClassifierDisplay
from skdp.metrics._reports import GroupReports

__all__ = [
    "CrossValidation",
    "GroupReports",
    "PrivateClassifierDisplay",
    "PrivateClassifierReport",
    "PrivateConfusionMatrix",
    "PrivateRegressionReport",
    "PrivateScore",
    "cross_val_plan",
    "private_accuracy_score",
    "private_brier_score_loss",
    "private_confusion_matrix",
    "private_cross_val_score",
    "private_log_loss",
    "private_mean_absolute_error",
    "private_mean_squared_error",
    "private_r2_score",
    "private_report_by_group",
    "private_roc_auc_score",
]
