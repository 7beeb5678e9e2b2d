"""What a fit doubts and what a budget is too weak for: functions of releases and parameters."""

import re
import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

import numpy as np

from skdp.exceptions import LowAccuracyWarning, WeakGuaranteeWarning

BETWEEN = ("skdp", "sklearn", "joblib")  # the line of a user and a fit
TOLD = set()  # of fits within scikit-learn's: class, text, file and line
FOLDS = {
    ("sklearn.model_selection._validation", do)
    for do in ("_fit_and_predict", "_fit_and_score", "_permutation_test_score")
}
AROUND = re.compile(  # modules of estimators of scikit-learn that fit others
    r"sklearn\.(calibration|compose\._target|ensemble|feature_selection|impute\._iterative|"
    r"linear_model\._ransac|model_selection\._classification_threshold|multiclass|multioutput|"
    r"pipeline|semi_supervised)\b"
)
MOST_EPSILON, MOST_DELTA = 20, Fraction(1, 100)  # of a guarantee that is worth its name
LOW_ACCURACY = "low accuracy: "  # begins a doubt in a report
MOST_NAMED = 10  # columns, steps or groups in a line, lines in a warning


_untold = ContextVar("untold", default=False)


class Doubt(str):
    """A line of a report that says what has low accuracy, why, and what helps."""

    __slots__ = ("mask", "path", "said")

    def __new__(cls, said, mask=None, path=()):
        """Return the text of the doubt, which knows its parts."""
        self = super().__new__(cls, LOW_ACCURACY + ": ".join([*path, said]))
        self.said, self.mask, self.path = said, mask, path
        return self

    def __getnewargs__(self):
        return self.said, self.mask, self.path

    def within(self, place):
        """Return the same doubt, of a step or group of a larger fit, or of a nameless part."""
        return self if place is None else Doubt(self.said, self.mask, (place, *self.path))


def named(columns, names=None):
    """Return the words for some columns, "" for one that has no name and no other beside it."""
    if names is None and len(columns) > 1 and np.all(columns):
        return "every column"
    if names is None and len(columns) == 1:
        return ""
    names = [str(j) if names is None else str(names[j]) for j in np.flatnonzero(columns)]
    return f"column{'s' if len(names) > 1 else ''} {_listed(names)}"


def accuracy_warnings(report):
    """Return what a report says has low accuracy, every text once, those of several parts as one.

    Parts are steps of a pipeline, or groups.
    """
    told = {}
    for doubt in report.decisions:
        if isinstance(doubt, Doubt):
            inner = ": ".join([*doubt.path[1:], doubt.said])
            told.setdefault((inner, not doubt.path), {}).update(dict.fromkeys(doubt.path[:1]))
    return tuple(
        f"{_listed([*parts])}: {text}" if parts else text for (text, _), parts in told.items()
    )


def caps_of(report):
    """Return how much of persons counts in the fits of a report, as texts: ``name = number``."""
    told = [text for text in report.decisions if not isinstance(text, Doubt)]
    found = {match for text in told for match in re.findall(r"\((rows_per_group_ = \d+)\)", text)}
    return sorted(found, key=lambda text: int(text.rpartition(" ")[2]))


def _listed(names):
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def warn_weak_claim(estimator, budget, doubts_around):
    """Warn of a budget that promises little; of parameters, and estimators around it, alone.

    ``doubts_around`` returns what an estimator of scikit-learn that fits this one does to it.
    """
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
        warnings.warn(told, WeakGuaranteeWarning, stacklevel=stack_level())
    name = type(estimator).__name__
    outer, folds = _around(estimator)
    if estimator.ledger is None and folds:
        _warn_of_line(
            name,
            "scikit-learn fits it for each fold and candidate, and each fit costs its epsilon "
            "again. Nothing protects the scores. Use PrivateSearchCV or "
            "metrics.private_cross_val_score; or pass a ledger, and show no scores.",
        )
    for one in outer:
        for text in doubts_around(one, estimator.ledger):
            _warn_of_line(name, text)


def _warn_of_line(name, text):
    """Warn of the fits of one line together, once: a search would say it for each."""
    level = stack_level()
    frame = sys._getframe(level - 1)
    line = name, text, frame.f_code.co_filename, frame.f_lineno
    if line not in TOLD:
        warnings.warn(f"{name} promises little: {text}", WeakGuaranteeWarning, stacklevel=level)
        TOLD.add(line)  # not where warnings are errors: each fit is refused there


def _around(estimator):
    """Return the estimators of scikit-learn that fit one now, and whether a search fits folds."""
    outer, folds, frame = {}, False, sys._getframe(1)
    while frame:
        module = frame.f_globals.get("__name__", "")
        folds |= (module, frame.f_code.co_name) in FOLDS
        one = frame.f_locals.get("self", estimator) if AROUND.match(module) else estimator
        if one is not estimator:
            outer[id(one)] = one
            folds &= hasattr(one, "steps")  # any other one cross-validates what it fits itself
        frame = frame.f_back
    return outer.values(), folds


def warn_low_accuracy(estimator):
    """Warn once of all that a fit doubts, after everything that is released has been set."""
    if not _untold.get():
        caps = ", ".join(caps_of(estimator.privacy_report_))
        name = f"{type(estimator).__name__}{f' ({caps})' if caps else ''}"
        warn_together(name, estimator._accuracy_warnings())


def warn_together(name, doubts):
    """Warn once of all doubts, if there are some."""
    if doubts:
        more = len(doubts) - MOST_NAMED
        rest = [f"and {more} more, see accuracy_warnings_"] if more > 0 else []
        told = "\n".join([f"Low accuracy of {name}:", *doubts[:MOST_NAMED], *rest])
        warnings.warn(told, LowAccuracyWarning, stacklevel=stack_level())


@contextmanager
def untold():
    """Warn of no doubt of the fits of this thread: who makes them tells these together."""
    token = _untold.set(True)
    try:
        yield
    finally:
        _untold.reset(token)


def stack_level():
    """Return the stack level of the line that called a fit, for the function that asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    return level
