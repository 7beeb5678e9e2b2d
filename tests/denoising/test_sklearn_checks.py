"""scikit-learn's own checks of the denoisers."""

import pytest

from skdp.denoising import (
    AutoDenoiser,
    BayesDenoiser,
    GraphWaveletDenoiser,
    JamesSteinDenoiser,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
)
from tests._sklearn import run_checks

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

ESTIMATORS = [
    JamesSteinDenoiser(noise_scale=1.0),
    SoftThresholdDenoiser(noise_scale=1.0, noise_distribution="laplace"),
    BayesDenoiser(noise_scale=1.0, n_atoms=10),
    AutoDenoiser(noise_scale=1.0),
    GraphWaveletDenoiser(noise_scale=1.0, n_trees=1),
    TrendFilterDenoiser(noise_scale=1.0, penalty=1.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(
            e,
            marks=[pytest.mark.slow] if isinstance(e, BayesDenoiser | TrendFilterDenoiser) else [],
        )
        for e in ESTIMATORS
    ],
    ids=repr,
)
def test_sklearn_checks(estimator):
    run_checks(estimator)
