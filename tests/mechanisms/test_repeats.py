import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from skdp.mechanisms._entropy import SeededEntropy
from skdp.mechanisms._repeats import Trials, draw_candidates, trials_of

LAWS = [
    (0.0, 10),
    (0.0, 1.1),
    (0.5, 3),
    (1.0, 10),
    (7.5, 12),
    (math.inf, 2),
    (math.inf, 50),
]


def weights(trials):
    """Return {k: integer weight}, the law that is drawn."""
    sums = trials._sums
    first = 0 if trials.eta == math.inf else 1
    return {first + i: b - a for i, (a, b) in enumerate(zip([0, *sums[:-1]], sums, strict=True))}


def slope(trials, x):
    """Return f'(x) of the law that is meant, to 60 digits, from its textbook form."""
    with mpmath.workdps(60):
        x = mpmath.mpf(x)
        if trials.eta == math.inf:
            return trials.mean * mpmath.exp(trials.mean * (x - 1))
        decay, eta = mpmath.mpf(trials.decay), mpmath.mpf(trials.eta)
        gamma = 1 - decay
        if eta == 0:  # f(x) = log(1 - decay x) / log(gamma)
            return -decay / (1 - decay * x) / mpmath.log(gamma)
        # f(x) = ((1 - decay x)^-eta - 1) / (gamma^-eta - 1)
        return eta * decay * (1 - decay * x) ** (-eta - 1) / (gamma**-eta - 1)


@pytest.mark.parametrize(("eta", "mean"), LAWS)
def test_the_derivative_of_the_law_drawn_is_right_to_forty_bits(eta, mean):
    trials = Trials(eta, float(mean))
    w = weights(trials)
    total = sum(w.values())
    for x in (Fraction(0), Fraction(1, 1000), Fraction(1, 3), Fraction(9, 10), Fraction(1)):
        drawn = Fraction(sum(k * v * x ** (k - 1) for k, v in w.items() if k), total)
        meant = slope(trials, mpmath.mpf(x.numerator) / x.denominator)
        with mpmath.workdps(60):
            ratio = mpmath.mpf(drawn.numerator) / drawn.denominator / meant
            assert abs(ratio - 1) < mpmath.mpf(2) ** -40
        assert trials.slope(np.array([float(1 - x)]))[0] == pytest.approx(float(meant), rel=1e-12)
    assert w.get(0, 0) / total == pytest.approx(trials.none, rel=1e-12)


def test_the_geometric_law():
    trials = Trials(1.0, 4.0)
    w = weights(trials)
    total = sum(w.values())
    for k in range(1, 20):
        assert w[k] / total == pytest.approx(0.25 * 0.75 ** (k - 1), rel=1e-9)
    assert trials.most == max(w)


@pytest.mark.parametrize(("eta", "mean"), LAWS)
def test_means_and_the_largest_number(eta, mean):
    trials = Trials(eta, float(mean))
    w = weights(trials)
    assert sum(k * v for k, v in w.items()) / sum(w.values()) == pytest.approx(mean, rel=1e-9)
    assert trials.most == max(w) < 60 * mean + 200 or eta == 0


# Fixed seeds; over seeds a correct draw fails with probability 1e-6.
@pytest.mark.parametrize(("eta", "mean"), [(0.0, 3), (1.0, 3), (math.inf, 3)])
def test_draws_have_the_law(eta, mean):
    trials, entropy, n = trials_of(eta, float(mean)), SeededEntropy(0), 10_000
    draws = np.array([trials.draw(entropy) for _ in range(n)])
    w = weights(trials)
    total = sum(w.values())
    cells = [k for k in w if n * w[k] / total > 8]
    expected = np.array([n * w[k] / total for k in cells])
    seen = np.array([np.count_nonzero(draws == k) for k in cells])
    expected, seen = np.append(expected, n - expected.sum()), np.append(seen, n - seen.sum())
    assert chisquare(seen, expected).pvalue > 1e-6
    assert chisquare(seen, expected[::-1]).pvalue < 1e-6  # the test sees another law


def test_candidates_are_uniform():
    draws = draw_candidates(7, 7000, SeededEntropy(0))
    assert chisquare(np.bincount(draws, minlength=7)).pvalue > 1e-6
    assert draw_candidates(1, 3, SeededEntropy(0)) == [0, 0, 0]
    assert draw_candidates(5, 0, SeededEntropy(0)) == []


@pytest.mark.parametrize(
    ("eta", "mean"), [(-0.5, 3), (101, 3), (math.nan, 3), (1, 1), (1, 1001), (1, math.nan)]
)
def test_impossible_laws_are_refused(eta, mean):
    with pytest.raises(ValueError, match=r"eta must be|mean number"):
        Trials(eta, mean)
