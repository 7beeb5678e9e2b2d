"""A fit with a scripted Curator, and everything that anybody can see of it."""

import inspect
import io
import logging
import pickle
import re
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from skdp._private_part import Local
from skdp.audit._draw import Sample
from skdp.audit._fingerprint import fingerprint, kept_elsewhere, state
from skdp.audit._process import watched
from skdp.audit._transcript import CannedCurator
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import (
    AuditFailure,
    LowAccuracyWarning,
    SeededNoiseWarning,
    WeakGuaranteeWarning,
)
from skdp.gate._curator import replaced_curator
from skdp.utils._config import config_context
from skdp.utils._renamed import Renamed

UNASKED = ("fit", "partial_fit", "plan", "plot", "set_")  # methods that are no view of a fit
_ELEMENT_ID = re.compile(r"sk-[a-z-]*id-\d+")  # scikit-learn numbers the diagrams that it has drawn


def audited_clone(estimator, **params):
    """Return a clone that spends nothing: seeded, without ledger, with other ``params`` set.

    Notes
    -----
    The seed makes public random choices repeat; the noise comes from the audit anyway.
    """
    twin = clone(estimator)
    for name in twin.get_params():
        last = name.rpartition("__")[2]
        if last in ("random_state", "ledger"):
            twin.set_params(**{name: 0 if last == "random_state" else None})
    return twin.set_params(**params)


def recorded_fit(estimator, data, transcript, *, seed=0, coins=None, entropy=None, doubts="ignore"):
    """Fit ``estimator`` on a table or a Sample, with answers from ``transcript``.

    ``doubts`` is what is done about the warning of useless releases, of which audits make many.
    """
    records, curators = [], []

    def make(plan, system):
        source = system if entropy == "given" else entropy
        curators.append(
            CannedCurator(plan, transcript, seed=seed, coins=coins, records=records, entropy=source)
        )
        return curators[-1]

    error = None
    silent = config_context(progress=False)  # lines would tell the time
    with silent, replaced_curator(make), warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        warnings.simplefilter(doubts, LowAccuracyWarning)
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        try:
            Sample.of(data).fit(estimator) if isinstance(data, Sample) else estimator.fit(data)
        except Exception as caught:
            error = caught
    return records, curators, error


def observe(estimator, data, transcript, *, seed=0, public=None):
    """Fit ``estimator`` and return what can be seen: a dict of channel -> comparable value."""
    seen = {}
    with _captured_output(seen), watched(estimator, seen):
        records, curators, error = recorded_fit(
            estimator, data, transcript, seed=seed, doubts="always"
        )
    seen["exception"] = error and (type(error).__name__, str(error))
    seen["requests"] = [record.request for record in records]
    reports = [curator.close("audit") for curator in curators]
    seen["charges"] = [report.charges for report in reports]
    seen["decisions"] = [report.decisions for report in reports]
    for name, value in state(estimator).items():
        if not isinstance(value, Local):  # for the owner of the rows; no pickle takes it along
            seen[f"attribute {name}"] = fingerprint(value)
    with _captured_output({}), np.errstate(all="ignore"):
        seen["pickle"] = _attempt(pickle.dumps, estimator)
        seen["repr"] = _attempt(repr, estimator)
        for name in ("__str__", "__format__"):
            if getattr(type(estimator), name) is not getattr(object, name):
                seen[name] = _attempt(format, estimator), _attempt(str, estimator)
        seen["dir"] = _attempt(dir, estimator)
        seen["html"] = _attempt(_html, estimator)
        seen["tags"] = _attempt(lambda: fingerprint(get_tags(estimator)))
        for name, value in kept_elsewhere(estimator).items():
            seen[f"kept in {name}"] = value
        if public is not None and error is None:
            seen.update(_behaviour(estimator, public))
    return seen


def _behaviour(estimator, public):
    """Yield (channel, value) of properties, of methods of public rows and of none.

    What is local is taken away meanwhile: it may answer about the rows of its owner. With it, what
    is said of rows that the owner does not have stays the same.
    """
    others = public.having(1.37 * public.X + 0.123) if public.is_numeric else None
    own = vars(estimator)
    local = {name: own.pop(name) for name in list(own) if isinstance(own[name], Local)}
    for name in dir(type(estimator)):
        if name.startswith(("_", *UNASKED)):
            continue
        member = inspect.getattr_static(type(estimator), name)
        if isinstance(member, Renamed):
            continue
        if isinstance(member, property):
            value = _attempt(lambda name=name: fingerprint(getattr(estimator, name)))
            yield f"property {name}", value
        elif callable(member) or hasattr(member, "__get__"):
            yield f"method {name}", _attempt(_answer, estimator, name, public)
            yield f"method {name}, other options", _attempt(_answer, estimator, name, public, True)
            if local and others is not None and _asks_for_rows(estimator, name):
                own.update(local)
                yield f"method {name} of the owner", _attempt(_answer, estimator, name, others)
                for attribute in local:
                    del own[attribute]
    own.update(local)


def _asks_for_rows(estimator, name):
    with suppress(AttributeError, TypeError, ValueError):
        return "X" in inspect.signature(getattr(estimator, name)).parameters


def _answer(estimator, name, public, flipped=False):
    """Return the fingerprint of what a method says, with switches set as by default or flipped."""
    method = getattr(estimator, name)
    given = {"X": public.X, "y": public.y}
    arguments, switches = [], {}
    for parameter in inspect.signature(method).parameters.values() if callable(method) else ():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            if given.get(parameter.name) is None:
                return None
            arguments.append(given[parameter.name])
        elif isinstance(parameter.default, bool):
            switches[parameter.name] = not parameter.default
    if flipped and not switches:
        return None
    if not callable(method):
        return fingerprint(method)
    return fingerprint(method(*arguments, **(switches if flipped else {})))


def _attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__, str(error)


def _html(estimator):
    return _ELEMENT_ID.sub("", estimator._repr_html_())


@contextmanager
def _captured_output(seen):
    """Collect what is printed, warned and logged."""
    out, err, handler = io.StringIO(), io.StringIO(), _Collector()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(1)
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
    seen["stdout"], seen["stderr"], seen["log"] = out.getvalue(), err.getvalue(), handler.lines
    seen["warnings"] = [(item.category.__name__, str(item.message)) for item in w]


class _Collector(logging.Handler):
    def __init__(self):
        super().__init__(level=0)
        self.lines = []

    def emit(self, record):
        with suppress(Exception):
            self.lines.append((record.name, record.levelname, record.getMessage()))


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
