import numpy as np
import pytest

from skdp.covariance import PrivateCovariance, PrivatePCA
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning
from skdp.kernel._sums import BoxProducts

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{SeededNoiseWarning.__module__}.SeededNoiseWarning"
)


def _table(seed, n, d):
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(0.5, 0.2, (n, d)), 0, 1)
    X[:, 0] = rng.random(n) < 0.05
    return X


def test_moments_are_exact_integers():
    X = np.array([[0.0, 1.0], [1.0, 0.5], [7.0, -7.0], [np.nan, 0.0], [1e308, np.inf]])
    W = 8 * np.array([[1, -1, 1], [1, 1, 0], [1, 1, -1]])
    told = BoxProducts(np.zeros(2), np.ones(2), 1.0, 3).total(X)
    assert np.array_equal(told, (W.T @ W)[np.triu_indices(3)])


@pytest.mark.parametrize("d", [1, 6])
def test_noise_is_that_of_one_release_and_the_bound_holds(d, debug):
    """30 fits: no miss of a bound of 95 %; the noise scale is right off the diagonal."""
    X = _table(0, 5000, d)
    exact = np.cov(X, rowvar=False, bias=True).reshape(d, d)
    misses, scores = 0, []
    for seed in range(30):
        fit = PrivateCovariance(bounds=(0, 1), denoise=False, random_state=seed).fit(X)
        gap = fit.covariance_ - exact
        scores.append((gap / fit.noise_scale_)[np.triu_indices(d, min(1, d - 1))])
        half = np.linalg.inv(np.linalg.cholesky(fit.covariance_))
        misses += np.linalg.norm(half @ gap @ half.T, 2) > fit.error_bound()
        misses += np.linalg.norm(gap) > fit.error_bound(norm="frobenius", relative=False)
    assert misses == 0
    assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 1.2
    assert fit.clipping_bias_bound_ == 0 and [c.label for c in fit.privacy_report_.charges] == [
        "moments"
    ]


def test_bounds_per_column_and_second_moments_around_zero(debug):
    X = _table(1, 20000, 3) * [1.0, 100.0, 1e-6] + [0.0, 50.0, 0.0]
    bounds = ([0, 50, 0], [1, 150, 1e-6])
    fit = PrivateCovariance(bounds=bounds, random_state=0).fit(X)
    assert np.allclose(np.diag(fit.covariance_) / X.var(axis=0), 1, atol=0.1)
    assert np.all(np.abs(fit.location_ - X.mean(axis=0)) < 5 * fit.location_noise_scale_)
    Z = X[:, [0]]
    fit = PrivateCovariance(bounds=(-1, 1), assume_centered=True, random_state=0).fit(Z)
    assert abs(fit.covariance_[0, 0] - 0.05) < 0.01 and fit.location_[0] == 0
    pca = PrivatePCA(1, bounds=bounds, random_state=0).fit(X)
    assert abs(pca.components_[0, 1]) > 0.999
    assert abs(pca.explained_variance_[0] / X[:, 1].var() - 1) < 0.1


@pytest.mark.parametrize("make", [PrivateCovariance, PrivatePCA])
def test_what_bounds_refuse(make):
    X = np.zeros((5, 2))
    for bounds in ((1, 1), (0, np.inf), ([0, 0, 0], 1), (0, 5e-324)):
        with pytest.raises(ValueError, match=r"bounds|low"):
            make(bounds=bounds).fit(X)
    with pytest.raises(ValueError, match="method"):
        PrivateCovariance(bounds=(0, 1), method="friendly").fit(X)


def test_few_rows_are_told():
    with pytest.warns(LowAccuracyWarning, match="few rows"):
        PrivateCovariance(bounds=(0, 1), random_state=0).fit(np.zeros((2, 3)))
