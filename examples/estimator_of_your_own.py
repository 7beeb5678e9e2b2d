"""
An estimator of your own in thirty lines
========================================

The part of the rows that are positive, with every check that skdp's own estimators stand.
"""

import numpy as np

from skdp.audit import check_private_estimator
from skdp.base import Budget, Plan, PrivateEstimator, Step, finite_rows, map_merge


class PrivateRate(PrivateEstimator):
    """Part of the rows whose entries are all positive.

    Privacy (add or remove one row): a row adds the integer vector (1, 0) or (1, 1), of length
    at most sqrt(2) < 3/2, by itself. The quotient is post-processing.
    """

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        """Return what a fit may release and what it costs, without any data."""
        return Plan(self._budget(Budget.gaussian), (Step("rows, positive rows"),))

    def _release(self, rows, curator):
        def statistic(start, block):
            block = block[finite_rows(block)]
            return np.array([len(block), np.count_nonzero((block > 0).all(axis=1))])

        release = curator.gaussian(
            map_merge(rows, statistic, np.add),
            sensitivity=1.5,
            share=1,
            label="rows, positive rows",
        )
        n, positive = np.maximum(release.value, 1)
        return {"rate_": float(min(positive / n, 1.0)), "noise_scale_": float(release.scale / n)}


if __name__ == "__main__":
    check_private_estimator(PrivateRate())
    print(PrivateRate().fit(np.random.default_rng(0).normal(size=(5000, 1))).rate_)
