"""What a fit doubts and what a budget is too weak for: functions of releases and parameters."""

import sys
import warnings
from fractions import Fraction

from skdp._curator import WORTH_LITTLE
from skdp.exceptions import UselessReleaseWarning, WeakGuaranteeWarning

__all__ = ["doubts_of", "users_level", "warn_of_doubts", "warn_of_weakness"]

BETWEEN = ("skdp", "sklearn", "joblib")  # the line of a user and a fit
MOST_EPSILON, MOST_DELTA = 20, Fraction(1, 100)  # of a guarantee that is worth its name


def doubts_of(report):
    """Return what a report says is worth little, every text once."""
    texts = (text for text in report.decisions if text.startswith(WORTH_LITTLE))
    return tuple(dict.fromkeys(text.removeprefix(WORTH_LITTLE) for text in texts))


def warn_of_weakness(estimator, budget):
    """Warn of a budget that promises little; of parameters alone."""
    weak = []
    if budget.epsilon > MOST_EPSILON:
        weak.append(
            f"epsilon={float(budget.epsilon):g} is above {MOST_EPSILON}: a row may make an outcome "
            "e^epsilon times as likely. Common are 0.1 to 10."
        )
    if budget.delta >= MOST_DELTA:
        weak.append(
            f"delta={float(budget.delta):g} is {float(MOST_DELTA):g} or more: so likely may a fit "
            "show a row as it is. Pass much less than one over the number of rows, say 1e-6."
        )
    if weak:
        told = "\n".join([f"{type(estimator).__name__} promises little:", *weak])
        warnings.warn(told, WeakGuaranteeWarning, stacklevel=users_level())


def warn_of_doubts(estimator):
    """Warn once of all that a fit doubts, after everything that is released has been set."""
    doubts = estimator._doubts()
    if doubts:
        first = f"{type(estimator).__name__} has released what is worth little:"
        told = "\n".join([first, *doubts])
        warnings.warn(told, UselessReleaseWarning, stacklevel=users_level())


def users_level():
    """Return the stack level of the line that called a fit, for the function that asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    return level
