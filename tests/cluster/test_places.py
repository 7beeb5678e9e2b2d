"""Groups far from the bulk are places of their own; what is left out is named.

Thresholds leave room for noise: every run has fixed seeds.
"""

import numpy as np
import pytest

from skdp import FriendlyCoreKMeans, PrivateGMM
from skdp.accounting import Budget
from skdp.cluster._density import allocate
from skdp.cluster._locate import merged, whole_space
from skdp.cluster._outlying_groups import Found, release_ball_cover
from skdp.cluster._synopsis import WeightedCells, half_widths, some_places, to_data, to_units
from skdp.kernel._lattice import UNIT, BallCover, Lattice, LocatedBall
from skdp.kernel._table import Table
from skdp.mechanisms import row_norms
from skdp.readers import ArrayRows
from tests._curators import CannedCurator
from tests.cluster._road import density_plan

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdp.exceptions.SeededNoiseWarning", "ignore::skdp.exceptions.LowAccuracyWarning"
)


def _cost(X, C):
    return np.square(X[:, None] - C).sum(axis=2).min(axis=1).sum()


def _bulk(rng, n, d, k=3):
    centres = 6 * rng.normal(size=(k, d))
    labels = rng.integers(k, size=n)
    return centres[labels] + rng.normal(size=(n, d)), centres[labels]


def _group(rng, n, d, distance):
    u = rng.normal(size=d)
    truth = np.tile(u / np.linalg.norm(u) * distance, (n, 1))
    return truth + rng.normal(size=(n, d)), truth


def _table(seed, d, n, groups):
    rng = np.random.default_rng(seed)
    parts = [_bulk(rng, n, d), *(_group(rng, m, d, at) for m, at in groups)]
    return tuple(np.concatenate(side) for side in zip(*parts, strict=True))


FAR = {
    "one in twenty": [(1000, 1000.0)],
    "one in forty": [(500, 100.0)],
    "a third": [(8000, 1000.0)],
    "two at one distance": [(900, 1000.0), (800, 1000.0)],
    "two distances": [(900, 1000.0), (800, 3000.0)],
}


@pytest.mark.cases(4)
@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("name", FAR)
def test_a_far_group_costs_nothing(name, d):
    # before places beyond the bulk were looked for, these cost 50 to 100,000 times the best
    X, truth = _table(d, d, 20_000, FAR[name])
    kmeans = FriendlyCoreKMeans(3 + len(FAR[name]), n_init=3, random_state=d).fit(X)
    assert _cost(X, kmeans.cluster_centers_) < 1.02 * np.square(X - truth).sum()
    near = np.abs(truth).max(axis=1) < 50
    inner = _cost(X[near], kmeans.cluster_centers_) / np.square(X[near] - truth[near]).sum()
    assert inner < 1.02


def test_a_far_group_of_two_clusters_gets_two_centres():
    rng = np.random.default_rng(3)
    X, truth = _table(3, 2, 20_000, [(1500, 1000.0)])
    shift = np.where(rng.random(1500) < 0.5, 20.0, 0.0)[:, None]
    X[-1500:], truth[-1500:] = X[-1500:] + shift, truth[-1500:] + shift
    kmeans = FriendlyCoreKMeans(5, n_init=3, random_state=3).fit(X)
    assert _cost(X, kmeans.cluster_centers_) < 1.02 * np.square(X - truth).sum()


@pytest.mark.parametrize("k", [1, 2])
def test_with_fewer_clusters_than_groups_the_nearest_share_a_centre(k):
    rng = np.random.default_rng(k)
    X = np.concatenate([_group(rng, 6000, 2, at)[0] for at in (0.0, 1000.0, 1e5)[: k + 1]])
    fit = FriendlyCoreKMeans(k, n_init=3, random_state=k).fit(X)
    best = X[: 6000 * 2].mean(axis=0)
    assert np.abs(fit.cluster_centers_ - best).sum(axis=1).min() < 20
    if k == 2:
        assert np.abs(fit.cluster_centers_ - X[12_000:].mean(axis=0)).sum(axis=1).min() < 1


def test_scattered_rows_are_left_out_and_named():
    X, truth = _table(5, 2, 20_000, [])
    Y = np.concatenate([X, np.random.default_rng(5).normal(size=(900, 2)) * 1e5])
    fit = FriendlyCoreKMeans(3, n_init=3, random_state=5).fit(Y)
    assert _cost(X, fit.cluster_centers_) < 1.01 * np.square(X - truth).sum()
    assert any("are left out" in text for text in fit.privacy_report_.decisions)


