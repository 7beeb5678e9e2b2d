"""A random number of trials, and uniform candidates for them, drawn exactly."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np

from skdp.mechanisms._exact import exact
from skdp.mechanisms._noise import _randbelow

BITS = 192  # of the weight of the smallest number of trials
PRECISION = 2**42  # of the law, see the notes


@dataclass(frozen=True)
class Trials:
    """The law of a number K of trials: truncated negative binomial, or Poisson.

    Notes
    -----
    **Privacy.** What a search costs depends on the derivative ``f'(x) = sum k P(K = k) x^(k-1)``.
    The law drawn has integer weights, each rounded down from the one before times an exact ratio,
    and ends at :attr:`most`. The ratios of ``k P(K = k)`` decrease in k; beyond ``most`` they sum
    to at most ``P(K = 1) / 2^42 <= f'(x) / 2^42``, by a geometric series. All weights exceed
    ``2^42 most``, so that rounding changes none by more than a factor ``1 - 2^-42``. Hence the
    derivative of the law drawn is that of the law up to a factor ``1 +- 2^-40``, for all x in
    [0, 1] at once: an error in epsilon, that needs no delta, below the margins of
    ``accounting._selection``.
    """

    # in [0, 100], or inf: `P(K = k)` is proportional to `(1 - gamma)^k binom(k + eta - 1, k)` for k
    # = 1, 2, ...: 0 is the logarithmic and 1 the geometric law. inf is Poisson, the only one with K
    # = 0
    eta: float
    mean: float  # in (1, 1000]: `E[K]`; it fixes gamma

    def __post_init__(self):
        if not (0 <= self.eta <= 100 or self.eta == math.inf):
            raise ValueError(
                f"eta must be in [0, 100], or inf for a Poisson law. Got {self.eta!r} instead."
            )
        if not 1 < self.mean <= 1000:
            raise ValueError(
                f"the mean number of trials must be in (1, 1000]. Got {self.mean!r} instead."
            )

    @cached_property
    def decay(self):
        """``1 - gamma``, the float that defines the law."""
        low, high = 1e-12, 60.0  # of log(1 / gamma), in which the mean increases
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self._mean(middle) < self.mean else (low, middle)
        return -math.expm1(-high)

    @property
    def none(self):
        """``P(K = 0)``."""
        return math.exp(-self.mean) if self.eta == math.inf else 0.0

    def slope(self, u):
        """Return ``f'(1 - u)`` for an array of probabilities ``u``, to a relative 1e-13."""
        if self.eta == math.inf:
            return self.mean * np.exp(-self.mean * u)
        gamma = 1 - self.decay
        return self._mean(-math.log1p(-self.decay)) * (1 + u * self.decay / gamma) ** -(
            1 + self.eta
        )

    def steepness(self, farthest):
        """Return a bound of ``|d log slope(Phi(z)) / dz|`` for ``-farthest <= z``."""
        if self.eta == math.inf:
            return 0.4 * self.mean  # phi <= .4
        mills = farthest + 1 / farthest  # phi(z) / Phi(z) for z >= -farthest (Gordon 1941)
        return (1 + self.eta) * min(0.4 * self.decay / (1 - self.decay), mills)

    def _mean(self, s):
        """Return E[K] for ``gamma = e^-s``."""
        return math.expm1(s) * (self.eta / -math.expm1(-self.eta * s) if self.eta else 1 / s)

    @cached_property
    def _sums(self):
        """Sums of the weights of the smallest k, k + 1, ..., most."""
        poisson = self.eta == math.inf
        p, q = exact(self.mean if poisson else self.decay).as_integer_ratio()
        r, s = exact(0 if poisson else self.eta).as_integer_ratio()
        k = 0 if poisson else 1
        weights, ratio = [1 << BITS], 2.0  # ratio: of (k + 1) P(k + 1) to k P(k)
        while (
            len(weights) < 2
            or ratio >= 1
            or k * weights[-1] * PRECISION > (1 / ratio - 1) * weights[poisson]
        ):
            top = s if poisson else k * s + r
            weights.append(weights[-1] * p * top // (q * s * (k + 1)))
            k += 1
            ratio = p * (s if poisson else k * s + r) / (q * s * k)
        return list(accumulate(weights))

    @property
    def most(self):
        """The largest number of trials, public."""
        return len(self._sums) - (self.eta == math.inf)

    def draw(self, entropy):
        """Draw a number of trials; it is never published."""
        first = 0 if self.eta == math.inf else 1
        return first + bisect_right(self._sums, _randbelow(self._sums[-1], entropy))


@lru_cache(maxsize=64)
def trials_of(eta, mean):
    """Return ``Trials(eta, mean)``, whose weights are computed once."""
    return Trials(float(eta), float(mean))


def draw_candidates(n_candidates, n_trials, entropy):
    """Draw ``n_trials`` independent uniform integers in {0, ..., n_candidates - 1}, a list."""
    return [_randbelow(int(n_candidates), entropy) for _ in range(n_trials)]
