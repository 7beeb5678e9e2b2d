"""Scores of predictions of a private target: log-loss and squared error with public clips."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.model_selection._scorers import RowScorer, ScaledScorer, by_row

__all__ = ["LogLossScorer", "SquaredErrorScorer", "with_public_scale"]


def _log_probability(model, x, y):
    (place,) = np.flatnonzero(model.classes_ == y)  # or ValueError: a class that it does not know
    return math.log(max(float(model.predict_proba(x)[0, place]), 1e-300))


@dataclass(frozen=True)
class LogLossScorer(RowScorer):
    """The mean log-probability of the true classes, minus the log-loss, each row at least -4.

    A :class:`RowScorer` whose ``function`` is the logarithm of what ``predict_proba`` gives the
    row's class, with ``high`` 0 and ``uses_target`` True. A class that the model does not know
    counts as ``low``.

    Parameters
    ----------
    low : float, default=-4.0
        Public clip: a row is never worth less. exp(-4) is about 2 %.

    See Also
    --------
    skdp.PrivateSearchCV, AccuracyScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp.model_selection import LogLossScorer
    >>> scorer = LogLossScorer()
    >>> scorer.low, scorer.high, scorer.uses_target
    (-4.0, 0.0, True)
    """

    function: Callable = _log_probability
    low: float = -4.0
    high: float = 0.0
    uses_target: bool = True


@dataclass(frozen=True)
class SquaredErrorScorer(ScaledScorer):
    """One minus the mean squared error of predictions, in units of ``scale``, each row up to 1.

    Parameters
    ----------
    scale : float, default=None
        Public error from which on a row counts as not predicted. By default the width of the
        estimator's ``target_range``; if it has none, the scale is found privately, once, before the
        runs: nine rows in ten are predicted better than that by a reference model, the first
        candidate.

    See Also
    --------
    skdp.PrivateSearchCV, RowScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp.model_selection import SquaredErrorScorer
    >>> SquaredErrorScorer().needs_reference, SquaredErrorScorer(scale=10.0).needs_reference
    (True, False)
    """

    uses_target = True

    def _errors(self, model, X, y):
        return by_row(partial(_error, model), X, y)


def with_public_scale(scorer, estimator):
    """Return the scorer, of squared errors with the scale that ``target_range`` implies."""
    last = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    ends = getattr(last, "target_range", None)
    if not isinstance(scorer, SquaredErrorScorer) or scorer.scale is not None or ends is None:
        return scorer
    low, high = (float(end) for end in ends)
    return SquaredErrorScorer(high - low)


def _error(model, x, y):
    return abs(float(model.predict(x)[0]) - float(y))
