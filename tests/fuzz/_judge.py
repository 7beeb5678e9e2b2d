"""What a chain must hold to, whatever it is: refused before the charge, or private."""

import io
import pickle
import re
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from skdp import config_context
from skdp._private_part import Local
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._transcript import FixedKeys, Script, moves
from skdp.exceptions import AuditFailure, ReleaseError, SeededNoiseWarning
from tests.fuzz import _functions
from tests.fuzz._tables import SIGNS, written

VIEWS = ("transform", "predict", "score_samples")
ADDRESS = re.compile(r" at 0x[0-9a-f]+|id-\d+")


@dataclass(frozen=True)
class Finding:
    """What is wrong with a chain: what kind of fault, and what was seen of it."""

    kind: str
    detail: str

    def __str__(self):
        return f"{self.kind}: {self.detail}"


@dataclass
class Fit:
    """One fit with a scripted Curator, and what can be seen of it."""

    estimator: object
    records: list
    charged: bool
    error: Exception | None
    written: bool
    seen: dict

    @property
    def refused(self):
        """Whether it was refused before the charge."""
        return self.error is not None and not self.charged

    @property
    def outcome(self):
        """What the caller is told of how it ended."""
        error = self.error
        return error and (type(error).__name__, ADDRESS.sub("", str(error)), self.charged)


