"""What crosses the wire: names and a digest of code, texts, errors, handles, HTTP requests."""

import hashlib
import inspect
import json
import re
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages

import numpy as np

import skdp
from skdp import kernel
from skdp.accounting import Budget, PrivacyReport, Step
from skdp.accounting._report import Charge
from skdp.denoising._base import Denoiser
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.kernel._parts import Parts
from skdp.kernel._plain import TYPES, refuse, registered
from skdp.kernel._sampled import Sampled
from skdp.kernel._statistic import RowMap, Shape
from skdp.kernel._table import Table
from skdp.kernel._totals import decoded, encoded
from skdp.marginals._levels import Bins
from skdp.readers._persons import NoisyUnitCount
from skdp.utils._warnings import Doubt

TEXTS = re.compile(r"[<>|](O|U\d{1,6})")  # types of arrays of text
PLAIN = str | int | float | bool | None
RECORDS = {cls.__name__: cls for cls in (Budget, Charge, NoisyUnitCount, PrivacyReport, Shape)}


def sent(x, number):
    """Return what JSON can hold of a value; ``number(thing)`` is that of a Table or of Parts."""
    if isinstance(x, Table | Parts):
        return number(x)
    if isinstance(x, Step):  # the holder has the plan: a label is enough, and a share
        return {"step": [x.label, sent(x.at_most, number)]}
    if isinstance(x, Doubt):
        return {"doubt": [x.said, encoded(x.mask), list(x.path)]}
    if type(x).__name__ in RECORDS and RECORDS[type(x).__name__] is type(x):
        values = x if isinstance(x, tuple) else [getattr(x, n) for n in x.__dataclass_fields__]
        return {"record": type(x).__name__, "values": [sent(v, number) for v in values]}
    if isinstance(x, Fraction):  # failure probabilities have thousands of digits
        return {"exact": [hex(x.numerator), hex(x.denominator)]}
    if isinstance(x, np.ndarray) and x.dtype.kind in "OU":  # names of columns, labels of classes
        return {"texts": [x.dtype.str, list(x.shape), [sent(one, None) for one in x.ravel()]]}
    if isinstance(x, list | tuple):
        return {"list": [sent(one, number) for one in x]}
    if isinstance(x, dict):
        return {"dict": [[sent(k, number), sent(v, number)] for k, v in x.items()]}
    return encoded(x)


def heard(x, thing):
    """Undo :func:`sent`; ``thing(request)`` is the Table or the Parts of a number."""
    if not isinstance(x, dict):
        return decoded(x)
    if "number" in x:
        return thing(x)
    if "step" in x:
        label, most = (heard(v, thing) for v in x["step"])
        return Step(label, at_most=most)
    if "doubt" in x:
        said, mask, path = x["doubt"]
        return Doubt(said, decoded(mask), tuple(path))
    if "record" in x:
        refuse(x["record"] not in RECORDS, "an unknown record")
        return RECORDS[x["record"]](*(heard(v, thing) for v in x["values"]))
    if "exact" in x:
        numerator, denominator = (int(digits, 16) for digits in x["exact"])
        refuse(denominator <= 0, "a fraction of nothing")
        return Fraction(numerator, denominator)
    if "texts" in x:
        dtype, shape, items = x["texts"]
        refuse(not TEXTS.fullmatch(str(dtype)), "an array of another type")
        items = [heard(one, thing) for one in items]
        refuse(not all(isinstance(one, PLAIN) for one in items), "an array of other things")
        told = np.empty(len(items), dtype=dtype)
        told[:] = items
        return told.reshape(shape).copy()
    if "list" in x:
        return tuple(heard(one, thing) for one in x["list"])
    if "dict" in x:
        return {heard(k, thing): heard(v, thing) for k, v in x["dict"]}
    return decoded(x)


# Of a view, as long as it is there; each is asked once.
CONSTANT = frozenset({"about", "budget", "grouped", "heads", "n", "n_features", "q"})
WITHHELD = "the rows could not be asked this; the holder says no more, as it could tell of rows"
KINDS = {kind.__name__: kind for kind in (ValueError, TypeError, PlanError, BudgetExceeded)}


class Withheld(RuntimeError):
    """What failed at rows: the holder says no more."""


class NeedsRows(PlanError, AttributeError):
    """An engine asks for rows that are elsewhere."""


class Line:
    """Requests about one fit, one at a time; a subclass writes ``raw(line)``, the answer to it."""

    last = -1  # number of views
    without_rows = AttributeError("rows are elsewhere", name="_rows")  # to who asks for them

    def __call__(self, to, do, *args, **named):
        """Return the answer to a request, or raise what it refuses."""
        return self.told(json.loads(self.raw(json.dumps(request(to, do, *args, **named)))))

    def remaining(self, table):
        """Return what is left of the budget of a Table."""
        return self(table, "remaining")

    def told(self, answer):
        """Return what an answer says, or raise it."""
        if "no" in answer:
            raise KINDS.get(answer["no"]["kind"], Withheld)(answer["no"].get("text", WITHHELD))
        return heard(answer["ok"], self._handle)

    def _handle(self, told):
        self.last = max(self.last, told["number"])
        return handle(self, told)


