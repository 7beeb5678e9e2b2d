"""Searches side by side: one release for all, and a row moves the part of its own set alone."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._synopsis import ReleaseRequest, run_parallel
from skdp.kernel._plain import public
from skdp.kernel._statistic import Rule
from skdp.kernel._sums import BallSum
from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from tests._curators import canned


def _asks(name, steps):
    heard = []
    for i in range(steps):
        statistic = BallSum(np.zeros(2), 2.0 ** (10 + i))
        noisy = yield ReleaseRequest(statistic, Fraction(i + 1, 100), Step("x"))
        heard.append(noisy.real)
    return name, heard


@public
@dataclass(frozen=True)
class Stripes(Rule):
    """The stripe of a row along a column: 0 up to the first edge, -1 beyond the last."""

    column: int
    edges: tuple
    numbers: tuple

    def __call__(self, block):
        at = np.searchsorted(np.array(self.edges), block[:, self.column])
        return np.array(self.numbers)[at]


def test_all_that_wait_are_answered_by_one_release():
    X = np.arange(20.0).reshape(10, 2)
    curator = canned("x")
    found = run_parallel(
        [_asks("a", 1), _asks("b", 3), _asks("c", 2)],
        Table(ArrayRows(X, block_rows=3), curator),
        Stripes(0, (3.0, 15.0), (0, 2, -1)),
    )
    sums = {"a": [2, 4], "b": [0, 0], "c": [54, 60]}
    for name, heard in found:
        for value in heard:
            assert value.tolist() == sums[name]
    assert [len(heard) for _, heard in found] == [1, 3, 2]
    charges = curator.close("x").charges
    assert [float(c.share) for c in charges] == [0.01, 0.02, 0.03]
    assert [r.value.size for r in curator.records] == [6, 4, 2]
