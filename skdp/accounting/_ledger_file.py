"""The file of a ledger: lines that are added, never changed, and are on disk before they count.

Every line holds the *state* after it, whether the ledger is latched and the exact sums of each
account, and a checksum: SHA-256 of all its fields, the state and the checksum before it; that of
the first line goes on from the format and the random number of the file. The numbers of lines have
no gaps, and SQLite counts them a second time. So a line that is lost or changed is told: all of
them whenever lines are read, the last two by every charge, which takes the sums from there.
"""

import atexit
import math
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
import time
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from skdp.accounting._budget import MEASURES
from skdp.mechanisms._entropy import SystemEntropy
from skdp.mechanisms._exact import exact
from skdp.show._ledger import Entry, Lines, as_number, plain, state_of

try:
    import fcntl
except ImportError:  # Windows, whose locks belong to a handle and not to a process
    fcntl = None


# "skdp" for one unit, "skdq" for several; "skdr" and "skds" the same with states and checksums.
FORMATS = (0x736B6470, 0x736B6471, 0x736B6472, 0x736B6473)
OF_GROUPS, UNCLAIMED = ", of groups", "unclaimed"
# units of lines of other accounts
OF_OTHERS = {*(measure + OF_GROUPS for measure in MEASURES)}, {*MEASURES}
REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
FIELDS = (
    "id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, what TEXT, unit TEXT, amount TEXT, "
    "failure TEXT, epsilon TEXT, delta TEXT, seeded INTEGER, pid INTEGER, time TEXT"
)
TABLES = tuple(  # of files without checksums, and with
    {
        "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)",
        "entries": f"CREATE TABLE entries ({fields})",
    }
    for fields in (FIELDS, f"{FIELDS}, state TEXT, checksum TEXT")
)
TRIGGERS = {
    "no_update": f"CREATE TRIGGER no_update BEFORE UPDATE ON entries {REFUSE}",
    "no_delete": f"CREATE TRIGGER no_delete BEFORE DELETE ON entries {REFUSE}",
    "no_replace": "CREATE TRIGGER no_replace BEFORE INSERT ON entries "
    f"WHEN NEW.id IN (SELECT id FROM entries) {REFUSE}",
}
LARGEST = 2**1000  # number of an opening
LONG, SHORT = 1024, 256  # binary digits of the numerator of a sum
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
            if db.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise sqlite3.DataError("a page of it is damaged")
            self.openings, self.mark = _first(db)
            lines(db)

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
                # The lock: nobody sees the file while it has two names.
                with suppress(FileExistsError), _alone(path):  # another process was faster
                    _linked(new, path)
                    os.unlink(new)
        with _alone(path):
            for left in Path(os.path.dirname(path)).glob(".skdp-*/ledger.db"):
                with suppress(FileNotFoundError):  # of a file that others are about to make
                    if os.path.samefile(left, path):  # its maker was killed between the two
                        os.unlink(left)
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
                _check_schema(db)
                if self.openings and (self.openings, self.mark) != _first(db):
                    raise ValueError(f"the ledger {self.path!r} was replaced. Open the new one.")
                if mode == "IMMEDIATE" and not _kind(db)[0]:
                    _upgrade(db)
                yield db
                db.execute("COMMIT")
        except (sqlite3.Error, OSError, UnicodeError, MemoryError) as error:
            raise _explained(error, self.path) from error


def append(db, kind, what="", unit="", numbers=(0, 0, 0, 0), seeded=False):
    """Add a line; return its number. ``numbers``: amount, failure, epsilon, delta."""
    texts = (_text(exact(number)) for number in numbers)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    last = _last(db)
    line = (last[0] + 1, kind, what, unit, *texts, int(seeded), os.getpid(), now)
    return _add(db, last, line)[0]


def lines(db):
    """Return all lines, every one of them checked."""
    (chained, several), last, rows = _kind(db), _start(db), []
    for row in db.execute("SELECT * FROM entries ORDER BY id"):
        if chained:
            after = row[0], row[-2], _checksum(last[2], row[:-1])
        else:
            Entry.of(row)
            after = _next(last, row, several)
        if row[0] != last[0] + 1 or (chained and row[-1] != after[2]):
            raise sqlite3.DataError(f"line {last[0] + 1} of it is missing or damaged")
        rows.append((*row[:11], after[1]))
        last = after
    _check_number(db, last[0])
    return Lines(rows)


def state(db):
    """Return whether the ledger is latched, and the sums (amount, failure) of each account."""
    return state_of(_last(db)[1])


def _last(db):
    """Return number, state and checksum of the last line, which is checked."""
    rows = db.execute("SELECT * FROM entries ORDER BY id DESC LIMIT 2").fetchall()[::-1]
    points = [_start(db), *((row[0], *row[-2:]) for row in rows)]
    _check_number(db, points[-1][0])
    if rows and rows[-1][-1] != _checksum(points[-2][2], rows[-1][:-1]):
        raise sqlite3.DataError("its last line is damaged")
    return points[-1]


def _start(db):
    """Return number, state and checksum that the first line goes on from."""
    mark = db.execute("PRAGMA user_version").fetchone()
    return 0, "0" + " 0/1" * 2 * (1 + _kind(db)[1]), f"{_format(db)} {mark}"


