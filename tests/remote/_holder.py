"""A holder in a process of its own, at a Unix socket of a folder."""

import hashlib
import logging
import os
import signal
import socket
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

import skdp.remote
from skdp.remote._holdings import Holding, Holdings, Limits
from skdp.remote._server import serve

__all__ = ["CAPACITY", "FRAME", "VISITS", "WEIGHTS", "holder", "tables", "wait_for"]

CAPACITY = (30.0, 1e-3)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(1500, 3)) * [1, 10, 100] + 5, columns=list("abc"))
FRAME["y"] = (FRAME["a"] > 5).astype(float)
VISITS = FRAME.assign(person=RNG.integers(0, 300, size=len(FRAME)))
WEIGHTS = VISITS.assign(w=RNG.uniform(-0.1, 1.1, size=len(FRAME)), t="text")


@contextmanager
def holder(folder, *, more=(), where=None, caps=CAPACITY, budgets=None, seeded=False, **given):
    """Serve two tables, and ``more``, in another process; yield its number.

    ``where`` are parameters of :func:`serve`, by default a socket in the folder; ``given`` are
    fields of Limits, or times of Holdings.
    """
    where = where or {"socket": str(Path(folder) / "socket")}
    times = {name: given.pop(name, 0.01) for name in ("pace", "search_pace")}
    process = os.fork()
    if process == 0:
        try:
            warnings.simplefilter("default")  # uvloop never ends if one of its own is an error
            log = {"format": "%(message)s", "level": "INFO", "force": True}
            logging.basicConfig(filename=f"{folder}/log", **log)
            told = {"rows": Holding("rows", FRAME, public={"a": [0, 10]})}
            told["visits"] = Holding("visits", VISITS, persons="person")
            told["weighed"] = Holding("weighed", WEIGHTS.drop(columns="person"))
            told["weighed visits"] = Holding("weighed visits", WEIGHTS, persons="person")
            told.update(more)
            analysts = budgets or {"ana": CAPACITY, "bob": CAPACITY}
            holdings = Holdings(
                folder,
                told,
                dict.fromkeys(told, caps),
                {who: hashlib.sha256(who.encode()).hexdigest() for who in analysts},
                {(who, name): budget for who, budget in analysts.items() for name in told},
                seeded=seeded,
                **times,
                limits=Limits(**{"stop": 0.0, **given}),
            )
            serve(holdings, **where)
        finally:
            os._exit(0)
    wait_for(where)
    try:
        yield process
    finally:
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)


def wait_for(where):
    """Wait until something listens at a Unix socket, or at a port of this machine."""
    kind, address = socket.AF_UNIX, str(where)
    if isinstance(where, dict):
        local = "socket" not in where
        kind, address = (
            (socket.AF_INET, ("127.0.0.1", where["port"])) if local else (kind, where["socket"])
        )
    for _ in range(600):
        with socket.socket(kind) as line:
            if line.connect_ex(address) == 0:
                return
        time.sleep(0.05)


def tables(folder, who="ana"):
    """Return the tables of an analyst, whose token is the name."""
    return skdp.remote.connect(f"unix:{Path(folder) / 'socket'}", token=who)
