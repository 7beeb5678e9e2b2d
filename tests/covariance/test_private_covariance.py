import warnings

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance, ShrunkCovariance, oas
from sklearn.decomposition import PCA

from skdp.covariance import PrivateCovariance, PrivatePCA
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

HALF = 4.8973  # epsilon at which delta = 1e-6 buys rho = .5
pytestmark = pytest.mark.filterwarnings(
    f"ignore::{SeededNoiseWarning.__module__}.SeededNoiseWarning"
)


def _error(S, root):
    """Return |root S root^T - 1|_F, root that of the inverse of the truth."""
    return np.linalg.norm(root @ S @ root.T - np.eye(len(root)))


def _turned(rng, n, d, condition):
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    L = Q * np.logspace(0, np.log10(condition) / 2, d)
    return rng.normal(size=(n, d)) @ L.T + 100 * np.sqrt(condition), np.linalg.inv(L)


@pytest.mark.slow
@pytest.mark.parametrize("condition", [1, 1e4, 1e12])
def test_any_conditioning(condition, debug):
    """Against 1.09 times the error without privacy, for the mean of 6 fits; spread of it 2 %."""
    ours = exact = 0.0
    for seed in range(6):
        X, root = _turned(np.random.default_rng(seed), 10000, 20, condition)
        fit = PrivateCovariance(epsilon=HALF, random_state=seed).fit(X)
        ours += _error(fit.covariance_, root)
        exact += _error(np.cov(X, rowvar=False), root)
        assert fit.resolved_rank_ == 20
    assert ours < 1.09 * exact


def test_any_units(debug):
    rng = np.random.default_rng(1)
    units = np.logspace(-150, 150, 11)
    X = (rng.normal(size=(10000, 11)) + 3) * units
    fit = PrivateCovariance(epsilon=HALF, random_state=0).fit(X)
    roots = np.sqrt(np.diag(fit.covariance_)) / units
    assert np.all(np.abs(roots - 1) < 0.1)
    assert np.abs(fit.correlation_ - np.eye(11)).max() < 0.1
    assert np.all(np.abs(fit.location_ / units - 3) < 0.1)


@pytest.mark.parametrize("rank", [1, 5])
def test_rank_is_found_and_nothing_leaks(rank, debug):
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    X = rng.normal(size=(20000, rank)) @ Q[:, :rank].T + 7
    fit = PrivateCovariance(epsilon=HALF, random_state=0).fit(X)
    assert fit.resolved_rank_ == rank
    out = Q[:, rank:].T
    assert np.linalg.norm(out @ fit.covariance_ @ out.T) < 1e-12
    assert _error(fit.covariance_, Q[:, :rank].T) < 0.1
    assert np.allclose(X[0] - 7, fit.covariance_ @ fit.precision_ @ (X[0] - 7), atol=0.05)


def test_constant_and_duplicated_columns(debug):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20000, 8))
    X[:, 0], X[:, 1], X[:, 3] = 5, 1e9, X[:, 2]
    fit = PrivateCovariance(epsilon=HALF, random_state=0).fit(X)
    assert fit.resolved_rank_ == 5
    assert np.abs(fit.covariance_[:2]).max() < 1e-9
    assert abs(fit.correlation_[2, 3] - 1) < 1e-9
    assert _error(fit.covariance_[3:, 3:], np.eye(5)) < 0.1


def test_sparse_binary_columns(debug):
    """Within 1.5 times the error without privacy, and so beside dense columns."""
    for dense in (0, 10):
        ours = exact = 0.0
        for seed in range(4):
            rng = np.random.default_rng(seed)
            X = (rng.random((10000, 20)) < 0.02).astype(float)
            X[:, :dense] = rng.normal(size=(10000, dense))
            roots = np.full(20, np.sqrt(0.02 * 0.98))
            roots[:dense] = 1
            fit = PrivateCovariance(epsilon=HALF, random_state=seed).fit(X)
            ours += _error(fit.covariance_, np.diag(1 / roots))
            exact += _error(np.cov(X, rowvar=False), np.diag(1 / roots))
        assert ours < 1.5 * exact


def test_outliers_far_away_are_clipped(debug):
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10000, 10))
        X[:100] *= 1e6
        fit = PrivateCovariance(epsilon=HALF, random_state=seed).fit(X)
        errors.append(_error(fit.covariance_, np.eye(10)))
    assert np.median(errors) < 0.2


