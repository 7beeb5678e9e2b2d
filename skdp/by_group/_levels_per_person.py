"""In how many levels a person counts: found by a few private counts of persons."""

from fractions import Fraction

from skdp.accounting import Step
from skdp.kernel._persons import PersonsWithMore

CAPS = 1, 2, 3, 4, 6, 8, 12, 16, 24, 32  # a bisection asks for four of them at most
MOST_LEVELS = CAPS[-1]
COUNTS = 5  # one of all persons, and the bisection
COUNTS_SHARE = Fraction(1, 20)
LEVEL_COUNTS = Step(
    "levels per group", at_most=COUNTS_SHARE / COUNTS, times=COUNTS, of=(PersonsWithMore,)
)
FEW = 0.05  # of the persons may have more levels than count
CLEAR = 2.0  # noise scales: fewer persons are not told from none
SAID = "groups: a person counts in levels_per_group_ levels, as many as 95 % of the persons have"


def enough_levels(table, levels):
    """Release a number of levels that few persons have more of.

    Notes
    -----
    **Privacy** (add or remove one person): each count moves by one; which one is asked depends on
    the answers before.
    """
    if not levels:
        return 1
    persons = table.persons_by_levels(levels)
    told = persons.ask(PersonsWithMore(), LEVEL_COUNTS)
    few = max(FEW * float(told.value[0]), CLEAR * told.scale)
    low, high = 0, len(CAPS) - 1
    while low < high:
        middle = (low + high) // 2
        more = persons.ask(PersonsWithMore(CAPS[middle]), LEVEL_COUNTS)
        low, high = (low, middle) if more.value[0] <= few else (middle + 1, high)
    table.decide(SAID)
    return min(CAPS[low], len(levels))
