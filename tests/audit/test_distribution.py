"""The noise of a fit, through the path of every estimator, against the law that it declares.

A correct sampler fails a test with probability 1e-9, nine such tests have no seed: 1e-8 in all. The
faults of 5 % lie 20 and more standard deviations away.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare, laplace, norm

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.gate._curator import Curator, replaced_curator

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

SIZE = 200_000
LAWS = {"gaussian": norm, "laplace": laplace}
laws = pytest.mark.parametrize("law", LAWS)
systems = pytest.mark.parametrize("random_state", [0, None], ids=["seeded", "system"])


class Zeros(PrivateEstimator):
    """Releases a vector of zeros."""

    def __init__(self, law="gaussian", *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.law = law
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        pure = self.law == "laplace"
        budget = Budget.pure(self.epsilon) if pure else Budget.gaussian(self.epsilon, self.delta)
        return Plan(budget, (Step("zeros", self.law),))

    def _release(self, rows, curator):
        draw = getattr(curator, self.law)
        release = draw(np.zeros(SIZE, dtype=int), sensitivity=1000, share=0.25, label="zeros")
        return {"noise_": release.value}


class Chooser(PrivateEstimator):
    """Draws from the same five candidates many times, at rate 1/2."""

    N, SCORES = 10_000, (0, -1, -2, -3, 1)

    def __init__(self, *, epsilon=10_000.0, delta=0.0, random_state=None, ledger=None):
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        return Plan(Budget.pure(self.epsilon), (Step("choice", "select", times=self.N),))

    def _release(self, rows, curator):
        share = Fraction(1, self.N)
        drawn = [
            curator.select(self.SCORES, sensitivity=1, share=share, label="choice")
            for _ in range(self.N)
        ]
        return {"counts_": np.bincount(drawn, minlength=len(self.SCORES))}


def wrong_by(factor):
    """Return a Curator whose noise is too large, and whose choices are too sharp, by a factor."""

    class Wrong(Curator):
        def _noisy(self, value, law, scale, rows=None, parts=None):
            return super()._noisy(value, law, scale * factor)

        def _choose(self, scores, rate):
            return super()._choose(scores, rate * Fraction(factor))

    return replaced_curator(Wrong)


def fit(estimator):
    return estimator.fit(np.zeros((3, 1)))


def bins(noise, law, scale, n=60):
    edges = np.floor(scale * law.ppf(np.linspace(0, 1, n + 1)[1:-1])) + 0.5
    upper = np.r_[0, law.cdf(edges / scale), 1]
    return np.bincount(np.searchsorted(edges, noise), minlength=n), np.diff(upper)


def p_value(fitted):
    """Chi-square of the noise against the law and the scale that the report declares."""
    (charge,) = fitted.privacy_report_.charges
    counts, probabilities = bins(fitted.noise_, LAWS[charge.mechanism], charge.scale)
    return chisquare(counts, SIZE * probabilities).pvalue


@laws
def test_the_declared_scale_is_what_the_share_buys(law):
    (charge,) = fit(Zeros(law, random_state=0)).privacy_report_.charges
    mu = Budget.gaussian(1.0, 1e-6).mu
    bought = 1000 / 0.25 if law == "laplace" else 1000 / (mu * np.sqrt(0.25))
    assert charge.mechanism == law
    assert charge.scale == pytest.approx(bought, rel=1e-12)


@laws
@systems
def test_noise_has_the_declared_law(law, random_state):
    assert p_value(fit(Zeros(law, random_state=random_state))) > 1e-9


@laws
@systems
@pytest.mark.parametrize("factor", [1.05, 1 / 1.05])
def test_noise_of_a_wrong_scale_is_rejected(law, random_state, factor):
    with wrong_by(factor):
        assert p_value(fit(Zeros(law, random_state=random_state))) < 1e-9


@laws
def test_seed_and_system_agree(law):
    fits = [fit(Zeros(law, random_state=seed)) for seed in (1, None)]
    (charge,) = fits[0].privacy_report_.charges
    counts = [bins(f.noise_, LAWS[law], charge.scale)[0] for f in fits]
    assert chi2_contingency(counts).pvalue > 1e-9


@laws
def test_coordinates_are_independent_and_fits_are_fresh(law):
    # each correlation is N(0, 1 / SIZE) and exceeds 6.5 standard deviations with probability 1e-10
    first, second = (fit(Zeros(law)).noise_.astype(float) for _ in range(2))
    pairs = (first[1:], first[:-1]), (first, second), (np.abs(first), np.abs(second))
    for a, b in pairs:
        assert abs(np.corrcoef(a, b)[0, 1]) < 6.5 / np.sqrt(SIZE)


def choice_p_value(fitted):
    weights = np.exp(np.array(Chooser.SCORES) / 2)
    return chisquare(fitted.counts_, Chooser.N * weights / weights.sum()).pvalue


@systems
def test_choices_have_the_declared_law(random_state):
    fitted = fit(Chooser(random_state=random_state))
    assert fitted.privacy_report_.charges[0].scale == 2.0  # 1 / rate
    assert choice_p_value(fitted) > 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.25, 0.8])
def test_choices_at_a_wrong_rate_are_rejected(factor):
    with wrong_by(factor):
        assert choice_p_value(fit(Chooser(random_state=0))) < 1e-9