HOSTILE = {
    "one row": np.array([[1.0, 2.0]]),
    "two rows": np.array([[1.0, 2.0], [1e300, -1e300]]),
    "zeros": np.zeros((50, 2)),
    "duplicates": np.full((300, 2), 1e200),
    "largest": np.full((300, 2), np.finfo(float).max),
    "both ends": np.array([[1e308, -1e308]] * 100 + [[-1e308, 1e308]] * 100),
    "wide": np.random.default_rng(0).normal(size=(2000, 3)) * [1e-300, 1, 1e300],
    "more columns than rows": np.random.default_rng(0).normal(size=(5, 30)),
}


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4])
def test_always_finite_and_positive(name, epsilon, debug):
    X = HOSTILE[name]
    fit = PrivateCovariance(epsilon=epsilon, random_state=0).fit(X)
    S = fit.covariance_
    assert np.isfinite(S).all() and np.array_equal(S, S.T) and np.isfinite(fit.precision_).all()
    units = np.sqrt(np.maximum(np.diag(S), 1e-300))
    assert np.linalg.eigvalsh(S / units[:, None] / units).min() > -1e-12
    assert fit.error_bound() > 0
    pca = PrivatePCA(epsilon=epsilon, random_state=0).fit(X)
    assert np.allclose(pca.components_ @ pca.components_.T, np.eye(X.shape[1]))
    assert np.isfinite(pca.explained_variance_).all()


def test_the_methods_of_an_empirical_covariance(debug):
    X, _ = _turned(np.random.default_rng(4), 20000, 5, 100)
    fit = PrivateCovariance(epsilon=HALF, random_state=0).fit(X)
    exact = EmpiricalCovariance().fit(X)
    assert abs(fit.score(X) - exact.score(X)) < 0.05
    ratio = fit.mahalanobis(X) / exact.mahalanobis(X)
    assert abs(np.median(ratio) - 1) < 0.05
    assert fit.error_norm(exact.covariance_) < 0.01 * np.linalg.norm(exact.covariance_) ** 2
    assert np.allclose(fit.precision_ @ fit.covariance_, np.eye(5))
    lean = PrivateCovariance(epsilon=HALF, store_precision=False, random_state=0).fit(X)
    assert lean.precision_ is None and np.array_equal(lean.get_precision(), fit.precision_)


def test_shrinkage_is_post_processing(debug):
    X, _ = _turned(np.random.default_rng(5), 5000, 4, 10)
    plain = PrivateCovariance(random_state=0).fit(X)
    S, d = plain.covariance_, 4
    fit = PrivateCovariance(random_state=0, shrinkage=0.3).fit(X)
    assert np.allclose(fit.covariance_, 0.7 * S + 0.3 * np.trace(S) / d * np.eye(d))
    assert fit.privacy_report_ == plain.privacy_report_
    assert ShrunkCovariance(shrinkage=0.3).fit(X).covariance_.shape == S.shape
    # scikit-learn's formula on rows that have exactly this covariance matrix
    n = round(plain.n_rows_)
    Z = np.linalg.qr(np.random.default_rng(0).normal(size=(n, d)))[0] * np.sqrt(n)
    expected = oas(Z @ np.linalg.cholesky(S).T, assume_centered=True)[0]
    fit = PrivateCovariance(random_state=0, shrinkage="oas").fit(X)
    assert np.allclose(fit.covariance_, expected, rtol=1e-3)


def test_assume_centered_spends_nothing_on_a_centre(debug):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(5000, 4)) + 2
    fit = PrivateCovariance(epsilon=HALF, assume_centered=True, random_state=0).fit(X)
    assert not fit.location_.any()
    assert not [c for c in fit.privacy_report_.charges if "centre" in c.label]
    second = np.eye(4) + 4
    assert np.linalg.norm(fit.covariance_ - second) < 0.15 * np.linalg.norm(second)


def test_noise_scale_and_error_bound_cover(debug):
    """10 fits to one table of 10 columns: privacy moves the matrix by what is said."""
    X, _ = _turned(np.random.default_rng(7), 20000, 10, 100)
    exact = np.cov(X, rowvar=False, bias=True)
    inverse = np.linalg.inv(np.linalg.cholesky(exact))
    scores, beyond = [], 0
    for seed in range(10):
        fit = PrivateCovariance(denoise=False, random_state=seed).fit(X)
        gap = fit.covariance_ - exact
        scores.append(gap[np.triu_indices(10)] / fit.noise_scale_[np.triu_indices(10)])
        relative = inverse @ gap @ inverse.T
        beyond += np.linalg.norm(relative, 2) > fit.error_bound()
        beyond += np.linalg.norm(relative) > fit.error_bound(norm="frobenius")
        beyond += np.linalg.norm(gap) > fit.error_bound(norm="frobenius", relative=False)
        assert fit.error_bound(clipping=False) < fit.error_bound(0.999)
    assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 1.1
    assert np.mean(np.abs(scores) < 1.96) > 0.95  # the number of rows and clipping are in it
    assert beyond == 0
    with pytest.raises(ValueError, match="norm"):
        fit.error_bound(norm="nuclear")
    with pytest.raises(ValueError, match="confidence"):
        fit.error_bound(1.0)


