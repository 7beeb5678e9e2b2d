import numpy as np
import pytest

from skdp.cluster.friendly._parts import kmeans_oracle, pca_oracle
from skdp.friendly import MatchPredicate


def mixture(rng, n, centers, sd):
    k, d = centers.shape
    return centers[rng.integers(k, size=n)] + sd * rng.normal(size=(n, d)), centers


def off(points, centers):
    found = MatchPredicate(1 / 3).order(points[None], centers)[0]
    return np.linalg.norm(found - centers, axis=1).max()


@pytest.mark.parametrize("oracle", [kmeans_oracle, pca_oracle])
def test_oracles_find_separated_clusters_and_repeat_themselves(oracle):
    rng = np.random.default_rng(0)
    for k, d in ((1, 1), (3, 2), (5, 40)):
        X, centers = mixture(rng, 600, 10.0 * np.arange(k)[:, None] + np.zeros(d), 0.02)
        points = oracle(X, k, 7)
        # a mean of 120 rows is off by sqrt(d / 120) sd: 0.6 sd for d = 40
        assert points.shape == (k, d) and off(points, centers) < 0.04
        assert np.array_equal(points, oracle(X.copy(), k, 7))


def test_pca_finds_the_components_of_a_mixture_in_many_columns():
    rng = np.random.default_rng(1)
    d, k = 200, 4
    X, centers = mixture(rng, 60 * k, rng.integers(0, 2, size=(k, d)).astype(float), 1.0)
    # separation sqrt(d / 2) = 10 sds
    # the mean of 60 rows is off by sqrt(200 / 60) = 1.8
    assert off(pca_oracle(X, k, 0), centers) < 3.0


def test_an_oracle_answers_or_raises_for_hostile_parts_but_never_hangs():
    for X in (np.zeros((5, 2)), np.ones((2, 3)), np.full((9, 1), 1e300), np.eye(4)):
        for oracle in (kmeans_oracle, pca_oracle):
            try:
                with np.errstate(all="ignore"):
                    points = oracle(X, 2, 0)
            except Exception as error:
                assert isinstance(error, (ValueError, FloatingPointError, Warning))
            else:
                assert points.shape == (2, X.shape[1])
