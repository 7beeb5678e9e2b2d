"""Noise for several numbers at once, of the law that the budget asks for."""

import math
from dataclasses import replace

from skdp.accounting import Budget
from skdp.accounting._plan import release_mechanism

__all__ = [
    "ColumnNoise",
    "check_strength",
    "column_budget",
    "with_law",
]

FAINTEST = 2.0**20


def column_budget(epsilon, delta, *, choice=False):
    """Return the budget of statistics by columns: pure for delta=0, zCDP for choices, else GDP."""
    if delta == 0:
        return Budget.pure(epsilon)
    return Budget.zcdp(epsilon, delta) if choice else Budget.gaussian(epsilon, delta)


def check_strength(budget, k):
    """Raise ValueError if the noise in k numbers of step 1 would leave the grids they are on.

    Statistics have sensitivities of at most 2^20 grid units and at least a quarter of the budget,
    and noise is drawn up to 2^46 grid units.
    """
    if _scale(budget, 1, k) > FAINTEST:
        raise ValueError(
            "epsilon is too small to answer anything: the noise in every statistic would exceed "
            "2^20 times what a row can move it by. Pass a larger epsilon, or fewer columns."
        )


def with_law(budget, *steps):
    """Return steps with the mechanism that a budget asks for: Laplace if it is pure."""
    return tuple(replace(step, mechanism=release_mechanism(budget)) for step in steps)


class ColumnNoise:
    """What noise a budget buys for k numbers that one row moves by 1 each: Laplace or Gaussian."""

    def __init__(self, budget):
        self.budget, self.pure = budget, budget.measure == "pure"
        self.strength = _strength(budget)

    def scale(self, share, k):
        """Return the scale of the noise in k numbers of step 1."""
        return _scale(self.budget, share, k)

    def share(self, scale, k):
        """Undo :meth:`scale`."""
        return k / (scale * self.strength) if self.pure else k / (scale * self.strength) ** 2

    def deviation(self, scale):
        """Return the standard deviation of noise of a scale."""
        return math.sqrt(2) * scale if self.pure else scale

    @property
    def law(self):
        """Of the noise: "laplace" for a pure budget, else "gaussian"."""
        return "laplace" if self.pure else "gaussian"


def _strength(budget):
    """Return epsilon of a pure budget, else mu."""
    if budget.measure == "pure":
        return float(budget.amount)
    return math.sqrt(budget.amount * (2 if budget.measure == "zcdp" else 1))


def _scale(budget, share, k):
    if budget.measure == "pure":
        return k / (share * _strength(budget))
    return math.sqrt(k / share) / _strength(budget)
