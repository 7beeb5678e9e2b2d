"""Processor time of fits with groups beside those without."""

import time

import numpy as np

from skdp import FriendlyCoreKMeans, MarginalReleaser, PrivateCovariance, PrivateMean

__all__ = ["cost_cells"]


def cost_cells(runs, *, n=10**6, d=10, n_groups=10**5):
    """Yield seconds of a fit with groups, over those of a fit without."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(8, d)) * 6
    X = rng.normal(size=(n, d)) + centres[rng.integers(8, size=n)]
    groups = rng.integers(n_groups, size=n)
    for name, make in (
        ("mean", PrivateMean),
        ("covariance", PrivateCovariance),
        ("marginals", MarginalReleaser),
        ("k-means", lambda **given: FriendlyCoreKMeans(8, **given)),
    ):
        alone = min(_seconds(make, X, None, seed) for seed in range(runs))
        grouped = min(_seconds(make, X, groups, seed) for seed in range(runs))
        yield {
            "cell": f"cost: {name}, n={n:,} d={d}",
            "method": f"{n_groups:,} groups over none",
            "error": grouped / alone,
            "target": 2.5,
            "seconds": grouped,
        }


def _seconds(make, X, groups, seed):
    start = time.process_time()
    make(random_state=seed).fit(X, groups=groups)
    return time.process_time() - start
