"""The holder's door: HTTP on this machine, or behind a reverse proxy."""

import json
import logging
import math
import secrets
import socket
import threading
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import skdp
from skdp.remote._registry import load, registry
from skdp.remote._session import MOST_LINE, MOST_TOGETHER, classes_in
from skdp.remote._workers import Workers

__all__ = ["Door", "serve"]

LOG = logging.getLogger("skdp.remote")
EXTRA = "the server of skdp.remote needs starlette and uvicorn: pip install 'skdp[serve]'"
MOST_OPENING = 2**20  # bytes of a request for a fit: this process reads it as JSON
MOST_LOGGED = 2000  # bytes of it that are logged
POLL = 0.05  # seconds
MORE_AT_ONCE = 4  # requests of one analyst at a time, beside one for each open fit


def _no(text, kind="ValueError"):
    return json.dumps({"no": {"kind": kind, "text": text}}).encode()


FAILED = json.dumps({"no": {"kind": "Withheld"}}).encode()
STOPPING = _no("the holder is about to stop. Nothing was charged", kind="PlanError")
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

    def tables(self, analyst):
        """Return what is public of the tables of an analyst, and what is left of the budget."""
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
        answer = self._open(analyst, body)
        _note(analyst, "open", body[:MOST_LOGGED].decode(errors="replace"), answer)
        return answer

    def _open(self, analyst, body):
        try:
            request = json.loads(body) if len(body) <= MOST_OPENING else None
        except (ValueError, RecursionError):
            return _no("no request for a fit")
        given = {"table", "estimator", "y", "columns", "registry"}
        known = {*given, "seed", "sample_weight"}
        if not isinstance(request, dict) or not given <= set(request) <= known:
            return _no("no request for a fit")
        if request.pop("registry") != registry():
            return _no(f"this holder runs another version of skdp ({skdp.__version__})")
        if request["table"] not in self.holdings.of_analyst(analyst):
            return _no("no such table")
        self.sweep()
        with self._lock:
            if self.stops:
                return STOPPING
            own = [fit for fit in self._fits.values() if fit.analyst == analyst]
            if len(own) >= self.holdings.limits.open_fits:
                return _no("too many open fits of this analyst; wait until one of them has ended")
            fit, name = _Fit(analyst, self.workers.connect()), secrets.token_urlsafe(24)
            self._fits[name] = fit
        answer = fit.line(json.dumps({**request, "analyst": analyst}).encode())
        if _refuses(answer):
            self.end(analyst, name)
            return answer
        return json.dumps({**json.loads(answer), "fit": name}).encode()

    def ask(self, analyst, name, line):
        """Return the answer to a line of a fit."""
        fit = self._of(analyst, name)
        if fit is None:
            return _no("no such fit, or one that has ended", kind="PlanError")
        answer = fit.line(line)
        for asked in _asked(line):
            _note(analyst, "ask", asked, answer)
        if fit.ended:
            self.end(analyst, name)
        return answer

    def end(self, analyst, name):
        """End a fit; it stays charged."""
        fit = self._of(analyst, name)
        if fit is not None:
            with self._lock:
                self._fits.pop(name, None)
            fit.close()
        return b'{"ok": null}'

    def sweep(self):
        """End the fits that have asked nothing for a long time."""
        late = time.monotonic() - self.holdings.limits.idle
        for name, fit in list(self._fits.items()):
            if fit.asked < late:
                self.end(fit.analyst, name)

    def stop(self):
        """Wait for the fits that are open, unless it takes too long or is asked for twice."""
        late = time.monotonic() + self.holdings.limits.stop
        while self._fits and time.monotonic() < late and self.stops < 2:
            time.sleep(POLL)
        self.close()

    def close(self):
        """End all fits and start no more."""
        for name, fit in list(self._fits.items()):
            self.end(fit.analyst, name)
        self.workers.close()

    def _of(self, analyst, name):
        fit = self._fits.get(name)
        return fit if fit is not None and fit.analyst == analyst else None


