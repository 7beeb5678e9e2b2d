"""An analyst's side: tables of a holder, which estimators fit like any other table."""

import json
import math
import socket
import ssl
import time
from contextlib import contextmanager
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit

from skdp.accounting import PrivacyLedger
from skdp.remote._wire import (
    ANNEX,
    CONSTANT,
    Line,
    NeedsRows,
    Withheld,
    as_json,
    is_same,
    refuse_annex,
    registry,
    request,
    sent,
    view_of,
)

# Answered by None: they wait for the next request, as a view does, whose number is known.
NOTES = {"decide", "doubt", "doubt_fit"}
SPENDS = {"ask", "ask_all", "child", "choose", "names"}
SPENDS_NOT = {*CONSTANT, *NOTES, "fails", "fewer", "map", "remaining", "sample", "scaled"}
MOST_WAITING, LONG = 50, 2**12  # of requests that a holder answers together; characters of a note
KEPT = 30.0  # seconds for which an idle connection is used again; the holder keeps it for more
ARRAY = "{0} is a column of the remote table. Pass its name, for instance {0}='{1}'"
OTHER_VIEW = "the holder has numbered a view otherwise: fit again"
PERSONS = "the holder decides whose rows are protected together. Fit without groups"


def connect(url, *, token, timeout=600.0, cafile=None):
    """Return the tables of a holder by name.

    Parameters
    ----------
    url : str
        ``http://127.0.0.1:8765``, an ``https`` address, or ``unix:/path/of/socket``.
    token : str
        Of the analyst, from the holder.
    timeout : float, default=600.0
        Seconds to wait for an answer.
    cafile : str, default=None
        PEM file of the certificates to trust for ``https``; by default those of the system.

    Returns
    -------
    tables : dict of str to RemoteTable

    Raises
    ------
    ConnectionError
        If nobody answers there, or the token is unknown.
    RuntimeError
        If the holder runs another version of skdp.

    See Also
    --------
    RemoteTable, serve

    Notes
    -----
    **Privacy**: see :class:`RemoteTable`.

    Examples
    --------
    >>> import skdp.remote
    >>> tables = skdp.remote.connect("http://127.0.0.1:8765", token="...")  # doctest: +SKIP
    >>> skdp.PrivateMean(epsilon=0.1).fit(tables["visits"])  # doctest: +SKIP
    """
    holder = _Holder(url, token, timeout, cafile)
    told = holder.request("GET", "/tables")
    if told["registry"] != registry():
        raise RuntimeError(
            "the holder runs another version of skdp, whose questions differ. Install the same "
            "version on both sides."
        )
    return {name: RemoteTable(holder, name, about) for name, about in told["tables"].items()}


