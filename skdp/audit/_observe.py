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

from skdp.audit._fingerprint import fingerprint, kept_elsewhere, state
from skdp.audit._process import watched
from skdp.audit._samples import Sample
from skdp.audit._transcript import CannedCurator
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning, WeakGuaranteeWarning
from skdp.gate._curator import replaced_curator
from skdp.utils._config import config_context
from skdp.utils._private_state import Local
from skdp.utils._renamed import Renamed

__all__ = ["audited_clone", "observe", "recorded_fit"]

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
