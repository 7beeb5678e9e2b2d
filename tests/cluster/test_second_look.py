"""A second look splits clusters that hold two, keeps good ones, and moves no release too far."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan
from skdp.cluster._split_merge import LOOK_STEPS, release_split_merge, split_merge_is_useful
from skdp.kernel._lattice import LocatedBall
from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from tests._curators import CannedCurator

STRONG, FAIR, WEAK = (Budget.gaussian(epsilon, 1e-6) for epsilon in (4.0, 2.0, 0.5))


def _table(d, seed, n=900):
    """Return rows around four places that differ in the last two columns alone."""
    rng = np.random.default_rng(seed)
    true = np.zeros((4, d))
    true[:, -2:] = (4, 4), (4, -4), (-4, 4), (-4, -4)
    return true[np.arange(n) % 4] + 0.1 * rng.normal(size=(n, d)), true


def _ball(d, n=900.0):
    return LocatedBall(n, 10.0, np.zeros(d), 8.0, 4.0)


def _look(X, centers, transcript, *, budget=STRONG, seed=0, located=None, block_rows=None):
    curator = CannedCurator(Plan(budget, LOOK_STEPS), transcript, seed=seed)
    with np.errstate(all="ignore"):
        table = Table(ArrayRows(X, block_rows=block_rows), curator)
        found = release_split_merge(
            table, located or _ball(X.shape[1]), centers,
            share=Fraction(9, 10), n_init=2, seed=3,
        )  # fmt: skip
    return found, curator


def _misled(true):
    """Return centres of which one serves two places and two serve one."""
    start = true.copy()
    start[0], start[1] = (true[0] + true[1]) / 2, true[2] + 0.05
    return start


def _far_from(true, centers):
    return np.sqrt(np.square(true[:, None] - centers).sum(axis=2)).min(axis=1).max()


@pytest.mark.parametrize("d", [4, 12])
def test_a_centre_that_serves_two_places_is_split(d):
    X, true = _table(d, 0, n=4000)
    for seed in range(5):
        centers, run = _look(X, _misled(true), "noise", seed=seed)
        assert _far_from(true, _misled(true)) > 3.9
        assert _far_from(true, centers) < 0.3
        looks = [r.label for r in run.records].count("line gain")
        assert looks == 2  # the second finds nothing to gain


def test_a_good_start_is_kept_after_one_look():
    X, true = _table(5, 1, n=4000)
    for seed in range(5):
        centers, run = _look(X, true, "noise", seed=seed)
        assert _far_from(true, centers) < 0.3
        assert [r.label for r in run.records] == [
            "line distances",
            "line moments",
            "line cells",
            "line gain",
        ]


def test_what_does_not_stand_out_is_left_alone():
    X, true = _table(4, 2, n=40)
    centers, run = _look(X, true, "noise", budget=WEAK)
    assert np.array_equal(centers, true)
    assert [r.label for r in run.records] == ["line distances"]


def test_few_rows_for_a_cluster_are_not_worth_it():
    ball = _ball(6, n=10_000.0)
    assert split_merge_is_useful(ball, 8, 0.3, Fraction(9, 10))
    assert not split_merge_is_useful(ball, 20, 0.3, Fraction(9, 10))
    assert not split_merge_is_useful(ball, 1, 0.3, Fraction(9, 10))
    assert not split_merge_is_useful(_ball(65, n=1e9), 8, 0.3, Fraction(9, 10))
