"""What a fit may leave behind in its process, and the clocks that it may look at."""
# ruff: noqa: NPY002 - the legacy generator is what is watched

import builtins
import datetime
import decimal
import itertools
import os
import random
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import sklearn

from skdp.audit._fingerprint import classes_of, fingerprint, spaces_of

__all__ = ["watched"]

CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
EVENTS = ("os.", "shutil.", "socket.", "subprocess.", "sqlite3.", "urllib.", "http.", "smtplib.")
READS = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.fork", "os.getxattr")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_audit_events = []  # where Python's audit hook writes to: a list for each fit that is watched
_hooks = []
_turns = itertools.count(1)


@contextmanager
def watched(estimator, seen):
    """Watch a fit: generators repeat, clocks do not; ``seen`` gets what it has left behind.

    The state of numpy's and Python's generators, the environment, options of numpy and others, what
    it has written to files, and what it has asked the operating system for.
    """
    before, states = _settings(), (np.random.get_state(), random.getstate())
    np.random.seed(0)
    random.seed(0)
    try:
        with _other_clocks(estimator, next(_turns)), _overheard_system() as heard:
            yield
        seen["generators"] = fingerprint([np.random.get_state(), random.getstate()])
        seen["settings of the process"] = _settings()
        seen["files and system calls"] = [(*event, _content(event)) for event in heard]
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])
        _set_back(before)


def _settings():
    return {
        "environ": dict(os.environ),
        "folder": _folder(),
        "errors": np.geterr(),
        "print": np.get_printoptions(),
        "depth": sys.getrecursionlimit(),
        "decimals": decimal.getcontext().prec,
        "sklearn": sklearn.get_config(),
        "arguments": list(sys.argv),
        "path": list(sys.path),
        "numbers": _atoms(builtins) + _atoms(sys) + _atoms(np),
    }


def _folder():
    with suppress(OSError):
        return Path.cwd()


def _atoms(module):
    """Return the names of a module that stand for numbers and short texts, with these."""
    return [
        (name, value)
        for name, value in list(vars(module).items())
        if type(value) in (int, float, bool, str) and not name.startswith("__")
    ]


def _set_back(before):
    if dict(os.environ) != before["environ"]:
        os.environ.clear()
        os.environ.update(before["environ"])
    if before["folder"] not in (None, _folder()):
        os.chdir(before["folder"])
    np.seterr(**before["errors"])
    np.set_printoptions(**before["print"])
    sklearn.set_config(**before["sklearn"])
    sys.setrecursionlimit(before["depth"])
    decimal.getcontext().prec = before["decimals"]


def _hook(event, arguments):
    """Write down what a fit asks the operating system for, but what it reads and compiles."""
    if not _audit_events:
        return
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & WRITES or "__pycache__" in str(path):
            return
        _audit_events[-1].append((event, path if isinstance(path, int) else os.fsdecode(path)))
    elif event.startswith(EVENTS) and event not in READS and "__pycache__" not in str(arguments):
        _audit_events[-1].append((event, str(arguments)))


@contextmanager
def _overheard_system():
    if not _hooks:  # there is no way to take a hook away
        sys.addaudithook(_hook)
        _hooks.append(_hook)
    _audit_events.append([])
    try:
        yield _audit_events[-1]
    finally:
        _audit_events.pop()


def _content(event):
    """Return what is in a file that was opened for writing."""
    with suppress(OSError, ValueError):
        if event[0] == "open" and isinstance(event[1], str):
            return Path(event[1]).read_bytes()


@contextmanager
def _other_clocks(estimator, pace):
    """Let clocks run ``pace`` seconds between two looks, in the modules of an estimator too."""
    ticks = itertools.count(1)
    twins = {id(datetime.datetime): _stopped(datetime.datetime, ticks, pace)}
    for name in CLOCKS:
        clock, whole = getattr(time, name), getattr(time, f"{name}_ns")
        start = clock()
        twins[id(clock)] = lambda start=start: start + pace * next(ticks)
        twins[id(whole)] = lambda start=start: int(1e9 * (start + pace * next(ticks)))
    own = [space for name, space in spaces_of(classes_of(estimator)).items() if _is_own(name)]
    changed = [
        (space, name, value)
        for space in (vars(time), vars(datetime), *own)
        for name, value in list(space.items())
        if id(value) in twins
    ]
    try:
        for space, name, value in changed:
            space[name] = twins[id(value)]
        yield
    finally:
        for space, name, value in changed:
            space[name] = value


def _is_own(module):
    return module.partition(".")[0] != "skdp"


def _stopped(kind, ticks, pace):
    """Return a stand-in for ``datetime`` whose now is a function of the ticks."""
    start = kind.now()

    class Kind(type(kind)):
        def __instancecheck__(cls, thing):
            return isinstance(thing, kind)

    class Now(kind, metaclass=Kind):
        @classmethod
        def now(cls, tz=None):
            return (start + datetime.timedelta(seconds=pace * next(ticks))).replace(tzinfo=tz)

        utcnow = today = now

    return Now
