"""What the benchmark of large tables fits, and what scikit-learn has for the same rows."""

import numpy as np

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    MarginalReleaser,
    PrivateCount,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateStandardScaler,
    PrivateSum,
    PrivateTrimmedMean,
    PrivateVariance,
    SensitivityPreprocessor,
    make_private_pipeline,
)
from skdp.marginals import Bins

__all__ = ["FITS", "NARROW", "PEERS", "estimator", "marginals"]

K = 8
EDGES = [-np.inf, -8.0, 0.0, 8.0, np.inf]
NARROW = {"histogram": 2}  # the columns that are taken of a table, if not all
FITS = {
    "count": PrivateCount(),
    "sum": PrivateSum((-50.0, 50.0)),
    "mean": PrivateMean(),
    "mean, bounds": PrivateMean(bounds=(-50.0, 50.0)),
    "mean, trim": PrivateMean(trim=True),
    "trimmed mean": PrivateTrimmedMean(),
    "median": PrivateMedian(),
    "quantile": PrivateQuantile(0.9),
    "min and max": PrivateMinMax(),
    "variance": PrivateVariance(),
    "standard scaler": PrivateStandardScaler(),
    "robust scaler": PrivateRobustScaler(),
    "min-max scaler": PrivateMinMaxScaler(),
    "covariance": PrivateCovariance(),
    "PCA": PrivatePCA(),
    "k-means": FriendlyCoreKMeans(K),
    "Lloyd": LloydKMeans(K),
    "GMM": PrivateGMM(K),
    "histogram": PrivateHistogram(bins=16),
    "marginals": MarginalReleaser(2, domain={}),
    "filter": FriendlyCoreFilter(),
    "bounded median": SensitivityPreprocessor("median", sensitivity=0.1),
    "pipeline": make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(K)),
    "search": PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2),
}


def estimator(name, columns):
    """Return a fit by its name, with a seed, for a table of these columns."""
    fit = FITS[name]
    if name == "marginals":
        fit.set_params(domain={column: Bins(EDGES) for column in columns})
    return fit.set_params(random_state=0) if "random_state" in fit.get_params() else fit


def marginals(X):
    """Count all tables of two binned columns."""
    codes = [np.digitize(X[:, j], EDGES[1:-1]) for j in range(X.shape[1])]
    m = len(EDGES) - 1
    return [np.bincount(m * a + b, minlength=m * m) for i, a in enumerate(codes) for b in codes[:i]]


def _pipeline(X):
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    make_pipeline(StandardScaler(), KMeans(K, random_state=0)).fit(X)


def _fit(module, name, **parameters):
    def fit(X):
        found = getattr(__import__(f"sklearn.{module}", fromlist=[name]), name)
        found(**parameters).fit(X)

    return fit


# What has no counterpart in scikit-learn has one in numpy, or none.
PEERS = {
    "sum": lambda X: X.sum(axis=0),
    "mean": lambda X: X.mean(axis=0),
    "mean, bounds": lambda X: np.clip(X, -50.0, 50.0).mean(axis=0),
    "median": lambda X: np.median(X, axis=0),
    "quantile": lambda X: np.quantile(X, 0.9, axis=0),
    "min and max": lambda X: (X.min(axis=0), X.max(axis=0)),
    "variance": lambda X: X.var(axis=0),
    "standard scaler": _fit("preprocessing", "StandardScaler"),
    "robust scaler": _fit("preprocessing", "RobustScaler"),
    "min-max scaler": _fit("preprocessing", "MinMaxScaler"),
    "covariance": _fit("covariance", "EmpiricalCovariance"),
    "PCA": _fit("decomposition", "PCA"),
    "k-means": _fit("cluster", "KMeans", n_clusters=K, random_state=0),
    "Lloyd": _fit("cluster", "KMeans", n_clusters=K, random_state=0),
    "GMM": _fit("mixture", "GaussianMixture", n_components=K, random_state=0),
    "histogram": lambda X: np.histogramdd(X, bins=16),
    "marginals": marginals,
    "filter": _fit("ensemble", "IsolationForest", random_state=0),
    "bounded median": lambda X: np.median(X, axis=0),
    "pipeline": _pipeline,
}
