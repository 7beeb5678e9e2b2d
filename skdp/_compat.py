"""Everything skdp takes from scikit-learn's underscore modules, in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition

try:  # scikit-learn >= 1.7
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

__all__ = [
    "BaseComposition",
    "HasMethods",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "VisualBlock",
    "fit_context",
    "safe_indexing",
]
