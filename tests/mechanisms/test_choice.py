from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from skdp.mechanisms import _noise, exponential_choice
from skdp.mechanisms._entropy import SeededEntropy


class FixedWords:
    def __init__(self, words):
        self._words = list(words)

    def words(self, n):
        taken, self._words = self._words[:n], self._words[n:]
        return np.array(taken, dtype=np.uint64)


def _law(scores, rate):
    weights = np.array([float(mpmath.exp(rate * (s - max(scores)))) for s in scores])
    return weights / weights.sum()


def _p_value(scores, drawn_rate, claimed_rate, n=20_000):
    entropy = SeededEntropy(0)
    draws = [exponential_choice(scores, drawn_rate, entropy) for _ in range(n)]
    counts = np.bincount(draws, minlength=len(scores))
    return chisquare(counts, n * _law(scores, claimed_rate)).pvalue


# Fixed seeds; over seeds a correct draw fails with probability 1e-6.
@pytest.mark.parametrize(
    ("scores", "rate"),
    [([0, -1, -2, -3, 1], Fraction(1, 3)), ([5, 5, 5], Fraction(7)), ([0, 1], Fraction(5, 2))],
)
def test_law(scores, rate):
    assert _p_value(scores, rate, float(rate)) > 1e-6


@pytest.mark.parametrize("factor", [1.15, 1 / 1.15])
def test_wrong_rate_is_rejected(factor):
    rate = Fraction(1, 3)
    assert _p_value([0, -1, -2, -3, 1, 4], rate, factor * float(rate)) < 1e-6


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 7), Fraction(9, 10), Fraction(1)])
def test_bernoulli_exp_has_exactly_the_law(gamma, monkeypatch):
    """Walk every path "j successes, then a failure" and add the exact probabilities."""
    total = Fraction(0)
    for successes in range(40):
        probability, left = Fraction(1), successes

        def scripted(n, entropy):
            nonlocal probability, left
            success = gamma.numerator / Fraction(n)  # of a uniform draw below gamma.numerator
            left -= 1
            probability *= success if left >= 0 else 1 - success
            return 0 if left >= 0 else n

        monkeypatch.setattr(_noise, "_randbelow", scripted)
        if gamma == 0 and successes:
            continue  # draws below zero do not exist
        if _noise._bernoulli_exp_small(gamma, None):
            total += probability
    with mpmath.workdps(50):
        assert abs(mpmath.mpf(total.numerator) / total.denominator - mpmath.exp(-gamma)) < 1e-40


def test_bernoulli_exp_beyond_one_is_a_product(monkeypatch):
    parts = []
    monkeypatch.setattr(
        _noise, "_bernoulli_exp_small", lambda gamma, entropy: parts.append(gamma) or True
    )
    assert _noise._bernoulli_exp(Fraction(17, 5), None)
    assert parts == [1, 1, 1, Fraction(2, 5)]


def test_randbelow_is_uniform_by_rejection():
    top = [np.uint64(i << 61) for i in range(8)]  # the three leading bits run through 0..7
    assert [_noise._randbelow(5, FixedWords([w, 0])) for w in top] == [0, 1, 2, 3, 4, 0, 0, 0]
    assert _noise._randbelow(1, FixedWords([])) == 0
    assert _noise._randbelow(2**64, FixedWords([2**64 - 1])) == 2**64 - 1
    assert _noise._randbelow(2**65, FixedWords([2**64 - 1, 2**64 - 1])) == 2**65 - 1


def test_extreme_scores():
    extremes = np.array([-(2**63), 2**63 - 1, 2**63 - 2**40], dtype=np.int64)
    entropy = SeededEntropy(1)
    assert {exponential_choice(extremes, Fraction(1), entropy) for _ in range(50)} == {1}
    assert exponential_choice([3], Fraction(10**40, 7), entropy) == 0
    assert {exponential_choice(extremes, Fraction(0), entropy) for _ in range(50)} == {0, 1, 2}
    assert isinstance(exponential_choice(extremes, Fraction(1), entropy), int)


@pytest.mark.parametrize("shape", [(0,), (2, 2), ()])
def test_shape_refused(shape):
    with pytest.raises(ValueError, match="n_candidates"):
        exponential_choice(np.zeros(shape, dtype=int), Fraction(1), SeededEntropy(0))


def test_floats_refused():
    with pytest.raises(TypeError, match="integers"):
        exponential_choice([0.5, 1.0], Fraction(1), SeededEntropy(0))


@pytest.mark.parametrize("rate", [Fraction(-1), float("nan"), float("inf")])
def test_rate_refused(rate):
    with pytest.raises(ValueError, match="rate"):
        exponential_choice([1, 2], rate, SeededEntropy(0))
