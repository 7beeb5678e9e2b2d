"""Rows in another process: an engine holds a handle, a forked holder has rows and Curator.

Requests and answers are lines of JSON over a pair of sockets. What may cross is what the codec of
the kernel knows, numbers of Tables and Parts, budgets, and lines of a bill; never a pickle.
"""

import inspect
import json
import os
import socket
import traceback
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace

from skdp.accounting import Budget, PrivacyReport, Step
from skdp.accounting._report import Charge
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.kernel._codec import decoded, encoded
from skdp.kernel._parts import Parts
from skdp.kernel._statistic import Shape, refuse
from skdp.kernel._table import Table, replaced_table
from skdp.readers._persons import NoisyUnitCount
from skdp.utils._config import get_config
from skdp.utils._warnings import Doubt

__all__ = ["Holder", "Line", "elsewhere", "handle", "rows_elsewhere"]

WITHHELD = "the rows could not be asked this"
KINDS = {kind.__name__: kind for kind in (ValueError, TypeError, PlanError, BudgetExceeded)}
RECORDS = {cls.__name__: cls for cls in (Budget, Charge, NoisyUnitCount, PrivacyReport, Shape)}
MOST_LINE, MOST_THINGS = 2**27, 10_000


class Withheld(RuntimeError):
    """What failed at rows: the holder says no more."""


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
    if "list" in x:
        return tuple(heard(one, thing) for one in x["list"])
    if "dict" in x:
        return {heard(k, thing): heard(v, thing) for k, v in x["dict"]}
    return decoded(x)


# -- the process with the rows -----------------------------------------------------------------


class Holder:
    """Answers requests about the rows of one fit: (number, what, arguments)."""

    def __init__(self, table, curator):
        self.things, self.purses, self.curator = [table], [table._curator], curator

    def line(self, text):
        """Return the line that answers a line."""
        try:
            request = json.loads(text)
            refuse(not isinstance(request, dict), "no request")
            refuse(set(request) != {"to", "do", "args", "named"}, "no request")
            return json.dumps({"ok": sent(self.answer(**request), self.number)})
        except Exception as error:
            if get_config()["debug"]:
                traceback.print_exc()
            kind, told = type(error).__name__, _is_public(error)
            told = {"kind": kind, "text": str(error)} if told else {"kind": "Withheld"}
            return json.dumps({"no": told})

    def answer(self, to, do, args, named):
        """Return what a thing has or answers under a public name."""
        if do == "bill":
            return self.curator._bill()
        thing = self.thing({"number": to})
        refuse(not isinstance(do, str) or do.startswith("_"), "an unknown request")
        found = inspect.getattr_static(type(thing), do, None)
        if isinstance(found, property):
            return getattr(thing, do)
        refuse(not inspect.isfunction(found), "an unknown request")
        args, named = heard(args, self.thing), heard(named, self.thing)
        signature = inspect.signature(found)
        try:
            bound = signature.bind(thing, *args, **named)
        except TypeError:
            raise ValueError("other arguments") from None
        return found(*bound.args, **bound.kwargs)

    def thing(self, x):
        """Return the Table or the Parts of a number."""
        at = x["number"]
        refuse(type(at) is not int or not 0 <= at < len(self.things), "no such view")
        return self.things[at]

    def number(self, thing):
        """Return what is told of a Table or of Parts: numbers, and the Shape."""
        at = next((i for i, one in enumerate(self.things) if one is thing), len(self.things))
        if at == len(self.things):
            refuse(at >= MOST_THINGS, "too many views")
            self.things.append(thing)
        told = {"number": at, "class": type(thing).__name__}
        if isinstance(thing, Table):
            if not any(one is thing._curator for one in self.purses):
                self.purses.append(thing._curator)
            told["purse"] = [one is thing._curator for one in self.purses].index(True)
        return told

    def serve(self, pipe):
        """Answer lines until there are no more."""
        with pipe.makefile("rwb") as stream:
            while line := stream.readline(MOST_LINE):
                whole = line.endswith(b"\n")  # what comes after a part of a line is no line
                stream.write(self.line(line if whole else b"").encode() + b"\n")
                stream.flush()
                if not whole:
                    break


