"""What the checks share."""

import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.base import clone

from skdp.audit._observe import audited_clone, recorded_fit
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import (
    AuditFailure,
    LowAccuracyWarning,
    SeededNoiseWarning,
    WeakGuaranteeWarning,
)
from skdp.utils._private_state import Local


def require(condition, text):
    """Raise AuditFailure with ``text`` unless the condition holds."""
    if not condition:
        raise AuditFailure(text)


def small(data, n=60):
    """Return the first rows of a sample."""
    return data.take(np.arange(min(n, len(data))))


@contextmanager
def ignore_expected_warnings():
    """Ignore the warnings of a seed, and of small tables, which audits choose on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        warnings.simplefilter("ignore", LowAccuracyWarning)
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        yield


def fitted(estimator, data, **params):
    """Return a fit with seeded noise."""
    with ignore_expected_warnings():
        return data.fit(audited_clone(estimator, **params))


def secure(estimator, **params):
    """Return a clone without a seed."""
    return clone(estimator).set_params(random_state=None, **params)


def values(estimator, data, coins=None):
    """Return the exact values that meet noise in a fit with seeded noise."""
    records, _, error = recorded_fit(audited_clone(estimator), data, "noise", coins=coins)
    require(error is None, f"a fit failed with {type(error).__name__}.")
    return [(record.request, _in_order(record)) for record in records]


def of_whole_rows(found):
    """Return ``values`` without the number of rows with gaps that a count of rows tells as well."""
    return [
        (request, value[:1] if request[0].endswith("count") and request[2] == (2,) else value)
        for request, value in found
    ]


def _in_order(record):
    if record.owners is None:
        return record.value.tolist()
    return record.value[np.argsort(record.owners)].tolist()


def released(estimator):
    """Return the fitted attributes, a dict of those that ``get_params`` does not know.

    What is marked as local is left out: no pickle takes it along.
    """
    params = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in params and not isinstance(value, Local)
    }


def answers(estimator, data):
    """Tell whether an estimator takes a table of this width: one that refuses it, does so first."""
    _, curators, error = recorded_fit(audited_clone(estimator), small(data), "noise")
    return bool(curators) or not isinstance(error, (ValueError, TypeError))


def reads_numbers(estimator):
    """Tell whether an estimator reads its table itself, and no map of rows is before it.

    To a map, types and missing entries of any table mean what they mean to its function.
    """
    inner, steps = getattr(estimator, "estimator", None), getattr(estimator, "steps", None)
    if hasattr(inner, "get_params") and not isinstance(inner, type):
        return reads_numbers(inner)
    if not isinstance(steps, list):
        return isinstance(estimator, PrivateEstimator)
    return bool(steps) and reads_numbers(steps[0][1])


@contextmanager
def refusal(kinds, name, what, *, needed=True):
    """Expect an exception of one of these kinds; its text ends up in the list that is yielded."""
    texts = []
    try:
        yield texts
    except kinds as error:
        texts.append(f"{error} {error.__cause__ or ''} {error.__context__ or ''}")
        return
    require(not needed, f"{name} does not refuse {what}.")
