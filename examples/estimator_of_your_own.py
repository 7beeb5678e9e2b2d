"""
An estimator of your own in thirty lines
========================================

The part of the rows that are positive, with every check that skdp's own estimators stand.
"""

from dataclasses import dataclass

import numpy as np

from skdp.audit import check_private_estimator
from skdp.base import Budget, Plan, PrivateEstimator, Statistic, Step, finite_rows, public


@public
@dataclass(frozen=True)
class PositiveRows(Statistic):
    """The number of rows, and of those whose entries are all positive.

    Privacy (add or remove one row): a row adds the integers (1, 0), (1, 1) or, with NaN or
    infinity, none, by itself.
    """

    squared_l2 = 2

    def total(self, block):
        """Return both numbers for a block of rows."""
        block = block[finite_rows(block)]
        return np.array([len(block), np.count_nonzero((block > 0).all(axis=1))])


class PrivateRate(PrivateEstimator):
    """Part of the rows whose entries are all positive: a quotient of two noisy numbers."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        """Return what a fit may release and what it costs, without any data."""
        return Plan(self._budget(Budget.gaussian), (Step("rows, positive rows"),))

    def _release(self, table):
        told = table.ask(PositiveRows(), share=1, label="rows, positive rows")
        n, positive = np.maximum(told.value, 1)
        return {"rate_": float(min(positive / n, 1.0)), "noise_scale_": float(told.scale / n)}


if __name__ == "__main__":
    check_private_estimator(PrivateRate())
    print(PrivateRate().fit(np.random.default_rng(0).normal(size=(5000, 1))).rate_)