def _is_public(error):
    """Return whether a text was made of public fields alone."""
    if isinstance(error, PlanError | BudgetExceeded):
        return True
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return isinstance(error, ValueError) and trace.tb_frame.f_code is refuse.__code__


# -- the process with the engine ---------------------------------------------------------------


class Line:
    """Requests to a holder, one at a time."""

    def __init__(self, pipe, process):
        self._pipe, self._stream, self.process = pipe, pipe.makefile("rwb"), process
        self.requests, self.answers = [], []

    def __call__(self, to, do, *args, **named):
        """Return the answer to a request."""
        args, named = sent(args, _number), sent(named, _number)
        line = json.dumps({"to": to, "do": do, "args": args, "named": named})
        self.requests.append(line)
        self.answers.append(self.raw(line))
        return self.told(json.loads(self.answers[-1]))

    def raw(self, line):
        """Return the line that answers a line."""
        self._stream.write(line.encode() + b"\n")
        self._stream.flush()
        return self._stream.readline()

    def told(self, answer):
        """Return what an answer says, or raise it."""
        if "no" in answer:
            raise KINDS.get(answer["no"]["kind"], Withheld)(answer["no"].get("text", WITHHELD))
        return heard(answer["ok"], partial(handle, self))

    def close(self):
        """Let the holder go."""
        self._stream.close()
        self._pipe.close()
        os.waitpid(self.process, 0)


def _number(thing):
    return {"number": thing._number}


def handle(line, told):
    """Return the handle of a Table or of Parts that a holder has."""
    classes = {cls.__name__: cls for cls in (*_derived(Table), *_derived(Parts))}
    return _handles(classes[told["class"]])(line, told["number"], told.get("purse"))


def _derived(cls):
    remote = hasattr(cls, "_is_handle")
    return [] if remote else [cls, *(c for sub in cls.__subclasses__() for c in _derived(sub))]


@cache
def _handles(cls):
    """Return a subclass of Table or Parts whose public names are requests; it has no rows."""

    def __init__(self, line, number, purse):
        self._line, self._number, self._purse = line, number, purse

    body = {"__slots__": ("_line", "_number", "_purse"), "__init__": __init__, "_is_handle": True}
    for name in dir(cls):
        if not name.startswith("_"):
            asked = inspect.isfunction(inspect.getattr_static(cls, name))
            body[name] = _request(name) if asked else property(partial(_have, name))
    return type(f"Remote{cls.__name__}", (cls,), body)


def _have(name, self):
    return self._line(self._number, name)


def _request(name):
    def request(self, *args, **named):
        told = self._line(self._number, name, *args, **named)
        same = isinstance(told, Table) and told._number == self._number
        return self if same else told

    return request


def elsewhere(rows, curator, lines):
    """Fork a holder of rows and Curator; forget both here, and return the handle of the Table."""
    door = getattr(rows, "door", Table)
    here, there = socket.socketpair()
    process = os.fork()
    if process == 0:
        try:
            for pipe in (here, *(line._pipe for line in lines)):
                pipe.close()
            whole = curator
            while whole is not None:  # of this copy alone: the other has no words to draw
                whole._process, whole = os.getpid(), getattr(whole, "_parent", None)
            with replaced_table(None):
                Holder(door(rows, curator), curator).serve(there)
        finally:
            os._exit(0)
    there.close()
    line = Line(here, process)
    lines.append(line)
    vars(rows).clear()
    curator.coins, curator._entropy = None, SimpleNamespace(seeded=curator._entropy.seeded)
    curator._write(partial(line, 0, "bill"))
    return handle(line, {"number": 0, "class": door.__name__, "purse": 0})


@contextmanager
def rows_elsewhere():
    """Let fits of this context have their rows in another process; yield the lines to holders."""
    lines = []
    try:
        with replaced_table(partial(elsewhere, lines=lines)):
            yield lines
    finally:
        for line in lines:
            line.close()
