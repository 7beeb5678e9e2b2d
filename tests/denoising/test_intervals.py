"""Coverage over 2000 runs: at least nominal minus 2 %, four standard errors of 0.0049."""

import numpy as np
import pytest
from scipy.special import chdtr

from skdp.denoising import (
    JamesSteinDenoiser,
    confidence_ball,
    coordinate_interval,
    linear_interval,
)

RUNS = 2000


def samples(rng, law, theta):
    sample = rng.normal if law == "gaussian" else rng.laplace
    return theta + sample(size=(RUNS, theta.size))


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_coordinates_forms_and_all_at_once(law, rng):
    theta = np.zeros(30)
    theta[0] = 6.0
    c, scale = rng.normal(size=30), np.exp(rng.uniform(-1, 1, 30))
    hit = np.zeros(3)
    for y in theta + scale * (samples(rng, law, theta) - theta):
        low, high = coordinate_interval(y, scale, law=law)
        hit[0] += low[0] <= 6 <= high[0]
        low, high = coordinate_interval(y, scale, law=law, simultaneous=True)
        hit[1] += np.all((low <= theta) & (theta <= high))
        low, high = linear_interval(y, scale, c, law=law)
        hit[2] += low <= c @ theta <= high
    assert np.all(hit / RUNS > 0.93)
    exact = 3 if law == "gaussian" else 2  # the form is Chernoff's for Laplace noise
    assert np.all(hit[:exact] / RUNS < 0.97)


@pytest.mark.cases(4)
@pytest.mark.parametrize("size", [0.0, 3.0, 10.0])
@pytest.mark.parametrize("d", [4, 5, 20, 100])
def test_recentred_balls(d, size, rng):
    theta = np.zeros(d)
    theta[0] = size
    hit = 0
    for y in samples(rng, "gaussian", theta):
        centre, radius = confidence_ball(y, 1.0)
        hit += np.linalg.norm(centre - theta) <= radius
    assert hit / RUNS > 0.93


def test_small_dimensions_are_not_recentred(rng):
    y = rng.normal(size=3)
    centre, radius = confidence_ball(y, 2.0, 0.9)
    assert np.array_equal(centre, y)
    assert chdtr(3, (radius / 2) ** 2) == pytest.approx(0.9)


def test_naive_intervals_around_shrunk_values_miss_an_outlier(rng):
    """What this module is careful not to do."""
    theta = np.zeros(100)
    theta[0] = 6.0
    noisy = samples(rng, "gaussian", theta)
    shrunk = JamesSteinDenoiser(noise_scale=1.0).fit_transform(noisy)
    assert np.mean(np.abs(shrunk[:, 0] - 6) <= 1.96) < 0.05


def test_errors():
    for wrong in (0.0, 1.0, 95):
        with pytest.raises(ValueError, match="confidence"):
            coordinate_interval([1.0], 1.0, wrong)
    with pytest.raises(ValueError, match="same shape"):
        linear_interval([1.0, 2.0], 1.0, [1.0])
    with pytest.raises(ValueError, match="one noise scale"):
        confidence_ball([1.0, 2.0], [1.0, 2.0])