def test_the_plan_lists_and_bills_everything(debug):
    X, _ = _turned(np.random.default_rng(8), 3000, 5, 1e6)
    estimator = PrivateCovariance(epsilon=HALF, random_state=0)
    labels = {step.label for step in estimator.plan().steps}
    report = estimator.fit(X).privacy_report_
    assert {charge.label for charge in report.charges} <= labels
    assert sum(charge.share for charge in report.charges) == 1


def test_pca_agrees_with_scikit_learn_where_noise_is_small(debug):
    rng = np.random.default_rng(9)
    X = (
        rng.normal(size=(30000, 5)) * [10, 5, 2, 1, 0.5] @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
        + 3
    )
    fit, exact = PrivatePCA(3, epsilon=1e4, random_state=0).fit(X), PCA(3).fit(X)
    assert np.abs(fit.components_ - exact.components_).max() < 0.01
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert np.allclose(getattr(fit, name), getattr(exact, name), rtol=0.02), name
    assert abs(fit.noise_variance_ / exact.noise_variance_ - 1) < 0.02
    assert np.abs(fit.transform(X) - exact.transform(X)).max() < 0.5
    assert np.allclose(fit.get_covariance(), exact.get_covariance(), atol=1.0)
    assert np.allclose(fit.get_precision() @ fit.get_covariance(), np.eye(5))
    assert abs(fit.score(X) - exact.score(X)) < 0.02
    white = PrivatePCA(3, whiten=True, epsilon=1e4, random_state=0).fit(X)
    assert np.allclose(white.transform(X).std(axis=0), 1, atol=0.02)
    Z = white.inverse_transform(white.transform(X))
    assert np.allclose(Z, exact.inverse_transform(exact.transform(X)), atol=1.0)
    some = PrivatePCA(0.9, epsilon=1e4, random_state=0).fit(X)
    assert some.n_components_ == PCA(0.9).fit(X).n_components_
    assert list(some.get_feature_names_out()) == ["privatepca0", "privatepca1"]


def test_pca_refuses_more_components_than_columns():
    with pytest.raises(ValueError, match="n_components=4"):
        PrivatePCA(4).fit(np.zeros((10, 3)))


def _rare(n=27000):
    """Columns without correlation, the last of a few ones, which the clip radius leaves out."""
    rng = np.random.default_rng(0)
    heavy = np.round(rng.lognormal(3.4, 1.3, n)).clip(1, 650)
    years = rng.choice(np.arange(2000, 2020.0), n)
    return np.column_stack([rng.normal(94, 6, n), years, heavy, (rng.random(n) < 0.008) * 1.0])


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_are_lost_have_no_correlations(seed, debug):
    with pytest.warns(LowAccuracyWarning, match="does not exceed the noise"):
        fit = PrivateCovariance(epsilon=0.3, random_state=seed).fit(_rare())
    correlation = fit.correlation_
    assert np.isnan(correlation[3, :3]).all() and np.array_equal(np.diag(correlation), np.ones(4))
    assert np.nanmax(np.abs(correlation - np.eye(4))) < 0.3
    assert np.isfinite(fit.covariance_).all() and np.isfinite(fit.precision_).all()
    lost = np.diag(fit.covariance_) < 2 * np.diag(fit.noise_scale_)
    assert np.array_equal(lost, np.isnan(correlation[0] + correlation[1]))
    assert not fit.reliable_ and "3" in str(fit.accuracy_warnings_)


def test_no_doubt_of_a_table_that_is_told():
    X, _ = _turned(np.random.default_rng(7), 20000, 4, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAccuracyWarning)
        fit = PrivateCovariance(random_state=0).fit(X)
    assert fit.reliable_ and np.isfinite(fit.correlation_).all() and fit.error_bound() < 1


def test_a_matrix_whose_error_nothing_bounds_is_doubted():
    """Heavy tails of few rows: the bound is finite and huge."""
    X = np.exp(1.5 * np.random.default_rng(2).normal(size=(4000, 3)))
    fits = [PrivateCovariance(random_state=seed).fit(X) for seed in range(6)]
    huge = [fit for fit in fits if 10 < fit.error_bound() < np.inf]
    assert huge and not any(fit.reliable_ for fit in huge)
    assert all("error_bound() is above 10" in str(fit.accuracy_warnings_) for fit in huge)
