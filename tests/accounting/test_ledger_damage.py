"""Damaged, foreign and hostile files of ledgers: one clear error, and never less spent."""

import html
import json
import os
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest

from skdp import PrivacyLedger
from skdp.__main__ import main
from skdp.accounting import Budget
from skdp.exceptions import BudgetExceeded
from skdp.show import _ledger
from tests.accounting._old_ledger import as_before, edited

STEERING = [0, 7, 8, 9, 10, 13, 27, 31, 127, 0x85, 0x9B, 0xAD, 0x200F, 0x2028, 0x202E, 0x2066]
HOSTILE = [
    "x".join(map(chr, STEERING)),
    *("\ud800", "\x1b[2J\x1b]0;x\a", "x><script>alert(1)</script", "'\"><img src=x>", "a\nLATCHED"),
]


def charged(path, n, epsilon=20):
    ledger = PrivacyLedger(epsilon, path=path)
    for i in range(n):
        ledger.charge(Budget.pure(Fraction(1, 10)), f"fit {i}" + "." * 150)
    return ledger


def told(use):
    """Return what was spent, None after one of the errors that say that nothing was granted."""
    try:
        return use().amount
    except (OSError, ValueError) as error:
        assert "ledger" in str(error)
        return None


# -- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_changed_byte_lowers_what_is_spent(tmp_path, n):
    ledger, rng = charged(tmp_path / "a.db", 40), np.random.default_rng(n)
    whole, raw = ledger.spent().amount, (tmp_path / "a.db").read_bytes()
    seen, uses = [], (ledger.spent, lambda: PrivacyLedger.open(ledger.path).spent())
    for place in rng.integers(len(raw), size=n):
        changed = bytearray(raw)
        changed[place] ^= rng.integers(1, 256)
        (tmp_path / "a.db").write_bytes(changed)
        seen.append(told(uses[place % 2]))
    assert {*seen} == {whole, None} and seen.count(None) > n / 4


@pytest.mark.parametrize("kind", ["short", "empty page", "lost cells", "lost tail", "lost line"])
def test_lost_lines_are_told(tmp_path, kind):
    path = tmp_path / "a.db"
    ledger = charged(path, 40)
    raw = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name='entries'").fetchone()
    if kind == "short":
        path.write_bytes(raw[:-4096])
    elif kind == "empty page":
        path.write_bytes(raw[:-4096] + bytes(4096))
    elif kind == "lost cells":
        assert raw[(page - 1) * 4096] == 5  # a page that refers to those with the lines
        raw[(page - 1) * 4096 + 4] -= 1
        path.write_bytes(raw)
    else:
        edited(path, f"DELETE FROM entries WHERE id {'= 20' if kind == 'lost line' else '> 30'}")
    with pytest.raises(OSError, match=r"cannot be used.*Nothing was granted"):
        PrivacyLedger.open(path)
    with pytest.raises(OSError, match="Nothing was granted"):
        ledger.report()
    if kind not in ("lost line", "lost cells"):  # the last lines are there, with the sums of all
        with pytest.raises(OSError, match="Nothing was granted"):
            ledger.charge(Budget.pure(0.1), "fit")


def test_a_charge_takes_the_sums_from_a_line_that_was_checked(tmp_path):
    ledger = charged(tmp_path / "a.db", 5, epsilon=1)
    edited(ledger.path, "UPDATE entries SET state = '0 1/10 0/1' WHERE id = 6")
    with pytest.raises(OSError, match="last line is damaged"):
        ledger.charge(Budget.pure(0.6), "fit")
    with pytest.raises(OSError, match="line 6 of it is missing or damaged"):
        PrivacyLedger.open(ledger.path)


@pytest.mark.parametrize("epsilon", [1.0, {"row": 2.0, "group": 1.0}, {"group": 1.0}])
def test_an_old_file_is_read_and_gets_checksums_at_the_first_charge(tmp_path, epsilon):
    ledger = PrivacyLedger(epsilon, path=tmp_path / "a.db")
    for what in ("one", "two"):
        ledger.charge(Budget.pure(0.25), what, unit="row" if epsilon == 1.0 else "group")
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.pure(9.0), "three", unit="row" if epsilon == 1.0 else "group")
    report = ledger.report()
    as_before(ledger.path)
    before = (tmp_path / "a.db").read_bytes()
    old = PrivacyLedger.open(ledger.path)
    assert old.report() == report == ledger.report() and old.report().latched
    assert (tmp_path / "a.db").read_bytes() == before
    ledger.acknowledge()
    again = PrivacyLedger.open(ledger.path)
    assert again.entries()[:-1] == list(report.entries) and again.spent() == old.spent()
    edited(ledger.path, "UPDATE entries SET amount = '1/5' WHERE amount = '1/4'")
    with pytest.raises(OSError, match="damaged"):
        PrivacyLedger.open(ledger.path)


