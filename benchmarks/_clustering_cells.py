"""What a table to cluster is, and what is asked of its clustering."""

from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

__all__ = ["Cell", "Drawn", "Target", "kmeans_cost"]

SUBSAMPLE = 100_000  # rows that the reference is fitted on
NO_LIMIT = float("inf")


@dataclass(frozen=True)
class Target:
    """What a cost divided by the best one must not exceed, of all repetitions."""

    median: float = NO_LIMIT
    p90: float = NO_LIMIT
    worst: float = NO_LIMIT
    of_one: float = NO_LIMIT  # the worst, in units of one centre
    accuracy: float = 0.0  # at least
    beats: str | None = None  # a peer whose median ours, given the same ball, does not exceed

    def asked(self):
        """Return the limits that are limits."""
        plain = asdict(Target())
        return {name: v for name, v in asdict(self).items() if v != plain[name]}

    def met(self, ratios, ones, accuracy):
        """Return whether cost ratios of methods (dict of lists) meet the target, None if none."""
        if not self.asked():
            return None
        ours = np.asarray(ratios["skdp"])
        held = [
            np.median(ours) <= self.median,
            np.quantile(ours, 0.9) <= self.p90,
            ours.max() <= self.worst,
            np.max(ours / ones) <= self.of_one,
            accuracy is None or accuracy >= self.accuracy,
        ]
        if self.beats:
            held.append(np.median(ratios["ball"]) <= np.median(ratios[self.beats]))
        return bool(all(held))


@dataclass(frozen=True)
class Drawn:
    """Rows, the true centres (or None) and the rows that count: those of ``inner``."""

    X: np.ndarray
    truth: np.ndarray | None
    inner: np.ndarray
    best: float  # the best non-private cost that was found, of the inner rows

    def ratio(self, centers):
        """Return the cost of centres in units of the best."""
        return kmeans_cost(self.inner, centers) / self.best

    def ball(self):
        """Return (centre, radius) of the ball around the exact box: what peers are given."""
        middle = (self.X.min(axis=0) + self.X.max(axis=0)) / 2
        return middle, float(np.linalg.norm(self.X - middle, axis=1).max())


@dataclass(frozen=True)
class Cell:
    """A table to cluster: ``make(rng)``, or ``make()`` if it is fixed, gives rows and centres."""

    name: str
    k: int
    make: object = field(repr=False)
    target: Target = Target()
    reps: int = 12
    epsilon: float = 1.0
    fixed: bool = False
    large: bool = False  # not for a quick run
    part: float = 1.0  # of the rows, nearest to the median, that costs are measured on
    package: str | None = None  # that brings the table

    def missing(self):
        """Return whether the package of the table is not installed."""
        return self.package is not None and find_spec(self.package) is None

    def draw(self, rng):
        """Return the Drawn."""
        return _fixed(self.make, self.k, self.part) if self.fixed else self._drawn(*self.make(rng))

    def _drawn(self, X, truth):
        return _drawn(X, truth, self.k, self.part)


@cache
def _fixed(make, k, part):
    return _drawn(*make(), k, part)


def _drawn(X, truth, k, part):
    inner = X
    if part < 1:
        far = np.linalg.norm(X - np.median(X, axis=0), axis=1)
        inner = X[far <= np.quantile(far, part)]
    return Drawn(X, truth, inner, _best_cost(inner, k, truth))


def kmeans_cost(X, centers):
    """Return the sum of squared distances to the nearest centre, seen from the middle."""
    middle = centers.mean(axis=0)
    return float(np.square(pairwise_distances_argmin_min(X - middle, centers - middle)[1]).sum())


def _best_cost(X, k, centres):
    part = X if len(X) <= SUBSAMPLE else X[:: len(X) // SUBSAMPLE]
    found = KMeans(k, n_init=10, random_state=0).fit(part).cluster_centers_
    starts = [found] if centres is None else [found, centres]
    return min(
        kmeans_cost(X, KMeans(k, init=s, n_init=1).fit(part).cluster_centers_) for s in starts
    )
