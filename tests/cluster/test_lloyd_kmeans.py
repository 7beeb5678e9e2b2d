from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

import skdp
from skdp.cluster._lloyd_kmeans import LloydKMeans
from skdp.cluster._refine import ball_points, spread_points
from skdp.gate._curator import replaced_curator
from tests._curators import CannedCurator, FixedKeys

seeded = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
CENTERS = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])


def clusters(n, seed=0, sd=0.2):
    rng = np.random.default_rng(seed)
    return CENTERS[rng.integers(4, size=n)] + sd * rng.normal(size=(n, 2))


def fitted_with(curators, X, keys=None, transcript="noise", seed=0, **params):
    """Fit with a canned Curator, which is appended to ``curators``."""

    def make(plan, entropy):
        coins = None if keys is None else FixedKeys(keys)
        curators.append(CannedCurator(plan, transcript, seed=seed, coins=coins))
        return curators[-1]

    with replaced_curator(make):
        return LloydKMeans(random_state=0, **params).fit(X)


@seeded
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("offset, scale", [(0.0, 1.0), (1e6, 1.0), (0.0, 1e-100)])
def test_easy_clusters_are_found_without_bounds(delta, offset, scale, debug):
    X = offset + scale * clusters(8000)
    ratios = []
    for i in range(5):
        fit = LloydKMeans(4, epsilon=20.0, delta=delta, random_state=i).fit(X)
        best = KMeans(4, n_init=3, random_state=0).fit((X - offset) / scale).inertia_
        ratios.append(np.square(fit.transform(X).min(axis=1) / scale).sum() / best)
    # some starts end in a poor optimum: half of them do not
    assert np.median(ratios) < 1.02


@seeded
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_public_centers_to_start_from_settle_everything_else(delta, debug):
    X = clusters(4000)
    init = CENTERS + 0.3
    for i in range(3):
        fit = LloydKMeans(
            4, delta=delta, init=init, max_iter=1, center=2.0, radius=4.0, random_state=i
        ).fit(X)
        # Gaussian: sum noise 4 * 1.12 * .5 / .2367 = 9.4 of 1000 rows; Laplace (a + sqrt 2) 8.5
        assert np.abs(fit.cluster_centers_ - CENTERS).max() < (0.06 if delta else 0.12)
        assert [c.label for c in fit.privacy_report_.charges] == ["step"]


@seeded
def test_pure_budgets_add_up_in_epsilon_and_others_in_mu_squared():
    X = clusters(500)
    for params in ({}, {"radius": 3.0}, {"max_iter": 1}, {"max_iter": 13}):
        curators = []
        pure = fitted_with(curators, X, n_clusters=3, epsilon=0.7, delta=0, **params)
        report = pure.privacy_report_
        assert {charge.mechanism for charge in report.charges} == {"laplace"}
        spent = sum(r.sensitivity / Fraction(r.scale) for r in curators[0].records)
        assert Fraction(69, 100) < spent <= Fraction(7, 10)
        assert report.budget.measure == "pure" and report.budget.delta == 0
        gdp = fitted_with(curators, X, n_clusters=3, **params)
        spent = sum((r.sensitivity / Fraction(r.scale)) ** 2 for r in curators[1].records)
        assert spent <= gdp.plan().budget.amount
        assert float(spent / gdp.plan().budget.amount) > 0.99
        for fit in (pure, gdp):
            labels = [charge.label for charge in fit.privacy_report_.charges]
            assert labels.count("step") == fit.n_iter_ == params.get("max_iter", 6)


@seeded
def test_no_table_makes_a_fit_fail(debug):
    tables = [np.empty((0, 3)), np.zeros((1, 3)), np.ones((50, 3)), np.full((9, 3), 1.7e308),
              np.full((9, 3), np.nan), np.eye(3) * 1e-320,
              np.where(np.arange(60).reshape(20, 3) % 2, 1.7e308, -1.7e308)]  # fmt: skip
    with skdp.config_context(invalid_rows="ignore"):
        for X in tables:
            for params in ({}, {"delta": 0}, {"radius": 1e-300}, {"radius": 1e308, "delta": 0},
                           {"epsilon": 1e-6, "delta": 0}, {"epsilon": 500.0}):  # fmt: skip
                fit = LloydKMeans(4, random_state=0, **params).fit(X)
                assert fit.cluster_centers_.shape == (4, 3)
                assert np.isfinite(fit.cluster_centers_).all()


def test_starts_are_public_and_spread():
    points = ball_points(4000, 3, "x", 0)
    length = np.linalg.norm(points, axis=1)
    assert length.max() <= 1 and abs((length**3).mean() - 0.5) < 0.03  # sd .005
    assert np.abs(points.mean(axis=0)).max() < 0.05  # sd .007
    assert not np.array_equal(points, ball_points(4000, 3, "y", 0))
    spread = spread_points(7, 2)
    far = np.linalg.norm(spread[:, None] - spread, axis=2) + 9 * np.eye(7)
    assert np.linalg.norm(spread, axis=1).max() < 1 and far.min() > 0.4
    assert np.array_equal(spread, spread_points(7, 2, 0))
    assert not np.array_equal(spread, spread_points(7, 2, 1))


@seeded
def test_manners_of_kmeans():
    X = pd.DataFrame(clusters(1000), columns=["a", "b"])
    fit = clone(LloydKMeans(4, epsilon=20.0, random_state=0)).fit(X)
    distances = np.linalg.norm(X.to_numpy()[:, None] - fit.cluster_centers_, axis=2)
    assert np.allclose(fit.transform(X), distances)
    assert np.array_equal(fit.predict(X), distances.argmin(axis=1)) and fit.predict(X).dtype == "i4"
    assert np.isclose(fit.score(X), -np.square(distances.min(axis=1)).sum())
    assert np.array_equal(fit.fit_predict(X), fit.predict(X))
    assert fit.get_feature_names_out().tolist() == [f"lloydkmeans{i}" for i in range(4)]
    frame = fit.set_output(transform="pandas").transform(X)
    assert frame.shape == (1000, 4) and next(iter(frame.columns)) == "lloydkmeans0"
    assert not hasattr(fit, "labels_")
    far = fit.cluster_centers_ + 1e9
    fit.cluster_centers_ = far  # no cancellation far from the origin
    assert np.allclose(fit.transform(X[:3] + 1e9), distances[:3], atol=1e-5)


@pytest.mark.parametrize("params, told", [
    ({"center": 1.0}, "without radius"), ({"center": [1.0], "radius": 1.0}, "shape"),
    ({"init": np.zeros((3, 2))}, "init must have shape"),
    ({"init": np.full((4, 2), np.nan)}, "finite"),
    ({"init": "k-means++"}, "init"), ({"max_iter": 0}, "max_iter"), ({"radius": 0.0}, "radius"),
])  # fmt: skip
def test_wrong_parameters_are_refused(params, told):
    with pytest.raises(ValueError, match=told):
        LloydKMeans(4, **params).fit(clusters(10))
