"""What a fitted estimator makes of rows that come in pieces: the same, piece by piece."""

import math
from functools import partial, wraps

from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.chunks._sources import source_of

__all__ = ["by_pieces", "mean_of_pieces", "source_for", "sum_of_pieces"]


def by_pieces(method):
    """Let a method of rows alone map each piece of a source when it is read.

    It returns what :meth:`skdp.chunks.Source.later` returns. Anything else is passed on.
    """

    @wraps(method)
    def mapped(self, X):
        source = source_for(self, X)
        return method(self, X) if source is None else source.later(_function(method, self))

    return mapped


def sum_of_pieces(method):
    """Let a method that returns a sum over rows add the sums of the pieces of a source."""
    return _reduced(method, lambda values: math.fsum(value for value, _ in values))


def mean_of_pieces(method):
    """Let a method that returns a mean over rows average the means of the pieces of a source."""

    def mean(values):
        n = sum(rows for _, rows in values)
        return math.fsum(value * rows for value, rows in values) / n if n else math.nan

    return _reduced(method, mean)


def _reduced(method, reduce):
    @wraps(method)
    def reduced(self, X, y=None):
        source = source_for(self, X)
        if source is None:
            return method(self, X, y)
        function = _function(method, self)
        return reduce(source.map_merge(partial(_value, function), list.__add__) or [])

    return reduced


def _value(function, start, block):
    return [(float(function(block)), len(block))]


def source_for(estimator, X):
    """Return the Source of X, after its columns have been compared with those of the fit.

    None for one array or frame in memory, which is mapped as a whole.
    """
    source = source_of(X)
    if source is not None and source.random_access:
        return None
    if source is not None:
        check_is_fitted(estimator)
        validate_data(estimator, source.head(), reset=False, skip_check_array=True)
    return source


def _function(method, estimator):
    """Return a method as a function of arrays, which takes no ledger and no random words along."""
    fitted = object.__new__(type(estimator))
    left = {"feature_names_in_", "ledger", "random_state"}
    kept = {name: value for name, value in vars(estimator).items() if name not in left}
    fitted.__dict__ |= {**kept, "ledger": None, "random_state": None}
    return partial(method, fitted)