class RemoteTable:
    """A table of a holder: names, types and bounds of columns are here, rows and their number not.

    ``fit`` of an estimator takes it in place of a table; ``y`` is the name of a column then.

    Parameters
    ----------
    holder : object
        The connection that :func:`connect` makes.
    name : str
    about : dict
        What is public of the table.
    columns : list of str, default=None
        Some of the columns; None: all.

    Attributes
    ----------
    columns : list of str
    dtypes : dict of str to str
    public : dict
        What the holder tells of columns, for instance bounds and levels.
    privacy_unit : {"row", "group"}
        Whether one row or one person, with all rows, is protected.

    See Also
    --------
    connect

    Notes
    -----
    **Privacy**: nothing but answers of the kernel to registered statistics comes here, after the
    holder has charged for the whole plan. See user guide "Remote tables".

    Examples
    --------
    >>> import skdp.remote
    >>> tables = skdp.remote.connect("http://127.0.0.1:8765", token="...")  # doctest: +SKIP
    >>> tables["visits"][["age", "cost"]].columns  # doctest: +SKIP
    ['age', 'cost']
    """

    def __init__(self, holder, name, about, columns=None):
        self._holder, self._about, self._some = holder, about, columns
        self.name, self.public, self.privacy_unit = name, about["public"], about["privacy_unit"]

    @property
    def columns(self):
        """Names of the columns: list of str."""
        return list(self._about["columns"]) if self._some is None else list(self._some)

    @property
    def dtypes(self):
        """Types of the columns by name: dict of str to str."""
        return {name: self._about["columns"][name] for name in self.columns}

    @property
    def remaining(self):
        """What is left of the analyst's budget for this table: (epsilon, delta)."""
        told = self._holder.request("GET", "/tables")["tables"][self.name]
        return told["epsilon"], told["delta"]

    def __getitem__(self, columns):
        names = [columns] if isinstance(columns, str) else list(columns)
        if unknown := [name for name in names if name not in self.columns]:
            raise KeyError(f"no column {unknown[0]!r}. There are {self.columns}.")
        return RemoteTable(self._holder, self.name, self._about, names)

    def __repr__(self):
        return f"<RemoteTable {self.name!r}: columns {self.columns}, protects {self.privacy_unit}s>"

    def __skdp_ledger__(self):
        """Return a ledger of the capacity of the holder's: budgets are admitted as there."""
        return _ledger_of(*self._about["capacity"], self.privacy_unit)

    @contextmanager
    def __skdp_opened__(self, estimator, y, groups, sample_weight=None):
        """Open a fit, which the holder charges; give its Table, what is public, its books."""
        _check(estimator, y, groups, sample_weight)
        seed = {} if estimator.random_state is None else {"seed": estimator.random_state}
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        request = {
            "table": self.name,
            "estimator": sent(as_json(estimator), None),
            "y": y,
            "columns": self._some,
            "registry": registry(),
            **seed,
            **weights,
        }
        line = _HttpLine(self._holder)
        told = line.opened(request)
        try:
            yield told["table"], told["told"], _Books(line)
        finally:
            line.close()


@cache
def _ledger_of(epsilon, delta, unit):
    """Return a ledger that only admits, of a capacity: one file serves all fits."""
    return PrivacyLedger(epsilon, delta, unit=unit)


def _check(estimator, y, groups, sample_weight):
    refuse_annex(estimator)
    if groups is not None:
        raise TypeError(PERSONS)
    if y is not None and not isinstance(y, str):
        raise TypeError(ARRAY.format("y", "income"))
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TypeError(ARRAY.format("sample_weight", "weight"))


class _Books:
    """What a fit notes when it is done: its doubts about numbers, and the report."""

    def __init__(self, line):
        self._line, self._report = line, None
        self.column_names = None  # that doubts are told by; by default those of the table

    def doubt(self, text, columns=None):
        """Note a doubt."""
        self._report = None
        names = () if self.column_names is None else (self.column_names,)
        self._line(0, "doubt_fit", text, columns, *names)

    def close(self, estimator):
        """Return the report; that of before, if nothing was noted since."""
        if self._report is None:
            self._report = self._line(0, "close_fit", estimator)
        return self._report


