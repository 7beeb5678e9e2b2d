"""How many rows of one person count: found by a few private counts of persons."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._persons import CappedPersons, PersonsWithMore

__all__ = ["CAP_STEPS", "release_contribution_bound"]

OCTAVES, FINE = 16, 4  # caps are looked for up to 2^16, in quarters of octaves
COUNTS, MASSES = 6, 4  # of persons with more rows than so many: a bisection of all of them
GROUP_SIZES = Step("group sizes", at_most=0.06 / COUNTS, times=COUNTS, of=(PersonsWithMore,))
GROUP_MASS = Step("group mass", at_most=0.01, times=MASSES, of=(PersonsWithMore,))
CAP_STEPS = GROUP_SIZES, GROUP_MASS
FAR = 0.3  # how far rows beyond the cap lie from the others, in standard deviations of rows
FIRST, LAST = 3.5, 1.2  # noise scales that the first and the last of these counts are clear of

ONE = "groups: too few for a larger cap, so that every group counts alike"


def release_contribution_bound(table, *, noise, least):
    """Release a number of rows per person that balances the noise and what a cap leaves out.

    Notes
    -----
    A statistic whose noise is ``noise cap / (mu n)``, and that misses ``FAR sum (m_u - cap)_+ / n``
    by the rows that lose weight, errs least where the number of persons with more than ``cap`` rows
    is ``noise / (FAR mu)``: both terms have the same derivative. That order statistic of the sizes
    is looked for. A cap that is too large costs as many times its noise, one that is too small a
    part of the bias: a count has to be clear of its noise, the first ones, which skip many octaves,
    most of all.

    **Privacy** (add or remove one person): the statistics bound what a person adds; which one is
    asked depends on the answers before.
    """
    mu = _mu(table.budget)
    low, high = 0, OCTAVES * FINE
    for clear in np.linspace(FIRST, LAST, COUNTS):
        middle = (low + high) // 2
        if middle == low:
            break
        more = PersonsWithMore(_rows(middle))
        told = table.ask(more, GROUP_SIZES)
        rank = max(noise / (FAR * mu), clear * told.scale)
        low, high = (middle, high) if told.value[0] > rank else (low, middle)
    cap = _rows(low)
    for last in range(MASSES - 1, -1, -1):
        if cap == 1:
            break
        capped = table.map(CappedPersons(cap))
        mass = capped.ask(PersonsWithMore(), GROUP_MASS)
        if mass.value[0] * mu >= least:
            break
        cap = cap // 4 if last and cap > 4 else 1
    if cap == 1:
        table.decide(ONE)
    return cap


def _mu(budget):
    return float(budget.mu) if budget.measure == "gdp" else math.sqrt(2 * budget.amount)


def _rows(step):
    """Return the number of rows at a step of the grid."""
    return math.floor(2.0 ** (step / FINE) + 1e-9)
