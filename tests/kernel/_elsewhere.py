"""Rows in another process: an engine holds a handle, a forked holder has rows and Curator.

Requests and answers are lines of JSON over a pair of sockets, as :mod:`skdp.remote` writes them.
"""

import os
import socket
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

from skdp.kernel._table import Table, replaced_table
from skdp.remote._session import Session as Holder
from skdp.remote._wire import KINDS, Line, Withheld, handle, heard, sent

__all__ = [
    "KINDS",
    "Holder",
    "Line",
    "Pipe",
    "Withheld",
    "elsewhere",
    "handle",
    "heard",
    "rows_elsewhere",
    "sent",
]


class Pipe(Line):
    """Requests over a socket to a forked holder; it keeps requests and answers."""

    def __init__(self, pipe, process):
        self._pipe, self._stream, self.process = pipe, pipe.makefile("rwb"), process
        self.requests, self.answers = [], []

    def raw(self, line):
        """Return the line that answers a line."""
        self.requests.append(line)
        self._stream.write(line.encode() + b"\n")
        self._stream.flush()
        self._stream.readline()  # what the log keeps of it
        self.answers.append(self._stream.readline().partition(b" ")[2])
        return self.answers[-1]

    def close(self):
        """Let the holder go."""
        self._stream.close()
        self._pipe.close()
        os.waitpid(self.process, 0)


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
            with replaced_table(None), there.makefile("rwb") as stream:
                Holder(door(rows, curator), curator, search_pace=0.0).serve(stream)
        finally:
            os._exit(0)
    there.close()
    line = Pipe(here, process)
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
