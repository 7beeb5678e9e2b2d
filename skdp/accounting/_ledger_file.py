"""The file of a ledger: lines that are added, never changed, and are on disk before they count."""

import atexit
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from skdp._ledger_view import Entry
from skdp.accounting._budget import UNITS
from skdp.mechanisms._entropy import SystemEntropy
from skdp.mechanisms._exact import exact

try:
    import fcntl
except ImportError:  # Windows, whose locks belong to a handle and not to a process
    fcntl = None

__all__ = ["OF_GROUPS", "UNCLAIMED", "LedgerFile", "append", "entries", "latched", "spent"]

FORMATS = (0x736B6470, 0x736B6471)  # "skdp" for one unit; "skdq" for several, which began later
OF_GROUPS, UNCLAIMED = ", of groups", "unclaimed"
REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;"
SCHEMA = f"""
CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, what TEXT, unit TEXT,
    amount TEXT, failure TEXT, epsilon TEXT, delta TEXT, seeded INTEGER, pid INTEGER, time TEXT);
CREATE TRIGGER no_update BEFORE UPDATE ON entries {REFUSE}
CREATE TRIGGER no_delete BEFORE DELETE ON entries {REFUSE}
CREATE TRIGGER no_replace BEFORE INSERT ON entries
    WHEN NEW.id IN (SELECT id FROM entries) {REFUSE}
"""
BUSY_SECONDS, POLL_SECONDS = 60, 0.001

# Between calls no connection is open; while one is, this process does not fork.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class LedgerFile:
    """An existing ledger file; ``session`` waives the fsync for one that nobody will reopen."""

    def __init__(self, path, session=False):
        self.path, self.session, self.openings = os.path.realpath(path), session, None
        with self.transaction() as db:
            self.openings, self.mark = _first(db)

    @classmethod
    def unopened(cls, path, session, openings, mark):
        """Return a file as it was known; one that is gone, or another, is told by a transaction."""
        file = cls.__new__(cls)
        file.path, file.session, file.mark = path, session, mark
        file.openings = (openings,) if isinstance(openings, Entry) else openings  # an old pickle
        return file

    @property
    def first(self):
        """The first line; that of the first account."""
        return self.openings[0]

    @classmethod
    def temporary(cls, *openings):
        """Create a file for this session, removed when this very process ends."""
        folder = tempfile.mkdtemp(prefix="skdp-ledger-")
        atexit.register(_remove, folder, os.getpid())
        path = os.path.join(folder, "ledger.db")
        _write(path, openings)
        return cls(path, session=True)

    @classmethod
    def at(cls, path, *openings):
        """Open the file at ``path``, created in one step if there is none."""
        path = os.path.realpath(path)
        if not os.path.exists(path):
            if not os.path.isdir(folder := os.path.dirname(path)):
                raise FileNotFoundError(f"a ledger needs an existing directory. Create {folder!r}.")
            with tempfile.TemporaryDirectory(prefix=".skdp-", dir=folder) as place:
                _write(new := os.path.join(place, "ledger.db"), openings)
                with suppress(FileExistsError):  # another process was faster
                    os.link(new, path)
        return cls(path)

    @contextmanager
    def transaction(self, mode="DEFERRED"):
        """Open the file for one transaction, durable when the block has been left.

        EXTRA: the directory is synced as well after the journal is unlinked, without which a
        power cut could bring the journal back and undo a charge.
        """
        try:
            with _lock, _alone(self.path), closing(_connect(self.path, "rw")) as db:
                db.execute(f"PRAGMA synchronous = {'OFF' if self.session else 'EXTRA'}")
                db.execute("PRAGMA fullfsync = ON")
                if _format(db) not in FORMATS:
                    raise ValueError(f"{self.path!r} is not a ledger. Pass the path of a new file.")
                db.execute(f"BEGIN {mode}")
                if self.openings and (self.openings, self.mark) != _first(db):
                    raise ValueError(f"the ledger {self.path!r} was replaced. Open the new one.")
                yield db
                db.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise _explained(error, self.path) from error


def append(db, kind, what="", unit="", numbers=(0, 0, 0, 0), seeded=False):
    """Add a line; return its number. ``numbers``: amount, failure, epsilon, delta."""
    texts = (_text(exact(number)) for number in numbers)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = (None, kind, what, unit, *texts, seeded, os.getpid(), now)
    return db.execute(f"INSERT INTO entries VALUES ({','.join('?' * len(row))})", row).lastrowid


def entries(db, where="TRUE"):
    """Return the lines in order, as a list of :class:`Entry`."""
    rows = db.execute(f"SELECT {', '.join(Entry._fields)} FROM entries WHERE {where} ORDER BY id")
    return [_entry(row) for row in rows]


