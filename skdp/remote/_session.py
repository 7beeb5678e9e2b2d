"""One fit at the holder of rows: lines of JSON come in, lines with noisy answers go out."""

import inspect
import json
import math
import time
import traceback
from itertools import islice

from skdp.exceptions import BudgetExceeded, PlanError
from skdp.kernel._plain import TYPES, refuse
from skdp.kernel._table import Table
from skdp.remote._wire import heard, sent
from skdp.utils._config import get_config

MOST_LINE, MOST_VIEWS, MOST_TEXT, MOST_TOGETHER = 2**27, 10_000, 2000, 100
MOST_NOTED, MOST_ITEMS, MOST_WORD = 2000, 20, 40  # of a log: characters, of a list, of a text in it
TOLD = "about", "budget", "heads", "n", "n_features", "q"  # of a view at once: short, and they stay
PAIRS = {"HIndex", "SoftCore"}  # the number of friends of each row is counted in a time of its own
CLOCK = (
    "the time that statistics of pairs of rows, and searches, take tells of the rows. Ask the "
    "holder to set pace = 0.1, of searches search_pace, or choose a method without them"
)

MOST = "the most requests of one fit, which the holder sets, were asked"


class Session:
    """Answers requests about the rows of one fit: (number, what, arguments).

    A line holds one of them, or a list, which is answered by the list of answers, or by the first
    refusal alone; what comes after that is not done. ``done`` is how many were.

    Notes
    -----
    **Privacy**: what is answered is what a :class:`skdp.base.Table` answers. Nothing of an error
    leaves but a text that was made of public fields; any other failure has one constant text.

    Parameters
    ----------
    table : Table
    curator : Curator
    pace : float, default=0.0
        Seconds: an answer to a statistic of pairs leaves at a multiple of it. None refuses these.
    search_pace : float, default=None
        The answer of a search leaves after so many seconds, or twice as many, or four times: its
        time tells the number of its runs. None refuses searches.
    most_requests : int, default=None
        Number of lines that are answered.
    """

    def __init__(self, table, curator, *, pace=0.0, search_pace=None, most_requests=None):
        self.things, self.purses, self.curator = [table], [table._curator], curator
        self.pace, self.search_pace, self.left = pace, search_pace, most_requests
        self.done = 0

    def line(self, text, note=lambda requests: None):
        """Return the line that answers a line; ``note`` hears the requests that it has."""
        self.done = 0
        try:
            asked = json.loads(text)
            requests = asked if isinstance(asked, list) else [asked]
            note(requests)
            self._count(1)
            refuse(not 0 < len(requests) <= MOST_TOGETHER, "no request")
            refuse(not all(map(_is_request, requests)), "no request")
            self._count(len(requests) - 1)
            told = []
            for one in requests:
                told.append(self._paced(one))
                self.done += 1
            return f"[{', '.join(told)}]" if isinstance(asked, list) else told[0]
        except Exception as error:
            return json.dumps({"no": refusal(error)})

    def _paced(self, request):
        """Return the answer to one request as text, at its pace: others beside it move no limit."""
        began = time.monotonic()
        pace, search = 0.0, request["do"] == "search"
        if search or PAIRS & classes_in(request):
            pace = self.search_pace if search else self.pace
            if pace is None:
                raise PlanError(CLOCK)
        try:
            return json.dumps({"ok": sent(self.answer(**request), self.number)})
        finally:
            if pace:
                took = time.monotonic() - began
                most = pace * 2.0 ** max(0, math.ceil(math.log2(took / pace))) if search else pace
                time.sleep(-took % most)

    def _count(self, n):
        if self.left is not None and self.left < n:
            raise PlanError(MOST)
        self.left = None if self.left is None else self.left - n

    def answer(self, to, do, args, named):
        """Return what a thing has or answers under a public name."""
        if do == "bill":
            return self.curator._bill()
        thing = self.thing({"number": to})
        refuse(not isinstance(do, str) or do.startswith("_"), "an unknown request")
        args, named = heard(args, self.thing), heard(named, self.thing)
        if do in ("close", "close_fit", "doubt_fit"):  # of a view, or of the fit as a whole
            curator = thing._curator if do == "close" else self.curator
            refuse(named or not 1 <= len(args) <= 3 or type(args[0]) is not str, "other arguments")
            if do == "doubt_fit" and len(args) == 3:
                refuse(not all(isinstance(one, str) for one in args[2]), "other arguments")
                *args, curator.column_names = args
            return curator.doubt(*args) if do == "doubt_fit" else curator.close(args[0][:80])
        found = inspect.getattr_static(type(thing), do, None)
        if isinstance(found, property):
            return getattr(thing, do)
        refuse(not inspect.isfunction(found), "an unknown request")
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
        """Return what is told of a Table or of Parts: numbers, and the class."""
        at = next((i for i, one in enumerate(self.things) if one is thing), len(self.things))
        if at == len(self.things):
            refuse(at >= MOST_VIEWS, "too many views")
            self.things.append(thing)
        told = {"number": at, "class": type(thing).__name__}
        if isinstance(thing, Table):
            if not any(one is thing._curator for one in self.purses):
                self.purses.append(thing._curator)
            told["purse"] = [one is thing._curator for one in self.purses].index(True)
            told["has"] = {n: sent(getattr(thing, n), None) for n in TOLD if hasattr(thing, n)}
        return told

    def serve(self, stream):
        """Answer lines until there are no more, each by two: what it asks, what was done of it."""
        while line := stream.readline(MOST_LINE):
            whole, asked = line.endswith(b"\n"), []  # what comes after a part of a line is no line
            told = self.line(line if whole else b"", asked.extend)
            stream.write(f"{json.dumps(noted(asked, self.done))}\n{self.done} {told}\n".encode())
            stream.flush()
            if not whole:
                break


