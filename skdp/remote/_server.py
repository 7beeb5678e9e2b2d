"""The holder's door: HTTP on this machine, or behind a reverse proxy."""

import json
import logging
import secrets
import threading
import time
from contextlib import asynccontextmanager

import skdp
from skdp.remote._registry import load, registry
from skdp.remote._session import MOST_LINE
from skdp.remote._workers import Workers

__all__ = ["Door", "serve"]

LOG = logging.getLogger("skdp.remote")
EXTRA = "the server of skdp.remote needs starlette and uvicorn: pip install 'skdp[serve]'"
FAILED = {"no": {"kind": "Withheld"}}


class Door:
    """What a request may do, apart from HTTP.

    Parameters
    ----------
    holdings : Holdings
    """

    def __init__(self, holdings):
        load()
        self.holdings, self.workers = holdings, Workers(holdings)
        self._fits, self._lock = {}, threading.Lock()

    def tables(self, analyst):
        """Return what is public of the tables of an analyst, and what is left of the budget."""
        told = {}
        for name, ledger in self.holdings.of_analyst(analyst).items():
            table, left = self.holdings.tables[name], ledger.remaining()
            admits = self.holdings.admitting(analyst, name)
            told[name] = {
                "columns": _columns(table.source, table.persons),
                "protects": table.unit,
                "public": table.public,
                "epsilon": left.epsilon,
                "delta": left.delta,
                "capacity": [admits.epsilon, admits.delta],
            }
        return {"registry": registry(), "tables": told}

    def open(self, analyst, request):
        """Return the answer to a request for a fit, with its secret name."""
        given = {"table", "estimator", "y", "columns", "registry"}
        if not isinstance(request, dict) or not given <= set(request) <= {*given, "seed"}:
            return {"no": {"kind": "ValueError", "text": "no request for a fit"}}
        if request.pop("registry") != registry():
            text = f"this holder runs another version of skdp ({skdp.__version__})"
            return {"no": {"kind": "ValueError", "text": text}}
        if request["table"] not in self.holdings.of_analyst(analyst):
            return {"no": {"kind": "ValueError", "text": "no such table"}}
        self.sweep()
        with self._lock:
            own = [fit for fit in self._fits.values() if fit.analyst == analyst]
            if len(own) >= self.holdings.limits.open_fits:
                text = "too many open fits of this analyst; wait until one of them has ended"
                return {"no": {"kind": "ValueError", "text": text}}
            fit = _Fit(analyst, self.workers.connect())
            name = secrets.token_urlsafe(24)
            self._fits[name] = fit
        answer = fit.line(json.dumps({**request, "analyst": analyst}).encode())
        _note(analyst, "open", request, answer)
        if "no" in answer:
            self.end(analyst, name)
            return answer
        return {**answer, "fit": name}

    def ask(self, analyst, name, line):
        """Return the answer to a line of a fit."""
        fit = self._of(analyst, name)
        if fit is None:
            return {"no": {"kind": "PlanError", "text": "no such fit, or one that has ended"}}
        answer = fit.line(line)
        _note(analyst, "ask", None, answer)
        return answer

    def end(self, analyst, name):
        """End a fit; it stays charged."""
        fit = self._of(analyst, name)
        if fit is not None:
            with self._lock:
                self._fits.pop(name, None)
            fit.close()
        return {"ok": None}

    def sweep(self):
        """End the fits that have asked nothing for a long time."""
        late = time.monotonic() - self.holdings.limits.idle
        for name, fit in list(self._fits.items()):
            if fit.asked < late:
                self.end(fit.analyst, name)

    def close(self):
        """End all fits and start no more."""
        for name, fit in list(self._fits.items()):
            self.end(fit.analyst, name)
        self.workers.close()

    def _of(self, analyst, name):
        fit = self._fits.get(name)
        return fit if fit is not None and fit.analyst == analyst else None


class _Fit:
    """The connection to the process of a fit."""

    def __init__(self, analyst, line):
        self.analyst, self._line, self.asked = analyst, line, time.monotonic()
        self._stream, self._lock = line.makefile("rwb"), threading.Lock()

    def line(self, text):
        """Return the answer to a line; one constant if the process has ended."""
        with self._lock:
            self.asked = time.monotonic()
            try:
                self._stream.write(text.replace(b"\n", b" ") + b"\n")
                self._stream.flush()
                answer = self._stream.readline(MOST_LINE)
                return json.loads(answer) if answer else FAILED
            except (OSError, ValueError):
                return FAILED

    def close(self):
        self._line.close()
        with self._lock:
            try:
                self._stream.close()
            except OSError:
                return


def _columns(source, persons):
    """Return names and types of the columns that are no IDs."""
    from skdp.readers._raw import schema_of
    from skdp.readers._sources import source_of

    dtypes = getattr(source, "dtypes", None)
    if dtypes is None:
        names = schema_of(source_of(source).head()).names
        return {str(name): "number" for name in names if name != persons}
    return {str(n): str(k) for n, k in dtypes.items() if n != persons}


def _note(analyst, do, request, answer):
    """Log what was asked: public arguments, and whether it was refused; nothing of an answer."""
    said = answer.get("no", {}).get("text", answer.get("no", {}).get("kind", "answered"))
    asked = "" if request is None else json.dumps(request)[:2000]
    LOG.info("%s", json.dumps({"who": analyst, "do": do, "request": asked, "outcome": said}))


def application(door):
    """Return the ASGI application of a door."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse
        from starlette.routing import Route
    except ImportError:
        raise ImportError(EXTRA) from None

    def of_analyst(act):
        async def answer(request):
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            analyst = door.holdings.analyst(token) if kind == "Bearer" else None
            if analyst is None:
                return JSONResponse({"no": {"kind": "Withheld"}}, status_code=401)
            body = b""
            async for part in request.stream():
                body += part
                if len(body) > door.holdings.limits.body:
                    return JSONResponse({"no": {"kind": "Withheld"}}, status_code=413)
            try:
                told = await run_in_threadpool(act, analyst, body, **request.path_params)
            except Exception:
                LOG.exception("a request failed")
                told = FAILED
            return JSONResponse(told)

        return answer

    def open_fit(analyst, body):
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return {"no": {"kind": "ValueError", "text": "no request for a fit"}}
        return door.open(analyst, request)

    @asynccontextmanager
    async def lifespan(_):
        yield
        door.close()

    acts = [
        ("GET", "/tables", lambda analyst, body: door.tables(analyst)),
        ("POST", "/fits", open_fit),
        ("POST", "/fits/{name}", lambda analyst, body, name: door.ask(analyst, name, body)),
        ("DELETE", "/fits/{name}", lambda analyst, body, name: door.end(analyst, name)),
    ]
    routes = [Route(path, of_analyst(act), methods=[method]) for method, path, act in acts]
    return Starlette(routes=routes, lifespan=lifespan)


def serve(holdings, *, host="127.0.0.1", port=8765, socket=None, certificate=None, key=None):
    """Answer analysts until the process is told to stop.

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
    try:
        uvicorn.run(
            application(door),
            **where,
            **tls,
            access_log=False,
            log_level="warning",
            timeout_keep_alive=60,
        )
    finally:
        door.close()
