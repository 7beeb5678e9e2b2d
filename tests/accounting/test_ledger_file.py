import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from datetime import datetime
from fractions import Fraction

import pytest

from skdp.accounting import Budget, PrivacyLedger, _ledger, _ledger_file
from skdp.exceptions import BudgetExceeded
from tests.accounting._old_ledger import as_before, edited

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def run(code, *arguments):
    """Run code in a process without threads, which may fork; return the words it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def race(ledger, budget, threads):
    """Let threads charge until they are refused; return the number of grants."""
    granted, start = [], threading.Barrier(threads)

    def work():
        start.wait()
        while True:
            try:
                granted.append(ledger.charge(budget, "race"))
            except BudgetExceeded:
                return

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(granted)) == len(granted)
    return len(granted)


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("allowed", [1, 30])
def test_threads_never_overspend(tmp_path, file, allowed):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db" if file else None)
    assert race(ledger, Budget.pure(Fraction(1, allowed)), threads=6) == allowed
    assert ledger.spent().amount == 1


FORKS = """
import os, sys, threading
from fractions import Fraction
from skdp.accounting import Budget, PrivacyLedger
from skdp.exceptions import BudgetExceeded

def work():
    while True:
        try:
            number = PrivacyLedger(1.0, path=sys.argv[1]).charge(budget, "race")
            os.write(1, f"{number}\\n".encode())
        except BudgetExceeded:
            return

budget, children = Budget.pure(Fraction(1, int(sys.argv[2]))), []
for _ in range(4):
    child = os.fork()
    if child == 0:
        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


@pytest.mark.slow
@needs_fork
def test_four_processes_of_four_threads_get_exactly_what_there_is(tmp_path):
    path = tmp_path / "a.db"  # which they also race to create
    granted = run(FORKS, path, 128)
    assert len(granted) == len(set(granted)) == 128
    ledger = PrivacyLedger.open(path)
    assert ledger.spent().amount == 1
    assert sorted(str(e.id) for e in ledger.entries() if e.kind == "charge") == sorted(granted)
    assert os.listdir(tmp_path) == ["a.db"]


KILLS = """
import os, signal, sys, time
from fractions import Fraction
from skdp.accounting import Budget, PrivacyLedger

ledger, budget = PrivacyLedger(1.0, path=sys.argv[1]), Budget.pure(Fraction(1, 10**6))
for i in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        while True:
            os.write(1, f"{ledger.charge(budget, 'fit')}\\n".encode())
    time.sleep(0.02 + 0.0053 * (7 * i % 20))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@needs_fork
@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_no_charge_is_lost_by_kill_9(tmp_path, kills):
    granted = run(KILLS, tmp_path / "a.db", kills)
    ledger = PrivacyLedger.open(tmp_path / "a.db")
    held = {str(e.id) for e in ledger.entries() if e.kind == "charge"}
    assert len(granted) > kills // 2 and len(set(granted)) == len(granted)
    assert set(granted) <= held
    assert len(held) <= len(granted) + kills  # at most one in flight per kill
    ledger.charge(Budget.pure(0.5), "after")


BUSY_FORKS = """
import os, threading
from fractions import Fraction
from skdp.accounting import Budget, PrivacyLedger

ledger, budget, done = PrivacyLedger(1.0), Budget.pure(Fraction(1, 10**6)), threading.Event()

def work():
    while not done.is_set():
        ledger.charge(budget, "thread")

threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
for _ in range(30):
    child = os.fork()
    if child == 0:
        ledger.charge(budget, "child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.set()
[t.join() for t in threads]
print(sum(e.what == "child" for e in ledger.entries()))
"""


@pytest.mark.slow
@needs_fork
def test_forks_while_threads_charge(tmp_path):
    assert run(BUSY_FORKS) == ["30"]


SESSION = """
import os, pickle, subprocess, sys
from skdp.accounting import Budget, PrivacyLedger

ledger = PrivacyLedger(1.0)
child = os.fork()
if child == 0:
    ledger.charge(Budget.pure(0.25), "child")
    sys.exit()  # runs the exit handlers
assert os.waitpid(child, 0)[1] == 0 and os.path.exists(ledger.path)
code = "import pickle, sys; from skdp.accounting import Budget; " \\
       "pickle.load(sys.stdin.buffer).charge(Budget.pure(0.25), 'other')"
subprocess.run([sys.executable, "-c", code], input=pickle.dumps(ledger), check=True)
assert os.path.exists(ledger.path)
print(ledger.spent().amount, ledger.path)
"""


@pytest.mark.slow
@needs_fork
def test_a_session_file_outlives_the_children_and_not_its_maker():
    amount, path = run(SESSION)
    assert amount == "1/2"
    assert not os.path.exists(path) and not os.path.exists(os.path.dirname(path))


def test_a_charge_is_synced_with_its_directory(tmp_path, monkeypatch):
    def synchronous(ledger):
        with ledger._file.transaction() as db:
            return db.execute("PRAGMA synchronous").fetchone()[0]

    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    assert synchronous(ledger) == synchronous(pickle.loads(pickle.dumps(ledger))) == 3
    session = PrivacyLedger(1.0)
    assert synchronous(session) == synchronous(pickle.loads(pickle.dumps(session))) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET amount = '0/1'",
        "DELETE FROM entries WHERE id = 2",
        "INSERT OR REPLACE INTO entries SELECT 2, kind, what, unit, '0/1', failure, epsilon,"
        " delta, seeded, pid, time, state, checksum FROM entries WHERE id = 2",
        "REPLACE INTO entries(id, kind) VALUES (2, 'acknowledged')",
    ],
)
def test_lines_are_only_added(tmp_path, statement):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    ledger.charge(Budget.pure(0.5), "fit")
    before = ledger.entries()
    db = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)
    db.close()
    assert ledger.entries() == before


def test_reopening_needs_the_same_parameters(tmp_path):
    path = tmp_path / "a ledger?#%.db"
    PrivacyLedger(0.3, 1e-6, path).charge(Budget.pure(0.01), "fit")
    for other, name in (
        ({"epsilon": 0.5}, r"epsilon=0\.3\. Got 0\.5"),
        ({"delta": 1e-5}, "delta=1e-06. Got 1e-05"),
        ({"composition": "basic"}, "composition=gaussian. Got basic"),
    ):
        with pytest.raises(ValueError, match=name):
            PrivacyLedger(**({"epsilon": 0.3, "delta": 1e-6, "path": path} | other))
    for again in (PrivacyLedger(0.3, 1e-6, str(path)), PrivacyLedger.open(path)):
        assert again.spent().epsilon > 0 and again.epsilon == 0.3
        assert again.path == os.path.realpath(path)


def test_a_symbolic_link_is_the_same_ledger(tmp_path):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    assert PrivacyLedger(1.0, path=tmp_path / "b.db") == ledger


def test_files_that_are_no_ledgers(tmp_path):
    (tmp_path / "empty").touch()  # also what is left of a truncated ledger
    (tmp_path / "text").write_text("no ledger " * 1000)
    db = sqlite3.connect(tmp_path / "other")
    db.execute("CREATE TABLE entries (id)")
    db.close()
    for name in ("empty", "text", "other"):
        before = (tmp_path / name).read_bytes()
        for make in (PrivacyLedger.open, lambda path: PrivacyLedger(1.0, path=path)):
            with pytest.raises(ValueError, match="is not a ledger"):
                make(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(FileNotFoundError, match="existing directory"):
        PrivacyLedger(1.0, path=tmp_path / "missing" / "a.db")
    with pytest.raises(FileNotFoundError, match="no ledger at"):
        PrivacyLedger.open(tmp_path / "missing.db")
    with pytest.raises(OSError, match="cannot be used"):
        PrivacyLedger.open(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["empty", "other", "text"]


def test_a_ledger_that_is_gone_or_replaced_grants_nothing(tmp_path):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    os.rename(ledger.path, tmp_path / "b.db")
    with pytest.raises(FileNotFoundError, match="Nothing was granted"):
        ledger.charge(Budget.pure(0.1), "fit")
    assert not os.path.exists(ledger.path)
    PrivacyLedger(5.0, path=ledger.path)
    with pytest.raises(ValueError, match="was replaced"):
        ledger.charge(Budget.pure(0.1), "fit")


def test_a_locked_ledger_grants_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(_ledger_file, "BUSY_SECONDS", 0.05)
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TimeoutError, match=r"locked for 0\.05 s\. Nothing was granted"):
        ledger.charge(Budget.pure(0.1), "fit")
    other.close()
    ledger.charge(Budget.pure(1.0), "fit")


def test_an_interrupted_charge_leaves_no_half_line(tmp_path, monkeypatch):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")

    def interrupted(*arguments):
        _ledger_file.append(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_ledger, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(Budget.pure(0.1), "fit")
    assert len(ledger.entries()) == 1
    ledger.charge(Budget.pure(1.0), "fit")


COPIES = """
import os, shutil, sys, tempfile, threading, time
from fractions import Fraction
from skdp.accounting import Budget, PrivacyLedger
from skdp.exceptions import BudgetExceeded

path, budget, stop = sys.argv[1], Budget.pure(Fraction(1, 10**6)), threading.Event()

def back_up(copy):
    while not stop.is_set():
        shutil.copy(path, copy)  # opens the file and closes it again
        time.sleep(0.01)

for _ in range(3):
    if os.fork() == 0:
        with tempfile.TemporaryDirectory() as folder:
            thread = threading.Thread(target=back_up, args=(os.path.join(folder, "copy.db"),))
            thread.start()
            ledger = PrivacyLedger.open(path)
            for _ in range(int(sys.argv[2])):
                try:
                    os.write(1, f"{ledger.charge(budget, 'fit')}\\n".encode())
                except BudgetExceeded:
                    os.write(1, b"latched\\n")
                except Exception as error:
                    os.write(1, f"{type(error).__name__}\\n".encode())
            stop.set()
            thread.join()
        os._exit(0)
for _ in range(3):
    assert os.wait()[1] == 0
"""


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("each", [15, 150])
def test_backups_by_the_processes_that_charge_lose_nothing(tmp_path, each):
    """POSIX locks are gone when any code of the process closes any descriptor of the file."""
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    granted = run(COPIES, ledger.path, each)
    held = [str(e.id) for e in ledger.entries()[1:]]
    assert len(granted) == 3 * each and sorted(granted) == sorted(held)
    assert {e.kind for e in ledger.entries()[1:]} == {"charge"} and not ledger.report().latched
    assert ledger.spent().amount == Fraction(3 * each, 10**6)
    assert os.listdir(tmp_path) == ["a.db"]


HOLDS = """
import sys, time
from skdp.accounting import PrivacyLedger

with PrivacyLedger.open(sys.argv[1])._file.transaction():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_ledger_that_another_process_holds_is_told_as_locked(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    other = subprocess.Popen([sys.executable, "-c", HOLDS, ledger.path], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"held\n"
        with monkeypatch.context() as patch:
            patch.setattr(_ledger_file, "BUSY_SECONDS", 0.05)
            with pytest.raises(TimeoutError, match=r"locked for 0\.05 s\. Nothing was granted"):
                ledger.charge(Budget.pure(0.1), "fit")
    finally:
        other.kill()
        other.communicate()
    ledger.charge(Budget.pure(1.0), "fit")  # the lock has gone with the process


def test_without_fcntl_there_are_sqlites_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(_ledger_file, "fcntl", None)
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    assert race(ledger, Budget.pure(Fraction(1, 20)), threads=4) == 20


def test_a_file_made_again_in_the_same_second_is_another_ledger(tmp_path, monkeypatch):
    class Clock:
        @staticmethod
        def now(zone):
            return datetime(2026, 1, 1, tzinfo=zone)

    monkeypatch.setattr(_ledger_file, "datetime", Clock)
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    ledger.charge(Budget.pure(1.0), "fit")
    os.remove(ledger.path)
    again = PrivacyLedger(1.0, path=tmp_path / "a.db")
    with pytest.raises(ValueError, match="was replaced"):
        ledger.charge(Budget.pure(0.1), "fit")
    again.charge(Budget.pure(1.0), "fit")
    assert PrivacyLedger(1.0, path=tmp_path / "a.db").spent().amount == 1


@pytest.mark.parametrize(
    "column, value, row",
    [
        ("amount", "1/0", 2),
        ("amount", "1/x", 2),
        ("amount", "-1/2", 2),
        ("amount", "1/2/3", 2),
        ("failure", None, 2),
        ("failure", b"0/1", 2),
        ("amount", "0/1", 1),
        ("amount", "", 1),
        ("kind", "charge", 1),
        ("what", None, 1),
        ("id", 99, 1),
    ],
)
@pytest.mark.parametrize("old", [False, True])
def test_a_damaged_ledger_is_told_in_one_way(tmp_path, column, value, row, old):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    ledger.charge(Budget.pure(0.25), "fit")
    if old:
        as_before(ledger.path)
    edited(ledger.path, f"UPDATE entries SET {column} = ? WHERE id = ?", (value, row))
    for use in (
        ledger.report,
        ledger.spent,
        lambda: ledger.charge(Budget.pure(0.1), "fit"),
        lambda: PrivacyLedger.open(ledger.path).entries(),
        lambda: PrivacyLedger(1.0, path=ledger.path).remaining(),
    ):
        with pytest.raises(OSError, match=r"cannot be used \(.* damaged\)\. Nothing was granted"):
            use()


def test_a_charge_whose_kind_is_damaged_still_counts_in_an_old_file(tmp_path):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    ledger.charge(Budget.pure(0.75), "fit")
    as_before(ledger.path)
    edited(ledger.path, "UPDATE entries SET kind = 'chbrge' WHERE id = 2")
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.pure(0.5), "fit")
