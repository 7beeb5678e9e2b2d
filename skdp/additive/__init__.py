"""Additive models: a table for every feature, fitted on released gradients of its cells."""

from skdp.additive._classifier import PrivateAdditiveClassifier
from skdp.additive._regressor import PrivateAdditiveRegressor
from skdp.additive._terms_display import TermsDisplay

__all__ = ["PrivateAdditiveClassifier", "PrivateAdditiveRegressor", "TermsDisplay"]
