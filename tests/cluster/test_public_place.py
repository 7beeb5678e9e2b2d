"""Clusters and mixtures between public bounds, or in a public ball."""

import numpy as np
import pytest
from sklearn.base import clone

import skdp
from skdp import FriendlyCoreKMeans, LloydKMeans, PrivateGMM
from skdp.cluster._locate import PublicBall
from skdp.cluster._synopsis import half_widths
from skdp.kernel._lattice import LARGEST, InBox
from skdp.readers import ArrayRows

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
KMEANS, FRIENDLY = (
    FriendlyCoreKMeans(3, n_init=1),
    FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=40.0, n_init=1),
)
LLOYD, PURE, GMM = LloydKMeans(3), LloydKMeans(3, delta=0.0), PrivateGMM(2, max_iter=2, n_init=1)
ESTIMATORS = [KMEANS, FRIENDLY, LLOYD, PURE, GMM]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


def fitted(estimator, X, **params):
    return clone(estimator).set_params(**{"random_state": 0, **params}).fit(X)


def points(model):
    return model.means_ if hasattr(model, "means_") else model.cluster_centers_


def blobs(n, seed=0, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + rng.choice([-10.0, 10.0], size=(n, 1))


def test_clipped_rows_are_functions_of_each_row_and_stay_absent_if_not_finite():
    X = np.array([[1.0, 9.0], [-3.0, 0.5], [np.inf, 0.0], [0.0, np.nan], [-np.inf, 7.0], [0, 5]])
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 5.0])
    expected = [[1, 5], [-1, 0.5], [np.nan, 0], [0, np.nan], [np.nan, 5], [0, 5]]
    for dtype in (np.float64, np.float32):
        given = X.astype(dtype)
        rows = InBox(low, high).over(ArrayRows(given, block_rows=4))
        starts, blocks = zip(*rows.blocks(), strict=True)
        assert len(rows) == 6 and rows.n_features == 2 and starts == (0, 4)
        assert np.array_equal(np.concatenate(blocks), expected, equal_nan=True)
        assert np.array_equal(rows.take([4, 0]), np.take(expected, [4, 0], axis=0), equal_nan=True)
        assert np.array_equal(given, X.astype(dtype), equal_nan=True)  # left alone


def test_the_ball_around_a_box_holds_its_corners():
    for low, high in [([0, 0], [6, 8]), ([-1e300], [1e300]), ([0, -1e-300], [1, 1e-300])]:
        low, high = np.array(low, dtype=float), np.array(high, dtype=float)
        place = PublicBall.of_box(low, high)
        corner = np.hypot.reduce(high / 2 - low / 2)
        assert corner == pytest.approx(place.radius) and place.radius < LARGEST
        assert np.array_equal(place.center, low + (high / 2 - low / 2))
    assert half_widths(place.located()) == pytest.approx([1.0, 2.0**-20])


@each
@pytest.mark.parametrize("bounds", [(-20.0, 20.0), ([-4, -20], [3, 30.0]), (50, 60)])
def test_what_is_released_lies_between_the_bounds(estimator, bounds):
    for n in (1, 30, 900):
        model = fitted(estimator, blobs(n), bounds=bounds)
        assert np.all((points(model) >= bounds[0]) & (points(model) <= bounds[1]))


@pytest.mark.parametrize("place", [{"bounds": (-20, 20)}, {"center": [1, 2], "radius": 25}])
def test_what_is_public_is_not_bought(place):
    for estimator in (LLOYD, PURE):
        model = fitted(estimator, blobs(800), **place)
        assert {charge.label for charge in model.privacy_report_.charges} == {"step"}


@pytest.mark.slow
def test_bounds_find_clusters_in_fewer_rows():
    """Off by more than 2 in 150 rows: of 40 fresh fits none with bounds, 7 without."""
    lost = {}
    for name, place in (("bounds", {"bounds": (-15, 15)}), ("nothing", {})):
        kmeans = FriendlyCoreKMeans(2, n_init=2, **place)
        fits = [fitted(kmeans, blobs(150, seed=i), random_state=i) for i in range(100, 140)]
        ends = [np.sort(fit.cluster_centers_, axis=0) for fit in fits]
        lost[name] = sum(np.abs(end - [[-10], [10]]).max() > 2 for end in ends)
    assert lost["bounds"] <= 2 and lost["nothing"] >= 4


def test_bounds_far_wider_than_the_rows_cost_little():
    """Of 10 fits none is off by more than 1, which is 5 noise standard deviations and more."""
    for i in range(10):
        model = fitted(FriendlyCoreKMeans(2, n_init=2), blobs(600, i), bounds=(-1e6, 1e6))
        assert np.abs(np.sort(model.cluster_centers_, axis=0) - [[-10], [10]]).max() < 1


@each
@pytest.mark.parametrize("params, told", [
    ({"bounds": (3, 1)}, "low below high"), ({"bounds": ([1, 2, 3], 4)}, "shape"),
    ({"bounds": (0, np.inf)}, "finite"), ({"bounds": 3.0}, "bounds"),
    ({"bounds": (0, 1), "radius": 2.0}, "ball"), ({"center": 1.0}, "without radius"),
    ({"radius": 0.0}, "radius"), ({"center": [1.0, 2, 3], "radius": 1}, "shape"),
])  # fmt: skip
def test_wrong_places_are_refused_before_anything_is_charged(estimator, params, told):
    ledger = skdp.PrivacyLedger(100, 1e-3, composition="basic")
    with pytest.raises(ValueError, match=told):
        fitted(estimator, blobs(10), ledger=ledger, **params)
    assert len(ledger.entries()) == 1  # that it was opened


def test_labels_are_those_of_the_rows_as_they_are():
    X = blobs(300)
    model = fitted(KMEANS, X, bounds=(-1, 1), store_labels=True)
    assert np.array_equal(model.labels_, model.predict(X))