def fitted(chain, X, keys, transcript):
    """Fit a fresh estimator of the chain on one table."""
    try:
        estimator = audited_clone(chain.estimator())
    except (ValueError, TypeError) as error:  # scikit-learn copies no class in the place of a step
        return Fit(None, [], False, error, False, {"warnings": [], "output": ()})
    before, seen = written(X), {}
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        records, curators, error = recorded_fit(
            estimator, X, transcript, seed=chain.seed, coins=FixedKeys(keys)
        )
    seen["output"] = out.getvalue(), err.getvalue()
    seen["warnings"] = [
        (item.category.__name__, str(item.message))
        for item in told
        if not issubclass(item.category, SeededNoiseWarning)
    ]
    fit = Fit(estimator, records, bool(curators), error, before != written(X), seen)
    if isinstance(error, ReleaseError):
        with config_context(debug=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = audited_clone(chain.estimator())
            seen["withheld"] = _described(
                recorded_fit(again, X, transcript, seed=chain.seed, coins=FixedKeys(keys))[2]
            )
    if error is None:
        reports = [curator.close("audit") for curator in curators]
        seen["charges"] = [report.charges for report in reports]
        seen["decisions"] = [report.decisions for report in reports]
    return fit


def look(fit, chain):
    """Add everything that can be seen of a fitted estimator."""
    estimator, seen = fit.estimator, fit.seen
    seen["repr"] = _attempt(repr, estimator)
    seen["pickle"] = _attempt(pickle.dumps, estimator)
    seen["tags"] = _attempt(lambda: repr(estimator.__sklearn_tags__()))
    for name, value in vars(estimator).items():
        if not isinstance(value, Local):
            seen[f"attribute {name}"] = _attempt(pickle.dumps, value)
    rows = chain.public_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in VIEWS:
            view = _attempt(lambda name=name: getattr(estimator, name)(rows))
            seen[name] = _attempt(pickle.dumps, view)


def _attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__, ADDRESS.sub("", str(error))


def examine(chain, outcomes=None):
    """Return what is wrong with a chain, a Finding, or None; tell how its fits ended."""
    told = [] if outcomes is None else outcomes
    with config_context(invalid_rows=chain.invalid_rows):
        first, finding = None, None
        for (X, keys), (Y, others) in chain.neighbours():
            if first is None or chain.larger_first:
                first = fitted(chain, X, keys, "noise")
                told.append(first.outcome)
                finding = alone(chain, first, chain.larger_first)
                if finding is not None:
                    return finding
            second = fitted(chain, Y, others, Script(first.records))
            told.append(second.outcome)
            finding = alone(chain, second, not chain.larger_first) or together(chain, first, second)
            if finding is not None:
                return finding
    if None in told and chain.must_be_refused():
        return Finding("is not refused", chain.code())
    return promise(chain) if None in told else None


def alone(chain, fit, larger):
    """Return what is wrong with one fit."""
    where = "the larger table" if larger else "the smaller table"
    if fit.written:
        return Finding("writes to the table", where)
    texts = [repr(fit.seen["warnings"]), repr(fit.seen["output"])]
    quoted = [sign for sign in SIGNS for text in texts if sign in text]
    if quoted:
        return Finding("shows an entry", f"on {where}: {texts}")
    if fit.error is None:
        return printed(chain, fit)
    told = f"{where}: {type(fit.error).__name__}: {str(fit.error)[:300]}"
    if fit.charged:
        return Finding("loses a charge", fit.seen.get("withheld", told))
    if not isinstance(fit.error, ValueError | TypeError):
        return Finding("refused by an accident", told)
    chain_of_errors, error = [], fit.error
    while error is not None and len(chain_of_errors) < 9:
        chain_of_errors.append(str(error))
        error = error.__cause__ or error.__context__
    for place, text in enumerate(chain_of_errors):
        if any(sign in text for sign in SIGNS):
            kind = "shows an entry" if place == 0 else "shows an entry in its context"
            return Finding(kind, f"{where}: {type(fit.error).__name__}: {text[:300]}")
    return None


def _described(error):
    """Return an exception that a caller does not see, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if "skdp" in f.filename]
    return f"{type(error).__name__}: {str(error)[:150]} at {' '.join(places[-2:])}"


def promise(chain):
    """Return that the plan does not list what it takes on the user's word."""
    hostile = set(_functions.MIXING) & chain.functions()
    on_word = any("vectorized=True" in str(step) for step in chain.steps) and hostile
    if on_word and not promised(chain):
        return Finding("takes a promise that the plan does not list", chain.code())
    return None


def promised(chain):
    """Return whether the plan lists functions that are called for all rows on the user's word."""
    assumptions = chain.estimator().plan().assumptions
    return any("vectorized" in text for text in assumptions)


def printed(chain, fit):
    """Return that a search prints, which tells the number of its runs."""
    if "Search" in chain.around and any(fit.seen["output"]):
        return Finding("a search prints", repr(fit.seen["output"])[:200])
    return None


def together(chain, first, second):
    """Return how two neighbours differ, given the same answers."""
    if first.error is not None or second.error is not None:
        if chain.invalid_rows == "ignore" and first.outcome != second.outcome:
            return Finding("one row decides on a refusal", f"{first.outcome}, {second.outcome}")
        return None
    if unprotected(chain):
        return None
    try:
        for label, moved, allowed in moves(first.records, second.records):
            if moved > allowed:
                ratio = "inf" if not allowed else f"{float(moved / allowed) ** 0.5:.4g} times"
                return Finding("moves too far", f"{label!r} by {ratio} its sensitivity")
    except AuditFailure as failure:
        return Finding("asks other questions", str(failure))
    for fit in (first, second):
        look(fit, chain)
    channels = [c for c in first.seen | second.seen if first.seen.get(c) != second.seen.get(c)]
    if channels:
        shown = [str(fit.seen.get(channels[0]))[:150] for fit in (first, second)]
        return Finding("shows more than the answers", f"{channels}: {shown}")
    return None


def unprotected(chain):
    """Return whether the user has promised what makes the chain private, and the plan says so.

    A function with a memory is beyond every library: the user guide says so. A mixing function that
    is called for all rows at once is the user's word, which the plan must list.
    """
    functions = chain.functions()
    if _functions.Counter in functions:
        return True
    word = any("vectorized=True" in str(step) for step in chain.steps)
    return bool(word and promised(chain))
