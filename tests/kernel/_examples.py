"""Hostile rows and hostile public fields for every statistic of the kernel.

A module ``_examples_<room>.py`` of this folder lists those of its room in ``EXAMPLES``: a dict of a
class to a function of a numpy Generator that returns (statistic on its grid, block of rows).
"""

from importlib import import_module
from pathlib import Path

import numpy as np

from skdp.accounting import Budget
from skdp.kernel._bins import LogBins
from skdp.kernel._statistic import Offer
from skdp.kernel._sums import BallSum, Count, Distances, FarthestEntry, KeptRows, RowsWithGaps

__all__ = ["OFFER", "all_examples", "hostile", "wild"]

OFFER = Offer(Budget.gaussian(1.0, 1e-6), 0.5, 1)
PURE = Offer(Budget.pure(1.0), 0.5, 1)
EXTREMES = (0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf, 2.0**53, 0.5)


def hostile(rng, d, n=40):
    """Return rows of all magnitudes, with NaN, infinity, zeros and equal entries."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-300, 300, size=(n, 1))
    X[: n // 3] = rng.normal(size=(n // 3, d)) * rng.choice([1e-3, 1.0, 30.0])
    wild_at = rng.random((n, d)) < 0.15
    return np.where(wild_at, rng.choice(EXTREMES, size=(n, d)), X)


def wild(rng, size=None):
    """Return positive public numbers of all magnitudes."""
    return 10.0 ** rng.uniform(*rng.choice([[-300, 300], [-2, 2]]), size=size)


def _ball(cls):
    def make(rng):
        d = int(rng.integers(1, 5))
        scale = wild(rng, d) if rng.random() < 0.5 else None
        drop = float(rng.choice([0.5, 2.0])) if rng.random() < 0.5 else None
        center = hostile(rng, d, 3)[0]
        center = np.where(np.isfinite(center), center, 0.0)
        offer = OFFER if rng.random() < 0.7 else PURE
        return cls(center, float(wild(rng)), scale, drop).at(offer), hostile(rng, d)

    return make


def _distances(cls):
    def make(rng):
        d = int(rng.integers(1, 5))
        bins = LogBins(int(rng.choice([1, 2, 8])))
        starts = np.array([0, 3, 900]) if rng.random() < 0.5 else None
        return cls(np.zeros(d), bins, wild(rng, d), starts), hostile(rng, d)

    return make


EXAMPLES = {
    RowsWithGaps: lambda rng: (RowsWithGaps(), hostile(rng, 3)),
    Count: lambda rng: (Count(*map(bool, rng.random(2) < 0.5)), hostile(rng, 3)),
    Distances: _distances(Distances),
    FarthestEntry: _distances(FarthestEntry),
    BallSum: _ball(BallSum),
    KeptRows: _ball(KeptRows),
}


def all_examples():
    """Return the examples of all rooms."""
    found = dict(EXAMPLES)
    for path in sorted(Path(__file__).parent.glob("_examples_*.py")):
        found |= import_module(f"tests.kernel.{path.stem}").EXAMPLES
    return found
