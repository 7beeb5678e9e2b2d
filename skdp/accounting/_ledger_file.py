"""The file of a ledger: lines that are added, never changed, and are on disk before they count."""

import atexit
import os
import shutil
import sqlite3
import tempfile
import threading
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

__all__ = ["Entry", "LedgerFile", "append", "entries", "latched", "spent"]

FORMAT = 0x736B6470  # "skdp"
REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;"
SCHEMA = f"""
PRAGMA application_id = {FORMAT};
CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, what TEXT, unit TEXT,
    amount TEXT, failure TEXT, epsilon TEXT, delta TEXT, seeded INTEGER, pid INTEGER, time TEXT);
CREATE TRIGGER no_update BEFORE UPDATE ON entries {REFUSE}
CREATE TRIGGER no_delete BEFORE DELETE ON entries {REFUSE}
CREATE TRIGGER no_replace BEFORE INSERT ON entries
    WHEN NEW.id IN (SELECT id FROM entries) {REFUSE}
"""
BUSY_SECONDS = 60

# Between calls no connection is open; while one is, this process does not fork.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class Entry(NamedTuple):
    """One line of a ledger: the first holds the capacity, and only kind "charge" costs.

    ``amount`` and ``failure`` are what it takes from the two capacities, ``epsilon`` and
    ``delta`` the guarantee of the fit by itself. ``kind`` is "opened", "charge", "refused" or
    "acknowledged".
    """

    id: int
    kind: str
    what: str
    unit: str
    amount: Fraction
    failure: Fraction
    epsilon: Fraction
    delta: Fraction
    seeded: bool
    pid: int
    time: str

    def __repr__(self):
        seeded = " (seeded: not private)" if self.seeded else ""
        cost = f"epsilon={float(self.epsilon):.4g}, delta={float(self.delta):.3g}{seeded}"
        line = f"{self.id:>5}  {self.time}  {self.kind:<12} {self.what}"
        return f"{line}  {cost}" if self.epsilon else line


class LedgerFile:
    """An existing ledger file; ``session`` waives the fsync for one that nobody will reopen."""

    def __init__(self, path, session=False):
        self.path, self.session, self.first = os.path.realpath(path), session, None
        with self.transaction() as db:
            self.first = _first(db)

    @classmethod
    def temporary(cls, *capacity):
        """Create a file for this session, removed when this very process ends."""
        folder = tempfile.mkdtemp(prefix="skdp-ledger-")
        atexit.register(_remove, folder, os.getpid())
        path = os.path.join(folder, "ledger.db")
        _write(path, capacity)
        return cls(path, session=True)

    @classmethod
    def at(cls, path, *capacity):
        """Open the file at ``path``, created in one step if there is none."""
        path = os.path.realpath(path)
        if not os.path.exists(path):
            if not os.path.isdir(folder := os.path.dirname(path)):
                raise FileNotFoundError(f"a ledger needs an existing directory. Create {folder!r}.")
            with tempfile.TemporaryDirectory(prefix=".skdp-", dir=folder) as place:
                _write(new := os.path.join(place, "ledger.db"), capacity)
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
            with _lock, closing(_connect(self.path, "rw")) as db:
                db.execute(f"PRAGMA synchronous = {'OFF' if self.session else 'EXTRA'}")
                db.execute("PRAGMA fullfsync = ON")
                if db.execute("PRAGMA application_id").fetchone() != (FORMAT,):
                    raise ValueError(f"{self.path!r} is not a ledger. Pass the path of a new file.")
                db.execute(f"BEGIN {mode}")
                if self.first not in (None, _first(db)):
                    raise ValueError(f"the ledger {self.path!r} was replaced. Open the new one.")
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error


def append(db, kind, what="", unit="", numbers=(0, 0, 0, 0), seeded=False):
    """Add a line; return its number. ``numbers``: amount, failure, epsilon, delta."""
    texts = (_text(Fraction(number)) for number in numbers)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = (None, kind, what, unit, *texts, seeded, os.getpid(), now)
    return db.execute(f"INSERT INTO entries VALUES ({','.join('?' * len(row))})", row).lastrowid


def entries(db, where="TRUE"):
    """Return the lines in order, as a list of :class:`Entry`."""
    rows = db.execute(f"SELECT * FROM entries WHERE {where} ORDER BY id")
    return [Entry(*r[:4], *map(_number, r[4:8]), bool(r[8]), *r[9:]) for r in rows]


def spent(db):
    """Return the exact sums (amount, failure) of all charges."""
    total = [Fraction(0), Fraction(0)]
    groups = "SELECT amount, failure, COUNT(*) FROM entries WHERE kind = 'charge' GROUP BY 1, 2"
    for amount, failure, times in db.execute(groups):
        total[0] += times * _number(amount)
        total[1] += times * _number(failure)
    return tuple(total)


def latched(db):
    """Return whether the last refusal has not been acknowledged."""
    last = "SELECT kind FROM entries WHERE kind IN ('refused', 'acknowledged') ORDER BY id DESC"
    return db.execute(f"{last} LIMIT 1").fetchone() == ("refused",)


def _first(db):
    return entries(db, "id = 1")[0]


def _write(path, capacity):
    with closing(_connect(path, "rwc")) as db:
        db.executescript(SCHEMA)
        append(db, "opened", *capacity)


def _connect(path, mode):
    """Open a file, which is created in mode "rwc" only; no transaction begins by itself."""
    uri = f"{Path(path).as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _remove(folder, pid):
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _explained(error, path):
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_NOTADB"):
        return ValueError(f"{path!r} is not a ledger. Pass the path of a new file.")
    if name.startswith("SQLITE_BUSY"):
        return TimeoutError(f"{path!r} was locked for {BUSY_SECONDS} s. Nothing was granted.")
    if not os.path.exists(path):
        return FileNotFoundError(f"there is no ledger at {path!r}. Nothing was granted.")
    return OSError(f"the ledger {path!r} cannot be used ({error}). Nothing was granted.")


def _text(number):
    """Write n/d in decimal, or in hexadecimal where Python limits the length of decimals."""
    n, d = number.as_integer_ratio()
    return f"{n}/{d}" if max(n, d).bit_length() < 2000 else f"{n:#x}/{d:#x}"


def _number(text):
    return Fraction(*(int(part, 0) for part in text.split("/")))
