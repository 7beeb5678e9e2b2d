"""Risk identities: exact where there is a closed form, else the mean of many runs.

Means are tested at 4.5 standard errors: a false alarm has a probability of 7e-6 a test. The seeds
are fixed, so the tests are alike in every run.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from skdp.denoising import AutoDenoiser, Noise
from skdp.denoising._base import LAWS, laplace_slope, nonnegative, raw, unbiased_risk
from skdp.denoising._bayes import normal_prior, npmle_rule
from skdp.denoising._shrinkers import (
    james_stein,
    sure_threshold,
    threshold_rule,
    universal_threshold,
)

D = 40
BASIS = np.stack([np.ones(D), np.arange(D)], axis=1)
RULES = {
    "raw": lambda y, noise: raw(y),
    "nonnegative": lambda y, noise: nonnegative(raw(y)),
    "James-Stein": james_stein,
    "without positive part": lambda y, noise: james_stein(y, noise, positive_part=False),
    "to the mean": lambda y, noise: james_stein(y, noise, basis=np.ones((D, 1))),
    "to a plane": lambda y, noise: james_stein(y, noise, basis=BASIS),
    "threshold": lambda y, noise: threshold_rule(y, noise, 1.2),
    "normal prior": lambda y, noise: normal_prior(y, noise, prior_scale=2.0),
    "normal prior, fitted": normal_prior,
    "normal prior at the mean": lambda y, noise: normal_prior(y, noise, to_mean=True),
    "nonnegative James-Stein": lambda y, noise: nonnegative(james_stein(y, noise)),
}

FITTED = ("normal prior, fitted", "normal prior at the mean")


def truth(rng):
    return np.where(rng.random(D) < 0.3, rng.normal(0, 5, D), 0.0)


def draw(rng, noise):
    sample = rng.normal if noise.gaussian else rng.laplace
    return noise.scale * sample(size=noise.scale.size)


def noises(rng):
    for law in LAWS:
        yield Noise(np.full(D, 1.5), law)
        yield Noise(np.exp(rng.uniform(-1, 1, D)), law)


def differences(rule, noise, theta, rng, runs):
    out = []
    for _ in range(runs):
        y = theta + draw(rng, noise)
        made = rule(y, noise)
        out.append(unbiased_risk(y, noise, made) - np.sum(np.square(made.value - theta)))
    return np.array(out)


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", RULES)
def test_the_risk_estimate_is_unbiased(name, rng):
    theta = truth(rng)
    for noise in noises(rng):
        if not noise.gaussian and name in FITTED:
            continue  # the slope of the choice is not smoothed there: right to first order
        found = differences(RULES[name], noise, theta, rng, 150)
        assert abs(found.mean()) < 4.5 * found.std() / math.sqrt(150), noise


def test_a_wrong_slope_is_found(rng):
    noise, theta = Noise(np.full(D, 1.5)), truth(rng)

    def wrong(y, noise):
        made = james_stein(y, noise)
        return type(made)(made.value, made.slope * 0.9, made.along)

    found = differences(wrong, noise, theta, rng, 300)
    assert abs(found.mean()) > 4.5 * found.std() / math.sqrt(300)


def test_the_slope_of_the_fitted_prior_counts_what_the_prior_moves(rng):
    """On average, and against differences."""
    noise, theta = Noise(np.full(D, 1.5)), truth(rng)
    corrected = differences(lambda y, n: npmle_rule(y, n, n_atoms=60), noise, theta, rng, 200)
    assert abs(corrected.mean()) < 4.5 * corrected.std() / math.sqrt(200)
    y, h, slopes = theta + draw(rng, noise), 1e-5, []
    made = npmle_rule(y, noise)
    for i in range(D):
        moved = y.copy()
        moved[i] += h
        slopes.append((npmle_rule(moved, noise).value[i] - made.value[i]) / h)
    assert np.median(np.abs(made.slope - slopes)) < 0.05
    assert made.slope.sum() == pytest.approx(sum(slopes), rel=0.1)


@pytest.mark.parametrize("name", [n for n in RULES if n != "nonnegative"])
def test_slopes_are_derivatives(name, rng):
    y = truth(rng) + rng.normal(size=D)
    noise = Noise(np.exp(rng.uniform(-0.5, 0.5, D)))
    made, h = RULES[name](y, noise), 1e-6
    for i in range(0, D, 5):
        moved = y.copy()
        moved[i] += h
        slope = (RULES[name](moved, noise).value[i] - made.value[i]) / h
        assert made.slope[i] == pytest.approx(slope, rel=5e-3, abs=1e-4)
    np.testing.assert_allclose(made.along(np.zeros(D)), made.value, atol=1e-9)


def test_the_laplace_slope_is_exact_for_polynomials():
    """For g(y) = y^3: E D g(y + z) = 3 y^2 + 6 b^2."""
    y, b = np.array([-1.0, 0.0, 2.5]), np.array([0.5, 1.0, 3.0])
    got = laplace_slope(lambda z: (y + z) ** 3, b)
    np.testing.assert_allclose(got, 3 * y**2 + 6 * b**2, rtol=1e-9)


# --- Theorem 12


def soft_risk(t, theta):
    """Risk of soft thresholding in one dimension for unit variance, in closed form."""

    def phi(x):
        return np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)

    inside = ndtr(t - theta) - ndtr(-t - theta)
    return (
        1
        + t**2
        + (theta**2 - t**2 - 1) * inside
        - (t - theta) * phi(t + theta)
        - (t + theta) * phi(t - theta)
    )


@pytest.mark.parametrize("d", [2, 10, 100, 10_000])
def test_theorem_12_holds_for_every_mixture(d):
    """The risk adds up over coordinates, so the worst vector has few different entries."""
    t, theta = universal_threshold(d), np.linspace(0, 12, 2401)
    risk, floor = soft_risk(t, theta), np.minimum(theta**2, 1)
    k = np.arange(0, d + 1, max(1, d // 200))[:, None]
    bound = (2 * math.log(d) + 1) * (1 + k * floor)
    total = k * risk + (d - k) * soft_risk(t, 0.0)
    assert 0.5 < (total / bound).max() <= 1


def test_the_closed_form_is_the_risk(rng):
    t, theta = 1.3, 0.7
    y = theta + rng.normal(size=400_000)
    loss = np.square(np.sign(y) * np.maximum(np.abs(y) - t, 0) - theta)
    assert loss.mean() == pytest.approx(soft_risk(t, theta), abs=4.5 * loss.std() / 632)


# --- James-Stein


@pytest.mark.parametrize("d", [10, 50])
def test_james_stein_has_the_risk_of_theorem_11(d, rng):
    """Under a normal prior d s^2 (1 - (d - 2) / d * s^2 / (w^2 + s^2)), without positive part."""
    s, w, runs = 2.0, 0.5, 2000
    noise, losses = Noise(np.full(d, s)), []
    for _ in range(runs):
        theta = rng.normal(0, w, d)
        y = theta + rng.normal(0, s, d)
        value = james_stein(y, noise, positive_part=False).value
        losses.append(np.sum(np.square(value - theta)))
    want = d * s**2 * (1 - (d - 2) / d * s**2 / (w**2 + s**2))
    assert np.mean(losses) == pytest.approx(want, abs=4.5 * np.std(losses) / math.sqrt(runs))


def test_james_stein_is_the_textbook_rule(rng):
    y = rng.normal(size=12) + 2
    factor = 1 - 10 * 0.25 / (y @ y)
    np.testing.assert_allclose(james_stein(y, Noise(np.full(12, 0.5))).value, factor * y)
    r = y - y.mean()
    got = james_stein(y, Noise(np.full(12, 0.5)), basis=np.ones((12, 1))).value
    np.testing.assert_allclose(got, y.mean() + (1 - 9 * 0.25 / (r @ r)) * r)


@pytest.mark.parametrize("d", [1, 2])
def test_nothing_is_shrunk_in_one_or_two_dimensions(d):
    y = np.array([0.3, -2.0])[:d]
    np.testing.assert_array_equal(james_stein(y, Noise(np.ones(d))).value, y)


def test_at_the_target_nothing_breaks():
    for y in (np.zeros(5), np.zeros(2)):
        made = james_stein(y, Noise(np.ones(y.size)))
        assert np.all(made.value == 0) and np.isfinite(made.slope).all()


def test_unequal_noise_never_hurts(rng):
    """Bock's rule, at truths on every scale and noise on three."""
    noise = Noise(np.repeat([0.3, 1.0, 3.0], 20))
    for size in (0.0, 1.0, 10.0, 100.0):
        theta = size * rng.normal(size=60)
        gain = []
        for _ in range(400):
            y = theta + draw(rng, noise)
            value = james_stein(y, noise).value
            gain.append(np.sum((y - theta) ** 2) - np.sum((value - theta) ** 2))
        assert np.mean(gain) > -4.5 * np.std(gain) / 20


