"""A privacy report in one paragraph, for people who are no statisticians."""

import math
from collections import Counter

from skdp.utils._warnings import accuracy_warnings, caps_of

__all__ = ["best_guess", "condition", "report_summary"]

FIXED = " for fits whose number and budgets were fixed before the first result was seen"
IN_ANY_CASE = ", whatever the number and the budgets of its pure fits depended on"
CERTAIN = 0.99
FEW = 5  # rows of one person
WHO = {
    "row": {"whom": "is one row", "it": "that row was"},
    "group": {"whom": "owns rows", "it": "all these rows were"},
}
NOBODY = (
    "Nobody is protected: the noise of {name} was drawn from a seed, and whoever knows it can take "
    "it away. This is for tests and documentation; fit with random_state=None before anything is "
    "shown to others."
)
PROTECTED = (
    "Protected is everybody who {whom} of the table. Whoever sees all that {name} has "
    "released, and even knows all other rows, cannot be sure whether {it} there: the best "
    "guess is right at most {guess} of the time, where a coin is right 50 % of the time"
)
SEVERAL = "; about somebody who has {few} rows, at most {guess}"
CLAIM = ". This is the guarantee {guarantee}, and it lasts, whatever else becomes known."
USELESS = (
    "Nobody is protected well: with a guarantee as weak as {guarantee}, whoever sees all that "
    "{name} has released, and knows all other rows, may be nearly certain whether {it} there."
)
ALIKE = " The features of a row and its target are protected alike."
RELEASED = " Released was what {name} has found, made of {answers}: {labels}."
NOTHING = " Nothing about the table was released."
WITHHELD = (
    " Not released were the rows, which of them were there, how many exactly, and any other exact "
    "count or value. Not hidden is what holds for people in general, whether they were in the "
    "table or not, such as a mean."
)
COUNTED = " Of those who own rows each counts as {n} at most, however many they own."
DOUBT = " The accuracy is low here: {doubts}."


def report_summary(report):
    """Return one paragraph: who is protected, how well, what was released and what not."""
    name, budget = report.estimator, report.budget
    if report.seeded:
        return NOBODY.format(name=name)
    guarantee = f"(epsilon={float(budget.epsilon):.4g}, delta={float(budget.delta):.3g})"
    guarantee += condition(report)
    guess, several, who = best_guess(report), best_guess(report, FEW), WHO[report.privacy_unit]
    if guess >= CERTAIN:
        text = USELESS.format(name=name, guarantee=guarantee, it=who["it"])
    else:
        text = PROTECTED.format(name=name, guess=_percent(guess), **who)
        if several < CERTAIN and report.privacy_unit == "row":
            text += SEVERAL.format(few=FEW, guess=_percent(several))
        text += CLAIM.format(guarantee=guarantee)
    alike = "" if report.target is None else ALIKE
    return text + alike + _counted(report) + _released(report) + WITHHELD + _low_accuracy(report)


def condition(report):
    """Return what the claim of a sum of reports holds for, nothing for one fit."""
    if not report.fits:
        return ""
    pure = report.budget.measure == "pure" and report.budget.delta == 0
    return IN_ANY_CASE if pure else FIXED


def best_guess(report, group_size=1):
    """Return how often the best guess is right whether some rows were in a table, at most."""
    epsilon, delta = report.epsilon(group_size=group_size), float(report.budget.delta)
    if math.isfinite(epsilon):
        odds = math.exp(-epsilon)
        claim = min(1.0, (1 - odds + 2 * delta * odds) / (1 + odds))
    else:
        claim = 1.0
    return (1 + min(claim, report.delta(0.0, group_size=group_size))) / 2


def _percent(probability):
    """Return a probability in per cent, rounded up to one digit."""
    return f"{min(math.ceil(1000 * probability) / 10, 100):g} %"


def _released(report):
    if not report.charges:
        return NOTHING
    times = Counter(charge.label for charge in report.charges)
    labels = ", ".join(label if n == 1 else f"{label} ({n} times)" for label, n in times.items())
    n = len(report.charges)
    answers = "one answer with noise" if n == 1 else f"{n} answers with noise"
    return RELEASED.format(name=report.estimator, answers=answers, labels=labels)


def _counted(report):
    """Return how much somebody with many rows counts, where persons are protected."""
    caps = [int(text.rpartition(" ")[2]) for text in caps_of(report)]
    rows = " or ".join("one row" if cap == 1 else f"{cap} rows" for cap in caps)
    return COUNTED.format(n=rows) if caps else ""


def _low_accuracy(report):
    doubts = "; ".join(text.rstrip(".") for text in accuracy_warnings(report))
    return DOUBT.format(doubts=doubts) if doubts else ""