def spent(db, of_groups=None):
    """Return the exact sums (amount, failure) of all charges; a damaged kind counts as one.

    Where there are several accounts, of those to the one of groups or of rows; a damaged unit
    counts in both.
    """
    total = [Fraction(0), Fraction(0)]
    costs = "id > 1 AND COALESCE(kind, '') NOT IN ('refused', 'acknowledged')"
    if of_groups is not None:
        others = ", ".join(f"'{unit}{'' if of_groups else OF_GROUPS}'" for unit in UNITS)
        costs += f" AND id > 2 AND COALESCE(unit, '') NOT IN ({others})"
    groups = f"SELECT amount, failure, COUNT(*) FROM entries WHERE {costs} GROUP BY 1, 2"
    for amount, failure, times in db.execute(groups):
        total[0] += times * _number(amount)
        total[1] += times * _number(failure)
    return tuple(total)


def latched(db):
    """Return whether the last refusal has not been acknowledged."""
    last = "SELECT kind FROM entries WHERE kind IN ('refused', 'acknowledged') ORDER BY id DESC"
    return db.execute(f"{last} LIMIT 1").fetchone() == ("refused",)


def _first(db):
    """Return the first lines, and the random number of the file, which tells it from others."""
    several = _format(db) == FORMATS[1]
    lines = tuple(entries(db, f"id <= {1 + several}"))
    whole = len(lines) == 1 + several and {line.kind for line in lines} == {"opened"}
    empty = [line.unit.startswith(UNCLAIMED) for line in lines if not line.amount]
    if not whole or not all(empty) or not lines[0].amount:
        raise sqlite3.DataError("its first line is damaged")
    return lines, db.execute("PRAGMA user_version").fetchone()


def _format(db):
    return db.execute("PRAGMA application_id").fetchone()[0]


def _entry(row):
    if {*map(type, (*row[1:8], row[10]))} != {str}:
        raise sqlite3.DataError("a line of it is damaged")
    return Entry(*row[:4], *map(_number, row[4:8]), bool(row[8]), *row[9:])


def _write(path, openings):
    number = SystemEntropy().words(1)[0] >> 33
    kind = FORMATS[len(openings) > 1]
    with closing(_connect(path, "rwc")) as db:
        db.executescript(
            f"PRAGMA application_id = {kind}; {SCHEMA} PRAGMA user_version = {number};"
        )
        for opening in openings:
            append(db, "opened", *opening)


def _connect(path, mode):
    """Open a file, which is created in mode "rwc" only; no transaction begins by itself."""
    uri = f"{Path(path).as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


@contextmanager
def _alone(path):
    """Hold the lock of the directory of a file, in which SQLite keeps its journal beside it.

    SQLite's own locks, of the POSIX kind, belong to the process: they are gone as soon as any of
    its code closes any descriptor of the file, as that of a backup. This one belongs to the
    descriptor opened here, which nobody else has. It is not on the file, so that it neither meets
    SQLite's locks, where the system makes no difference, nor drops them when it is closed.
    """
    if fcntl is None:
        yield
        return
    place = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        _wait_for(place)
        yield
    finally:
        fcntl.flock(place, fcntl.LOCK_UN)  # also for a child that has inherited it
        os.close(place)


def _wait_for(place):
    last = time.monotonic() + BUSY_SECONDS
    while time.monotonic() < last:
        with suppress(BlockingIOError):
            return fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(POLL_SECONDS)
    raise TimeoutError


def _remove(folder, pid):
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _explained(error, path):
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_NOTADB"):
        return ValueError(f"{path!r} is not a ledger. Pass the path of a new file.")
    if name.startswith("SQLITE_BUSY") or isinstance(error, TimeoutError):
        return TimeoutError(f"{path!r} was locked for {BUSY_SECONDS} s. Nothing was granted.")
    if not os.path.exists(path):
        return FileNotFoundError(f"there is no ledger at {path!r}. Nothing was granted.")
    return OSError(f"the ledger {path!r} cannot be used ({error}). Nothing was granted.")


def _text(number):
    """Write n/d in decimal, or in hexadecimal where Python limits the length of decimals."""
    n, d = number.as_integer_ratio()
    return f"{n}/{d}" if max(n, d).bit_length() < 2000 else f"{n:#x}/{d:#x}"


def _number(text):
    with suppress(AttributeError, TypeError, ValueError, ZeroDivisionError):
        number = Fraction(*(int(part, 0) for part in text.split("/")))
        if number >= 0:
            return number
    raise sqlite3.DataError("a number of it is damaged")
