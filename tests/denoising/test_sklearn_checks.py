"""scikit-learn's own checks of the denoisers."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp.denoising import (
    AutoDenoiser,
    BayesDenoiser,
    GraphWaveletDenoiser,
    JamesSteinDenoiser,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
)

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

ESTIMATORS = [
    JamesSteinDenoiser(noise_scale=1.0),
    SoftThresholdDenoiser(noise_scale=1.0, law="laplace"),
    BayesDenoiser(noise_scale=1.0, n_atoms=20),
    AutoDenoiser(noise_scale=1.0),
    GraphWaveletDenoiser(noise_scale=1.0, n_trees=1),
    TrendFilterDenoiser(noise_scale=1.0, penalty=1.0),
]


def _materialised(mark):
    """Return the mark with a list of checks: scikit-learn < 1.8 passes a generator."""
    names, checks_of_all = mark.args
    return pytest.mark.parametrize(names, list(checks_of_all), **mark.kwargs)


@_materialised(parametrize_with_checks(ESTIMATORS).mark)
def test_sklearn_checks(estimator, check):
    check(estimator)
