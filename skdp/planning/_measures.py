"""What error means, for every kind of estimator: how far a fit is from one without privacy.

A measure is a function of a fitted estimator and the public table that it was fitted on. Zero is as
good as without privacy; a few measures may fall below it by chance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np


@dataclass(frozen=True)
class Measure:
    """How far fits are from what they would be without privacy."""

    name: str  # what the error is, and in which unit
    error: Callable  # `error(fitted, X)` returns a number
    family: str = "normal"  # what rows are like if nobody says
    n_features: int = 1  # number of columns if nobody says


def rms(x):
    """Return the root mean square of the entries of x."""
    return float(np.sqrt(np.mean(np.square(x))))


def units(X):
    """Return the standard deviations of columns, 1 for those that are constant."""
    sd = X.std(axis=0)
    return np.where(sd > 0, sd, 1.0)


# -- columns


def _mean(fitted, X):
    return rms((fitted.location_ - X.mean(axis=0)) / units(X))


def _quantile(fitted, X):
    truth = np.quantile(X, getattr(fitted, "q", 0.5), axis=0)
    return rms((fitted.location_ - truth) / units(X))


def _trimmed(fitted, X):
    cut = int(fitted.alpha * len(X))
    truth = np.sort(X, axis=0)[cut : len(X) - cut].mean(axis=0)
    return rms((fitted.location_ - truth) / units(X))


def _variance(fitted, X):
    return rms(fitted.var_ / units(X) ** 2 - 1)


def _extremes(fitted, X):
    off = np.concatenate([fitted.min_ - X.min(axis=0), fitted.max_ - X.max(axis=0)])
    return rms(off / np.tile(units(X), 2))


def _standard(fitted, X):
    return rms(fitted.scale_ / units(X) - 1)


def _robust(fitted, X):
    low, high = np.percentile(X, fitted.quantile_range, axis=0)
    width = high - low
    return rms(fitted.scale_ / np.where(width > 0, width, 1.0) - 1)


def _min_max(fitted, X):
    return rms(fitted.data_range_ / np.ptp(X, axis=0) - 1)


def _count(fitted, X):
    return abs(fitted.count_ - len(X)) / len(X)


def _sum(fitted, X):
    off = fitted.sum_ - np.clip(X, *fitted.bounds).sum(axis=0)
    return rms(off / (len(X) * units(X)))


# -- tables of counts


def _distance(counts, exact, *, groups):
    """Return the total variation between a released table and the exact one.

    Counts of a fit with groups are in rows' worth of groups: then it is that of fractions.
    """
    if groups and counts.sum() > 0:
        counts = counts * (exact.sum() / counts.sum())
    return float(np.abs(counts - exact).sum() / (2 * exact.sum())) if exact.any() else np.inf


def _histogram(fitted, X):
    if fitted.categories is not None or fitted.user is not None:
        raise ValueError(
            "the error of histograms of numbers is known. Pass error= for categories and users, a "
            "function of the fitted histogram, X and y."
        )
    exact = np.histogramdd(np.asarray(X, dtype=float), bins=fitted.edges_)[0]
    return _distance(fitted.counts_, exact, groups=hasattr(fitted, "rows_per_group_"))


def _marginals(fitted, X):
    domain = fitted.domain_
    columns = [
        X[name] if hasattr(X, "columns") else np.asarray(X)[:, place]
        for name, place in zip(domain.names, domain.columns, strict=True)
    ]
    codes = domain.encode(columns)
    codes = codes[np.isfinite(codes).all(axis=1)].astype(int)
    distances = []
    for places in (list(map(int, table)) for tables in fitted.workload_ for table in tables):
        shape = [domain.levels[place] for place in places]
        cells = np.ravel_multi_index(codes[:, places].T, shape)
        exact = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
        names = [domain.names[place] for place in places]
        counts = fitted.marginal(names, as_frame=False)
        distances.append(_distance(counts, exact, groups=hasattr(fitted, "rows_per_group_")))
    return float(np.mean(distances))


# -- clusters, mixtures, covariances


def _clusters(fitted, X):
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin_min

    centres = fitted.cluster_centers_
    best = KMeans(len(centres), n_init=3, random_state=0).fit(X).inertia_
    cost = np.square(pairwise_distances_argmin_min(X, centres)[1]).sum()
    return float(cost / best - 1) if best > 0 else float(cost > 0)


def _mixture(fitted, X):
    from sklearn.mixture import GaussianMixture

    plain = GaussianMixture(len(fitted.weights_), covariance_type=fitted.covariance_type)
    best = plain.set_params(n_init=2, random_state=0, init_params="k-means++").fit(X)
    return float(best.score(X) - fitted.score(X))


def _covariance(fitted, X):
    sd = np.outer(units(X), units(X))
    exact = np.atleast_2d(np.cov(X.T, bias=True)) / sd
    off = np.atleast_2d(fitted.covariance_) / sd - exact
    return float(np.linalg.norm(off, 2) / np.linalg.norm(exact, 2))


def _components(fitted, X):
    exact = np.atleast_2d(np.cov(X.T, bias=True))
    best = np.cumsum(np.linalg.eigvalsh(exact)[::-1])
    axes = fitted.components_
    kept = np.cumsum(np.einsum("ij,jk,ik->i", axes, exact, axes))
    k = len(kept) if fitted.n_components is not None else slice(0, max(len(kept) - 1, 1))
    lost = (best[: len(kept)] - kept) / best[-1]
    return float(lost[k - 1] if isinstance(k, int) else lost[k].mean())


# -- predictions


def predictor(estimator, target):
    """Return the name of the error of a predictor, and its score: a function of a fit and rows."""
    if target == "number":
        return "R2 lost", _r2
    classes = getattr(estimator, "classes", None)
    two = classes is None or len(classes) == 2
    return ("AUC lost", _auc) if two else ("accuracy lost", _accuracy)


def _r2(fitted, X, y):
    from sklearn.metrics import r2_score

    return r2_score(y, fitted.predict(X))


def _auc(fitted, X, y):
    from sklearn.metrics import roc_auc_score

    if len(np.unique(y)) != 2 or len(fitted.classes_) != 2:
        return _accuracy(fitted, X, y)
    return roc_auc_score(y, fitted.predict_proba(X)[:, 1])


def _accuracy(fitted, X, y):
    return float(np.mean(fitted.predict(X) == np.asarray(y)))


IN_SDS = "error in standard deviations of the columns"
RELATIVE = "relative error of the {}"
NATS, VARIATION = "log likelihood lost, nats per row", "total variation from the exact {}"

KINDS = {
    "PrivateMean": Measure(IN_SDS, _mean),
    "PrivateMedian": Measure(IN_SDS, _quantile),
    "PrivateQuantile": Measure(IN_SDS, _quantile),
    "PrivateTrimmedMean": Measure(IN_SDS, _trimmed),
    "PrivateVariance": Measure(RELATIVE.format("variance"), _variance),
    "PrivateMinMax": Measure(IN_SDS, _extremes),
    "PrivateCount": Measure(RELATIVE.format("count"), _count),
    "PrivateSum": Measure("error in n standard deviations of the columns", _sum),
    "PrivateStandardScaler": Measure(RELATIVE.format("scale"), _standard),
    "PrivateRobustScaler": Measure(RELATIVE.format("scale"), _robust),
    "PrivateMinMaxScaler": Measure(RELATIVE.format("range"), _min_max),
    "PrivateHistogram": Measure(VARIATION.format("histogram"), _histogram),
    "MarginalReleaser": Measure(VARIATION.format("tables"), _marginals, "binary", 10),
    "FriendlyCoreKMeans": Measure("cost above that of k-means", _clusters, "clusters", 2),
    "LloydKMeans": Measure("cost above that of k-means", _clusters, "clusters", 2),
    "PrivateGMM": Measure(NATS, _mixture, "clusters", 2),
    "PrivateCovariance": Measure(
        RELATIVE.format("covariance, operator norm"), _covariance, "correlated", 5
    ),
    "PrivatePCA": Measure("explained variance lost, of the total", _components, "correlated", 5),
}


def inner(estimator):
    """Return the estimator that a search or a chain ends with, of which the error is measured.

    Of a chain the last step that has a measure or a target; itself, if none has.
    """
    if getattr(estimator, "estimator", None) is not None:
        return inner(estimator.estimator)
    steps = [step for _, step in getattr(estimator, "steps", ())]
    parts = [part for part in map(inner, reversed(steps)) if is_measured(part)]
    return parts[0] if parts else estimator


def is_measured(step):
    """Return whether it is known what error means for an estimator."""
    return kind_of(step) is not None or getattr(step, "_target", None) is not None


def in_rows(fitted, group_size):
    """Return a fit with totals of rows, if each group has so many; itself if they are.

    A group is 1 to counts, and as many rows as are allowed to sums.
    """
    if group_size is None or not (hasattr(fitted, "count_") or hasattr(fitted, "sum_")):
        return fitted
    told = dict(vars(fitted))
    if "count_" in told:
        told["count_"] = fitted.count_ * group_size
    else:
        told["sum_"] = fitted.sum_ * max(1.0, group_size / fitted.rows_per_group_)
    return SimpleNamespace(**told)


def kind_of(step):
    """Return the Measure of an estimator, None if none is known."""
    return next((KINDS[c.__name__] for c in type(step).__mro__ if c.__name__ in KINDS), None)


def seen_by_last(fitted, X):
    """Return the fitted part of which the error is measured, and the rows as it has seen them."""
    if hasattr(fitted, "best_estimator_"):
        return seen_by_last(fitted.best_estimator_, X)
    steps = [step for _, step in getattr(fitted, "steps_", ())]
    for i in reversed(range(len(steps))):
        if is_measured(inner(steps[i])):
            for step in steps[:i]:
                X = X if step in (None, "passthrough") else step.transform(X)
            last, X = seen_by_last(steps[i], _present(X))
            return _denoised(fitted, last), X
    return fitted, X


def _present(X):
    """Return the rows that no step has left out."""
    is_numeric = getattr(getattr(X, "dtype", None), "kind", "") == "f"
    return X[np.isfinite(X).all(axis=1)] if is_numeric else X


def _denoised(chain, last):
    """Return the last part with the vector that the chain ends with in place of its own."""
    value = getattr(chain, "value_", None)
    if value is None or np.shape(value) != np.shape(getattr(last, "location_", None)):
        return last
    return SimpleNamespace(**{**vars(last), "location_": value})
