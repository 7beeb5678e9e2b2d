"""The transformers: choices, releases, laws, errors."""

import numpy as np
import pytest

from skdp.base import Release
from skdp.contracts import Released, Rows, contract_of
from skdp.denoising import (
    AutoDenoiser,
    BayesDenoiser,
    GraphWaveletDenoiser,
    JamesSteinDenoiser,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
    denoised,
)

ALL = [
    AutoDenoiser,
    BayesDenoiser,
    GraphWaveletDenoiser,
    JamesSteinDenoiser,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
]


@pytest.mark.parametrize("cls", ALL)
def test_a_denoiser_is_free_and_says_what_it_assumes(cls):
    contract = contract_of(cls(noise_scale=1.0))
    assert not contract.spends and contract.accepts(Released()) and not contract.accepts(Rows())
    assert isinstance(contract.yields(Released()), Released)
    assert cls.assumes


@pytest.mark.parametrize("cls", ALL)
def test_a_release_brings_its_noise(cls, rng):
    y = np.rint(100 * rng.normal(size=(5, 8))).astype(np.int64)
    from_release = cls().fit(Release(y, 50.0, "gaussian"))
    from_array = cls(noise_scale=50.0).fit(y.reshape(1, -1))
    np.testing.assert_array_equal(from_release.risk_estimate_, from_array.risk_estimate_)
    assert from_release.noise_scale_ == 50.0 and from_release.risk_estimate_.shape == (1,)
    again = from_release.transform(Release(y, 50.0, "gaussian"))
    np.testing.assert_array_equal(again, from_array.transform(y.reshape(1, -1)))


@pytest.mark.parametrize("cls", ALL)
def test_noise_must_be_known(cls, rng):
    y = rng.normal(size=(2, 10))
    with pytest.raises(ValueError, match="needs a Release"):
        cls().fit(y)
    for wrong in ([1.0] * 9, [1.0] * 9 + [0.0], [1.0] * 9 + [np.nan]):
        with pytest.raises(ValueError, match="positive and finite"):
            cls(noise_scale=wrong).fit(y)


@pytest.mark.parametrize("cls", [GraphWaveletDenoiser, TrendFilterDenoiser])
def test_graphs_refuse_laplace_noise(cls, rng):
    with pytest.raises(ValueError, match="Gaussian"):
        cls(noise_scale=1.0, noise_distribution="laplace").fit(rng.normal(size=(1, 9)))


def test_targets(rng):
    y = rng.normal(size=(1, 30)) + 5
    shrunk = {
        name: JamesSteinDenoiser(noise_scale=1.0, target=target).fit_transform(y)
        for name, target in {
            "number": 5.0,
            "vector": np.full(30, 5.0),
            "mean": "mean",
            "span": np.ones((30, 1)),
        }.items()
    }
    np.testing.assert_allclose(shrunk["number"], shrunk["vector"])
    np.testing.assert_allclose(shrunk["mean"], shrunk["span"])
    assert np.square(shrunk["number"] - 5).sum() < 0.3 * np.square(y - 5).sum()
    with pytest.raises(ValueError, match="target"):
        JamesSteinDenoiser(noise_scale=1.0, target=np.ones(29)).fit(y)


def test_a_known_prior_is_the_posterior_mean(rng):
    y = rng.normal(size=(1, 6))
    known = BayesDenoiser(noise_scale=2.0, prior="normal", prior_scale=1.0, center=3.0)
    np.testing.assert_allclose(known.fit_transform(y), 3 + 0.2 * (y - 3))
    assert known.risk_estimate_[0] == pytest.approx(
        np.sum((0.8 * (y - 3)) ** 2) + 6 * 4 * (2 * 0.2 - 1)
    )


CASES = {
    "zero": np.zeros(400),
    "sparse": np.where(np.arange(400) < 20, 30.0, 0.0),
    "dense": np.linspace(-50, 50, 200),
    "constant": np.full(400, 30.0),
    "two groups": np.where(np.arange(400) < 200, 0.0, 8.0),
    "few": np.linspace(0, 4, 10),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "case"), [*(("gaussian", c) for c in CASES), ("laplace", "sparse"), ("laplace", "few")]
)
def test_auto_is_near_the_best_and_never_far_above_raw(case, law, rng):
    """Mean losses over 12 runs: at most 10 % and the noise of the choice above the best."""
    theta = CASES[case]
    sample = rng.normal if law == "gaussian" else rng.laplace
    noisy = theta + 3 * sample(size=(12, theta.size))

    def loss(denoiser):
        return np.square(denoiser.fit_transform(noisy) - theta).sum(axis=1).mean()

    common = {"noise_scale": 3.0, "noise_distribution": law}
    raw = np.square(noisy - theta).sum(axis=1).mean()
    candidates = [JamesSteinDenoiser(**common), SoftThresholdDenoiser(**common)]
    candidates += [JamesSteinDenoiser(**common, target="mean")]
    candidates += [BayesDenoiser(**common)] * (theta.size >= 20)
    best = min(raw, *map(loss, candidates[: 1 if theta.size < 20 else None]))
    chosen = loss(AutoDenoiser(**common))
    slack = 0.1 * raw / np.sqrt(theta.size / 4) * (2 if law == "laplace" else 1)
    assert chosen <= 1.1 * best + slack
    assert chosen <= raw * (1 + 2 / np.sqrt(12 * theta.size))


def test_counts_stay_counts(rng):
    noisy = rng.normal(size=(3, 50))
    auto = AutoDenoiser(noise_scale=1.0, support="nonnegative").fit(noisy)
    assert auto.transform(noisy).min() >= 0 and len(auto.chosen_) == 3


def test_the_hook(rng):
    value = rng.normal(size=(4, 6))
    same, risk = denoised(value, 2.0, None)
    assert same is not None and np.array_equal(same, value) and risk == pytest.approx(24 * 4)
    assert denoised(value, 2.0, None, law="laplace")[1] == pytest.approx(24 * 8)
    shrunk, risk = denoised(value, 2.0, "auto")
    assert shrunk.shape == value.shape and risk < 24 * 4
    scale = np.full((4, 6), 2.0)
    np.testing.assert_array_equal(denoised(value, scale, "auto")[0], shrunk)
    scale[0, 0] = np.inf
    assert np.array_equal(denoised(value, scale, "auto")[0], value)
    mine = JamesSteinDenoiser(noise_scale=7.0)
    denoised(value, 2.0, mine)
    assert mine.noise_scale == 7.0 and not hasattr(mine, "risk_estimate_")