def test_a_far_component_of_a_mixture_is_found():
    X, truth = _table(6, 2, 20_000, [(1000, 1000.0)])
    fit = PrivateGMM(4, covariance_type="spherical", n_init=3, random_state=6).fit(X)
    assert np.abs(fit.means_ - truth[-1]).max(axis=1).min() < 1
    assert fit.means_.shape == (4, 2) and np.all(fit.covariances_ < 4)


def test_one_place_is_a_ball_as_before():
    X, _ = _table(7, 2, 6000, [])
    curator = CannedCurator(density_plan(Budget.gaussian(1.0, 1e-6)), "noise", seed=7)
    located = release_ball_cover(Table(ArrayRows(X), curator), 3)
    assert isinstance(located, LocatedBall) and located.balls == (located,)
    assert {c.label for c in curator.close("x").charges} == {"row count", "scale", "location"}


def _places(d=2, gap=40.0):
    center = np.zeros(d)
    center[0] = gap
    home, far = (
        LocatedBall(100.0, 1.0, c, r, r / 2) for c, r in ((center * 0, 4.0), (center, 1.0))
    )
    return BallCover((home, far), 200.0, 1.0)


def test_a_row_belongs_to_the_first_place_that_keeps_it():
    places = _places(gap=9.5)  # balls of 8 and 2 around 0 and 9.5 overlap
    x = np.array([0.0, 7.99, 8.0, 8 + 2.0**-17, 11.5, 11.51, -8.1, np.nan])
    block = np.column_stack([x, np.zeros(8)])
    assert Lattice(places).places(block).tolist() == [0, 0, 0, 1, 1, -1, -1, -1]
    lattice = Lattice(places)
    C = lattice.points(to_units(places, np.array([[7.0, 0.0], [9.5, 0.0]])))
    labels, distances = lattice.labels(block, C)
    assert labels.tolist() == [0, 0, 0, 0, 1, -1, -1, -1]
    assert np.allclose(distances[:5] * 4, [7, 0.99, 1, 1, 2], atol=1e-5)


def test_coordinates_of_places():
    places = _places(gap=1e6)
    y = to_units(places, np.array([[1.0, 2.0], [1e6 + 0.5, 0.25]]))
    assert np.allclose(to_data(places, y), [[1.0, 2.0], [1e6 + 0.5, 0.25]], atol=1e-9)
    assert places.units(y).tolist() == [1.0, 0.25]
    (_, one), (_, two) = Lattice(places).points(y)
    assert np.allclose(two / UNIT, [[0.5, 0.25]], atol=1e-5)
    assert np.allclose(one / UNIT, [[0.25, 0.5]], atol=1e-5)
    assert some_places(places, [0]).balls[0].radius == 4.0


def test_a_merged_ball_holds_both():
    one, two = _places(gap=40.0).balls
    ball = merged(one, two)
    for part in (one, two):
        assert np.linalg.norm(part.center - ball.center) + part.radius <= ball.radius * (1 + 1e-12)
    assert ball.n_rows == 200 and ball.center.tolist() == [20.0, 0.0]


def _cells(points, weights):
    points = np.array(points, dtype=float)
    return WeightedCells(
        points, np.full(points.shape, 0.01), np.array(weights, float), np.ones(len(points))
    )


def test_centres_go_where_they_lower_the_cost_most():
    places = _places(gap=1000.0)
    near = [[-0.5, 0], [-0.4, 0], [0.5, 0], [0.4, 0], [0, 0.5], [0, 0.4]]

    def found(far):
        sides = (_cells(near, [100.0] * 6), _cells(*far))
        return [
            Found(ball, whole_space(half_widths(ball)), cells)
            for ball, cells in zip(places.balls, sides, strict=True)
        ]

    single = found(([[0, 0], [0, 0.01], [0.01, 0]], [100.0] * 3))
    assert allocate(places, single, 4, seed=0) == [3, 1]
    double = found(([[-0.9, 0], [-0.8, 0], [0.9, 0], [0.8, 0]], [9000.0] * 4))
    assert allocate(places, double, 4, seed=0) == [2, 2]
    assert sum(allocate(places, double, 9, seed=0)) == 9


def test_norms_decide_by_the_row_alone():
    X = np.random.default_rng(1).normal(size=(200, 3)) * 1e3
    whole = row_norms(X, center=np.ones(3))
    assert np.array_equal(whole[50:60], row_norms(X[50:60], center=np.ones(3)))