def _is_request(x):
    return isinstance(x, dict) and set(x) == {"to", "do", "args", "named"}


def refusal(error):
    """Return what is told of an error: kind and text if these are public, else one constant."""
    if get_config()["debug"]:
        traceback.print_exception(error)
    public = isinstance(error, PlanError | BudgetExceeded) or _refused(error)
    told = {"kind": type(error).__name__, "text": str(error)[:MOST_TEXT]}  # it may quote a request
    return told if public else {"kind": "Withheld"}


def _refused(error):
    """Return whether :func:`refuse` raised an error, whose texts are made of public fields."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return isinstance(error, ValueError) and trace.tb_frame.f_code is refuse.__code__


def noted(requests, done=0):
    """Return what a log keeps of requests: a text of each that was done, one of all others."""
    rest = requests[done:]
    told = "; ".join(_noted(one)[: MOST_NOTED // MOST_ITEMS] for one in rest[:MOST_ITEMS])
    told = f"{len(rest)} requests: {told}" if len(rest) > 1 else "".join(map(_noted, rest))
    return [*map(_noted, requests[:done]), *[told] * bool(rest)]


def _noted(one):
    if not _is_request(one):
        return f"no request: {brief(one)}"
    do, to, *given = (brief(one[key]) for key in ("do", "to", "named", "args"))
    return " ".join([do.strip('"'), *sorted(classes_in(one)), "of", to, *given])[:MOST_NOTED]


def brief(x):
    """Return the start of JSON in which texts, lists and depth have a bound."""
    return json.dumps(_short(x))[:MOST_NOTED]


def _short(x, depth=10):
    """Return a part of JSON: the start of each text, and of each list."""
    if isinstance(x, str):
        return x if len(x) <= MOST_WORD else f"{x[:MOST_WORD]}..."
    if not isinstance(x, list | dict):
        return x
    if depth == 0:
        return "..."
    more = len(x) > MOST_ITEMS
    if isinstance(x, list):
        return [*(_short(one, depth - 1) for one in x[:MOST_ITEMS]), *["..."] * more]
    told = {_short(key): _short(x[key], depth - 1) for key in islice(x, MOST_ITEMS)}
    return {**told, "...": len(x) - MOST_ITEMS} if more else told


def classes_in(request):
    """Return the names of the classes that a request names anywhere: as it is read, not written."""
    inner, names = [request], set()
    while inner:
        one = inner.pop()
        if isinstance(one, list):
            inner.extend(one)
        elif isinstance(one, dict):
            names |= {one["t"]} & TYPES.keys() if isinstance(one.get("t"), str) else set()
            inner.extend(one.values())
    return names
