"""Small tables: real ones, and a few hundred rows at small epsilon."""

from functools import cache

import numpy as np
from _clustering_cells import Cell, Target
from _clustering_hard import apart

__all__ = ["small_cells"]

PEER = "FastLloyd"


@cache
def of_sklearn(name):
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")().data, None


def iris():
    return of_sklearn("iris")


def wine():
    return of_sklearn("wine")


def breast_cancer():
    return of_sklearn("breast_cancer")


@cache
def lsun():
    """Return 400 rows: a ball, a bar that stands and a bar that lies."""
    rng = np.random.default_rng(0)
    ball = np.array([2.0, 3.4]) + 0.35 * rng.normal(size=(200, 2))
    stands = rng.uniform([0.1, 0.4], [0.7, 4.8], size=(100, 2))
    lies = rng.uniform([0.8, 0.1], [4.8, 0.8], size=(100, 2))
    return np.r_[ball, stands, lies], None


def few(n, rng, k=4):
    """Return n rows of four clusters, eight standard deviations apart or more."""
    centres = apart(k, 2, rng)
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, 2)), centres


def small_cells():
    """Yield the cells."""
    for epsilon, of_one in ((1.0, 1.15), (0.2, 1.3), (0.1, 1.3)):
        target = Target(of_one=of_one, beats=PEER)
        for n in (200, 300, 500, 1000):

            def make(rng, n=n):
                return few(n, rng)

            yield Cell(f"small n={n}, epsilon={epsilon:g}", 4, make, target, epsilon=epsilon)
        for make in (iris, wine, lsun):
            name = f"{make.__name__}, epsilon={epsilon:g}"
            yield Cell(name, 3, make, target, epsilon=epsilon, fixed=True)
    yield Cell("breast cancer", 2, breast_cancer, Target(1.15), fixed=True)
