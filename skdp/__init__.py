"""Differentially private estimators for scikit-learn users."""

from skdp._config import config_context, get_config, set_config
from skdp._show_versions import show_versions
from skdp.accounting import (
    PrivacyLedger,
    PrivacyReport,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
)
from skdp.cluster import FriendlyCoreKMeans, LloydKMeans
from skdp.location import PrivateMean
from skdp.preprocessing import FriendlyCoreFilter

__version__ = "0.1.0"

__all__ = [
    "FriendlyCoreFilter",
    "FriendlyCoreKMeans",
    "LloydKMeans",
    "PrivacyLedger",
    "PrivacyReport",
    "PrivateMean",
    "config_context",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "get_config",
    "set_config",
    "show_versions",
]
