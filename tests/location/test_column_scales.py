"""Means of columns of unlike places and scales, of which few rows tell."""

import math

import numpy as np
import pytest

import skdp
from skdp.location._column_scales import effective_columns, shape_weights

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
MU = 0.2367  # of epsilon = 1, delta = 1e-6
SCALES = {
    "1/i^2": 100.0 / np.arange(1, 61) ** 2,
    "one": np.append(1e6, np.ones(59)),
    "alike": np.ones(60),
    "lognormal": np.exp(3 * np.random.default_rng(0).normal(size=60)),
}


def inefficiencies(scale, weight):
    """Return noise in total and in standard deviations, over the least of each."""
    weight = weight * math.sqrt(np.square(scale / weight).sum())
    total = math.sqrt(np.square(weight).sum()) / scale.sum()
    return total, math.sqrt(np.square(weight / scale).sum()) / len(scale)


@pytest.mark.parametrize("name", SCALES)
def test_weights_are_the_best_of_what_they_balance(name):
    scale = SCALES[name]
    total, alike, both = (
        inefficiencies(scale, shape_weights(scale, one)) for one in ("total", "alike", "both")
    )
    assert total[0] == pytest.approx(1) and alike[1] == pytest.approx(1)
    assert max(both) <= math.sqrt(3) * (1 + 1e-9)
    assert both[0] ** 2 + both[1] ** 2 <= 4 * (1 + 1e-9)
    given = inefficiencies(scale, shape_weights(scale, np.ones(60)))
    assert given[0] == pytest.approx(1)
    weight = shape_weights(scale, "both")
    assert np.square(scale / weight).sum() == pytest.approx(60)
    assert 1 <= effective_columns(scale, weight) <= 60 * (1 + 1e-9)


def error(X, scale, **options):
    """Return the root mean square error over columns in their scales, over the floor."""
    n, d = X.shape
    mean = skdp.PrivateMean(random_state=0, **options).fit(X)
    part = np.square((mean.location_ - X.mean(axis=0)) / scale).mean()
    return math.sqrt(part) / ((math.sqrt(d) + 2) / (n * MU)), mean


@pytest.mark.parametrize("d, n", [(20, 2000), (60, 3000)])
@pytest.mark.parametrize("what", ["places", "scales", "both"])
def test_columns_of_other_places_and_units_are_near_the_floor(d, n, what):
    rng = np.random.default_rng([d, n])
    scale = np.ones(d) if what == "places" else 10 ** rng.uniform(-2, 2, d)
    place = np.zeros(d) if what == "scales" else 50 * np.arange(d)
    found, mean = error((rng.normal(size=(n, d)) + place) * scale, scale)
    assert found < 2.5
    low, high = mean.interval()
    assert np.isfinite(high - low).all()


def test_alike_columns_do_not_pay_for_scales_that_nobody_needs():
    X = np.random.default_rng(0).normal(size=(2500, 80)) + 10 * np.arange(80)
    found, mean = error(X, np.ones(80))
    assert found < 1.5
    labels = {charge.label for charge in mean.privacy_report_.charges}
    assert "likeness" in labels and "scale looks" not in labels


def test_rates_among_columns_are_clipped_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1700, 12)) * 10 ** rng.uniform(-2, 2, 12)
    X[:, ::2] = rng.random((1700, 6)) < 0.2
    mean = skdp.PrivateMean(random_state=0).fit(X)
    labels = {charge.label for charge in mean.privacy_report_.charges}
    assert {"scale looks", "tails"} <= labels and "scales again" not in labels


def test_noise_follows_what_is_asked():
    scale = 100.0 / np.arange(1, 31) ** 2
    X = np.random.default_rng(0).normal(size=(4000, 30)) * scale + 1000
    length = {}
    for accuracy in ("alike", "both", "total"):
        _, mean = error(X, scale, accuracy=accuracy)
        noise = mean.noise_scale_
        length[accuracy] = float(np.linalg.norm(noise)), float(np.linalg.norm(noise / scale))
    assert length["total"][0] < length["alike"][0]
    assert length["alike"][1] < length["both"][1] < length["total"][1]


@pytest.mark.parametrize(
    "more",
    [
        {"bounds": (0, 1)},
        {"center": 0.0},
        {"radius": 1.0},
        {"diameter": 3.0},
        {"trim": True},
        {"scale": "none"},
        {"method": "friendly"},
    ],
)
def test_an_accuracy_needs_the_search_for_scales(more):
    with pytest.raises(ValueError, match="accuracy shapes the noise"):
        skdp.PrivateMean(accuracy="both", **more).fit(np.zeros((50, 3)))


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, 0.0, 1.0], [1.0, np.nan, 1.0]])
def test_weights_are_positive_and_one_a_column(weights):
    with pytest.raises(ValueError, match="accuracy must"):
        skdp.PrivateMean(accuracy=weights).fit(np.zeros((50, 3)))
