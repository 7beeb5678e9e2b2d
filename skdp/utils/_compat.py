"""Everything skdp takes from scikit-learn's underscore modules, in one place."""

import math
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._set_output import _get_output_config as output_config
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition

try:  # scikit-learn >= 1.7
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

try:  # scikit-learn >= 1.9, experimental there
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:
        """scikit-learn has no callbacks yet."""


TASKS = 100  # of a fit, for callbacks


class Interval(_Interval):
    """An interval of numbers, Fractions and those beyond the range of floats included."""

    def __contains__(self, value):
        if not isinstance(value, Fraction):
            return super().__contains__(value)
        try:
            return super().__contains__(float(value))
        except OverflowError:
            return super().__contains__(math.inf if value > 0 else -math.inf)


class NamesOnce:
    """Mixin that reads the names of the parameters of a class once, not for every clone."""

    @classmethod
    def _get_param_names(cls):
        return list(_names_of(cls))


@lru_cache(maxsize=512)
def _names_of(cls):
    return super(NamesOnce, cls)._get_param_names()


@contextmanager
def callbacks(estimator):
    """Yield a listener that tells the callbacks of an estimator of releases; None if it has none.

    The listener takes the label of a release and the share of the budget that is left. A task of
    the fit is a hundredth of the budget, so that a bar shows what is spent: how many releases there
    will be is not known before.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield None
        return
    fit, done = estimator._init_callback_context(max_subtasks=TASKS), 0
    fit.call_on_fit_task_begin(estimator=estimator)

    def released(label, left):
        nonlocal done
        while done < int(TASKS * (1 - left)):
            task = fit.subcontext(task_name=label).call_on_fit_task_begin(estimator=estimator)
            task.call_on_fit_task_end(estimator=estimator)
            done += 1

    yield released
    fit.call_on_fit_task_end(estimator=estimator)


__all__ = [
    "BaseComposition",
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "InvalidParameterError",
    "NamesOnce",
    "RealNotInt",
    "StrOptions",
    "VisualBlock",
    "callbacks",
    "fit_context",
    "output_config",
    "safe_indexing",
]