class _HttpLine(Line):
    """Requests about one fit, over HTTP: as few messages as there are answers to wait for.

    What is left of a budget is told with what has spent of it, and known until something else may.
    """

    without_rows = NeedsRows(ANNEX.format("this estimator, with these parameters,"))

    def __init__(self, holder):
        self._holder, self._fit = holder, None
        self._waiting, self._left = [], {}  # requests; what is left, by the number of a purse
        self._views = {}  # that requests which wait will make, by their places

    def __call__(self, to, do, *args, **named):
        """Return the answer to a request, or raise what it, or one that has waited, refuses."""
        self._waiting.append(json.dumps(request(to, do, *args, **named)))
        short = len(self._waiting) < MOST_WAITING and len(self._waiting[-1]) < LONG
        if do in NOTES and short:
            return None
        if short and (view := view_of(to, do)) is not None:
            self._views[len(self._waiting) - 1] = view
            return view
        together, self._waiting = self._waiting, []
        views, self._views = self._views, {}
        place, spends = len(together) - 1, do in SPENDS and to._purse is not None
        if spends:
            together.append(json.dumps(request(to, "remaining")))
        if do not in SPENDS_NOT:
            self._left = {}
        told = self._answers(together, views)
        if spends:
            self._left[to._purse] = told[-1]
        return told[place]

    def _answers(self, together, views):
        """Return the answers to requests; the views that these make know what is told of them."""
        try:
            answers = json.loads(self.raw(f"[{', '.join(together)}]"))
            told = [self.told(one) for one in (answers if isinstance(answers, list) else [answers])]
            if not all(is_same(told[at], view) for at, view in views.items()):
                raise Withheld(OTHER_VIEW)
        except Exception:
            for view in views.values():
                view._number = None  # nobody has told which of them there are
            raise
        for at, view in views.items():
            view._told |= told[at]._told
        return told

    def remaining(self, table):
        """Return what is left of the budget of a Table, if it was not told already."""
        if table._purse not in self._left:
            self._left[table._purse] = self(table, "remaining")
        return self._left[table._purse]

    def opened(self, request):
        """Return what the holder tells of a new fit."""
        answer = self._holder.request("POST", "/fits", json.dumps(request))
        self._fit = answer.get("fit")
        told = self.told(answer)
        self._left[told["table"]._purse] = told["left"]
        return told

    def raw(self, line):
        """Return the answer to a line."""
        return self._holder.raw("POST", f"/fits/{quote(self._fit)}", line)

    def close(self):
        """End the fit at the holder."""
        self._waiting, self._views = [], {}
        if self._fit is not None:
            self._holder.request("DELETE", f"/fits/{quote(self._fit)}")


class _Holder:
    """One connection that is kept open; a fit asks one thing at a time."""

    def __init__(self, url, token, timeout, cafile=None):
        self._url, self._token, self._timeout, self._cafile = url, token, timeout, cafile
        self._open, self._asked = None, -math.inf

    def __repr__(self):
        return f"<holder at {self._url}>"

    def close(self):
        """Close the connection, if one is open."""
        if self._open is not None:
            self._open.close()

    __del__ = close

    def request(self, method, path, body=None):
        """Return the JSON that answers a request."""
        return json.loads(self.raw(method, path, body))

    def raw(self, method, path, body=None):
        """Return the bytes that answer a request."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            if time.monotonic() - self._asked > KEPT:  # the holder may have closed it
                self.close()
                self._open = self._connection()
            answer = self._answer_to(method, path, body, headers)
            told, self._asked = answer.read(), time.monotonic()
        except (OSError, HTTPException) as error:
            self._asked = -math.inf
            raise ConnectionError(f"no answer from {self._url}: is the holder up?") from error
        if answer.status == 401:
            raise ConnectionError(f"{self._url} does not know this token. Ask the holder for one.")
        if answer.status != 200:
            raise Withheld(f"{self._url} refused the request with status {answer.status}")
        return told

    def _answer_to(self, *request):
        """Return the answer to a request, sent at once: two pieces would wake the holder twice."""
        pieces = []
        self._open.send = pieces.append
        self._open.request(*request)
        del self._open.send
        self._open.send(b"".join(pieces))
        return self._open.getresponse()

    def _connection(self):
        parts = urlsplit(self._url)
        if parts.scheme == "unix":
            return _UnixConnection(parts.path, self._timeout)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(
                f"{self._url!r} is no address. Pass for instance 'http://127.0.0.1:8765'."
            )
        if parts.scheme == "http":
            return HTTPConnection(parts.netloc, timeout=self._timeout)
        context = ssl.create_default_context(cafile=self._cafile)
        return HTTPSConnection(parts.netloc, timeout=self._timeout, context=context)


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        """Connect to the path."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
