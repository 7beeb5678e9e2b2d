"""The number of clusters is read off released cells: enough, not too many, and nothing else."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from skdp import FriendlyCoreKMeans
from skdp.cluster._synopsis import WeightedCells, cell_costs, number_of_clusters
from skdp.gate._curator import replaced_curator
from tests._curators import CannedCurator, FixedKeys

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def blobs(n, centres, seed=0, sd=1.0):
    rng = np.random.default_rng(seed)
    centres = np.asarray(centres, dtype=float)
    return centres[rng.integers(len(centres), size=n)] + sd * rng.normal(size=(n, centres.shape[1]))


def cells(points, side=0.5, sd=1.0):
    """Return the exact counts of the cells of a grid."""
    keys, counts = np.unique(np.floor(points / side), axis=0, return_counts=True)
    half = np.full(keys.shape, side / 2)
    return WeightedCells((keys + 0.5) * side, half, counts.astype(float), np.full(len(counts), sd))


def number(synopsis, most=12):
    box = np.abs(synopsis.centres).max(axis=0)
    return number_of_clusters(synopsis, most, n_init=5, seed=0, box=box)


LINE = [[10.0 * i, 0.0] for i in range(9)]
GRID = [[8.0 * i, 8.0 * j] for i in range(3) for j in range(3)]
PAIRS = [[0, 0], [7, 0], [100, 0], [107, 0], [0, 100], [0, 107]]


@pytest.mark.parametrize("centres", [[[0, 0]], LINE, GRID, PAIRS, [[0, 0], [6, 0]]])
def test_clusters_in_rows_grids_and_families_are_counted(centres):
    assert number(cells(blobs(20_000, centres))) == len(centres)


def test_one_cloud_of_any_shape_is_one_cluster():
    rng = np.random.default_rng(1)
    clouds = {
        "normal": rng.normal(size=(20_000, 2)) * 3,
        "stretched": rng.normal(size=(20_000, 2)) @ [[30, 10], [0, 2]],
        "uniform": rng.uniform(-8, 8, size=(20_000, 2)),
        "exponential": rng.exponential(3, size=(20_000, 2)),
    }
    assert {name: number(cells(X)) for name, X in clouds.items()} == dict.fromkeys(clouds, 1)


def test_what_does_not_stand_out_or_lies_between_is_no_cluster():
    found = cells(blobs(20_000, GRID))
    stray = WeightedCells(
        np.array([[60.0, 60.0], [-60.0, 0.0]]), np.full((2, 2), 0.25), np.full(2, 30.0),
        np.full(2, 10.0),
    )  # fmt: skip
    coarse = WeightedCells(
        np.array([[x, y] for x in (-4.0, 4, 12, 20) for y in (-4.0, 4, 12, 20)]),
        np.full((16, 2), 4.0), np.full(16, 25.0), np.full(16, 1.0),
    )  # fmt: skip
    for more in (stray, coarse):
        both = (np.concatenate([getattr(s, f) for s in (found, more)])
                for f in ("centres", "halves", "weights", "sds"))  # fmt: skip
        assert number(WeightedCells(*both), most=15) == 9


def test_costs_are_those_of_kmeans_and_never_increase():
    X = blobs(9000, GRID)
    costs = cell_costs(cells(X), 12, seed=0)
    for k in (1, 2, 5, 9, 12):
        exact = KMeans(k, n_init=5, random_state=0).fit(X).inertia_
        assert costs[k - 1] == pytest.approx(exact, rel=0.1)
    assert np.all(np.diff(costs) <= 0)
    few = WeightedCells(np.eye(2), np.full((2, 2), 0.1), np.array([5.0, 9.0]), np.ones(2))
    assert np.allclose(cell_costs(few, 4, seed=0)[1:], 14 * 2 * 0.01 / 4)
    assert number(few) <= 2


def _separated(k, d, seed):
    """Return k centres, no two of which are nearer than 8."""
    rng, centres = np.random.default_rng(seed), []
    while len(centres) < k:
        c = rng.uniform(-6, 6, size=d) * k ** (1 / d)
        if all(np.linalg.norm(c - e) >= 8 for e in centres):
            centres.append(c)
    return np.array(centres)


# of fresh fits of fresh tables: see the user guide, "Clustering"
@pytest.mark.parametrize(
    ("k", "d", "n"),
    [(1, 2, 5000), (3, 1, 5000), (7, 2, 5000), (4, 5, 20_000), (1, 10, 20_000), (6, 10, 40_000),
     (2, 80, 10_000)],
)  # fmt: skip
def test_a_fit_finds_the_number(k, d, n):
    centres = np.array([[0.0], [20.0], [40.0]]) if d == 1 else _separated(k, d, k)
    X = blobs(n, centres, seed=5)
    fit = FriendlyCoreKMeans("auto", n_init=5, max_clusters=10, random_state=1).fit(X)
    assert fit.n_clusters_ == k == len(fit.cluster_centers_) == fit.transform(X[:3]).shape[1]
    assert len(fit.get_feature_names_out()) == k and fit.cost_curve_.shape == (10,)
    saved = fit.cost_curve_[0] - fit.cost_curve_[k - 1]
    assert saved == pytest.approx(n * centres.var(axis=0).sum(), rel=0.25)
    assert any("number of clusters" in text for text in fit.privacy_report_.decisions)


def test_no_rows_and_too_small_a_limit():
    fit = FriendlyCoreKMeans("auto", n_init=1, random_state=0).fit(np.zeros((1, 2)))
    assert fit.n_clusters_ >= 1 and np.isfinite(fit.cost_curve_).all()
    fit = FriendlyCoreKMeans("auto", max_clusters=2, n_init=2, random_state=0)
    fit.fit(blobs(6000, PAIRS))
    assert fit.n_clusters_ <= 2 and fit.cost_curve_.shape == (2,)


@pytest.mark.parametrize("d", [2, 5, 70])
def test_the_number_depends_on_released_values_only(d):
    """Other rows, same answers: the same number, curve and centres, bit for bit."""
    one = np.random.default_rng(0).normal(size=(9000, d)) + 30 * (np.arange(9000) % 3)[:, None]
    two = np.random.default_rng(1).exponential(size=(800, d)) ** 3
    runs = []

    def canned(transcript):
        def make(plan, entropy):
            coins = FixedKeys(np.zeros(0, dtype=np.uint64))
            runs.append(CannedCurator(plan, transcript, coins=coins, seed=3))
            return runs[-1]

        return make

    fits = []
    for X in (one, two):
        with replaced_curator(canned(runs[0].answers if runs else "noise")):
            fits.append(FriendlyCoreKMeans("auto", n_init=2, random_state=0).fit(X))
    assert fits[0].n_clusters_ == fits[1].n_clusters_ == 3
    for name in ("cost_curve_", "cluster_centers_", "noise_scale_", "cluster_sizes_"):
        assert np.array_equal(getattr(fits[0], name), getattr(fits[1], name))
    assert fits[0].privacy_report_ == fits[1].privacy_report_


@pytest.mark.parametrize(("centres", "doubted"), [([[0.0, 0.0]], True), (PAIRS[:4], False)])
def test_one_cluster_is_told_in_plain_words(centres, doubted):
    fit = FriendlyCoreKMeans("auto", n_init=2, max_clusters=6, random_state=0)
    fit.fit(blobs(6000, centres))
    assert (
        ("no gaps between groups" in str(fit.accuracy_warnings_))
        is (fit.n_clusters_ == 1)
        is doubted
    )
