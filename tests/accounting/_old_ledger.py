"""Files of ledgers from before lines had checksums, and files that were edited."""

import sqlite3
from contextlib import closing

OLD = """
CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, what TEXT, unit TEXT,
    amount TEXT, failure TEXT, epsilon TEXT, delta TEXT, seeded INTEGER, pid INTEGER, time TEXT);
CREATE TRIGGER no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER no_replace BEFORE INSERT ON entries WHEN NEW.id IN (SELECT id FROM entries)
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""


def as_before(path):
    """Rewrite the file of a ledger in the format from before."""
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT * FROM entries ORDER BY id").fetchall()
        (number,) = db.execute("PRAGMA application_id").fetchone()
        db.executescript(f"DROP TABLE entries; {OLD} PRAGMA application_id = {number - 2};")
        db.executemany(f"INSERT INTO entries VALUES ({','.join('?' * 11)})", [r[:11] for r in rows])
        db.commit()


def edited(path, statement, values=()):
    """Run a statement on the file of a ledger, whose rules are set aside meanwhile."""
    with closing(sqlite3.connect(path)) as db, db:
        rules = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        rules = db.execute(rules).fetchall()
        for name, _ in rules:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(statement, values)
        for _, rule in rules:
            db.execute(rule)