def test_sums_of_unlike_fractions_stay_short_and_are_never_less():
    ledger, exact = PrivacyLedger(10), Fraction(0)
    for i in range(60):
        part = Fraction(1, 10**12 + 2 * i + 1)
        ledger.charge(Budget.pure(part), "fit")
        exact += part
    assert exact < ledger.spent().amount < exact * (1 + Fraction(1, 2**200))
    assert exact.numerator.bit_length() > 2000 > ledger.spent().amount.numerator.bit_length()
    assert ledger.report().history()[-1].left == ledger.remaining()


# -- files that are something else ---------------------------------------------------------------


def test_a_hard_link_is_refused(tmp_path, capsys):
    ledger = charged(tmp_path / "a.db", 1)
    os.mkdir(tmp_path / "other")
    for link in (tmp_path / "b.db", tmp_path / "other" / "b.db"):
        os.link(ledger.path, link)
        for use in (
            lambda: ledger.charge(Budget.pure(0.1), "fit"),
            ledger.report,
            lambda: PrivacyLedger.open(link),  # noqa: B023
            lambda: PrivacyLedger(20, path=link),  # noqa: B023
        ):
            with pytest.raises(OSError, match=r"hard links.*Nothing was granted"):
                use()
        with pytest.raises(SystemExit) as stop:
            main(["ledger", ledger.path])
        assert stop.value.code == 2 and "hard links" in capsys.readouterr().err
        os.unlink(link)
    ledger.charge(Budget.pure(0.1), "fit")
    assert ledger.spent().amount == Fraction(1, 5)


ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x FROM t) SELECT x FROM t"


@pytest.mark.parametrize(
    "script",
    [
        f"DROP TABLE entries; CREATE VIEW entries AS {ENDLESS}",
        "DROP TRIGGER no_update",
        "CREATE TRIGGER more AFTER INSERT ON entries BEGIN DELETE FROM sqlite_sequence; END",
        "CREATE TABLE more (x)",
        "CREATE INDEX more ON entries (kind)",
        "DROP TABLE entries; CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT)",
    ],
)
@pytest.mark.parametrize("old", [False, True])
def test_a_database_of_other_tables_views_or_triggers_is_refused(tmp_path, script, old, capsys):
    ledger = charged(tmp_path / "a.db", 1)
    if old:
        as_before(ledger.path)
        script = script.replace("no_update", "no_update; CREATE TABLE more (x)")
    with closing(sqlite3.connect(ledger.path)) as db:
        db.executescript(script)
    for use in (
        lambda: PrivacyLedger.open(ledger.path),
        lambda: ledger.charge(Budget.pure(1), "x"),
    ):
        with pytest.raises(OSError, match="its schema is not that of a ledger"):
            use()
    with pytest.raises(SystemExit) as stop:
        main(["ledger", ledger.path])
    assert stop.value.code == 2 and "schema" in capsys.readouterr().err


def test_a_schema_that_is_no_text_is_one_error(tmp_path):
    ledger = charged(tmp_path / "a.db", 1)
    raw = (tmp_path / "a.db").read_bytes()
    for old, new in ((b"no_update", b"no_up\xffate"), (b"amount TEXT", b"amo\x1b[2 TEXT")):
        (tmp_path / "a.db").write_bytes(raw.replace(old, new))
        with pytest.raises(OSError, match="cannot be used") as seen:
            ledger.report()
        assert str(seen.value).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs os.mkfifo")
