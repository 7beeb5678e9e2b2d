"""Workloads to plan: rows of known laws, and real tables of installed packages.

A third of each real table stands for the public rows that somebody may have, of last year for
instance; the other rows are fitted. Nothing is tuned on any of them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from _supervised_tables import missing, table
from sklearn.datasets import make_blobs

from skdp import (
    FriendlyCoreKMeans,
    MarginalReleaser,
    PrivateCount,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivatePCA,
    PrivateStandardScaler,
    PrivateVariance,
    make_private_pipeline,
)

__all__ = ["Workload", "workloads"]


@dataclass(frozen=True)
class Workload:
    """An estimator, a number of rows, and where rows come from.

    Attributes
    ----------
    name : str
    estimator : PrivateEstimator
    n, d : int
        Rows and columns.
    family : str or None
        What a plan without public rows assumes.
    law : callable or None
        ``law(rng, n, d)`` makes rows of a known law: the truth.
    split : callable or None
        Returns the public and the private part of a real table, (X, y) each.
    """

    name: str
    estimator: Any
    n: int
    d: int
    family: str | None = None
    law: Callable | None = None
    split: Callable | None = None


def _normal(rng, n, d):
    return 10 ** rng.uniform(-1, 2, size=d) * rng.normal(20, 1, size=(n, d))


def _alike(rng, n, d):
    """Return columns whose units are alike, but their standard deviations are not."""
    return rng.normal(50.0, np.linspace(1, 20, d), size=(n, d))


def _scores(rng, n, d):
    return rng.normal(50.0, 15.0, size=(n, d))


def _wages(rng, n, d):
    return rng.lognormal(10.0, 1.0, size=(n, d))


def _uniform(rng, n, d):
    return rng.uniform(0, 10, size=(n, d))


def _blobs(k, box):
    def blobs(rng, n, d):
        seed = int(rng.integers(2**31))
        return make_blobs(n, d, centers=k, center_box=(-box, box), random_state=seed)[0]

    return blobs


def _mixed(rng, n, d):
    """Return correlated columns: a random covariance with eigenvalues 1, 1 / 2, 1 / 3, ..."""
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return 7 + rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1)) @ axes.T


def _answers(rng, n, d):
    """Return answers yes and no, of people who differ in one trait."""
    trait, ease = rng.normal(size=(n, 1)), rng.uniform(-1.6, 0.0, size=d)
    return (0.65 * trait + 0.75 * rng.normal(size=(n, d)) < ease).astype(float)


def _line(rng, n, d):
    X = rng.normal(3.0, 2.0, size=(n, d))
    signal = (X - 3) @ rng.normal(size=d)
    return X, signal + np.std(signal) * rng.normal(size=n)


def _logit(rng, n, d):
    X = rng.normal(3.0, 2.0, size=(n, d))
    w = rng.normal(size=d)
    score = 2.8 * (X - 3) @ w / (2 * np.linalg.norm(w))
    return X, (score + rng.logistic(size=n) > 0).astype(int)


LAWS = [
    Workload("mean, normal", PrivateMean(), 1000, 5, "normal", _normal),
    Workload("mean, sd from 1 to 20", PrivateMean(), 1000, 5, "normal", _alike),
    Workload("mean, lognormal", PrivateMean(), 5000, 3, "lognormal", _wages),
    Workload("mean, bounds", PrivateMean(bounds=(0, 10)), 1000, 2, "uniform", _uniform),
    Workload("count, epsilon=0.1", PrivateCount(epsilon=0.1), 5000, 1, "normal", _normal),
    Workload("variance, normal", PrivateVariance(), 3000, 4, "normal", _normal),
    Workload("median, lognormal", PrivateMedian(), 3000, 3, "lognormal", _wages),
    Workload(
        "histogram, 20 bins", PrivateHistogram(20, range=(-10, 110)), 5000, 1, "normal", _scores
    ),
    Workload("covariance", PrivateCovariance(), 5000, 6, "correlated", _mixed),
    Workload("pairs of 12 answers", MarginalReleaser(2), 2000, 12, "binary", _answers),
    Workload("k-means, 5 blobs", FriendlyCoreKMeans(5), 3000, 2, "clusters", _blobs(5, 7.0)),
    Workload("mixture of 3", PrivateGMM(3), 4000, 3, "clusters", _blobs(3, 7.0)),
    Workload("regression", PrivateLinearRegression(epsilon=0.5), 1000, 5, "normal", _line),
    Workload(
        "classes", PrivateLogisticRegression(classes=[0, 1], epsilon=0.5), 1000, 8, "normal", _logit
    ),
]


@cache
def _parts(name, columns, n, target):
    """Return a public third and a private part of a real table, at most n private rows."""
    found = table(name)
    X = found.X[list(columns)] if columns else found.X
    order = np.random.default_rng(0).permutation(len(X))
    private, public = order[:n], order[n : n + n // 2]
    numeric = all(kind.kind == "f" for kind in X.dtypes)
    as_rows = X.to_numpy(float) if numeric else X
    parts = []
    for place in (public, private):
        rows = as_rows[place] if isinstance(as_rows, np.ndarray) else X.iloc[place]
        parts.append((rows, found.y[place] if target else None))
    return parts


def _real(label, estimator, name, columns, n, family, target=False):
    columns = tuple(columns)
    return name, Workload(
        f"{name}: {label}",
        estimator,
        n,
        len(columns),
        family,
        split=lambda: _parts(name, columns, n, target),
    )


NUMBERS = ["age", "fnlwgt", "educ_num", "hours"]
SIZES = ["carat", "depth", "table", "x", "y", "z"]
LEVELS = ["sex", "race", "marital", "relationship"]
DELAY = ["dep_delay", "distance", "air_time", "hour"]
CELLS = [f"x{j}" for j in range(30)]


def _adult_domain():
    return {c: sorted(table("adult14").X[c].unique()) for c in LEVELS}


def _reals():
    scaled = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(4))
    classes = PrivateLogisticRegression(classes=[0, 1], epsilon=0.2)
    yield _real("means", PrivateMean(), "adult14", NUMBERS, 8000, "normal")
    yield _real("medians", PrivateMedian(), "adult14", NUMBERS, 8000, "normal")
    if not missing("adult14"):
        releaser = MarginalReleaser(2, domain=_adult_domain())
        yield _real("pairs of columns", releaser, "adult14", LEVELS, 8000, None)
    yield _real("income", classes, "adult14", NUMBERS, 8000, "normal", True)
    yield _real("means", PrivateMean(), "diamonds", SIZES, 4000, "normal")
    yield _real("price", PrivateLinearRegression(), "diamonds", SIZES, 8000, "normal", True)
    yield _real("scaled k-means", scaled, "diamonds", SIZES, 8000, "clusters")
    yield _real("means", PrivateMean(), "flights", DELAY, 8000, "normal")
    yield _real("scale", PrivateStandardScaler(), "flights", DELAY, 8000, "lognormal")
    yield _real("covariance", PrivateCovariance(), "flights", DELAY, 8000, "correlated")
    yield _real("mean delay", PrivateMean(epsilon=0.2), "flights", DELAY[:1], 8000, "lognormal")
    yield _real("means", PrivateMean(epsilon=4.0), "breast_cancer", CELLS, 370, "normal")
    yield _real(
        "components", PrivatePCA(4), "digits", [f"x{j}" for j in range(64)], 1190, "correlated"
    )


def workloads(pattern="", *, quick=False):
    """Return the workloads whose names match, without those whose tables are not installed."""
    found = [*LAWS, *(w for name, w in _reals() if not missing(name))]
    found = [w for w in found if re.search(pattern, w.name)]
    return found[::4] if quick else found