def request(to, do, *args, **named):
    """Return what is sent about a thing, which a handle or a number stands for."""
    args, named = sent(args, _number), sent(named, _number)
    return {"to": getattr(to, "_number", to), "do": do, "args": args, "named": named}


def _number(thing):
    return {"number": thing._number}


def handle(line, told):
    """Return the handle of a Table or of Parts that a holder has."""
    classes = {cls.__name__: cls for cls in (*_derived(Table), *_derived(Parts))}
    has = {name: heard(value, None) for name, value in told.get("has", {}).items()}
    return _handles(classes[told["class"]])(line, told["number"], told.get("purse"), has)


def view_of(table, do):
    """Return the handle of the view that a holder will make of a Table, if a request makes one."""
    makes = ("scaled", "fewer") if isinstance(table, Sampled) else ("map", "sample")
    if do not in makes:
        return None
    line, cls = table._line, _handles(Sampled) if do == "sample" else type(table)
    line.last += 1
    same = {"budget", "n", "n_features", "q"} if do == "scaled" else {"budget"}
    has = {name: value for name, value in table._told.items() if name in same}
    return cls(line, line.last, table._purse, has)


def is_same(one, other):
    """Return whether two handles are of one view."""
    return (type(one), one._number) == (type(other), other._number)


def _derived(cls):
    remote = hasattr(cls, "_is_handle")
    return [] if remote else [cls, *(c for sub in cls.__subclasses__() for c in _derived(sub))]


@cache
def _handles(cls):
    """Return a subclass of Table or Parts whose public names are requests; it has no rows."""

    def __init__(self, line, number, purse, has):
        self._line, self._number, self._purse, self._told = line, number, purse, has

    def rows(self):
        raise self._line.without_rows

    body = {
        "_rows": property(rows),
        "__slots__": ("_line", "_number", "_purse", "_told"),
        "__init__": __init__,
        "_is_handle": True,
    }
    for name in [*dir(cls), "close"]:
        if not name.startswith("_"):
            asked = inspect.isfunction(inspect.getattr_static(cls, name, _have))
            body[name] = _request(name) if asked else property(partial(_have, name))
    return type(f"Remote{cls.__name__}", (cls,), body)


def _have(name, self):
    if name == "remaining":
        return self._line.remaining(self)
    if name not in CONSTANT:
        return self._line(self, name)
    if name not in self._told:
        self._told[name] = self._line(self, name)
    return self._told[name]


def _request(name):
    def asks(self, *args, **named):
        told = self._line(self, name, *args, **named)
        same = isinstance(told, Table) and told._number == self._number
        return self if same else told

    return asks


@cache
def registry():
    """Return a digest of all statistics and views: names and fields of the kernel's classes."""
    load()
    own = [pair for pair in TYPES.items() if pair[1].__module__.startswith(kernel.__name__)]
    fields = sorted((name, *cls.__dataclass_fields__) for name, cls in own)
    return hashlib.sha256(json.dumps([skdp.__version__, fields]).encode()).hexdigest()[:16]


@cache
def load():
    """Import the kernel and all public names of skdp, which register what may cross."""
    for module in walk_packages(kernel.__path__, kernel.__name__ + "."):
        import_module(module.name)
    for name in skdp.__all__:
        getattr(skdp, name)


MOST_BESIDE = 2**16  # bytes of a message beside its body, but for the last piece


