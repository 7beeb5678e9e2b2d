"""How good a model is, told privately: reports, scores and displays."""

from skdp.metrics._classifier_report import PrivateClassifierReport

__all__ = ["PrivateClassifierReport"]
