"""Boosting with pairs: terms of one and of two features, the pairs found privately."""

from skdp.boosting._classifier import PrivateBoostingClassifier
from skdp.boosting._regressor import PrivateBoostingRegressor

__all__ = ["PrivateBoostingClassifier", "PrivateBoostingRegressor"]
