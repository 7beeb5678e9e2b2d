"""Differentially private estimators for scikit-learn users."""

from importlib import import_module

from skdp._config import config_context, get_config, set_config
from skdp._show_versions import show_versions
from skdp.accounting import (
    PrivacyLedger,
    PrivacyReport,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_sigma,
)

__version__ = "0.1.0"

# Estimators load with their room, when they are asked for: `import skdp` stays quick.
_ROOMS = {
    "AutoDenoiser": "denoising",
    "BayesDenoiser": "denoising",
    "FriendlyCoreFilter": "preprocessing",
    "FriendlyCoreKMeans": "cluster",
    "GaussianMechanism": "preprocessing",
    "GraphWaveletDenoiser": "denoising",
    "JamesSteinDenoiser": "denoising",
    "LaplaceMechanism": "preprocessing",
    "LloydKMeans": "cluster",
    "MarginalReleaser": "marginals",
    "PrivateAdditiveClassifier": "additive",
    "PrivateAdditiveRegressor": "additive",
    "PrivateCount": "location",
    "PrivateCovariance": "covariance",
    "PrivateGMM": "mixture",
    "PrivateGroupBy": "by_group",
    "PrivateHistogram": "denoising",
    "PrivateLinearRegression": "linear",
    "PrivateLogisticRegression": "linear",
    "PrivateMean": "location",
    "PrivateMedian": "location",
    "PrivateMinMax": "location",
    "PrivateMinMaxScaler": "preprocessing",
    "PrivatePCA": "covariance",
    "PrivatePipeline": "pipeline",
    "PrivateQuantile": "location",
    "PrivateRidge": "linear",
    "PrivateRobustScaler": "preprocessing",
    "PrivateSearchCV": "model_selection",
    "PrivateStandardScaler": "preprocessing",
    "PrivateSum": "location",
    "PrivateTrimmedMean": "location",
    "PrivateVariance": "location",
    "PublicFit": "preprocessing",
    "RowMap": "preprocessing",
    "SensitivityPreprocessor": "preprocessing",
    "SoftThresholdDenoiser": "denoising",
    "TrendFilterDenoiser": "denoising",
    "check_pipeline": "pipeline",
    "make_private_pipeline": "pipeline",
    "search_report": "model_selection",
}

__all__ = [
    "AutoDenoiser",
    "BayesDenoiser",
    "FriendlyCoreFilter",
    "FriendlyCoreKMeans",
    "GaussianMechanism",
    "GraphWaveletDenoiser",
    "JamesSteinDenoiser",
    "LaplaceMechanism",
    "LloydKMeans",
    "MarginalReleaser",
    "PrivacyLedger",
    "PrivacyReport",
    "PrivateAdditiveClassifier",
    "PrivateAdditiveRegressor",
    "PrivateCount",
    "PrivateCovariance",
    "PrivateGMM",
    "PrivateGroupBy",
    "PrivateHistogram",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateMean",
    "PrivateMedian",
    "PrivateMinMax",
    "PrivateMinMaxScaler",
    "PrivatePCA",
    "PrivatePipeline",
    "PrivateQuantile",
    "PrivateRidge",
    "PrivateRobustScaler",
    "PrivateSearchCV",
    "PrivateStandardScaler",
    "PrivateSum",
    "PrivateTrimmedMean",
    "PrivateVariance",
    "PublicFit",
    "RowMap",
    "SensitivityPreprocessor",
    "SoftThresholdDenoiser",
    "TrendFilterDenoiser",
    "check_pipeline",
    "config_context",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_sigma",
    "get_config",
    "make_private_pipeline",
    "search_report",
    "set_config",
    "show_versions",
]


def __getattr__(name):
    if name not in _ROOMS:
        raise AttributeError(f"module 'skdp' has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"skdp.{_ROOMS[name]}"), name)
    return globals()[name]


def __dir__():
    return __all__
