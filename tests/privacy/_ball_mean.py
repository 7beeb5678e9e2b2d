"""A small estimator whose every line is needed; the planted faults take them away."""

from fractions import Fraction

import numpy as np

from skdp._estimator import PrivateEstimator
from skdp.accounting import Budget, Plan, Step
from skdp.mechanisms import ball_rows, finite_rows

BITS, RADIUS = 20, 1.0


class BallMean(PrivateEstimator):
    """Mean of the rows clipped to the unit ball."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("sum"), Step("count")))

    def _release(self, rows, curator):
        X = rows.take(np.arange(len(rows)))
        X = X[finite_rows(X)]
        center, radius = np.zeros(rows.n_features), RADIUS
        units = ball_rows(X, center=center, radius=radius, bits=BITS)
        total = units.astype(np.int64).sum(axis=0)
        share = Fraction(9, 10)
        release = curator.gaussian(total, sensitivity=2**BITS, share=share, label="sum")
        count = curator.gaussian([len(X)], sensitivity=1, share=1 - share, label="count")
        n = max(int(count.value[0]), 1)
        return {"location_": center + release.value * (radius / 2**BITS / n)}
