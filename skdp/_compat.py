"""Everything skdp takes from scikit-learn's underscore modules, in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

__all__ = ["HasMethods", "Interval", "RealNotInt", "StrOptions", "fit_context", "safe_indexing"]