class _Fit:
    """The connection to the process of a fit, which is killed when it is closed."""

    def __init__(self, analyst, line):
        self.analyst, self._line, self.ended = analyst, line, False
        self.asked, self._lock = time.monotonic(), threading.Lock()

    def line(self, text):
        """Return the answer to a line; one constant if the process has ended. Nobody waits."""
        if not self._lock.acquire(blocking=False):
            return BUSY
        try:
            self.asked = math.inf
            return self._answer(text.replace(b"\n", b" ") + b"\n")
        except OSError:
            self.ended = True
            return FAILED
        finally:
            self.asked = time.monotonic()
            if self.ended:
                self._line.close()
            self._lock.release()

    def _answer(self, line):
        self._line.sendall(line)
        told = bytearray()
        while not told.endswith(b"\n"):
            part = self._line.recv(2**20)
            if not part or len(told) > MOST_LINE:
                raise OSError
            told += part
        return bytes(told)

    def close(self):
        """End the process, even if somebody waits for an answer of it."""
        self.ended = True
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        if self._lock.acquire(blocking=False):
            self._line.close()
            self._lock.release()


def _refuses(answer):
    return answer.startswith(b'{"no"')  # no other answer begins so


def _asked(line):
    """Return what is logged of requests about a fit: what each does, and which classes it names."""
    try:
        told = json.loads(line[:MOST_OPENING])
        requests = told if isinstance(told, list) and len(told) <= MOST_TOGETHER else [told]
        texts = [[str(one["do"])[:40], *sorted(classes_in(one))] for one in requests]
        return [" ".join(text)[:MOST_LOGGED] for text in texts] or ["nothing"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return [f"{len(line)} bytes"]


def _note(analyst, do, asked, answer):
    """Log what was asked: public arguments, and whether it was refused; nothing of an answer."""
    no = json.loads(answer)["no"] if _refuses(answer) else {"kind": "answered"}
    said = no.get("text", no["kind"])[:MOST_LOGGED]
    LOG.info("%s", json.dumps({"who": analyst, "do": do, "request": asked, "outcome": said}))


def application(door):
    """Return the ASGI application of a door.

    An analyst has at most so many requests at a time, each of which has a thread: nobody waits for
    another.
    """
    try:
        from anyio.to_thread import current_default_thread_limiter
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError:
        raise ImportError(EXTRA) from None
    at_once, asking = door.holdings.limits.open_fits + MORE_AT_ONCE, Counter()

    def said(told, status=200):
        return Response(told, status_code=status, media_type="application/json")

    async def answer_of(act, analyst, request):
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > door.holdings.limits.body:
                return said(FAILED, 413)
        try:
            return said(await run_in_threadpool(act, analyst, bytes(body), **request.path_params))
        except Exception:
            LOG.exception("a request failed")
            return said(FAILED)

    def of_analyst(act):
        async def answer(request):
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            analyst = door.holdings.analyst(token) if kind == "Bearer" else None
            if analyst is None:
                return said(FAILED, 401)
            if asking[analyst] >= at_once:
                return said(FAILED, 429)
            asking[analyst] += 1
            try:
                return await answer_of(act, analyst, request)
            finally:
                asking[analyst] -= 1

        return answer

    @asynccontextmanager
    async def lifespan(_):
        current_default_thread_limiter().total_tokens = at_once * len(door.holdings.tokens) + 1
        yield
        door.close()

    acts = [
        ("GET", "/tables", lambda analyst, body: door.tables(analyst)),
        ("POST", "/fits", door.open),
        ("POST", "/fits/{name}", lambda analyst, body, name: door.ask(analyst, name, body)),
        ("DELETE", "/fits/{name}", lambda analyst, body, name: door.end(analyst, name)),
    ]
    routes = [Route(path, of_analyst(act), methods=[method]) for method, path, act in acts]
    return Starlette(routes=routes, lifespan=lifespan)


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
        Without starlette and uvicorn: ``pip install "skdp[serve]"``.

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
