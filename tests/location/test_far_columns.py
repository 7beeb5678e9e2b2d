"""Which column far rows are far in, and the interval of a heavy column among light ones."""

import numpy as np
import pytest

from skdp import PrivateMean
from skdp.kernel._sums import FarthestEntry
from skdp.location._clip import BINS, EDGES, STARTS, column_excess
from skdp.scales import LogBins

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def _counts(t):
    return np.histogram(t, np.append(EDGES, np.inf))[0].astype(float)


def test_a_row_is_in_one_cell_of_all_columns():
    bins, starts = LogBins(1, 0, 3), np.array([1, 3])  # from 1 on, and from 4 on
    asked = FarthestEntry(np.array([1.0, 0.0]), bins, np.array([2.0, 1.0]), starts)
    rows = [[3.0, 0.5], [1.0, -1.0], [-9.0, 4.5], [-9.0, 5.0], [2.9, 0.9], [np.nan, 9.0]]
    cells = [0, 2, 1, 1, -1, -1]  # the first of equal columns; nearer than an edge none
    assert asked.cells(np.array(rows)).tolist() == cells
    assert asked.total(np.array(rows)).tolist() == [1, 2, 1, 0]
    assert asked.cells(np.array([[np.inf, 1.0], [2.0, -np.inf]])).max() == -1


def test_cells_begin_at_the_edges_that_are_read():
    for t, cell in zip(EDGES, range(99), strict=False):
        asked = FarthestEntry(np.zeros(2), BINS, np.ones(2), STARTS)
        rows = np.array([[0.1, 1.0001 * t], [-0.9999 * t, 0.0]])
        assert asked.cells(rows).tolist() == [len(EDGES) + cell, cell - 1]
        assert asked.size == 2 * len(EDGES)


def test_light_columns_are_left_alone_and_heavy_ones_allowed_for():
    """The radius is 4.5 sd of the light ones; the noise that of 10,000 rows at epsilon = 1."""
    rng, n, sd, false, held = np.random.default_rng(0), 10_000, 18.0, 0, 0
    for _ in range(100):
        light = np.abs(rng.normal(size=(4, n))) / 4.5
        heavy = rng.pareto(2.1, size=n) / 6
        counts = np.array([_counts(t) for t in (*light, heavy)])
        most = column_excess(counts + sd * rng.normal(size=counts.shape), sd, n)
        false += np.count_nonzero(most[:4])
        held += most[4] >= np.maximum(heavy - 1, 0).sum()
    assert false <= 18  # of 400
    assert held >= 84


@pytest.mark.parametrize("cell", [2, 4, 8])
def test_rows_apart_are_allowed_for_wherever_they_are(cell):
    counts = np.zeros((1, len(EDGES)))
    counts[0, cell] = 100
    assert column_excess(counts, 18.0, 1e4)[0] >= 100 * (EDGES[cell] - 1)


def test_a_heavy_column_among_light_ones_is_in_its_interval():
    """6 of 12 were in it when lengths of rows alone told of tails."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.lognormal(size=8000), rng.normal(size=(8000, 7))])
        fit = PrivateMean(random_state=seed).fit(X)
        low, high = fit.interval()
        held.append((low <= X.mean(axis=0)) & (X.mean(axis=0) <= high))
    assert np.sum(held, axis=0)[0] >= 10
    assert np.mean(held) > 0.95


def test_the_bill_names_the_release():
    X = np.random.default_rng(0).normal(size=(8000, 4))
    charges = {c.label: c for c in PrivateMean(random_state=0).fit(X).privacy_report_.charges}
    far, final = charges["far columns"], charges["final sum"]
    assert float(far.share) == pytest.approx(0.1 * float(far.share + final.share))
    trimmed = PrivateMean(random_state=0, trim=True).fit(X).privacy_report_.charges
    assert "far columns" not in {c.label for c in trimmed}
    many = PrivateMean(epsilon=40.0, random_state=0).fit(X).privacy_report_.charges
    assert "far columns" not in {c.label for c in many}
