"""Tables at the edges: fits that must end, whatever the rows, and clusters that must be seen."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from skdp import FriendlyCoreKMeans, LloydKMeans, PrivateGMM, config_context
from skdp.accounting import Budget, Plan
from skdp.audit import CannedCurator
from skdp.audit._transcript import Script
from skdp.cluster._density import DENSITY_STEPS
from skdp.cluster._outlying_groups import release_ball_cover
from skdp.exceptions import LowAccuracyWarning
from skdp.gate._curator import replaced_curator
from skdp.kernel._mixtures import MixtureFrame
from skdp.kernel._table import Table
from skdp.mixture._normal import lower_root
from skdp.readers import ArrayRows

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdp.exceptions.SeededNoiseWarning", "ignore::skdp.exceptions.LowAccuracyWarning"
)


@pytest.mark.parametrize("kind", [FriendlyCoreKMeans, LloydKMeans])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_row_decides_whether_labels_can_be_told(kind, dtype):
    most = np.finfo(dtype).max
    rng = np.random.default_rng(0)
    X = (rng.uniform(-2, -1, size=(500, 2)) * (most * 1e-8)).astype(dtype)
    for rows in (X, np.vstack([X, np.full((1, 2), most, dtype)])):
        bounds = (float(-2e-8 * most), float(-1e-8 * most))
        fit = kind(2, bounds=bounds, store_labels=True, random_state=0).fit(rows)
        assert len(fit.labels_) == len(rows) and (fit.labels_ >= 0).all()


@pytest.mark.parametrize("init", ["k-means++", [[0.0, 0.0], [900.0, 900.0]]])
def test_a_far_group_between_bounds_is_found(init):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    X[:2000] += 1000
    fit = FriendlyCoreKMeans(2, bounds=(-2000, 2000), init=init, n_init=3, random_state=0).fit(X)
    assert np.sort(fit.cluster_centers_[:, 0]) == pytest.approx([0, 1000], abs=0.5)


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_components_a_milliard_standard_deviations_apart(kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(4000, 2)), rng.normal(size=(2000, 2)) + 1e9])
    fit = PrivateGMM(2, covariance_type=kind, n_init=2, random_state=0).fit(X)
    assert np.isfinite(fit.covariances_).all()
    assert np.sort(fit.means_[:, 0]) == pytest.approx([0, 1e9], abs=10)


def test_many_shells_of_rows_end_within_the_plan():
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=(10_000, 5))]
    for i in range(1, 9):
        u = rng.normal(size=(450, 5))
        parts.append(u / np.linalg.norm(u, axis=1, keepdims=True) * 2.0 ** (4 + 4 * i))
    fit = FriendlyCoreKMeans(8, epsilon=40, n_init=2, random_state=0).fit(np.concatenate(parts))
    assert np.isfinite(fit.cluster_centers_).all()


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e-170, 3e-306])
def test_two_groups_and_one_centre_at_any_scale(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    X[:1000] += 1000
    fit = FriendlyCoreKMeans(1, n_init=2, random_state=0).fit(X * scale)
    assert np.isfinite(fit.cluster_centers_).all() and not np.isinf(fit.inertia_)


@pytest.mark.parametrize("n", [700, 1000, 1500])
def test_clusters_along_one_column(n):
    # fresh seeds: the worst of 36 fits costs 1.01 of exact k-means
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 1)) + rng.choice([0, 10, 20], (n, 1))
        fit = FriendlyCoreKMeans(3, n_init=5, random_state=seed).fit(X)
        assert np.sort(fit.cluster_centers_[:, 0]) == pytest.approx([0, 10, 20], abs=0.5)


def test_a_frame_that_cannot_be_inverted_fails_before_rows_are_read():
    frame = MixtureFrame("full", np.ones(1), np.zeros((1, 2)), np.full((1, 2, 2), np.inf))
    with pytest.raises(ValueError, match="roots of moderate size"):
        frame.fits(2)


def test_roots_of_covariances_that_floats_take_for_singular():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 4, 4))
    C = A @ A.transpose(0, 2, 1)
    assert np.array_equal(lower_root(C), np.linalg.cholesky(C))
    flat = np.array([[[1e18, 1e18], [1e18, 1e18]]])
    root = lower_root(flat)
    assert root[0, 0, 1] == 0 and (np.diagonal(root[0]) > 0).all()
    assert root @ root.transpose(0, 2, 1) == pytest.approx(flat, rel=1e-6)


def test_lloyd_warns_of_centres_that_did_not_move():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.warns(LowAccuracyWarning, match="did not move"):
        LloydKMeans(4, epsilon=0.1, bounds=(-3, 3), random_state=0).fit(X)


@pytest.mark.parametrize("careful", [False, True])
def test_a_road_with_a_fixed_share_gets_it_whatever_was_released(careful):
    left = []
    for seed in range(12):
        plan = Plan(Budget.gaussian(100.0, 1e-6), DENSITY_STEPS)
        curator = CannedCurator(plan, Script(seed=seed, stretch=(1.0, 30.0, 1e3, 1e6)[seed % 4]))
        with np.errstate(all="ignore"):
            release_ball_cover(Table(ArrayRows(np.zeros((3, 4))), curator), 2, careful=careful)
        left.append(curator.remaining)
    assert (min(left) >= Fraction(3, 5)) is not careful  # careful fits spend more, and may


@pytest.mark.parametrize(
    ("estimator", "seed", "stretch"),
    [(PrivateGMM(3), 58, 1e60), (PrivateGMM(3), 19, 1e60), (FriendlyCoreKMeans(3), 41, 1e6)],
)
def test_no_answer_of_noise_alone_is_an_error(estimator, seed, stretch):
    """Places 2^500 radii apart, and cells none of which holds a row."""
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 30]
    script = Script(seed=seed, stretch=stretch)
    with replaced_curator(lambda plan, _: CannedCurator(plan, script)), config_context(debug=True):
        fit = clone(estimator).set_params(epsilon=2.0).fit(X)
    assert np.isfinite(getattr(fit, "cluster_centers_", getattr(fit, "means_", 0))).all()
