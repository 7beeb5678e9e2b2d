"""Hostile rows and fields for sums of products."""

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._sums import BallProducts, BallTotal, BoxProducts, LengthsNear
from tests.kernel._examples import OFFER, hostile, wild

__all__ = ["EXAMPLES"]


def _ball(cls):
    def make(rng):
        d = int(rng.integers(1, 5))
        n, least = 10.0 ** rng.uniform(0, 12), float(rng.choice([1.0, 1e-3]))
        n = None if cls is BallTotal and rng.random() < 0.5 else n
        return cls(float(wild(rng)), n, least).at(OFFER), hostile(rng, d)

    return make


def _box(rng):
    d = int(rng.integers(1, 5))
    half, middle = wild(rng, d), hostile(rng, d, 3)[0]
    middle = np.clip(np.nan_to_num(middle), -1e300, 1e300)
    low, high = middle - np.maximum(half, np.abs(middle)), middle + half
    block = np.concatenate([hostile(rng, d), np.broadcast_to(1e308, (1, d))])
    return BoxProducts(low, high, 1e4).at(OFFER), block


def _near(rng):
    d = int(rng.integers(1, 5))
    among = np.flatnonzero(rng.random(d) < 0.6)
    among = among if among.size else np.arange(1)
    most = float(rng.choice([0.0, 2.0, 1e300, -1.0]))
    return LengthsNear(among, most, LogBins(int(rng.choice([1, 4])))), hostile(rng, d)


EXAMPLES = {
    BallProducts: _ball(BallProducts),
    BallTotal: _ball(BallTotal),
    BoxProducts: _box,
    LengthsNear: _near,
}
