"""A fit with a scripted Curator, and everything that anybody can see of it."""

import io
import logging
import pickle
import re
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress

from sklearn.base import clone

from skdp._curator import replaced_curator
from skdp._local import Local
from skdp.audit._transcript import CannedCurator
from skdp.exceptions import SeededNoiseWarning

__all__ = ["audited_clone", "observe", "recorded_fit"]

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


def recorded_fit(estimator, X, transcript, *, seed=0, coins=None, entropy=None):
    """Fit ``estimator`` with answers from ``transcript``.

    Returns
    -------
    records : list of Record
        In the order of the releases.
    curators : list of CannedCurator
    error : Exception or None
        What the fit raised.
    """
    records, curators = [], []

    def make(plan, system):
        source = system if entropy == "given" else entropy
        curators.append(
            CannedCurator(plan, transcript, seed=seed, coins=coins, records=records, entropy=source)
        )
        return curators[-1]

    error = None
    with replaced_curator(make), warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        try:
            estimator.fit(X)
        except Exception as caught:
            error = caught
    return records, curators, error


def observe(estimator, X, transcript, *, seed=0):
    """Fit ``estimator`` and return what can be seen: a dict of channel -> comparable value."""
    seen = {}
    with _overheard(seen):
        records, curators, error = recorded_fit(estimator, X, transcript, seed=seed)
    seen["exception"] = error and (type(error).__name__, str(error))
    seen["requests"] = [record.request for record in records]
    reports = [curator.close("audit") for curator in curators]
    seen["charges"] = [report.charges for report in reports]
    seen["decisions"] = [report.decisions for report in reports]
    with _overheard({}):
        seen["pickle"] = _attempt(pickle.dumps, estimator)
        seen["repr"] = _attempt(repr, estimator)
        seen["html"] = _attempt(_html, estimator)
    for name, value in vars(estimator).items():
        if isinstance(value, Local):  # for the owner of the rows; no pickle takes it along
            continue
        seen[f"attribute {name}"] = _attempt(pickle.dumps, value)
    return seen


def _attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__, str(error)


def _html(estimator):
    return _ELEMENT_ID.sub("", estimator._repr_html_())


@contextmanager
def _overheard(seen):
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
