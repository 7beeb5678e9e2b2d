import hashlib
import json
import os
import sqlite3
import subprocess
import sys

import pytest

from skdp import PrivacyLedger
from skdp.__main__ import main
from skdp.accounting import Budget
from skdp.exceptions import BudgetExceeded


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PrivacyLedger("study.db", epsilon=3, delta=1e-6).charge(Budget.pure(0.1), "mean")
    return tmp_path / "study.db"


def state(folder):
    """Return name, contents and time of change of every file."""
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in folder.iterdir()
    }


def failed(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["study.db"], ["--json", "study.db"], ["./study.db"]])
def test_looking_changes_nothing(path, capsys, arguments):
    before = state(path.parent)
    assert main(["ledger", *arguments]) == 0
    assert state(path.parent) == before
    assert "mean" in capsys.readouterr().out


def test_text_is_the_report(path, capsys):
    main(["ledger", str(path)])
    assert capsys.readouterr().out == f"{PrivacyLedger.open(path).report()}\n"


def test_json_is_json(path, capsys):
    main(["ledger", "study.db", "--json"])
    assert json.loads(capsys.readouterr().out)["entries"][1]["what"] == "mean"


def test_html_is_a_page(path, capsys):
    before = state(path.parent)
    assert main(["ledger", "study.db", "--html", "page.html"]) == 0
    after = state(path.parent)
    page = path.with_name("page.html").read_text()
    assert page.startswith("<!doctype html>") and "charged" in page
    assert capsys.readouterr().out == "" and set(after) - set(before) == {"page.html"}
    assert after["study.db"] == before["study.db"]


def test_a_latched_ledger_ends_with_1(path, capsys):
    with pytest.raises(BudgetExceeded):
        PrivacyLedger.open(path).charge(Budget.pure(9.0), "too much")
    assert main(["ledger", "study.db"]) == 1
    assert "LATCHED" in capsys.readouterr().out
    PrivacyLedger.open(path).acknowledge()
    assert main(["ledger", "study.db"]) == 0


def test_files_that_are_no_ledgers_are_refused_untouched(path, capsys):
    folder = path.parent
    (folder / "notes.txt").write_text("milk")
    (folder / "empty.db").touch()
    db = sqlite3.connect(folder / "foreign.db")
    db.execute("PRAGMA journal_mode = WAL")  # which SQLite itself changes when it opens the file
    db.execute("CREATE TABLE t (x)")
    before = state(folder)
    for name in ("notes.txt", "empty.db", "foreign.db"):
        assert "is not a ledger of skdp" in failed(["ledger", name], capsys)
    assert "there is no file" in failed(["ledger", "missing.db"], capsys)
    assert "cannot be read" in failed(["ledger", "."], capsys)
    assert state(folder) == before
    db.close()


def test_a_damaged_ledger_is_an_error_not_a_traceback(path, capsys):
    path.write_bytes(path.read_bytes()[:4096])
    assert "cannot be used" in failed(["ledger", "study.db"], capsys)


def test_a_page_does_not_overwrite_the_ledger(path, capsys):
    os.symlink("study.db", "link.html")
    before = state(path.parent)
    for page in ("study.db", str(path), "link.html"):
        message = failed(["ledger", "study.db", "--html", page], capsys)
        assert "would overwrite the ledger" in message
    assert "No such file" in failed(["ledger", "study.db", "--html", "no/page.html"], capsys)
    assert state(path.parent) == before


def test_help(capsys):
    assert main([]) == 0
    assert "ledger" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["ledger", "--help"])
    assert stop.value.code == 0 and "exit codes" in capsys.readouterr().out
    assert "required: FILE" in failed(["ledger"], capsys)
    assert "invalid choice" in failed(["lodger"], capsys)


def test_as_a_process(path):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    env["PYTHONIOENCODING"] = "ascii"  # of a terminal that lacks some letters
    PrivacyLedger.open(path).charge(Budget.pure(0.1), "café")
    command = [sys.executable, "-m", "skdp", "ledger", "study.db"]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "") and "caf?" in done.stdout
