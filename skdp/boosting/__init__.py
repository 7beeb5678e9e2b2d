"""Boosting with pairs: terms of one and of two features, the pairs found privately."""

from skdp.boosting._classifier import PrivateBoostingClassifier
from skdp.boosting._pair_terms_display import PairTermsDisplay
from skdp.boosting._regressor import PrivateBoostingRegressor

__all__ = ["PairTermsDisplay", "PrivateBoostingClassifier", "PrivateBoostingRegressor"]
