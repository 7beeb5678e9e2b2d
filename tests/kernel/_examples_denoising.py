"""Hostile rows and fields for the statistics of histograms."""

import numpy as np

from skdp.accounting import Budget
from skdp.kernel._histograms import HistogramCounts, UserBlock, UserCounts
from skdp.kernel._ranks import KeyRanks
from skdp.kernel._statistic import Offer
from tests.kernel._examples import OFFER, hostile

__all__ = ["EXAMPLES"]

OFFERS = [OFFER, Offer(Budget.pure(1.0), 0.5, 1), Offer(Budget.pure(0.01), 1, 2**30)]


def _axis(rng, x, is_levels):
    x = x[np.isfinite(x) & (np.abs(x) < 1e300)]
    values = np.unique(np.append(rng.choice(x, size=int(rng.integers(1, 9))), [0.0, 1.0]))
    return values[:1] if is_levels and rng.random() < 0.1 else values


def _counts(rng):
    d = int(rng.integers(1, 4))
    X = hostile(rng, d)
    columns = tuple(rng.permutation(d)[: int(rng.integers(1, d + 1))].tolist())
    levels = tuple((rng.random(len(columns)) < 0.5).tolist())
    values = tuple(_axis(rng, X[:, c], one) for c, one in zip(columns, levels, strict=True))
    X[0] = 0.0
    statistic = HistogramCounts(columns, values, levels).at(OFFERS[int(rng.integers(3))])
    return statistic, X


def _users(rng):
    m, size = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    k = int(rng.integers(1, m + 1))
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 20, size=29))])
    cells = rng.integers(-1, size + 2, size=starts[-1] + 12)
    cells[: starts[1]] = 0
    statistic = UserCounts(size, m, k).at(OFFERS[int(rng.integers(3))])
    return statistic, UserBlock(starts, cells)


def _ranks(rng):
    d = int(rng.integers(1, 4))
    columns = tuple(rng.permutation(d)[: int(rng.integers(1, d + 1))].tolist())
    thresholds = rng.integers(0, 2**64, size=len(columns), dtype=np.uint64)
    return KeyRanks(columns, thresholds), hostile(rng, d)


EXAMPLES = {
    HistogramCounts: _counts,
    UserCounts: _users,
    KeyRanks: _ranks,
}
