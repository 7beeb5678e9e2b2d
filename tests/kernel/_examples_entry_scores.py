"""Scores of entries, with wild edges, groups that are none, and rows at the ends."""

import numpy as np

from skdp.kernel.applied._scores import ScoreMoments, ScoreProducts, Scores
from tests.kernel._examples import EXTREMES, OFFER, hostile, wild

__all__ = ["EXAMPLES"]


def _scores(rng, d):
    edges, values = [], []
    for _ in range(d):
        k = int(rng.integers(2, 8))
        x = np.unique(np.clip(rng.normal(size=k) * wild(rng), -1e307, 1e307))
        x = x if len(x) > 1 else np.array([-1.0, 1.0])
        t = np.sort(rng.uniform(-1, 1, size=len(x)))
        t[0], t[-1] = -1, 1
        edges.append(x)
        values.append(t)
    return Scores(tuple(edges), tuple(values))


def _moments(rng):
    d, n_groups = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    X = hostile(rng, d)
    X[:5] = 1e308
    codes = rng.choice([*range(n_groups), *EXTREMES, -1.0, n_groups, 0.5], size=len(X))
    codes[:5] = 0
    scores = ScoreMoments(_scores(rng, d), n_groups)
    return scores.at(OFFER), np.column_stack([X, codes])


def _products(rng):
    X = hostile(rng, 2)
    X[:5] = rng.choice([-1e308, 1e308], size=(5, 2))
    return ScoreProducts(_scores(rng, 2)).at(OFFER), X


EXAMPLES = {ScoreMoments: _moments, ScoreProducts: _products}
