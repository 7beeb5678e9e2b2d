"""Workloads to plan: rows of known laws, and real tables of installed packages."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _planning_reals import REALS, Parts, is_there, parts
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
    PrivateVariance,
)

__all__ = ["Workload", "workloads"]


QUICK = (
    *("PrivateMean", "PrivateMedian", "PrivateQuantile", "PrivateVariance", "PrivateHistogram"),
    *("PrivateStandardScaler", "PrivateCount"),
)


@dataclass(frozen=True)
class Workload:
    """An estimator, a number of rows, and where rows come from.

    Attributes
    ----------
    name : str
    estimator : PrivateEstimator
    n, d : int
        Rows and columns.
    family : str, list of dict or None
        What a plan without public rows assumes.
    law : callable or None
        ``law(rng, n, d)`` makes rows of a known law: the truth.
    split : callable or None
        Returns the Parts of a real table.
    is_quick : bool
        Whether the error is that of columns, whose fits take little time.
    """

    name: str
    estimator: Any
    n: int
    d: int
    family: Any = None
    law: Callable | None = None
    split: Callable[[], Parts] | None = None

    @property
    def is_quick(self):
        return type(self.estimator).__name__ in QUICK


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


SD = np.linspace(1, 20, 5)
CLASSES = PrivateLogisticRegression(classes=[0, 1], epsilon=0.5)
PLAIN = [{0.05: 3 - 2 * 1.645, 0.95: 3 + 2 * 1.645}] * 8
TOLD = [{0.05: 50 - 1.645 * sd, 0.95: 50 + 1.645 * sd} for sd in SD]

LAWS = [
    Workload("mean, normal", PrivateMean(), 1000, 5, "normal", _normal),
    Workload("mean, sd from 1 to 20", PrivateMean(), 1000, 5, "normal", _alike),
    Workload("mean, these sd told", PrivateMean(), 1000, 5, TOLD, _alike),
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
    Workload("classes", CLASSES, 1000, 8, "normal", _logit),
    Workload("classes, columns told", CLASSES, 1000, 8, PLAIN, _logit),
]


def _real(source, what, estimator, name, columns, n, family, target):
    return Workload(
        f"{name}: {what}",
        estimator() if callable(estimator) else estimator,
        n,
        len(columns),
        family,
        split=lambda: parts(source, name, tuple(columns), n, target),
    )


def workloads(pattern="", *, quick=False):
    """Return the workloads whose names match, without those whose tables are not installed."""
    found = [*LAWS, *(_real(*row) for row in REALS if is_there(row[0], row[3]))]
    found = [w for w in found if re.search(pattern, w.name)]
    return found[::4] if quick else found
