"""The estimator behind the tests of correlations."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from skdp.accounting import Step
from skdp.kernel.applied._entry_scores import ScoreProducts
from skdp.stats._laws import PairSums
from skdp.stats._result import TestResult, p_value
from skdp.stats._search import find_ranks, find_windows
from skdp.stats._tests import POWER, Test, columns_of

__all__ = ["PairTest", "pair_result"]

PRODUCTS = Step("products", of=(ScoreProducts,))


class PairTest(Test):
    """The correlation of two columns: of ranks, or of numbers in windows."""

    _steps = (PRODUCTS,)

    def _result(self, table):
        rows, ranks = columns_of(table), self._options()["ranks"]
        windows = partial(find_windows, tails=self.tails, power=2)
        found = (find_ranks if ranks else windows)(rows, self.bounds)
        asked = ScoreProducts(found.scores)
        told = rows.ask(asked, PRODUCTS, share=rows.remaining)
        weights = replace(asked, bits=told.bits).weights
        value, sd = told.value / weights, told.scale / weights
        return pair_result(value, sd, found, ranks, self.alternative)


def pair_result(value, sd, found, ranks, alternative):
    """Return what released sums of two columns say of their correlation."""
    least = 0.15 if ranks else 1e-4
    sums = PairSums(
        value[0],
        value[1:3],
        value[3:5],
        value[5],
        sd[[0, 1, 3, 5]],
        (found.n, found.count_sd),
        least,
        ranks,
    )
    r, z, share, ok = sums.correlation()
    name = "Spearman's rho" if ranks else "Pearson's r"
    return TestResult(
        r,
        p_value(z, alternative),
        math.inf,
        r,
        name,
        null="the two columns are independent",
        n_rows=np.array([sums.rows[0]]),
        noise_share=share,
        told=ok and bool(found.found.all()),
        detectable=float(POWER * abs(r / z)) if z else math.inf,
        interval=sums,
        interval_name=name,
    )
