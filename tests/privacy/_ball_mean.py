"""A small estimator whose every line is needed; the planted faults take them away."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._plain import public
from skdp.kernel._statistic import Statistic
from skdp.kernel._sums import Count
from skdp.mechanisms import ball_rows, finite_rows

BITS, RADIUS = 20, 1.0


@public
@dataclass(frozen=True)
class UnitBallSum(Statistic):
    """The sum of the rows clipped to the unit ball; a row of length one is 2^BITS units long."""

    squared_l2 = 4**BITS
    step = RADIUS / 2**BITS

    def total(self, block):
        X = block[finite_rows(block)]
        center, radius = np.zeros(block.shape[1]), RADIUS
        units = ball_rows(X, center=center, radius=radius, bits=BITS)
        total = units.astype(np.int64).sum(axis=0)
        return total


class BallMean(PrivateEstimator):
    """Mean of the rows clipped to the unit ball."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("sum"), Step("count")))

    def _release(self, table):
        share = Fraction(9, 10)
        total = table.ask(UnitBallSum(), share=share, label="sum")
        count = table.ask(Count(), share=1 - share, label="count")
        n = max(int(count.value[0]), 1)
        return {"location_": total.real / n}