def _next(last, line, several):
    """Return number, state and checksum of a line that follows another one."""
    after = _after(last[1], line, several)
    return line[0], after, _checksum(last[2], (*line, after))


def _after(before, line, several):
    """Return the state after a line.

    In files without checksums a line of a damaged kind counts as a charge, and one of a damaged
    unit in both accounts.
    """
    number, kind, _, unit, *cost = line[:6]
    if kind in ("refused", "acknowledged"):
        return f"{int(kind == 'refused')}{before[1:]}"
    if number <= 1 + several:
        return before
    sums = [
        used if several and unit in others else map(_sum, used, map(as_number, cost))
        for used, others in zip(state_of(before)[1], OF_OTHERS, strict=False)
    ]
    return " ".join([before[0], *(_text(number) for used in sums for number in used)])


def _sum(a, b):
    """Return a + b; where that has a long numerator, a short number that is not less.

    **Privacy**: so no running sum is below the exact one. Each rounding adds at most 2^-255 of the
    sum; unlike denominators would otherwise make every line longer than the one before.
    """
    total = a + b
    n, d = (part.bit_length() for part in total.as_integer_ratio())
    if n <= LONG:
        return total
    units = Fraction(2) ** (SHORT + d - n)
    return math.ceil(total * units) / units


def _checksum(before, fields):
    return sha256("\x1f".join(map(str, (before, *fields))).encode()).hexdigest()


def _check_number(db, number):
    """Refuse a file whose last line is not the last one that SQLite has numbered."""
    told = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchall()
    if told != [(number,)] * (number > 0):
        raise sqlite3.DataError("lines of it are missing, it is damaged")


def _add(db, last, line):
    point = _next(last, line, _kind(db)[1])
    row = (*line, *point[1:])
    db.execute(f"INSERT INTO entries VALUES ({','.join('?' * len(row))})", row)
    return point


def _check_schema(db):
    """Refuse any table, view, index or trigger but those of a ledger."""
    chained = _kind(db)[0]
    found = db.execute("SELECT name, sql FROM sqlite_master").fetchall()
    found = {name: " ".join(str(sql).split()) for name, sql in found}
    needed = TABLES[chained] | (TRIGGERS if chained else {})
    if not needed.items() <= found.items() <= (TABLES[chained] | TRIGGERS).items():
        raise sqlite3.DataError("its schema is not that of a ledger, or damaged")


def _upgrade(db):
    """Give every line of a file from before them its state and its checksum."""
    several, rows = _kind(db)[1], list(lines(db).rows())
    db.execute("DROP TABLE entries")
    _create(db, several)
    last = _start(db)
    for row in rows:
        last = _add(db, last, row[:11])


def _create(db, several):
    db.execute(f"PRAGMA application_id = {FORMATS[2 + several]}")
    for statement in (TABLES[1]["entries"], *TRIGGERS.values()):
        db.execute(statement)


def _first(db):
    """Return the first lines, and the random number of the file, which tells it from others."""
    several = _kind(db)[1]
    found = db.execute("SELECT * FROM entries WHERE id <= ? ORDER BY id", (1 + several,))
    first = tuple(map(Entry.of, found))
    whole = len(first) == 1 + several and {line.kind for line in first} == {"opened"}
    empty = [line.unit.startswith(UNCLAIMED) for line in first if not line.amount]
    large = any(max(line[4:8]) > LARGEST for line in first)
    if not whole or large or not all(empty) or not first[0].amount:
        raise sqlite3.DataError("its first line is damaged")
    return first, db.execute("PRAGMA user_version").fetchone()


def _linked(new, path):
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(
            f"a ledger cannot be created at {path!r} ({error.strerror}): its file system has no "
            "hard links, by which one is made in one step. Pass a path on a local disk."
        ) from error


def _format(db):
    return db.execute("PRAGMA application_id").fetchone()[0]


def _kind(db):
    """Return whether lines have checksums, and whether there are several accounts: 0 or 1."""
    return divmod(FORMATS.index(_format(db)), 2)


def _write(path, openings):
    number = SystemEntropy().words(1)[0] >> 33
    with closing(_connect(path, "rwc")) as db:
        db.execute("BEGIN")
        db.execute(f"PRAGMA user_version = {number}")
        _create(db, len(openings) > 1)
        for opening in openings:
            append(db, "opened", *opening)
        db.execute("COMMIT")


def _connect(path, mode):
    """Open a file, which is created in mode "rwc" only; no transaction begins by itself."""
    if mode == "rw":
        _check_file(os.stat(path))
    uri = f"{Path(path).as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def _check_file(told):
    if not stat.S_ISREG(told.st_mode):
        raise OSError("it is no regular file")
    if told.st_nlink > 1:
        raise OSError(
            "it has several names, hard links, and what one of them locks is open to the others: "
            "remove all names but one"
        )


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
    return OSError(f"the ledger {path!r} cannot be used ({plain(error)}). Nothing was granted.")


def _text(number):
    """Write n/d in decimal, or in hexadecimal where Python limits the length of decimals."""
    n, d = number.as_integer_ratio()
    return f"{n}/{d}" if max(n, d).bit_length() < 2000 else f"{n:#x}/{d:#x}"
