"""How good a model is, told privately: reports, scores and displays."""

from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._regression_report import PrivateRegressionReport

__all__ = ["PrivateClassifierReport", "PrivateRegressionReport"]
