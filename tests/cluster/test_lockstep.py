"""Searches side by side: one release for all, and a row moves the part of its own set alone."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Plan
from skdp.chunks import ArrayRows
from skdp.cluster._lockstep import Ask, in_step
from skdp.cluster._search import search_cells, search_steps
from skdp.kernel._places import Located
from skdp.kernel._statistic import Rule, public
from skdp.kernel._sums import BallSum
from skdp.kernel._table import Table
from tests._curators import GAUSSIAN, CannedCurator, canned, check_replay


def _asks(name, steps):
    heard = []
    for i in range(steps):
        statistic = BallSum(np.zeros(2), 2.0 ** (10 + i))
        noisy = yield Ask(statistic, Fraction(i + 1, 100), "x")
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
    found = in_step(
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


def _balls(d):
    c = np.zeros((3, d))
    c[1, 0], c[2, -1] = 1000.0, -64.0
    return [Located(1000.0, 42.0, x, r, r / 2) for x, r in zip(c, (4.0, 2.0, 8.0), strict=True)]


@public
@dataclass(frozen=True)
class Corners(Rule):
    """1 for rows far out along the first column, 2 along the last, 0 for others."""

    def __call__(self, block):
        return np.where(block[:, 0] > 500, 1, np.where(block[:, -1] < -32, 2, 0))


def _run(X, d, transcript, block_rows=None):
    curator = CannedCurator(Plan(GAUSSIAN, search_steps()), transcript, seed=d)
    searches = [
        search_cells(ball, n_clusters=3, signal=90.0, share=Fraction(1), seed=1)
        for ball in _balls(d)
    ]
    with np.errstate(all="ignore"):
        table = Table(ArrayRows(X, block_rows=block_rows), curator)
        return in_step(searches, table, Corners()), curator


def test_neighbours_move_a_release_by_at_most_the_sensitivity_of_one_set():
    worst = 0
    for d in (1, 2, 6, 70):
        rng = np.random.default_rng(d)
        X = rng.normal(size=(600, d))
        X[:200, 0] += 1000.0
        X[200:300, -1] -= 64.0
        one, run = _run(X, d, "noise")
        hostile = np.zeros((8, d))
        hostile[:7, 0] = 0.3, 1000.5, 500.0, np.nextafter(500.0, 501), 1e300, np.nan, 1002.0
        hostile[7, -1] = -71.0
        for row in hostile:
            two, again = _run(np.insert(X, 77, row, axis=0), d, run.answers, block_rows=37)
            worst = max(worst, check_replay(run, again))
            for a, b in zip(one, two, strict=True):
                assert np.array_equal(a.synopsis.weights, b.synopsis.weights)
                assert np.array_equal(a.synopsis.centres, b.synopsis.centres)
    assert 0.3 < worst <= 1
