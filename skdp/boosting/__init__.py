"""Boosting with pairs: terms of one and of two features, the pairs found privately."""

from skdp.boosting._estimators import PrivateBoostingClassifier, PrivateBoostingRegressor
from skdp.boosting._pair_terms_display import PairTermsDisplay

__all__ = ["PairTermsDisplay", "PrivateBoostingClassifier", "PrivateBoostingRegressor"]
