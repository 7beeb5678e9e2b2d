"""What is read off released counts: windows that stand out, blocks, simplices, radii."""

import numpy as np
import pytest

from skdp.cluster._locate import BINS, tail_radius
from skdp.cluster._refine import _significant_bins, radii_from_cells
from skdp.cluster._synopsis import WeightedCells, weighted_kmeans
from skdp.cluster._tree import HalvedBox, dense_cells, schedule, seen_in_windows, sparse_blocks
from skdp.scales._column_noise import onto_simplex

RNG = np.random.default_rng(11)


def test_windows_of_noise_are_rarely_seen():
    # .01 windows per table are expected, correlated: 200 tables have 10 or more with p < 1e-4
    seen = sum(seen_in_windows(RNG.normal(size=(16, 16)), 1.0).any() for _ in range(200))
    assert seen < 10


def test_mass_on_a_border_is_seen_by_the_windows_only():
    table = np.zeros((16, 16))
    table[7:9, 7:9] = 3.2  # each cell alone is below the level of 4.6
    seen = seen_in_windows(table, 1.0)
    assert seen[7:9, 7:9].all()
    table[7:9, 7:9] = [[3.2, 0], [0, 0]]
    assert not seen_in_windows(table, 1.0).any()


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_a_window_covers_its_cells_in_every_dimension(p):
    shape, grid = (8,) * min(p, 3) + (2,) * (p - 3), None
    table = np.zeros(shape)
    table[(3,) * min(p, 3) + (1,) * (p - 3)] = 100.0
    seen = seen_in_windows(table, 1.0)
    assert seen[(3,) * min(p, 3) + (1,) * (p - 3)]
    assert seen.sum() >= 2**p
    grid = HalvedBox(np.ones(p), 8)
    counts = np.zeros(256)
    counts[77] = 100.0
    assert np.flatnonzero(dense_cells(counts, grid, 8, 1.0)).tolist() == [77]


def test_blocks_hold_diffuse_mass_once():
    counts = np.full(256, 1.5)
    dense = np.zeros(256, dtype=bool)
    dense[5] = True
    blocks = sparse_blocks(counts, dense, HalvedBox(np.ones(2), 8), 8, 1.0)
    for level, _, weights, sds in blocks:
        assert np.all(weights <= 1.5 * (256 >> level))
        assert np.allclose(np.square(sds), weights / 1.5)  # as many cells as rows
    total = sum(weights.sum() for _, _, weights, _ in blocks)
    assert 0.9 * 1.5 * 255 < total <= 1.5 * 255


def test_projection_to_the_simplex_is_the_nearest_point():
    y = RNG.normal(size=(300, 9)) * 5
    y[:100, 4:] = -np.inf
    total = RNG.uniform(0.1, 20, size=300)
    w = onto_simplex(y, total)
    assert np.all(w >= 0)
    assert np.allclose(w.sum(axis=1), total)
    assert np.all(w[:100, 4:] == 0)
    # Karush-Kuhn-Tucker: positive entries have moved alike, the others would have to move farther
    moved = np.where(w > 0, y - w, np.nan)
    assert np.allclose(np.nanmax(moved, axis=1), np.nanmin(moved, axis=1))
    assert np.all(np.where(w > 0, -np.inf, y) <= np.nanmax(moved, axis=1, keepdims=True) + 1e-9)


def test_centres_of_few_cells_are_all_different():
    one = WeightedCells(np.zeros((1, 2)), np.ones((1, 2)), np.ones(1), np.ones(1))
    centres, cost = weighted_kmeans(one, 5, n_init=2, seed=0, box=np.ones(2))
    assert len(np.unique(centres, axis=0)) == 5
    assert np.abs(centres).max() < 0.02
    assert cost == 0


def test_radii_follow_the_cells():
    corners = np.array([[0.1, 0], [-0.1, 0], [0, 0.1], [0, -0.1]])
    points = np.vstack([corners, corners * 3 + 5])
    cells = WeightedCells(points, np.full((8, 2), 1e-3), np.full(8, 1e4), np.ones(8))
    radii, weights = radii_from_cells(cells, np.array([[0.0, 0], [5.0, 5]]), noise=1.0)
    assert np.allclose(radii, [0.1, 0.3], rtol=0.02)
    assert weights.tolist() == [4e4, 4e4]
    far = WeightedCells(np.vstack([points, [[2.0, 0]]]), np.full((9, 2), 1e-3),
                   np.append(np.full(8, 1e4), 2.0), np.ones(9))  # fmt: skip
    again, _ = radii_from_cells(far, np.array([[0.0, 0], [5.0, 5]]), noise=1.0)
    assert np.allclose(radii, again, rtol=0.02)  # a leaf of 2 noise sds has no vote


def test_schedules_fit_into_twenty_bits():
    for signal in (0.0, 50.0, 200.0, 1e6):
        for flat in (True, False):
            plan = schedule(signal, 4, flat=flat, p=2)
            assert plan.depth <= 20
            assert plan.stages <= 3  # and the first grid: four releases


def test_false_cells_are_rarer_in_a_large_box():
    counts = np.zeros(256)
    counts[77] = 5.5
    assert dense_cells(counts, HalvedBox(np.ones(2), 8), 8, 1.0).any()
    assert not dense_cells(counts, HalvedBox(np.full(2, 8.0), 8), 8, 1.0).any()


def test_the_reach_ends_where_rows_no_longer_stand_out():
    def reach(**far):
        counts = np.zeros(BINS.n_bins)
        counts[BINS.index(np.array([0.9]))] = 1e4  # the bulk lies inside the radius
        for height, rows in far.items():
            counts[BINS.index(np.array([float(height[1:])]))] = rows
        return tail_radius(counts, 10.0, 1.0)

    assert reach() == reach(x3=30.0) == reach(x9=1e3) == 1  # nothing; noise; out of sight
    assert reach(x1=30.0) == pytest.approx(2**0.5)  # near by, less is asked for
    assert reach(x3=60.0) == reach(x1=60.0, x3=60.0) == 4
    assert reach(x7=60.0) == 8
    assert reach(x3=30.0, x5=30.0) == 4  # together only


@pytest.mark.parametrize("radius", [2.0**-1000, 2.0**999.5, 2.0**0.5, 3.7e-9])
def test_a_reach_at_the_ends_of_the_axis(radius):
    assert 1 <= tail_radius(np.full(BINS.n_bins, 1e6), 1.0, radius) <= 8


def test_far_bins_of_noise_have_no_vote():
    counts = np.zeros(50)
    counts[10:14], counts[40] = 100.0, 2.5
    assert np.flatnonzero(_significant_bins(counts, 1.0)).tolist() == [10, 11, 12, 13]
    counts[40] = 5.0
    assert _significant_bins(counts, 1.0)[40] == 5


def test_cells_of_noise_do_not_outweigh_a_cluster():
    # two clusters 0.05 apart, one elsewhere, and a cell of 2.5 noise sds far from all
    points = np.array([[0.0, 0.0], [0.05, 0.0], [-0.5, 0.5], [0.3, 0.2]])
    cells = WeightedCells(
        points, np.full((4, 2), 0.01), np.array([400.0, 400, 400, 20]), np.full(4, 8.0)
    )
    options = {"n_init": 10, "seed": 0, "box": np.ones(2)}
    close = [
        np.abs(np.sort(weighted_kmeans(s, 3, **options)[0][:, 0]) - [-0.5, 0, 0.05]).max()
        for s in (cells.cautious, cells)
    ]
    assert close[0] < 0.03 < close[1]
    assert np.all(cells.cautious.weights > 0)
