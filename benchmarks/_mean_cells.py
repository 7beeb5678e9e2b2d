"""The workloads for a mean: rows of N(mu, I_d) with |mu| = R / 2, some with outliers.

The sweeps are those of figure 5 of FriendlyCore (Tsfadia, Cohen, Kaplan, Mansour, Stemmer.
"FriendlyCore: Practical differentially private aggregation". ICML 2022), and cells for other
budgets, few rows, few columns and tails.
"""

import math
import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

__all__ = ["MeanBudget", "MeanCell", "Truth", "mean_cells"]


@dataclass(frozen=True)
class MeanBudget:
    """One budget in the units of all methods.

    Baselines get ``mu``, the Gaussian budget, or rho = mu^2 / 2; skdp gets (epsilon, delta), of
    which it sets 5 % of delta aside for failure events.
    """

    name: str
    mu: float
    epsilon: float
    delta: float

    @classmethod
    def zcdp(cls, rho, delta=1e-6):
        """Choose the epsilon for which skdp spends mu = sqrt(2 rho), as much as a rho-zCDP peer."""
        mu = math.sqrt(2 * rho)
        epsilon = brentq(lambda e: _delta(mu, e) - 0.95 * delta, 0.0, 50.0 + mu * mu)
        return cls(f"rho={rho:g}", mu, epsilon, delta)

    @classmethod
    def approximate(cls, epsilon, delta):
        """Let the baselines have all of (epsilon, delta): their releases are Gaussian only."""
        mu = brentq(lambda m: _delta(m, epsilon) - delta, 1e-6, 50.0)
        return cls(f"({epsilon:g},{delta:.0e})".replace("e-0", "e-"), mu, epsilon, delta)

    @property
    def rho(self):
        """The budget in zero-concentrated differential privacy."""
        return self.mu**2 / 2


def _delta(mu, epsilon):
    """Return the exact delta at which mu-GDP gives epsilon (Balle-Wang)."""
    return np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(
        epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    )


class Truth(NamedTuple):
    """The mean of the bulk, and which rows belong to it."""

    mean: np.ndarray
    bulk: np.ndarray


@dataclass(frozen=True)
class MeanCell:
    """One workload.

    Parameters
    ----------
    budget : MeanBudget
    n, d : int
    R : float
        Twice the distance of the mean from the centre that the peers are told.
    reps : int
    limits : dict of str to float
        What skdp should reach: error over ``"floor"``, and the number of runs above 1.6 floors,
        ``"tail"``. The best CoinPress is a limit in every cell.
    outliers : float, default=0
        Distance from the mean of a cluster of 5 % of the rows; 0 for none.
    """

    budget: MeanBudget
    n: int
    d: int
    R: float
    reps: int
    limits: dict = field(default_factory=dict)
    outliers: float = 0.0

    @property
    def name(self):
        """Budget, shape and what is special."""
        text = f"{self.budget.name} n={self.n} d={self.d} R={_short(self.R)}"
        return text + (f" outliers={_short(self.outliers)}" if self.outliers else "")

    def draw(self, rng):
        """Return read-only rows and their truth."""
        mean = self.R / 2 * _direction(self.d, rng)
        X = rng.standard_normal((self.n, self.d))
        X += mean
        bulk = np.ones(self.n, dtype=bool)
        if self.outliers:
            bulk[rng.permutation(self.n)[: self.n // 20]] = False
            X[~bulk] += self.outliers * _direction(self.d, rng)
        X.flags.writeable = False
        return X, Truth(mean, bulk)

    def error(self, result, truth):
        """Return the l2 error."""
        return np.linalg.norm(result - truth.mean)


def _direction(d, rng):
    vector = rng.standard_normal(d)
    return vector / np.linalg.norm(vector)


def _short(x):
    return re.sub(r"\.0e|e", "e", f"{x:.1e}").replace("e+0", "e").replace("e+", "e")


def mean_cells(*, quick=False):
    """Return all cells; quick: those of up to 4000 columns, 4 or 12 repetitions."""
    rho, tight = MeanBudget.zcdp(1.0), MeanBudget.approximate(1.0, 1e-6)
    cells = []

    def add(budget, d, ns, Rs, reps, **limits):
        cells.extend(MeanCell(budget, n, d, R, reps, limits) for n in ns for R in Rs)

    add(rho, 1000, [800], [1e1, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12], 20, floor=1.04)
    add(rho, 1000, [200], [1e2, 1e6, 1e12], 20, floor=1.35)
    add(rho, 1000, [400, 1600], [1e2, 1e6], 20)
    for d, reps in [(1000, 20), (2000, 20), (4000, 10), (8000, 10), (16000, 6)]:
        add(rho, d, [800], [10 * math.sqrt(d)], reps)
    add(rho, 50, [60, 100, 200, 400, 800, 1600], [1e1, 1e2, 1e6], 60)
    add(rho, 200, [400], [1e2, 1e6], 40)
    add(rho, 10, [100], [1e1, 1e6], 200)
    add(rho, 1, [50, 100], [1e1, 1e6], 400)
    add(tight, 1000, [1600], [1e1, 1e2, 1e6, 1e10], 20)
    add(tight, 1000, [1600], [1e4], 200, floor=1.2, tail=0)
    add(tight, 1000, [800, 400], [1e2, 1e4], 12)
    add(tight, 50, [400, 800, 1600], [1e1, 1e4], 60)
    add(tight, 200, [1600], [1e2, 1e6], 40)
    add(tight, 1, [1000], [1e1, 1e6], 400)
    for distance in (1e3, 1e6):
        cells.append(MeanCell(rho, 1000, 50, 1e2, 60, {"floor": 1.05}, outliers=distance))
    if quick:
        cells = [replace(c, reps=4 if c.d > 200 else 12) for c in cells if c.d <= 4000]
    return cells
