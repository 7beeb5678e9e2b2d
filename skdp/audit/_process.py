"""What an audited fit does: its releases, and what it leaves in its process; the clocks it sees."""

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
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import sklearn

from skdp.audit._fingerprint import classes_of, fingerprint, spaces_of

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


@dataclass(frozen=True)
class Record:
    """One release: what went in, under which declared sensitivity, and what came out.

    ``scale`` is the declared scale of the noise; for a choice it is 1 / rate. A release by rows or
    by parts (``by_parts``) has ``owners``, the keys of its rows or the numbers of its parts. A
    selection of names (``named``) has the names for owners, as text, and for its sensitivity the
    largest number of names that neighbours move. The law "matrix" has a matrix of Fractions for its
    value, the distance of neighbours' matrices for its sensitivity, eta for its scale and a factor
    of the noisy matrix for its answer. Integers of rows with weights have their ``unit``, which is
    in the sensitivity and the scale; the bill states both without. ``words`` are the random words
    that were taken for the noise, where it was drawn.

    Parameters
    ----------
    label, law : str
        Of the release.
    value : ndarray
        Before the noise. Private.
    sensitivity : Fraction
    scale : float
    answer : object
        What the Curator returned.
    owners : ndarray or None, default=None
    by_parts, named : bool, default=False
    unit : int, default=1
    words : tuple of int, default=()
        All as above.

    See Also
    --------
    CannedCurator

    Notes
    -----
    **Privacy**: none: for audits, on tables made or chosen for them.

    Examples
    --------
    >>> from skdp.accounting import Budget, Plan, Step
    >>> from skdp.audit import CannedCurator
    >>> curator = CannedCurator(Plan(Budget.pure(1.0), (Step("count", "laplace"),)))
    >>> _ = curator.laplace([17], sensitivity=1, share=1, label="count")
    >>> curator.records[0].label, int(curator.records[0].sensitivity)
    ('count', 1)
    """

    label: str
    law: str
    value: np.ndarray
    sensitivity: Fraction
    scale: float
    answer: object
    owners: np.ndarray | None = None
    by_parts: bool = False
    named: bool = False
    unit: int = 1
    words: tuple = ()

    @property
    def request(self):
        """Everything about a release that may depend on earlier answers only."""
        shape = self.value.shape
        if self.owners is not None:
            shape = ("parts", *shape) if self.by_parts else "names" if self.named else "rows"
        return self.label, self.law, shape, self.sensitivity, self.scale

    def strangers(self, other):
        """Return the number of rows or parts that only one of two records has an entry of."""
        if self.owners is None or self.named:
            return 0
        return len(np.setxor1d(self.owners, other.owners))

    @property
    def allowed(self):
        """The square of what neighbours' values may be apart."""
        return self.sensitivity if self.named else self.sensitivity**2

    def common(self, other):
        """Return the entries of both that neighbouring tables have in common, two arrays."""
        if self.owners is None:
            return self.value, other.value
        if self.named:  # a name that does not occur has the count 0
            names = np.union1d(self.owners, other.owners)
            return self._counts(names), other._counts(names)
        _, i, j = np.intersect1d(self.owners, other.owners, return_indices=True)
        a, b = self.value[i], other.value[j]
        if self.by_parts and len(a):
            keep = np.arange(len(a)) != np.argmax(np.abs(a - b))  # the part that differs
            a, b = a[keep], b[keep]
        return a, b

    def _counts(self, names):
        counts = np.zeros(len(names), dtype=np.int64)
        counts[np.searchsorted(names, self.owners)] = self.value
        return counts


@dataclass(frozen=True)
class NameAnswer:
    """Names that were selected, and the noisy counts of all, if they were drawn."""

    names: list
    noisy: np.ndarray


@dataclass(frozen=True)
class RowAnswer:
    """Noisy entries of a release by rows or parts, with the owners and the exact values."""

    owners: np.ndarray
    value: np.ndarray
    noisy: np.ndarray

    def for_others(self, owners, value, noisy, *, by_parts):
        """Return these answers for the owners in common, and ``noisy`` for the others.

        A part that differs keeps its noise instead.
        """
        answer = noisy.copy()
        _, i, j = np.intersect1d(self.owners, owners, return_indices=True)
        answer[j] = self.noisy[i]
        if by_parts and len(j):
            k = np.argmax(np.abs(value[j] - self.value[i]))
            answer[j[k]] += value[j[k]] - self.value[i[k]]
        return answer
