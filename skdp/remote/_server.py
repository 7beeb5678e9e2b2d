"""The holder's door: HTTP on this machine, or behind a reverse proxy."""

import json
import logging
import math
import secrets
import socket
import threading
import time
from asyncio import get_running_loop
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import skdp
from skdp.remote._session import MOST_LINE, brief, noted
from skdp.remote._wire import bounded_http, load, parts_of, registry
from skdp.remote._workers import Workers

LOG = logging.getLogger("skdp.remote")
EXTRA = "the server of skdp.remote needs uvicorn: pip install 'skdp[serve]'"
MOST_OPENING = 2**20  # bytes of a request for a fit: this process reads it as JSON
MOST_LOGGED = 2000  # characters of what is logged
MOST_HEAD = 200  # of a message that is not read
POLL = 0.05  # seconds
MORE_AT_ONCE = 4  # requests of one analyst at a time, beside one for each open fit


def _no(text, kind="ValueError"):
    return json.dumps({"no": {"kind": kind, "text": text}}).encode()


OPENS, MAY = {"table", "estimator", "y", "columns", "registry"}, {"seed", "sample_weight"}
FAILED = json.dumps({"no": {"kind": "Withheld"}}).encode()
STOPPING = _no("the holder is about to stop. Nothing was charged", kind="PlanError")
MANY = _no("too many open fits of this analyst; wait until one of them has ended")
NO_FIT, NO_TABLE = _no("no request for a fit"), _no("no such table")
OTHER_VERSION = _no(f"this holder runs another version of skdp ({skdp.__version__})")
NO_SUCH = _no("no such fit, or one that has ended", kind="PlanError")
BUSY = _no("this fit is being asked something already; wait for the answer")


class Door:
    """What a request may do, apart from HTTP.

    Parameters
    ----------
    holdings : Holdings
    """

    def __init__(self, holdings):
        load()
        self.holdings, self.workers = holdings, Workers(holdings)
        self._fits, self._lock, self.stops = {}, threading.Lock(), 0
        self._numbers = count(1)  # of fits, in the log

    def tables(self, analyst, _=b""):
        """Return what is public of the tables of an analyst, and what is left of the budget."""
        _note(analyst, "tables", None, "", "answered")
        told = {}
        for name, ledger in self.holdings.of_analyst(analyst).items():
            table, left = self.holdings.tables[name], ledger.remaining()
            admits = self.holdings.admitting(analyst, name)
            told[name] = {
                "columns": table.columns,
                "privacy_unit": table.unit,
                "public": table.public,
                "epsilon": left.epsilon,
                "delta": left.delta,
                "capacity": [admits.epsilon, admits.delta],
            }
        return json.dumps({"registry": registry(), "tables": told}).encode()

    def open(self, analyst, body):
        """Return the answer to a request for a fit, with its secret name."""
        request = _read(body)
        opens = isinstance(request, dict) and OPENS <= set(request) <= OPENS | MAY
        text = _opening(request) if opens else _head(body)
        number, charged, answer = self._open(analyst, request) if opens else (None, None, NO_FIT)
        _note(analyst, "open", number, text, _outcome(answer), charged=charged)
        return answer

    def _open(self, analyst, request):
        """Return the number of a fit in the log, what it was charged, and the answer."""
        if request.pop("registry") != registry():
            return None, None, OTHER_VERSION
        if request["table"] not in [*self.holdings.of_analyst(analyst)]:
            return None, None, NO_TABLE
        self.sweep()
        with self._lock:
            if self.stops:
                return None, None, STOPPING
            own = [fit for fit in self._fits.values() if fit.analyst == analyst]
            if len(own) >= self.holdings.limits.open_fits:
                return None, None, MANY
            number, name = next(self._numbers), secrets.token_urlsafe(24)
            self._fits[name] = fit = _Fit(analyst, self.workers.connect(), number)
        charged, _, answer = fit.line(json.dumps({**request, "analyst": analyst}).encode())
        if _refuses(answer):
            self._end(fit, name)
            return number, charged, answer
        return number, charged, json.dumps({**json.loads(answer), "fit": name}).encode()

    def ask(self, analyst, name, line):
        """Return the answer to a line of a fit."""
        fit = self._of(analyst, name)
        number = fit and fit.number
        asked, done, answer = fit.line(line) if fit else (None, 0, NO_SUCH)
        for i, text in enumerate(asked or _unread(line)):
            _note(analyst, "ask", number, text, "answered" if i < done else _outcome(answer))
        if fit and fit.ended:
            self._end(fit, name)
        return answer

    def end(self, analyst, name, _=b""):
        """End a fit; it stays charged."""
        fit = self._of(analyst, name)
        _note(analyst, "end", fit and fit.number, "", "ended" if fit else "no such fit")
        if fit is not None:
            self._end(fit, name)
        return b'{"ok": null}'

    def _end(self, fit, name):
        with self._lock:
            self._fits.pop(name, None)
        fit.close()

    def sweep(self):
        """End the fits that have asked nothing for a long time."""
        late = time.monotonic() - self.holdings.limits.idle
        for name, fit in list(self._fits.items()):
            if fit.asked < late:
                self._end(fit, name)

    def stop(self):
        """Wait for the fits that are open, unless it takes too long or is asked for twice."""
        late = time.monotonic() + self.holdings.limits.stop
        while self._fits and time.monotonic() < late and self.stops < 2:
            time.sleep(POLL)
        self.close()

    def close(self):
        """End all fits and start no more."""
        for name, fit in list(self._fits.items()):
            self._end(fit, name)
        self.workers.close()

    def _of(self, analyst, name):
        fit = self._fits.get(name)
        return fit if fit is not None and fit.analyst == analyst else None


