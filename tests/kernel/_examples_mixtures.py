"""Hostile rows and fields for statistics of mixtures."""

import numpy as np

from skdp.kernel._lattice import BallCover, LocatedBall
from skdp.kernel._mixtures import FirstWeight, Lead, MixtureFrame, MixtureMoments
from tests.kernel._examples import OFFER, hostile

__all__ = ["EXAMPLES"]


def _places(rng, d):
    ball = LocatedBall(1000.0, 1.0, rng.normal(size=d), 10.0 ** rng.integers(-2, 3), 0.5)
    if rng.random() < 0.5:
        return ball
    far = LocatedBall(50.0, 1.0, np.full(d, 1e6), float(10.0 ** rng.integers(-150, 150)), 1.0)
    return BallCover((ball, far), 1050.0, 1.0)


def _frame(rng, d, sizes=(1e-3, 0.1, 10.0)):
    kind, k = rng.choice(["full", "tied", "diag", "spherical"]), int(rng.integers(1, 4))
    size = 10.0 ** rng.integers(-140, 140) if rng.random() < 0.1 else float(rng.choice(sizes))
    means = rng.normal(size=(k, d)) * float(rng.choice([0.1, 3.0]))
    roots = size * 10.0 ** rng.uniform(-1, 1, size=(k, d))
    if kind in ("full", "tied"):
        shape = 1 if kind == "tied" else k, d, d
        roots = np.tril(rng.normal(size=shape) * size, -1) + size * np.eye(d)
    return MixtureFrame(str(kind), rng.dirichlet(np.ones(k)) + 1e-9, means, roots)


def _moments(rng):
    d = int(rng.integers(1, 4))
    weight = FirstWeight(*rng.uniform(0.1, 2.0, size=2))
    reach = float(rng.choice([0.01, 1.0, 5.0]))
    asked = MixtureMoments(_places(rng, d), _frame(rng, d), reach, weight)
    return asked.at(OFFER), hostile(rng, d, 60)


def _lead(rng):
    d = int(rng.integers(1, 4))
    frames = tuple(_frame(rng, d, (1.0, 10.0)) for _ in range(int(rng.integers(1, 4))))
    clip = int(rng.choice([1, 8, 64]))
    return Lead(_places(rng, d), frames, _frame(rng, d, (1e-3,)), clip), hostile(rng, d)


EXAMPLES = {MixtureMoments: _moments, Lead: _lead}