def test_a_pipe_does_not_hang(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for make in (PrivacyLedger.open, lambda path: PrivacyLedger(1.0, path=path)):
        with pytest.raises(OSError, match="no regular file"):
            make(tmp_path / "pipe")
    with pytest.raises(SystemExit) as stop:
        main(["ledger", str(tmp_path / "pipe")])
    assert stop.value.code == 2 and "no regular file" in capsys.readouterr().err


def test_looking_takes_back_what_a_killed_process_has_left_half_written(tmp_path, capsys):
    ledger = charged(tmp_path / "a.db", 2)
    before, copy = str(ledger.report()), tmp_path / "copy" / "a.db"
    copy.parent.mkdir()
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN IMMEDIATE")
        for _ in range(100):
            db.execute("INSERT INTO entries(kind, what) VALUES ('acknowledged', ?)", ("x" * 500,))
        for name in ("a.db", "a.db-journal"):
            shutil.copy(tmp_path / name, copy.with_name(name))
    assert os.path.getsize(copy) > os.path.getsize(ledger.path)
    assert main(["ledger", str(copy)]) == 0
    assert capsys.readouterr().out == before.replace(ledger.path, str(copy)) + "\n"
    assert os.listdir(copy.parent) == ["a.db"]


# -- what is shown -------------------------------------------------------------------------------


def faces(ledger, capsys):
    """Return a ledger as all texts in which it is shown."""
    report = ledger.report()
    assert main(["ledger", ledger.path]) in (0, 1)
    page = report._repr_html_()
    texts = [str(report), page, capsys.readouterr().out, *map(repr, report.entries)]
    assert "<script" not in page and "<img" not in page
    for text in texts:
        assert text.replace("\n", "").isprintable()
        assert not any(line.startswith("LATCHED") for line in text.split("\n"))
    return texts


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_line_reaches_a_terminal_or_a_page_as_it_is(tmp_path, capsys, text):
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    number = ledger.noted(f"note{text}").charge(Budget.pure(0.1), f"fit{text}")
    ledger.charge(Budget.pure(0.1), "fit", note=text)
    assert ledger.entries()[1].what.isprintable() and number == "2"
    faces(ledger, capsys)
    if text != "\ud800":  # which no file holds
        as_before(ledger.path)
        for field in ("kind", "what", "unit", "time"):
            value = text if field != "time" else f"2026{text}"
            edited(ledger.path, f"UPDATE entries SET {field} = ? WHERE id = 2", (value,))
        faces(ledger, capsys)


@pytest.mark.parametrize("number", ["1" + "0" * 400 + "/1", "1" + "0" * 700 + "/1"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_numbers_beyond_floats_are_shown_as_such(tmp_path, capsys, number, delta):
    plt = pytest.importorskip("matplotlib.pyplot")
    ledger = PrivacyLedger(1.0, delta, path=tmp_path / "a.db")
    for _ in range(2):
        ledger.charge(ledger.admit(Budget.pure(1e-3)), "fit")
    as_before(ledger.path)
    for name in ("amount", "failure", "epsilon", "delta"):
        edited(ledger.path, f"UPDATE entries SET {name} = ? WHERE id = 3", (number,))
    for text in faces(ledger, capsys)[:3]:
        assert "> 1e308" in html.unescape(text) and "inf" not in text
    assert ledger.remaining().epsilon == 0
    json.loads(ledger.report().to_json(), parse_constant=pytest.fail)
    ledger.report().plot().figure_.canvas.draw()
    plt.close("all")
    with pytest.raises(BudgetExceeded, match="> 1e308 spent"):
        ledger.charge(Budget.pure(0.1), "fit")


def test_charges_beyond_floats_are_an_error_or_a_refusal(tmp_path, capsys):
    huge = Fraction(10) ** 290
    for ledger in (PrivacyLedger(1.0), PrivacyLedger(1.0, 1e-6)):
        with pytest.raises(ValueError, match="at most 1e7"):
            ledger.charge(Budget("pure", huge, Fraction(0), huge, Fraction(0)), "fit")
        assert len(ledger.entries()) == 1
    tiny = PrivacyLedger(1000, 1e-6, path=tmp_path / "tiny.db")  # may fail with 1e-440
    with pytest.raises(BudgetExceeded, match="> 1e308 of the whole"):
        tiny.charge(Budget.gaussian(1.0, 1e-7), "fit")
    assert "> 1e308" in faces(tiny, capsys)[0]


def test_a_long_ledger_shows_its_last_lines_and_says_so(monkeypatch):
    monkeypatch.setattr(_ledger, "LAST", 3)
    for ledger in (PrivacyLedger(1.0), PrivacyLedger({"row": 1.0, "group": 2.0}, rows_per_group=1)):
        for i in range(5):
            ledger.charge(Budget.pure(Fraction(1, 100)), f"fit {i}")
        report = ledger.report()
        for face in (str(report), report._repr_html_()):
            assert "2 earlier lines are not shown here" in face
            assert "fit 2" in face and "fit 1" not in face
        assert "fit 0" in report.to_json()


def test_a_ledger_whose_maker_was_killed_is_opened(tmp_path):
    PrivacyLedger(1.0, path=tmp_path / "a.db").charge(Budget.pure(Fraction(1, 10)), "fit")
    left = tmp_path / ".skdp-left"
    left.mkdir()
    os.link(tmp_path / "a.db", left / "ledger.db")  # killed between the link and the unlink
    ledger = PrivacyLedger(1.0, path=tmp_path / "a.db")
    ledger.charge(Budget.pure(Fraction(1, 10)), "fit")
    assert len(ledger.entries()) == 3 and not os.listdir(left)


def test_a_file_system_without_hard_links_is_named(tmp_path, monkeypatch):
    def refused(*names):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(OSError, match="has no hard links"):
        PrivacyLedger(1.0, path=tmp_path / "a.db")
    assert os.listdir(tmp_path) == []
