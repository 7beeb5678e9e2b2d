import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from skdp import PrivacyLedger, PrivateMean
from skdp.audit._one_run import one_run_audit, one_run_p_value
from skdp.gate._curator import Curator, replaced_curator

ALARM = 1e-3 / 30  # see test_empirical.py
BALL = {"center": 0.0, "radius": 1.0}


def location(fitted, canaries):
    return canaries @ fitted.location_


def run(m=300, factor=1.0, **params):
    class Wrong(Curator):
        def _noisy(self, value, law, scale, rows=None, parts=None):
            return super()._noisy(value, law, scale * factor)

    with replaced_curator(Wrong):
        return one_run_audit(
            PrivateMean(delta=1e-9, **BALL, **params),
            np.zeros((20, m)),
            np.eye(m),
            score=location,
            confidence=1 - ALARM,
            random_state=0,
        )


def tails(law):
    """P(at least v) for v = 0, ..., r."""
    return list(itertools.accumulate(reversed(law)))[::-1]


def sums(laws):
    total = [Fraction(1)]
    for law in laws:
        total = [
            sum(law[j] * total[i - j] for j in range(len(law)) if 0 <= i - j < len(total))
            for i in range(len(total) + len(law) - 1)
        ]
    return total


@pytest.mark.parametrize("odds", [1, 2, 9])
@pytest.mark.parametrize("delta", [0, Fraction(1, 1000), Fraction(1, 20)])
@pytest.mark.parametrize("m", [1, 5, 20])
def test_randomised_response_in_exact_rationals(odds, delta, m):
    """Each canary tells with probability delta, else answers at random: (log odds, delta)-DP."""
    right = delta + (1 - delta) * Fraction(odds, odds + 1)
    exact = tails(sums([[1 - right, right]] * m))
    bounds = [one_run_p_value(v, m, m, math.log(odds), float(delta)) for v in range(m + 1)]
    assert all(e <= b + 1e-12 for e, b in zip(exact, bounds, strict=True))
    if delta == 0:  # nothing is lost
        np.testing.assert_allclose(bounds, [float(e) for e in exact], rtol=1e-9)


@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 20)])
def test_one_secret_told_by_all_in_exact_rationals(delta):
    """With probability delta everything is told: all canaries share one failure event."""
    m, odds = 12, 2
    c = Fraction(odds, odds + 1)
    good = tails(sums([[1 - c, c]] * m))
    for v in range(m + 1):
        exact = delta + (1 - delta) * good[v]
        # (log odds, delta) holds for each canary, yet only m delta / (1 + odds) may be added
        assert exact <= one_run_p_value(v, m, m, math.log(odds), float(delta)) + 1e-12


def test_every_small_mechanism_in_exact_rationals():
    """Random mechanisms on three canaries, the best guesses, their exact delta at each epsilon."""
    rng = np.random.default_rng(0)
    m, outputs = 3, 6
    states = list(itertools.product((0, 1), repeat=m))
    for _ in range(40):
        weights = rng.integers(0, 30, size=(len(states), outputs)) ** 3 + 1
        laws = {
            s: [Fraction(int(w), int(row.sum())) for w in row]
            for s, row in zip(states, weights, strict=True)
        }
        odds = Fraction(int(rng.integers(10, 60)), 10)
        delta = max(
            sum(max(p - odds * q, 0) for p, q in zip(laws[s], laws[t], strict=True))
            for s in states
            for t in states
            if sum(a != b for a, b in zip(s, t, strict=True)) == 1
        )
        for guess_of in (rng.integers(0, 2, size=(outputs, m)) for _ in range(5)):
            counts = [Fraction(0)] * (m + 1)
            for s in states:
                for y, p in enumerate(laws[s]):
                    counts[sum(a == b for a, b in zip(s, guess_of[y], strict=True))] += p / 8
            for v, exact in enumerate(tails(counts)):
                bound = one_run_p_value(v, m, m, math.log(odds), float(delta))
                assert float(exact) <= bound + 1e-9


def test_published_example():
    # 75 of 100 guesses right under (log 3, 0): the binomial tail at its mean
    assert one_run_p_value(75, 100, 100, math.log(3)) == pytest.approx(0.5535, abs=1e-4)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_private_mean_passes(epsilon):
    report = run(epsilon=epsilon)
    assert report.passed, report
    assert report.guesses == (36, 74, 150, 300)
    assert epsilon < 4 or all(
        v > 0.6 * r for v, r in zip(report.correct, report.guesses, strict=True)
    )


def test_bounds_are_not_vacuous():
    report = run(m=1000, epsilon=8.0)
    assert report.passed
    assert report.epsilon_lower > 1.0 and report.mu_lower > 0.2


def test_an_eighth_of_the_noise_is_caught():
    report = run(m=500, epsilon=1.0, factor=1 / 8)
    assert report.epsilon_lower > report.claimed_epsilon
    assert not report.passed


def test_the_bound_on_mu_catches_what_epsilon_does_too():
    report = run(m=500, epsilon=1.0, factor=1 / 32)
    assert report.mu_lower > report.claimed_mu


def test_report_reads_well():
    report = run(epsilon=1.0)
    data = json.loads(report.to_json())
    assert data["passed"] is True and data["n_canaries"] == 300
    assert data["claimed_epsilon"] == report.claimed_epsilon
    assert 1e-9 < data["delta"] < 1e-7  # half of the error, where the claim is finite
    assert str(report).startswith("One-run audit of PrivateMean passed (300 canaries")


def test_system_noise_and_no_other_rows():
    m = 50
    report = one_run_audit(PrivateMean(**BALL), np.empty((0, m)), np.eye(m), score=location)
    assert report.passed and not report.claim.seeded


def test_bad_calls_are_refused():
    m = 20
    mean, X = PrivateMean(**BALL), np.zeros((5, m))
    with pytest.raises(ValueError, match="has a ledger"):
        one_run_audit(PrivateMean(ledger=PrivacyLedger(9.0, 1e-3)), X, np.eye(m), score=location)
    with pytest.raises(ValueError, match=r"score must return shape \(20,\)"):
        one_run_audit(mean, X, np.eye(m), score=lambda fitted, canaries: 0.0)
    with pytest.raises(ValueError, match="minimum of 8"):
        one_run_audit(mean, X[:, :4], np.eye(4), score=location)
