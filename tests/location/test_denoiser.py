"""``denoiser=`` of the estimators that release a vector: free, planned, raw values kept."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp.denoising import (
    AutoDenoiser,
    BayesDenoiser,
    JamesSteinDenoiser,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
    denoised,
)
from skdp.exceptions import SeededNoiseWarning
from skdp.location import (
    PrivateMean,
    PrivateMedian,
    PrivateQuantile,
    PrivateTrimmedMean,
    PrivateVariance,
)
from skdp.preprocessing import GaussianMechanism, LaplaceMechanism, SensitivityPreprocessor

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

PUBLIC = {"sensitivity": 0.02, "center": 0.0, "random_state": 0}
NAMES = {"PrivateVariance": ("var_", "noisy_var_")}
ESTIMATORS = [
    PrivateMean(center=0.0, radius=8.0, random_state=0),
    PrivateMedian(**PUBLIC, method="bounded"),
    PrivateMedian(**PUBLIC, method="bounded", delta=0.0, epsilon=8.0),
    PrivateQuantile(0.4, **PUBLIC, method="bounded"),
    PrivateTrimmedMean(0.1, **PUBLIC),
    PrivateTrimmedMean(0.0, **PUBLIC, delta=0.0, epsilon=8.0),
    PrivateVariance(**PUBLIC),
    PrivateVariance(**PUBLIC, delta=0.0, epsilon=8.0),
]
ids = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


def table(d=40):
    return np.random.default_rng(0).normal(size=(300, d))


def names(estimator):
    return NAMES.get(type(estimator).__name__, ("location_", "noisy_location_"))


def clipped(value, estimator):
    return np.maximum(value, 0) if isinstance(estimator, PrivateVariance) else value


@ids
def test_the_release_is_kept_and_denoised_by_its_own_law(estimator):
    """One seed, one release: what comes out is the denoiser applied to it, and nothing else."""
    X, (name, raw) = table(), names(estimator)
    plain = clone(estimator).fit(X)
    released, sd = getattr(plain, raw), plain.noise_scale_
    np.testing.assert_array_equal(getattr(plain, name), clipped(released, estimator))
    assert plain.risk_estimate_ == pytest.approx(np.sum(np.square(sd)), rel=1e-9)
    law = "laplace" if estimator.delta == 0 else "gaussian"
    scale = sd / np.sqrt(2) if law == "laplace" else sd
    for denoiser in (JamesSteinDenoiser(target="mean"), SoftThresholdDenoiser(threshold=1.0)):
        fit = clone(estimator).set_params(denoiser=denoiser).fit(X)
        np.testing.assert_array_equal(getattr(fit, raw), released)
        value, risk = denoised(released, scale, denoiser, law=law)
        np.testing.assert_array_equal(getattr(fit, name), clipped(value, estimator))
        assert fit.risk_estimate_ == risk != plain.risk_estimate_
        assert not np.array_equal(getattr(fit, name), getattr(plain, name))
        for ours, theirs in zip(fit.interval(0.9), plain.interval(0.9), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@ids
def test_the_plan_lists_it_as_free(estimator):
    plain, auto = estimator.plan(), clone(estimator).set_params(denoiser="auto").plan()
    assert (auto.budget, auto.steps, auto.failure_events) == (
        plain.budget,
        plain.steps,
        plain.failure_events,
    )
    (note,) = set(auto.assumptions) - set(plain.assumptions)
    assert note == f"AutoDenoiser: free post-processing; assumes {AutoDenoiser.assumes}"
    X = table(3)
    fit = clone(estimator).set_params(denoiser="auto").fit(X)
    assert note in fit.privacy_report_.assumptions
    assert fit.privacy_report_.charges == clone(estimator).fit(X).privacy_report_.charges


def test_many_alike_columns_gain():
    """A factor of two is far within reach: 200 means of 0 with noise above their spread."""
    X = table(200)
    common = {"sensitivity": 8 / 300, "center": 0.0, "epsilon": 0.2}
    for delta in (1e-6, 0.0):
        estimator = PrivateTrimmedMean(0.0, **common, delta=delta, random_state=1)
        plain = estimator.fit(X).location_
        better = clone(estimator).set_params(denoiser="auto").fit(X).location_
        assert np.linalg.norm(better - X.mean(0)) < 0.5 * np.linalg.norm(plain - X.mean(0))


def test_what_does_not_fit_is_said_before_anything_is_charged():
    X = table(3)
    wrong = JamesSteinDenoiser(target=np.zeros(2))
    mechanism = SensitivityPreprocessor("mean", sensitivity=1.0).fit(X).bounded_values()
    for estimator, data in [(e, X) for e in ESTIMATORS] + [(GaussianMechanism(), mechanism)]:
        with pytest.raises(ValueError, match="target"):
            clone(estimator).set_params(denoiser=wrong).fit(data)
        with pytest.raises(ValueError, match="n_atoms"):
            clone(estimator).set_params(denoiser=BayesDenoiser(n_atoms=1)).fit(data)
        with pytest.raises(ValueError, match="denoiser"):
            clone(estimator).set_params(denoiser="best").fit(data)
    pure = PrivateMedian(
        delta=0.0, method="bounded", denoiser=TrendFilterDenoiser(), random_state=0
    )
    with pytest.raises(ValueError, match="needs Gaussian noise"):
        pure.fit(X)
    for q in (PrivateMedian, PrivateQuantile):
        for method in ("ranks", "exponential"):
            chosen = q(method=method, denoiser="auto")
            with pytest.raises(ValueError, match='Use method="bounded"'):
                chosen.plan()
            with pytest.raises(ValueError, match='Use method="bounded"'):
                chosen.fit(X)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_mechanisms(law):
    cls = LaplaceMechanism if law == "laplace" else GaussianMechanism
    bounded = SensitivityPreprocessor("mean", sensitivity=0.05).fit(table()).bounded_values()
    plain = cls(random_state=0).fit(bounded)
    fit = cls(random_state=0, denoiser="auto").fit(bounded)
    np.testing.assert_array_equal(fit.noisy_value_, plain.value_)
    np.testing.assert_array_equal(plain.noisy_value_, plain.value_)
    scale = plain.noise_scale_ / (np.sqrt(2) if law == "laplace" else 1)
    value, risk = denoised(plain.value_, scale, "auto", law=law)
    np.testing.assert_array_equal(fit.value_, value)
    assert fit.risk_estimate_ == pytest.approx(risk) and fit.risk_estimate_ < plain.risk_estimate_
    assert plain.risk_estimate_ == pytest.approx(np.sum(np.square(plain.noise_scale_)))
    assert any("AutoDenoiser" in note for note in cls(denoiser="auto").plan().assumptions)
    with pytest.raises(ValueError, match="target"):
        cls(denoiser=JamesSteinDenoiser(target=[[1.0]])).fit(bounded)


@pytest.mark.cases(5)
@pytest.mark.parametrize("denoiser", ["auto", TrendFilterDenoiser(order=1), BayesDenoiser()])
@pytest.mark.parametrize("size", [1e-300, 1e-140, 1.0, 1e140, 1e300])
def test_there_is_always_an_answer(size, denoiser):
    """Columns of any size, few rows, constant columns: finite, and no exception."""
    X = table(5) * np.array([0.0, 1.0, 1e-3, 1e3, 1.0]) * size
    for estimator in (PrivateMean(), PrivateTrimmedMean(), PrivateVariance()):
        for rows in (X, X[:3]):
            fit = clone(estimator).set_params(denoiser=denoiser, random_state=0).fit(rows)
            assert np.isfinite(getattr(fit, names(estimator)[0])).all()


def test_seeds_still_warn():
    with pytest.warns(SeededNoiseWarning):
        PrivateMedian(method="bounded", denoiser="auto", random_state=0).fit(table(2))
