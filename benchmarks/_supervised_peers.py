"""Private and plain models to compare with: all private ones are given exact bounds.

A method is a function ``method(train, test, classes, epsilon, seed) -> prediction``: of classes the
scores of the second of two or the predicted labels of more, of numbers the numbers. Exact bounds
are those of the rows of ``train``, which no private method would know.
"""

import math
from importlib.util import find_spec

import numpy as np
from _diffprivlib import diffprivlib_models
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

import skdp

__all__ = [
    "DELTA",
    "ada_ssp",
    "additive",
    "both",
    "dp_ebm",
    "line",
    "of_diffprivlib",
    "peers",
    "plain_additive",
    "plain_boosting",
    "plain_line",
]

DELTA = 1e-6


def _scores(model, X, classes):
    if classes is None:
        return model.predict(X)
    if len(classes) > 2:
        return model.predict(X)
    return model.predict_proba(X)[:, -1]


def additive(train, test, classes, epsilon, seed):
    """Additive models of skdp, given the levels of categories and the classes."""
    told = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    told["categories"] = train.categories or None
    if classes is None:
        model = skdp.PrivateAdditiveRegressor(**told)
    else:
        model = skdp.PrivateAdditiveClassifier(classes=classes, **told)
    return _scores(model.fit(train.X, train.y), test.X, classes)


def both(train, test, classes, epsilon, seed):
    """Fit an additive regressor of skdp to what a line leaves, which has no ends."""
    told = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    model = skdp.PrivateAdditiveRegressor(
        categories=train.categories or None, linear=True, extrapolate=True, **told
    )
    return _scores(model.fit(train.X, train.y), test.X, classes)


def line(train, test, classes, epsilon, seed):
    """Linear models of skdp, names as columns of 0 and 1."""
    told = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    if classes is None:
        model = skdp.PrivateLinearRegression(**told)
    else:
        model = skdp.PrivateLogisticRegression(classes=classes, **told)
    return _scores(model.fit(train.matrix(), train.y), test.matrix(), classes)


def dp_ebm(train, test, classes, epsilon, seed):
    """DP-EBM of interpret [Nori et al. 2021], with exact bounds of features and target."""
    from interpret import privacy

    told = {"epsilon": epsilon, "delta": DELTA, "random_state": seed, "n_jobs": 1}
    told["feature_types"] = ["nominal" if c in train.categories else "continuous" for c in train.X]
    told["privacy_bounds"] = train.bounds
    told["feature_names"] = list(train.X)
    if classes is None:
        low, high = float(train.y.min()), float(train.y.max())
        target = {"privacy_target_min": low, "privacy_target_max": high}
        model = privacy.DPExplainableBoostingRegressor(**told, **target)
    else:
        model = privacy.DPExplainableBoostingClassifier(**told)
    return _scores(model.fit(train.X, train.y), test.X, classes)


def ada_ssp(train, test, classes, epsilon, seed):
    """AdaSSP [Wang 2018, algorithm 2]: noisy moments, and as much ridge as they need.

    Columns and target are moved and scaled to [-1, 1] by exact bounds; the bound of the norm of
    rows is that of the longest row; the ridge parameter is that of the paper, rho = .05.
    """
    rng = np.random.default_rng(seed)
    X, Z = train.matrix(), test.matrix()
    low, high = X.min(axis=0), X.max(axis=0)
    half = np.where(high > low, (high - low) / 2, 1.0)
    X, Z = (np.column_stack([(v - (low + high) / 2) / half, np.ones(len(v))]) for v in (X, Z))
    middle, reach = (train.y.max() + train.y.min()) / 2, np.ptp(train.y) / 2
    return ada_ssp_slopes(X, (train.y - middle) / reach, epsilon, rng) @ Z.T * reach + middle


def ada_ssp_slopes(X, y, epsilon, rng, rho=0.05):
    """Return slopes; ``|y| <= 1``, and the longest row of X counts as the public bound."""
    d, bound = X.shape[1], np.linalg.norm(X, axis=1).max()
    third, log = epsilon / 3, math.log(6 / DELTA)
    least = max(float(np.linalg.eigvalsh(X.T @ X)[0]), 0.0)
    least += math.sqrt(log) / third * bound**2 * rng.normal() - log / third * bound**2
    noise = np.triu(rng.normal(size=(d, d)))
    noise += np.triu(noise, 1).T
    ridge = math.sqrt(d * log * math.log(2 * d**2 / rho)) * bound**2 / third - max(least, 0.0)
    gram = X.T @ X + math.sqrt(log) * bound**2 / third * noise + max(ridge, 0.0) * np.eye(d)
    moment = X.T @ y + math.sqrt(log) * bound / third * rng.normal(size=d)
    return np.linalg.solve(gram, moment)


def of_diffprivlib(train, test, classes, epsilon, seed):
    """Linear regression, or logistic or else naive Bayes, of diffprivlib with exact bounds.

    Its delta is 0. Its logistic regression cannot be made under recent versions of scikit-learn.
    """
    models = diffprivlib_models()
    scale = StandardScaler().fit(train.matrix())
    X, Z = scale.transform(train.matrix()), scale.transform(test.matrix())
    bounds, told = (X.min(axis=0), X.max(axis=0)), {"epsilon": epsilon, "random_state": seed}
    if classes is None:
        target = float(train.y.min()), float(train.y.max())
        model = models.LinearRegression(bounds_X=bounds, bounds_y=target, **told)
    else:
        try:
            norm = float(np.linalg.norm(X, axis=1).max())
            model = models.LogisticRegression(data_norm=norm, **told)
        except TypeError:
            model = models.GaussianNB(bounds=bounds, **told)
    return _scores(model.fit(X, train.y), Z, classes)


def plain_additive(train, test, classes, epsilon, seed):
    """Boosted trees of scikit-learn without interactions and without privacy."""
    return plain_boosting(train, test, classes, epsilon, seed, interactions="no_interactions")


def plain_boosting(train, test, classes, epsilon, seed, interactions=None):
    """Boosted trees of scikit-learn without privacy."""
    told = {"interaction_cst": interactions, "random_state": seed}
    X, Z = train.X.copy(), test.X.copy()
    if train.categories:
        names = list(train.categories)
        coded = OrdinalEncoder(categories=list(train.categories.values())).fit(X[names])
        X[names], Z[names] = coded.transform(X[names]), coded.transform(Z[names])
    kind = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    model = kind(**told).fit(X.to_numpy(float), train.y)
    return _scores(model, Z.to_numpy(float), classes)


def plain_line(train, test, classes, epsilon, seed):
    """Linear or logistic regression of scikit-learn, without privacy."""
    model = LinearRegression() if classes is None else LogisticRegression(max_iter=1000)
    model = make_pipeline(StandardScaler(), model).fit(train.matrix(), train.y)
    return _scores(model, test.matrix(), classes)


def peers():
    """Return methods by name, and a word for each that is not to be had."""
    found, without = {"AdaSSP": ada_ssp}, []
    if find_spec("interpret"):
        found["DP-EBM"] = dp_ebm
    else:
        without.append("DP-EBM: interpret is not installed")
    if diffprivlib_models():
        found["diffprivlib"] = of_diffprivlib
    else:
        without.append("diffprivlib: not installed")
    return found, without
