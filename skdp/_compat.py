"""Everything skdp takes from scikit-learn's underscore modules, in one place."""

import math
from fractions import Fraction

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, RealNotInt, StrOptions
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._set_output import _get_output_config as output_config
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition

try:  # scikit-learn >= 1.7
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock


class Interval(_Interval):
    """An interval of numbers, Fractions and those beyond the range of floats included."""

    def __contains__(self, value):
        if not isinstance(value, Fraction):
            return super().__contains__(value)
        try:
            return super().__contains__(float(value))
        except OverflowError:
            return super().__contains__(math.inf if value > 0 else -math.inf)


__all__ = [
    "BaseComposition",
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "VisualBlock",
    "fit_context",
    "output_config",
    "safe_indexing",
]