class _Fit:
    """The connection to the process of a fit, which is killed when it is closed."""

    def __init__(self, analyst, line, number):
        self.analyst, self.number, self.ended = analyst, number, False
        self._line, self._told = line, line.makefile("rb", 2**16)
        self.asked, self._lock = time.monotonic(), threading.Lock()

    def line(self, text):
        """Return what a line asks as the process has read it, how much was done, and the answer.

        One constant if the process has ended. Nobody waits.
        """
        if not self._lock.acquire(blocking=False):
            return None, 0, BUSY
        asked = None
        try:
            self.asked = math.inf
            self._line.sendall(text.replace(b"\n", b" ") + b"\n")
            asked = json.loads(self._told.readline(MOST_LINE).strip() or b"null")
            done, _, answer = self._told.readline(MOST_LINE).partition(b" ")
            if not answer.endswith(b"\n"):
                raise OSError
            # rows may have raised what is withheld: each such answer costs a fit
            self.ended |= answer.rstrip() == FAILED  # whoever has closed it meanwhile is right too
            return asked, int(done), answer
        except (OSError, ValueError):  # it has ended, maybe while it wrote
            self.ended = True
            return asked, 0, FAILED
        finally:
            self.asked = time.monotonic()
            if self.ended:
                self._shut()
            self._lock.release()

    def close(self):
        """End the process, even if somebody waits for an answer of it."""
        self.ended = True
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        if self._lock.acquire(blocking=False):
            self._shut()
            self._lock.release()

    def _shut(self):
        self._told.close()
        self._line.close()


def _refuses(answer):
    return answer.startswith(b'{"no"')  # no other answer begins so


def _read(body):
    """Return the JSON of a message that is not too long for this process, or None."""
    try:
        return json.loads(body) if len(body) <= MOST_OPENING else None
    except (ValueError, RecursionError):
        return None


def _opening(request):
    """Return what is logged of a request for a fit; what may be long hides nothing that fits."""
    names = "table", "y", "sample_weight", "seed", "columns"
    named = {name: request[name] for name in names if name in request}
    return f"{brief(request['estimator'])} {brief(named)}"


def _unread(line):
    """Return what is logged of a message about a fit that no process has read."""
    told = _read(line)
    return noted(told if isinstance(told, list) else [told]) if told else [_head(line)]


def _head(message):
    return f"{len(message)} bytes: {message.strip()[:MOST_HEAD].decode(errors='replace')}"


def _outcome(answer):
    """Return whether a request was refused; nothing of an answer."""
    no = json.loads(answer)["no"] if _refuses(answer) else {"kind": "answered"}
    return no.get("text", no["kind"])[:MOST_LOGGED]


def _note(analyst, do, fit, asked, outcome, **more):
    """Log what was asked: who, the number of the fit, public arguments, and what became of it."""
    told = {"who": analyst, "fit": fit, "do": do, "request": asked, "outcome": outcome, **more}
    LOG.info("%s", json.dumps(told))


