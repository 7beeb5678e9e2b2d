"""The radius of a clipped sum, and what is known of the rows beyond it."""

from warnings import catch_warnings, simplefilter

import numpy as np
import pytest

from skdp import PrivateMean
from skdp.exceptions import LowAccuracyWarning
from skdp.kernel._table import Table
from skdp.location._clip import Distances, LawfulTail, Tail, release_distances
from skdp.readers import ArrayRows
from tests._curators import canned

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def _release(X, curator):
    one = np.ones(X.shape[1])
    return release_distances(
        Table(ArrayRows(X), curator), center=0 * one, scale=one, around=1.0, share=0.1
    )


def test_every_row_is_in_one_cell_the_farthest_in_the_last():
    X = np.array([[0.0], [0.1], [1.0], [3.0], [1e3], [1e5], [1e300], [np.inf], [np.nan]])
    told = _release(X, canned("distances"))
    assert told.counts.sum() == 5 and told.beyond == 2
    assert len(told.counts) == len(told.edges) and told.edges[-1] == 2.0**14


def _distances(beyond):
    edges = 2.0 ** np.arange(-8, 8)
    return Distances(
        np.where((edges > 1 / 16) & (edges <= 2), 1000.0, 0.0), edges, 10.0, 10, beyond=beyond
    )


def test_rows_beyond_the_histogram_have_no_bound():
    seen, unseen = Tail(_distances(500.0), 5000.0), Tail(_distances(20.0), 5000.0)
    assert np.isinf(seen.excess([1.0, 2.0, 1e9])).all()
    assert seen.best(0.01, 1.0)[:2] == (2.0, np.inf)
    assert np.isfinite(unseen.excess([1.0, 2.0, 1e9])).all()
    assert np.isfinite(Tail(_distances(500.0), 5000.0, near=True).excess([1.0])).all()


def test_far_rows_that_are_seen_make_an_interval_infinite_or_are_in_it():
    """A twentieth of the rows 1e6 sd away: their mean is 5e4."""
    x = np.random.default_rng(0).normal(size=(20000, 1))
    x[:1000] = 1e6
    for d in (1, 3):
        fit = PrivateMean(random_state=0).fit(np.tile(x, d))
        low, high = fit.interval(1 - 1e-4)
        assert ((low <= x.mean()) & (x.mean() <= high)).all()


def test_rows_that_stand_out_in_no_cell_are_in_the_interval_of_columns_found_together():
    """Delays as below move the mean by .1 sd; a tail as steep as the bulk leaves no interval."""
    rng = np.random.default_rng(0)
    late = (rng.random((6000, 1)) < 0.05) * rng.exponential(8.0, size=(6000, 1))
    X, held = rng.normal(size=(6000, 2)) + late, 0
    for seed in range(8):
        fit = PrivateMean(random_state=seed, scale="none", center=[0.0, 0.0]).fit(X)
        low, high = fit.interval()
        held += ((low <= X.mean(axis=0)) & (X.mean(axis=0) <= high)).sum()
    assert held >= 15  # of 16


def test_rows_in_a_box_lie_no_farther_than_its_corners():
    near = _distances(500.0).up_to(2.5)
    assert near.edges[-1] == 4.0 and len(near.counts) == len(near.edges) and near.beyond == 0
    whole = _distances(500.0)
    assert whole.up_to(np.inf) is whole


def test_a_box_within_the_first_cells_of_a_start_far_away_is_read():
    far = Distances(1000.0 * np.eye(16)[0], 2.0 ** np.arange(16), 10.0, 10)
    for longest, cells in [(0.5, 1), (3.0, 3)]:
        near = far.up_to(longest)
        clip = LawfulTail(near, 1000.0, 64.0).best(0.01, 1.0)
        assert len(near.counts) == cells
        assert 0 < clip.radius <= 4.0 and np.isfinite(clip.excess)


@pytest.mark.parametrize("n, told", [(1500, True), (6000, False)])
def test_a_tail_that_may_hide_is_told_of(n, told):
    """Delays, of departure and arrival: a twentieth of the rows is late in both columns."""
    rng = np.random.default_rng(0)
    late = (rng.random((n, 1)) < 0.05) * rng.exponential(8.0, size=(n, 1))
    X = rng.normal(size=(n, 2)) + late
    for seed in range(3):
        with catch_warnings(record=True) as caught:
            simplefilter("always", LowAccuracyWarning)
            fit = PrivateMean(random_state=seed, scale="none", center=[0.0, 0.0]).fit(X)
        assert fit.reliable_ is not told
        assert told == any("stay unseen" in str(w.message) for w in caught)
        public = PrivateMean(random_state=seed, center=[0.0, 0.0], radius=50.0).fit(X)
        assert "stay unseen" not in str(public.accuracy_warnings_)
