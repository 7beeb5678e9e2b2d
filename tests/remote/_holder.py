"""A holder in a process of its own, at a Unix socket of a folder."""

import hashlib
import os
import signal
import socket
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

import skdp.remote
from skdp.remote._holdings import Holding, Holdings, Limits
from skdp.remote._server import serve

__all__ = ["CAPACITY", "FRAME", "VISITS", "holder", "tables", "wait_for"]

CAPACITY = (30.0, 1e-3)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(1500, 3)) * [1, 10, 100] + 5, columns=list("abc"))
FRAME["y"] = (FRAME["a"] > 5).astype(float)
VISITS = FRAME.assign(person=RNG.integers(0, 300, size=len(FRAME)))


@contextmanager
def holder(folder, *, caps=CAPACITY, budgets=None, seeded=False, pace=0.01, **limits):
    """Serve two tables in another process; yield its number."""
    path = Path(folder) / "socket"
    process = os.fork()
    if process == 0:
        try:
            told = {"rows": Holding("rows", FRAME, public={"a": [0, 10]})}
            told["visits"] = Holding("visits", VISITS, persons="person")
            analysts = budgets or {"ana": CAPACITY, "bob": CAPACITY}
            holdings = Holdings(
                folder,
                told,
                dict.fromkeys(told, caps),
                {who: hashlib.sha256(who.encode()).hexdigest() for who in analysts},
                {(who, name): budget for who, budget in analysts.items() for name in told},
                seeded=seeded,
                pace=pace,
                limits=Limits(**limits),
            )
            serve(holdings, socket=str(path))
        finally:
            os._exit(0)
    wait_for(path)
    try:
        yield process
    finally:
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)


def wait_for(path):
    """Wait until something listens at a socket."""
    for _ in range(600):
        with socket.socket(socket.AF_UNIX) as line:
            if line.connect_ex(str(path)) == 0:
                return
        time.sleep(0.05)


def tables(folder, who="ana"):
    """Return the tables of an analyst, whose token is the name."""
    return skdp.remote.connect(f"unix:{Path(folder) / 'socket'}", token=who)
