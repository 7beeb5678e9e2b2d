"""What an estimator hands on to a denoiser: the noise that was drawn, and which it chooses."""

import numpy as np
import pytest

from skdp import (
    AutoDenoiser,
    FriendlyCoreFilter,
    GaussianMechanism,
    LaplaceMechanism,
    PrivacyLedger,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivatePipeline,
    PrivateTrimmedMean,
    SensitivityPreprocessor,
)
from skdp.denoising import JamesSteinDenoiser, denoised

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

X = np.random.default_rng(0).normal(size=(500, 4))
BOUNDED = SensitivityPreprocessor("median", sensitivity=1.0).fit(X).bounded_values()
PLACED = {"sensitivity": 1.0, "center": 0.0}
CASES = {
    "median": (PrivateMedian(method="bounded", delta=0.0, **PLACED), {"delta": 1e-6}),
    "median, Gaussian": (PrivateMedian(method="bounded", **PLACED), {"delta": 0.0}),
    "trimmed mean": (PrivateTrimmedMean(delta=0.0, **PLACED), {"delta": 1e-6}),
    "histogram": (PrivateHistogram(5, range=(-1, 1)), {"noise": "gaussian"}),
    "histogram, Gaussian": (PrivateHistogram(5, range=(-1, 1), noise="gaussian"), {"delta": 0.0}),
    "histogram, denoiser": (PrivateHistogram(5, range=(-1, 1)), {"epsilon": 1e-3, "user": 0}),
    "mean": (PrivateMean(), {"delta": 1e-9, "epsilon": 7.0}),
}


@pytest.mark.parametrize("name", CASES)
def test_parameters_set_after_the_fit_change_no_noise(name):
    estimator, later = CASES[name]
    fit = estimator.set_params(random_state=0).fit(X[:, :2] if "histogram" in name else X)
    before = fit.released_vector()
    intervals = fit.interval(0.9)
    risk = denoised(before[0], before[1], JamesSteinDenoiser(), law=before[2])[1]
    value, scale, law = fit.set_params(**later).released_vector()
    assert law == before[2] and np.array_equal(scale, before[1])
    assert np.array_equal(value, before[0])
    assert denoised(value, scale, JamesSteinDenoiser(), law=law)[1] == risk
    assert np.array_equal(fit.interval(0.9), intervals)


def test_mechanisms_tell_the_law_of_their_noise():
    for mechanism, law in ((LaplaceMechanism(), "laplace"), (GaussianMechanism(), "gaussian")):
        _, scale, told = mechanism.fit(BOUNDED).released_vector()
        sd = scale * np.sqrt(2) if law == "laplace" else scale
        assert told == law
        np.testing.assert_allclose(sd, mechanism.noise_scale_)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("users", [{}, {"user": 0, "rows_per_user": 50, "rows_per_cell": 1}])
def test_a_histogram_that_spends_alone_chooses_its_noise_as_it_does_by_itself(epsilon, users):
    table = np.column_stack([np.arange(500), X[:, 0]])
    estimator = PrivateHistogram(5, range=(-1, 1), epsilon=epsilon, **users)
    pipeline = PrivatePipeline([("histogram", estimator)], epsilon=epsilon).fit(table)
    inside, alone = pipeline.steps_[-1][1], estimator.fit(table)
    assert inside.noise_distribution_ == alone.noise_distribution_
    assert inside.noise_scale_ == pytest.approx(alone.noise_scale_)
    assert pipeline.privacy_report_.budget.measure == alone.privacy_report_.budget.measure


def test_beside_others_a_histogram_takes_the_noise_that_adds_up():
    histogram = ("histogram", PrivateHistogram(5, range=(-1, 1)))
    plan = PrivatePipeline([("core", FriendlyCoreFilter()), histogram]).plan()
    assert plan.budget.measure == "gdp"
    ledger = PrivacyLedger(5.0, 1e-5)
    one = PrivatePipeline([histogram], ledger=ledger)
    assert one.plan().budget.measure == "gdp"
    basic = PrivacyLedger(5.0, 1e-5, composition="basic")
    assert one.set_params(ledger=basic).plan().budget.measure == "pure"
    inner = PrivatePipeline([("inner", PrivatePipeline([*one.steps]))])
    assert inner.plan().budget.measure == "pure"
    assert inner.set_params(ledger=ledger).plan().budget.measure == "gdp"


def test_a_denoiser_after_it_fits_the_noise():
    pipeline = PrivatePipeline(
        [("histogram", PrivateHistogram(40, range=(-1, 1))), ("denoiser", AutoDenoiser())]
    )
    assert not pipeline.plan().problems
    pipeline.fit(X[:, :1])


def test_a_mechanism_refuses_noise_that_cannot_be_drawn_before_the_charge():
    ledger = PrivacyLedger(1.0, composition="basic")
    mechanism = LaplaceMechanism(epsilon=1e-12, ledger=ledger)
    with pytest.raises(ValueError, match="noise would exceed"):
        mechanism.fit(BOUNDED)
    assert len(ledger.entries()) == 1  # its opening
