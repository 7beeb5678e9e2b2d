"""The side without rows: Tables and Parts whose public names are requests to a holder."""

import inspect
import json
from functools import cache, partial

from skdp.exceptions import BudgetExceeded, PlanError
from skdp.kernel._parts import Parts
from skdp.kernel._sampled import Sampled
from skdp.kernel._table import Table
from skdp.remote._wire import heard, sent

__all__ = ["CONSTANT", "Line", "Withheld", "handle", "is_same", "request", "view_of"]

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