# --- thresholds


def brute_force(y, noise, most):
    def risk(level):
        t = level * noise.scale
        small = np.abs(y) <= t
        return np.sum(np.minimum(y**2, t**2) - 2 * noise.variance * small)

    levels = [0.0, *(np.abs(y) / noise.scale)]
    return min((level for level in levels if level <= most), key=risk)


@pytest.mark.parametrize("alike", [True, False])
def test_the_threshold_minimises_the_risk(alike, rng):
    noise = Noise(np.full(60, 1.5) if alike else np.exp(rng.uniform(-1, 1, 60)))
    for _ in range(20):
        y = rng.normal(0, 4, 60) * noise.scale
        want = brute_force(y, noise, universal_threshold(60))
        assert sure_threshold(y, noise) == pytest.approx(want)


@pytest.mark.parametrize("law", LAWS)
def test_noise_alone_gets_the_universal_threshold(law, rng):
    noise = Noise(np.ones(1000), law)
    assert sure_threshold(draw_all(rng, noise), noise) == universal_threshold(1000, law)


def draw_all(rng, noise):
    return draw(rng, noise)


def test_the_fitted_prior_of_many_is_that_of_all(rng):
    """Coordinates gathered on a fine grid give nearly the same posterior means."""
    y = np.where(np.arange(2500) < 500, 6.0, 0.0) + rng.normal(size=2500)
    noise = Noise(np.ones(2500))
    gathered = npmle_rule(y, noise, n_atoms=60).value
    single = Noise(np.append(np.ones(2499), 1 + 1e-9))
    np.testing.assert_allclose(gathered, npmle_rule(y, single, n_atoms=60).value, atol=0.02)


