"""PrivateGMM as users meet it: likelihood, shapes, edges of tables and floats, manners."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

import skdp
from skdp.exceptions import SeededNoiseWarning
from skdp.mixture import PrivateGMM

KINDS = ("full", "tied", "diag", "spherical")
SHAPES = {"full": (3, 4, 4), "tied": (4, 4), "diag": (3, 4), "spherical": (3,)}
pytestmark = pytest.mark.filterwarnings(
    "ignore::skdp.exceptions.SeededNoiseWarning",
    "ignore::skdp.exceptions.LowAccuracyWarning",
)


def _blobs(seed, n, d, k, *, spread=6.0):
    rng = np.random.default_rng(seed)
    centers = np.linalg.qr(rng.normal(size=(d, d)))[0][:k] * spread / 2**0.5
    roots = rng.normal(size=(k, d, d)) / (2 * d**0.5) + 0.6 * np.eye(d)

    def draw(n):
        z = rng.integers(k, size=n)
        return centers[z] + np.einsum("nij,nj->ni", roots[z], rng.normal(size=(n, d)))

    return draw(n), draw(10_000)


# The smaller models do not hold for these rows. Fixed seeds: a false alarm is possible only where a
# platform draws other numbers from a seed, below 3 / 28 then: 28 runs on 4 tables are in bounds.
@pytest.mark.parametrize(
    ("kind", "n", "d", "k", "most"),
    [("full", 20_000, 6, 3, 0.01), ("full", 4_000, 6, 3, 0.15), ("diag", 6_000, 4, 3, 0.03),
     ("tied", 6_000, 4, 3, 0.03), ("spherical", 6_000, 4, 3, 0.03)],
)  # fmt: skip
def test_held_out_likelihood_is_near_that_of_scikit_learn(kind, n, d, k, most):
    X, held_out = _blobs(3, n, d, k)
    best = GaussianMixture(k, covariance_type=kind, n_init=2, random_state=0).fit(X)
    mine = PrivateGMM(k, covariance_type=kind, random_state=0).fit(X)
    assert best.score(held_out) - mine.score(held_out) < most


def test_offsets_and_scales_do_not_matter():
    X, held_out = _blobs(0, 8000, 3, 2)
    plain = PrivateGMM(2, reg_covar=0, random_state=0).fit(X).score(held_out)
    for scale, offset in ((1e-9, 0.0), (1e6, 0.0), (1.0, 1e7), (1e140, 0.0)):
        moved = PrivateGMM(2, reg_covar=0, random_state=0).fit(X * scale + offset)
        score = moved.score(held_out * scale + offset) + 3 * np.log(scale)
        assert abs(score - plain) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_outliers_and_invalid_rows_do_not_matter(kind):
    X, held_out = _blobs(0, 8000, 4, 3)
    dirty = X.copy()
    dirty[:40] *= 1e9
    dirty[40:60] = np.nan
    gmm = PrivateGMM(3, covariance_type=kind, random_state=0)
    with skdp.config_context(invalid_rows="ignore"):
        assert abs(gmm.fit(dirty).score(held_out) - gmm.fit(X).score(held_out)) < 0.1


@pytest.mark.cases(7)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 5, 30, 300])
def test_covariances_are_positive_definite_whatever_the_table(kind, n):
    rng = np.random.default_rng(n)
    for scale, constant in ((1.0, ()), (1e-150, (0,)), (1e150, ()), (1e300, (0, 1, 2, 3))):
        X = rng.normal(size=(n, 4)) * scale
        X[:, list(constant)] = 3 * scale
        with skdp.config_context(invalid_rows="ignore"):
            gmm = PrivateGMM(
                3, covariance_type=kind, max_iter=2, n_init=1, random_state=0
            ).fit(X)  # fmt: skip
        assert gmm.covariances_.shape == SHAPES[kind]
        for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
            assert np.isfinite(getattr(gmm, name)).all(), name
        assert gmm.weights_.min() > 0
        assert gmm.weights_.sum() == pytest.approx(1)
        whole = gmm.covariances_ / np.abs(gmm.covariances_).max()
        assert (np.linalg.eigvalsh(whole) if kind in ("full", "tied") else whole).min() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_methods_are_those_of_a_mixture_with_the_released_parameters(kind):
    X, held_out = _blobs(1, 3000, 4, 3)
    gmm = PrivateGMM(3, covariance_type=kind, max_iter=2, random_state=0).fit(X)
    twin = GaussianMixture(3, covariance_type=kind, random_state=0)
    twin.n_features_in_ = 4
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        setattr(twin, name, getattr(gmm, name))
    for name in ("predict", "predict_proba", "score_samples", "score", "bic", "aic"):
        mine, its = getattr(gmm, name)(held_out), getattr(twin, name)(held_out)
        np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(gmm.sample(50)[0], twin.sample(50)[0], atol=1e-9)
    inverse = gmm.precisions_
    if kind in ("full", "tied"):
        np.testing.assert_allclose(gmm.covariances_ @ inverse - np.eye(4), 0, atol=1e-6)
    else:
        np.testing.assert_allclose(gmm.covariances_ * inverse, 1)
    labels = clone(gmm).fit_predict(X)
    assert np.array_equal(labels, gmm.predict(X))


@pytest.mark.slow
def test_the_friendly_start_answers_with_few_rows_and_with_many():
    X, held_out = _blobs(1, 2000, 3, 2, spread=30)
    few = PrivateGMM(2, method="friendly", max_iter=2, random_state=0).fit(X)
    assert any("did not agree" in text for text in few.privacy_report_.decisions)
    X, held_out = _blobs(1, 20_000, 3, 2, spread=30)
    many = PrivateGMM(2, method="friendly", epsilon=8.0, random_state=0).fit(X)
    assert any("start: friendly" in text for text in many.privacy_report_.decisions)
    best = GaussianMixture(2, random_state=0).fit(X)
    assert best.score(held_out) - many.score(held_out) < 0.01


def test_the_whole_plan_is_spent_and_never_more():
    X, _ = _blobs(0, 2000, 4, 2)
    report = PrivateGMM(2, random_state=0).fit(X).privacy_report_
    shares = [charge.share for charge in report.charges]
    assert 1 - 1e-9 < sum(shares) <= 1
    with pytest.warns(SeededNoiseWarning):
        PrivateGMM(1, random_state=0).fit(X[:50])


@pytest.mark.parametrize("name", ["predict", "predict_proba", "score_samples", "fit_predict"])
def test_methods_have_names_signatures_and_docstrings(name):
    method = getattr(PrivateGMM, name)
    assert method.__name__ == name
    assert list(inspect.signature(method).parameters)[:2] == ["self", "X"]
    assert "X : array-like of shape (n_samples, n_features)" in method.__doc__
    assert "shape (n_samples" in method.__doc__.partition("Returns")[2]