def bounded_http():
    """Return what reads HTTP, and the head of a message only as far as any of an analyst goes."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"  # which has a bound

    class Bounded(HttpToolsProtocol):
        beside = 0  # bytes since the last ones of a body

        def data_received(self, data):
            if self.beside > MOST_BESIDE:
                self.transport.abort()
            else:
                self.beside += len(data)
                super().data_received(data)

        def on_body(self, body):
            self.beside = 0
            super().on_body(body)

        def on_message_complete(self):
            self.beside = 0
            super().on_message_complete()

    return Bounded


async def parts_of(receive):
    """Yield the parts of a message; raise EOFError if it breaks off."""
    more = True
    while more:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise EOFError
        yield part.get("body", b"")
        more = part.get("more_body", False)


OF_ROWS = {  # where rows decide about themselves, or statistics are functions of many together
    *("FriendlyCoreFilter", "SensitivityPreprocessor", "GaussianMechanism", "LaplaceMechanism"),
    *("PrivateMinMax", "PrivateMinMaxScaler", "PrivateTrimmedMean"),
}
LONG = (
    "questions of {} on so many columns may be longer than the {} bytes that a request may have. "
    "Ask for less at once, or the holder for a larger [limits] body"
)
BESIDE = 2**14  # bytes of a request beside its arrays, and the numbers of its columns
HELD = {"random_state", "ledger", "n_jobs", "verbose", "callbacks"}  # decided by each side alone
ANNEX = (
    "{} needs the rows themselves, not answers about them, so it cannot fit a table of a holder. "
    "Ask the holder to run it"
)
FOREIGN = (
    "{} is no estimator of skdp with plain parameters: a holder knows those alone, and runs no "
    "function of an analyst"
)


@cache
def classes():  # imported late: skdp imports all of its rooms by name
    """Return the public estimators, and the denoisers of what they release, by name."""
    import skdp
    import skdp.metrics
    import skdp.stats

    rooms = [(room, name) for room in (skdp, skdp.metrics, skdp.stats) for name in room.__all__]
    found = {name: getattr(room, name) for room, name in rooms}
    return {name: cls for name, cls in found.items() if _is_private(cls)}


def _is_private(cls):
    return inspect.isclass(cls) and issubclass(cls, PrivateEstimator | Denoiser)


def as_json(x):
    """Return an estimator, or a parameter, as :func:`skdp.remote._wire.sent` can write it."""
    if isinstance(x, PrivateEstimator | Denoiser):
        name = type(x).__name__
        if classes().get(name) is not type(x):
            raise TypeError(FOREIGN.format(name))
        given, held = x.get_params(deep=False).items(), _held(type(x))
        return {"estimator": name, "with": {k: as_json(v) for k, v in given if k not in held}}
    if isinstance(x, list | tuple):
        return {"list" if isinstance(x, list) else "tuple": [as_json(one) for one in x]}
    if isinstance(x, dict):
        return {"dict": [(as_json(key), as_json(value)) for key, value in x.items()]}
    if isinstance(x, Bins):
        return {"bins": [[float(edge) for edge in x.edges], bool(x.missing)]}
    if callable(x) or (hasattr(x, "get_params") and not isinstance(x, RowMap)):
        raise TypeError(FOREIGN.format(getattr(x, "__name__", type(x).__name__)))
    if x is ... or isinstance(x, slice):
        return {"ellipsis": []} if x is ... else {"slice": [x.start, x.stop, x.step]}
    return {"value": x}


def estimator_of(told):
    """Return what :func:`as_json` has told of, with parameters that the holder decides unset."""
    refuse(not isinstance(told, dict) or not told, "no estimator")
    if "estimator" in told:
        cls = classes().get(told["estimator"])
        refuse(cls is None or set(told) != {"estimator", "with"}, "an unknown estimator")
        given = {name: estimator_of(value) for name, value in told["with"].items()}
        names = set(inspect.signature(cls).parameters) - _held(cls)
        refuse(not set(given) <= names, "an estimator with other parameters")
        return cls(**given)
    (kind, held), *more = told.items()
    refuse(bool(more), "no parameter")
    if kind == "dict":
        return {estimator_of(key): estimator_of(value) for key, value in held}
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(estimator_of(one) for one in held)
    if kind in ("ellipsis", "slice", "bins"):
        return {"ellipsis": lambda *_: ..., "slice": slice, "bins": Bins}[kind](*held)
    refuse(kind != "value", "no parameter")
    plain = isinstance(held, str | int | float | None) or hasattr(held, "dtype") or registered(held)
    refuse(not (plain or type(held).__name__ == "Fraction"), "no parameter")
    return held


def _held(cls):
    return HELD if issubclass(cls, PrivateEstimator) else set()  # a denoiser draws no noise


def refuse_annex(estimator):
    """Raise TypeError for an estimator, or a part of one, that needs the rows themselves."""
    for one in _parts_of(estimator):
        if _takes_rows(one):
            raise TypeError(ANNEX.format(f"{type(one).__name__}, with these parameters,"))
        for _, step in getattr(one, "steps", ())[:-1]:
            if isinstance(step, PrivateEstimator) and not _is_map(step):
                raise TypeError(ANNEX.format(f"{type(step).__name__} before another step"))


def refuse_long(estimator, n_columns, most):
    """Raise PlanError if a request may be longer than ``most`` bytes: by parameters alone."""
    for one in _parts_of(estimator):
        longest = one._longest(n_columns) if hasattr(one, "_longest") else 0
        if longest and longest * 4 / 3 + BESIDE > most:  # arrays are written in base 64
            raise PlanError(LONG.format(type(one).__name__, most))


def _parts_of(estimator):
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return [one for one in parts if isinstance(one, PrivateEstimator)]


def _takes_rows(one):
    """Return whether a fit asks for rows: by its class, or by parameters that name an annex."""
    by_class = len(inspect.signature(one._release).parameters) > 1 or type(one).__name__ in OF_ROWS
    chosen = getattr(one, "method", None) in ("friendly", "bounded")
    chosen = chosen or getattr(one, "sensitivity", None) is not None
    return by_class or chosen or getattr(one, "_needs_rows", False)


def _is_map(step):
    """Return whether what follows a step reads a view that plain data name, or released values."""
    return hasattr(step, "_row_map") or hasattr(step, "released_vector")