def test_support_is_kept(rng):
    y = rng.normal(size=50)
    assert npmle_rule(y, Noise(np.ones(50)), support="nonnegative").value.min() >= 0


def spread_loss(d, spread, seed, **params):
    """Return the loss of a vector of normal coordinates far apart, and that of the released one."""
    rng = np.random.default_rng([d, seed])
    truth, z = spread * rng.normal(size=d), rng.normal(size=d)
    value = npmle_rule(truth + z, Noise(np.ones(d)), **params).value
    return np.square(value - truth).sum(), np.square(z).sum()


@pytest.mark.cases(2)
@pytest.mark.parametrize(("d", "spread"), [(400, 1000), (1000, 300), (3000, 1000), (3000, 1e6)])
def test_coordinates_far_apart_stay_what_they_are(d, spread):
    """Atoms lie within half of the noise of every coordinate, however many there are."""
    loss, known = np.sum([spread_loss(d, spread, seed) for seed in range(3)], axis=0)
    assert loss <= 1.02 * known


def test_stretches_of_coordinates_are_as_good_as_one_fit():
    """Half of the coordinates at zero, half in a wide range: the first are found."""
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(2000) < 1000, 0.0, rng.uniform(50, 1e5, size=2000))
    y = truth + rng.normal(size=2000)
    value = npmle_rule(y, Noise(np.ones(2000))).value
    assert np.square(value[:1000]).sum() < 30
    assert np.square(value - truth)[1000:].sum() < 1.05 * np.square(y - truth)[1000:].sum()
    assert npmle_rule(y, Noise(np.ones(2000)), support="nonnegative").value.min() >= 0


def test_a_stretch_does_not_depend_on_those_far_away():
    rng = np.random.default_rng(1)
    near, far = rng.normal(size=200), 1e4 + 50 * rng.normal(size=900)
    alone = npmle_rule(near, Noise(np.ones(200)))
    both = npmle_rule(np.append(near, far), Noise(np.ones(1100)))
    np.testing.assert_allclose(both.value[:200], alone.value, atol=0.3)


@pytest.mark.parametrize("d", [34, 60, 100])
def test_auto_on_spread_coordinates_is_as_good_as_the_release(d):
    """Atoms that move with the coordinates and are not counted made risks too small."""
    loss = known = estimated = 0.0
    for seed in range(20):
        rng = np.random.default_rng([d, seed])
        truth, z = 1000 * rng.normal(size=d), rng.normal(size=d)
        auto = AutoDenoiser(noise_scale=1.0)
        loss += np.square(auto.fit_transform((truth + z)[None])[0] - truth).sum()
        known += np.square(z).sum()
        estimated += float(auto.risk_estimate_[0])
    assert loss <= 1.013 * known
    assert estimated > 0.9 * loss
