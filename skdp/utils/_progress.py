"""What a fit tells its data holder while it runs: its bill, entry by entry, and the time."""

import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import RLock
from time import monotonic

from skdp.utils._config import get_config

_reader = ContextVar("skdp_block_reader", default=None)

OFTEN = 0.1  # seconds between two counts of blocks
BROKEN = (AttributeError, OSError, ValueError)  # of streams that are closed, broken or none


def tell(curator, listeners):
    """Let listeners hear of every release of a curator, as it is charged.

    Notes
    -----
    **Privacy**: what is heard is the bill as it grows. All of it is in the report that the fit
    publishes; when it comes, in which order if groups take turns, and where it ends if the fit
    fails, depends on the rows.
    """
    listeners = [listen for listen in listeners if listen is not None]
    left = 1

    def heard(label, share):
        nonlocal left
        left -= share
        for listen in listeners:
            listen(label, left)

    curator.told = heard if listeners else None


def counted(results):
    """Yield the results of blocks, and count them if somebody looks; for the loop over rows.

    The count is that of the fit whose context this is called in, from whatever thread.
    """
    read = _reader.get()
    for result in results:
        if read is not None:
            read()
        yield result


@contextmanager
def lines(name, plan):
    """Yield a listener that writes lines to the standard error; None if nobody asked for them."""
    stream = sys.stderr if get_config()["progress"] else None
    if stream is None:
        yield None
        return
    steps = [step.label for step in plan.steps if step.mechanism != "child"]
    shown = _Lines(name, steps, stream)
    token = _reader.set(shown.read if _is_terminal(stream) else None)
    try:
        yield shown.released
        shown.end()
    finally:
        _reader.reset(token)
        shown.clear()


@contextmanager
def counts(name, total):
    """Yield a function that tells of one more of ``total`` computations that read no private row.

    A line for every tenth of them, on a terminal one line that counts and goes again.
    """
    stream = sys.stderr if get_config()["progress"] else None
    start, done = monotonic(), 0
    on_terminal = stream is not None and _is_terminal(stream)

    def told():
        nonlocal done
        done += 1
        if stream is None or not (on_terminal or done * 10 // total > (done - 1) * 10 // total):
            return
        line = f"[{name}] {done} of {total}, {monotonic() - start:.1f} s"
        _write(stream, f"\r{line}" if on_terminal else f"{line}\n")

    try:
        yield told
    finally:
        if on_terminal:
            _write(stream, f"\r{' ' * (len(name) + 40)}\r")


class _Lines:
    """Lines of a fit; on a terminal the number of blocks read stands in one that goes again.

    A stream that takes no more, closed or broken, is no reason to end a fit whose budget is spent.
    """

    def __init__(self, name, steps, stream):
        self._name, self._steps, self._stream = name, steps, stream
        self._start, self._lock = monotonic(), RLock()
        self._releases, self._left = 0, 1
        self._blocks, self._counted, self._width = 0, self._start, 0
        self._line(f"planned steps: {len(steps)}")

    def released(self, label, left):
        """Tell of a release, and of the share that is left."""
        self._releases, self._left = self._releases + 1, left
        step = f"step {self._steps.index(label) + 1} of {len(self._steps)}, {label}"
        self._line(f"release {self._releases} ({step}): {float(left):.1%} of the budget left")

    def end(self):
        """Tell that all is released."""
        self._line(f"done: {float(self._left):.1%} of the budget not used")

    def read(self):
        """Count a block: local, as it tells how many rows there are."""
        with self._lock:
            self._blocks, now = self._blocks + 1, monotonic()
            if now >= self._counted + OFTEN:
                text = f"[{self._name}] {self._blocks} blocks read (local, not to be published)"
                self._write(f"\r{text}")
                self._counted, self._width = now, len(text)

    def clear(self):
        """Take the number of blocks from the screen."""
        with self._lock:
            if self._width:
                self._write(f"\r{' ' * self._width}\r")
                self._width = 0

    def _line(self, text):
        with self._lock:
            self.clear()
            self._write(f"[{self._name}] {text}, {monotonic() - self._start:.1f} s\n")

    def _write(self, text):
        _write(self._stream, text)


def _write(stream, text):
    with suppress(*BROKEN):
        stream.write(text)
        stream.flush()


def _is_terminal(stream):
    with suppress(*BROKEN):
        return stream.isatty()
    return False