def application(door):
    """Return the ASGI application of a door.

    An analyst has at most so many requests at a time, each of which has a thread: nobody waits for
    another.
    """
    at_once, asking = door.holdings.limits.open_fits + MORE_AT_ONCE, Counter()
    threads, most = (
        ThreadPoolExecutor(at_once * len(door.holdings.tokens)),
        door.holdings.limits.body,
    )

    async def application(scope, receive, send):
        status, told = await answer_to(scope, receive)
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(told))]
        with suppress(Exception):  # the rest of a message was none: uvicorn has refused it already
            await send({"type": "http.response.start", "status": status, "headers": head})
            await send({"type": "http.response.body", "body": told})

    async def answer_to(scope, receive):
        kind, _, token = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        analyst = door.holdings.analyst(token.decode("latin-1")) if kind == b"Bearer" else None
        match scope["method"], scope["path"].split("/")[1:]:
            case "GET", ["tables"]:
                act = partial(door.tables, analyst)
            case "POST", ["fits"]:
                act = partial(door.open, analyst)
            case "POST", ["fits", name]:
                act = partial(door.ask, analyst, name)
            case "DELETE", ["fits", name]:
                act = partial(door.end, analyst, name)
            case _:
                act = None
        if analyst is None or act is None:
            why = "no such address" if act is None else "an unknown token"
            return refused(scope, analyst, 404 if act is None else 401, why)
        if asking[analyst] >= at_once:
            return refused(scope, analyst, 429, f"more than {at_once} at a time")
        asking[analyst] += 1
        body = bytearray()
        try:
            async for part in parts_of(receive):
                body += part
                if len(body) > most:
                    return refused(scope, analyst, 413, f"longer than {most} bytes", body)
            return 200, await get_running_loop().run_in_executor(threads, act, bytes(body))
        except EOFError:
            return refused(scope, analyst, 400, "broken off", body)
        except Exception:
            LOG.exception("a request failed")
            return refused(scope, analyst, 200, "failed", body)
        finally:
            asking[analyst] -= 1

    return application


def refused(scope, analyst, status, why, head=b""):
    """Log a message that reached no fit, without the name of one; return status and answer."""
    address = scope["path"].partition("/")[2].partition("/")[0][:MOST_HEAD]
    _note(analyst, scope["method"][:MOST_HEAD], None, f"{address} {_head(head)}", why)
    return status, FAILED


def serve(holdings, *, host="127.0.0.1", port=8765, socket=None, certificate=None, key=None):
    """Answer analysts until the process is told to stop.

    SIGINT or SIGTERM stop it: no more fits are opened, those that are open go on for
    ``limits.stop`` seconds. A second one stops it at once.

    Parameters
    ----------
    holdings : Holdings
        See :func:`read_holdings`.
    host : str, default="127.0.0.1"
        Address to listen at: by default nobody but this machine can connect.
    port : int, default=8765
    socket : str, default=None
        Path of a Unix socket, in place of host and port.
    certificate, key : str, default=None
        PEM files for TLS.

    Raises
    ------
    ImportError
        Without uvicorn: ``pip install "skdp[serve]"``.

    See Also
    --------
    read_holdings, connect

    Notes
    -----
    **Privacy**: all answers about a table together keep the cap of its ledger (user guide "Remote
    tables").

    Examples
    --------
    >>> import skdp.remote
    >>> holdings, where = skdp.remote.read_holdings("holder.toml")  # doctest: +SKIP
    >>> skdp.remote.serve(holdings, **where)  # doctest: +SKIP
    """
    try:
        import uvicorn
    except ImportError:
        raise ImportError(EXTRA) from None
    door = Door(holdings)  # forks before there is any thread
    where = {"uds": socket} if socket else {"host": host, "port": port}
    tls = {"ssl_certfile": certificate, "ssl_keyfile": key} if certificate else {}
    quiet = {"access_log": False, "log_level": "warning"}
    quiet |= {"server_header": False, "date_header": False}  # analysts would parse them
    quiet |= {"ws": "none", "lifespan": "off"}  # all that is asked comes by one road
    quiet |= {"http": bounded_http()}
    times = {"timeout_keep_alive": 60, "timeout_graceful_shutdown": 1}  # no fit is open by then

    class Server(uvicorn.Server):
        def handle_exit(self, sig, frame):
            door.stops += 1
            if door.stops == 1:
                threading.Thread(target=self.stop, daemon=True).start()

        def stop(self):
            door.stop()
            self.should_exit = True

    try:
        Server(uvicorn.Config(application(door), **where, **tls, **quiet, **times)).run()
    finally:
        door.close()
        if socket:
            Path(socket).unlink(missing_ok=True)
