"""One ledger, several units of privacy: who pays for what, and what is claimed of whom."""

import json
import os
import pickle
import sqlite3
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skdp import PrivacyLedger, PrivateCount, PrivateMean, PrivateSearchCV
from skdp.__main__ import main
from skdp.accounting import Budget, _ledger_file
from skdp.audit._transcript import Script, moves
from skdp.exceptions import BudgetExceeded
from skdp.inspection import LedgerDisplay
from skdp.model_selection import search_report
from tests._persons import persons_table, recorded
from tests.accounting._old_ledger import as_before, edited

X = np.random.default_rng(0).normal(size=(600, 2))
IDS = np.arange(600) // 3
BOTH = {"row": 1.0, "group": 6.0}


def fit(ledger, groups=None, epsilon=0.2):
    return PrivateMean(epsilon=epsilon, delta=1e-8, ledger=ledger).fit(X, groups=groups)


def kinds(ledger):
    return [(entry.kind, entry.what) for entry in ledger.entries()[2:]]


# -- what a row of a group that stays costs ------------------------------------------------------


def _moved(estimator, seed):
    """Return the largest change of a release over its sensitivity when a group loses one row."""
    rng = np.random.default_rng(seed)
    X, ids = persons_table(rng, 60, 2)
    his = np.flatnonzero(ids == rng.choice([i for i in set(ids) if np.sum(ids == i) > 1]))
    X[his], X[his[0]] = 1e6, -1e9
    stay = np.arange(len(X)) != his[0]
    keys = rng.integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    _, run = recorded(estimator, X, ids, keys, "noise", seed)
    _, again = recorded(estimator, X[stay], ids[stay], keys[stay], Script(run.records), seed)
    return max(moved / allowed for _, moved, allowed in moves(run.records, again.records))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
@pytest.mark.parametrize("cap", [1, 3])
def test_a_row_of_a_group_may_move_a_release_by_two_steps_and_not_by_more(cap):
    squared = [_moved(PrivateMean(rows_per_group=cap), seed) for seed in range(10)]
    assert 3 < max(squared) <= 4  # of squared sensitivities, exact: one step would be wrong


# -- who pays ------------------------------------------------------------------------------------


def test_fits_are_charged_to_every_unit_whose_guarantee_they_use_up():
    ledger = PrivacyLedger(epsilon=BOTH, delta=1e-6, rows_per_group=5)
    assert ledger.unit == ("row", "group") and ledger.rows_per_group == 5
    assert ledger.epsilon == BOTH and ledger.delta == {"row": 1e-6, "group": 1e-6}
    fit(ledger)
    one = ledger.spent()
    assert one["group"].amount == 25 * one["row"].amount
    fit(ledger, IDS)
    two = ledger.spent()
    assert two["row"].amount == 5 * one["row"].amount  # one step, and then two: 1 + 4
    assert two["group"].amount == 26 * one["row"].amount
    names = ["PrivateMean of rows", "PrivateMean of groups"]
    assert kinds(ledger) == [("charge", name) for name in names for _ in BOTH]
    for unit, report in ledger.report().units.items():
        assert report.unit == unit and [line.entry.what for line in report.history()] == names


@pytest.mark.parametrize(("m", "of_groups", "of_rows"), [(1, 1, 1), (2, 2, 2), (7, 2, 7)])
def test_pure_fits_take_steps_in_epsilon(m, of_groups, of_rows):
    ledger = PrivacyLedger(epsilon={"row": 10.0, "group": 10.0}, rows_per_group=m)
    tenth = Fraction(1, 10)
    ledger.charge(Budget.pure(0.1), "count", unit="group")
    assert ledger.spent("row").amount == of_groups * tenth
    ledger.charge(Budget.pure(0.1), "count", unit="row")
    assert ledger.spent("row").amount == (of_groups + 1) * tenth
    assert ledger.spent("group").amount == (1 + of_rows) * tenth


def test_a_promise_to_groups_refuses_fits_without_a_bound():
    for epsilon in (BOTH, {"group": 2.0}):
        ledger = PrivacyLedger(epsilon=epsilon, delta=1e-6)
        with pytest.raises(BudgetExceeded, match="without bound: pass groups="):
            fit(ledger)
        assert ledger.report().latched and all(s.amount == 0 for s in ledger.spent().values())
        ledger.acknowledge()
        fit(ledger, IDS)
        assert set(ledger.spent()) == set(epsilon) and ledger.spent("group").amount > 0
        if "row" in epsilon:
            assert ledger.remaining("row").epsilon == 0  # no fit that protects rows is granted


def test_groups_that_are_promised_nothing_are_told_so():
    ledger = PrivacyLedger(epsilon={"row": 1.0}, delta=1e-6)
    fit(ledger)
    fit(ledger, IDS)
    report = ledger.report()
    told = "NOT CLAIMED: a group of m rows loses m times what a row loses, without bound; 1 of 2"
    assert report.unclaimed["group"].startswith(told)
    for face in (str(report), report._repr_html_(), report.to_json()):
        assert told in face
    first, second = (line.takes for line in report.units["row"].history())
    assert second == pytest.approx(4 * first)
    with pytest.raises(ValueError, match="claims nothing for 'group'"):
        ledger.spent("group")


def test_rows_that_are_promised_nothing_are_told_what_follows():
    ledger = PrivacyLedger(epsilon={"group": 1.0}, composition="basic", delta=1e-6)
    two = Budget.pure(2.0).epsilon
    assert f"two of its steps: epsilon={float(two):g}," in ledger.report().unclaimed["row"]
    gaussian = PrivacyLedger(epsilon={"group": 1.0}, delta=1e-6).report().unclaimed["row"]
    assert 2.0 < float(gaussian.partition("epsilon=")[2].partition(",")[0]) < 2.3


@pytest.mark.parametrize("composition", ["gaussian", "basic"])
@pytest.mark.parametrize("m", [1, 5, 60])
def test_what_remains_of_a_unit_is_granted_and_no_more(composition, m):
    rng = np.random.default_rng(m)
    ledger = PrivacyLedger(
        epsilon={"row": 2.0, "group": 4.0 * m},
        delta={"row": 1e-6, "group": 1e-5},
        rows_per_group=m,
        composition=composition,
    )
    for i in range(6):
        unit, part = str(rng.choice(["row", "group"])), 1 if i == 5 else rng.uniform(0.1, 0.5)
        left = ledger.remaining(unit)
        budget = ledger.admit(Budget.gaussian(part * left.epsilon, part * left.delta))
        ledger.charge(budget, "fit", unit=unit)
    assert max(spending.fraction for spending in ledger.spent().values()) > 0.98
    left = ledger.remaining(unit)
    with pytest.raises(BudgetExceeded, match=r"of what (row|group)s are promised"):
        ledger.charge(ledger.admit(Budget.gaussian(left.epsilon + 0.1, 1e-7)), "fit", unit=unit)


@pytest.mark.slow
def test_a_search_and_a_grid_in_a_ledger_of_several_units():
    ledger = PrivacyLedger(epsilon={"row": 3.0, "group": 6.0}, delta=1e-5, rows_per_group=2)
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, epsilon=0.3, delta=1e-9)
    search.set_params(mean_trials=2, ledger=ledger).fit(X, groups=IDS)
    assert kinds(ledger) == [("charge", "PrivateSearchCV of groups")] * 2
    assert ledger.spent("row").amount > ledger.spent("group").amount > 0
    mean = PrivateMean(epsilon=0.05, delta=1e-9, ledger=ledger)
    grid = GridSearchCV(mean, {"trim": [False, True]}, cv=2, refit=False, scoring=lambda *_: 0.0)
    bill = str(search_report(grid.fit(X)))
    assert "NOT ONE UNIT" in bill  # the ledger takes both, so it does not tell which


# -- the file ------------------------------------------------------------------------------------


def test_files_of_one_unit_have_a_mark_of_their_own(tmp_path):
    for unit in ("row", "group"):
        ledger = PrivacyLedger(tmp_path / f"{unit}.db", epsilon=1.0, delta=1e-6, unit=unit)
        ledger.charge(ledger.admit(Budget.gaussian(0.5, 1e-7)), "fit", unit=unit)
        db = sqlite3.connect(ledger.path)
        assert db.execute("PRAGMA application_id").fetchone() == (0x736B6472,)
        lines = db.execute("SELECT kind, what, unit FROM entries").fetchall()
        db.close()
        suffix = ", of groups" if unit == "group" else ""
        assert lines == [("opened", "gaussian", "gdp" + suffix), ("charge", "fit", "gdp")]


OLD = """
CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, what TEXT, unit TEXT,
    amount TEXT, failure TEXT, epsilon TEXT, delta TEXT, seeded INTEGER, pid INTEGER, time TEXT);
PRAGMA application_id = 1936417904; PRAGMA user_version = 77;
INSERT INTO entries VALUES (NULL, 'opened', 'basic', 'basic', '1/1', '0/1', '1/1', '0/1', 0, 1,
    '2026-01-01T00:00:00+00:00');
INSERT INTO entries VALUES (NULL, 'charge', 'PrivateCount', 'pure', '1/4', '0/1', '1/4', '0/1', 0,
    1, '2026-01-01T00:00:00+00:00');
"""


def test_a_file_and_a_pickle_from_before_several_units_are_read(tmp_path):
    db = sqlite3.connect(tmp_path / "old.db")
    db.executescript(OLD)
    db.close()
    ledger = PrivacyLedger(tmp_path / "old.db", epsilon=1.0)
    assert ledger.unit == "row" and ledger.spent().amount == Fraction(1, 4)
    load, (path, session, openings, mark, note) = ledger.__reduce__()
    old = load(path, session, openings[0], mark, note)  # as pickles had it: one first line
    assert old == ledger and old.remaining().epsilon == 0.75
    PrivateCount(epsilon=0.5, delta=0, ledger=old).fit(X)
    assert ledger.spent().amount == Fraction(3, 4)


def test_programs_from_before_several_units_refuse_the_file(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "new.db", epsilon=BOTH, delta=1e-6, rows_per_group=5)
    monkeypatch.setattr(_ledger_file, "FORMATS", _ledger_file.FORMATS[:1])
    with pytest.raises(ValueError, match="is not a ledger"):
        PrivacyLedger.open(ledger.path)


def test_a_file_keeps_its_promises(tmp_path, capsys):
    path = tmp_path / "study.db"
    made = PrivacyLedger(path, epsilon=BOTH, delta=1e-6, rows_per_group=5)
    fit(made.noted("first look"))
    again = PrivacyLedger(path, epsilon=dict(reversed(BOTH.items())), delta=1e-6, rows_per_group=5)
    assert again == made == PrivacyLedger.open(path) and again.spent() == made.spent()
    for other in (
        {"epsilon": {"row": 1.0}},
        {"epsilon": 1.0},
        {"epsilon": {"row": 1.0, "group": 7.0}},
        {"delta": 1e-7},
        {"rows_per_group": 6},
        {"rows_per_group": None},
        {"composition": "basic"},
    ):
        given = {"epsilon": BOTH, "delta": 1e-6, "rows_per_group": 5} | other
        if other == {"epsilon": 1.0}:
            del given["rows_per_group"]
        with pytest.raises(ValueError, match="was created with"):
            PrivacyLedger(path, **given)
    assert main(["ledger", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["units"]
    assert {u: r["entries"][1]["note"] for u, r in told.items()} == dict.fromkeys(
        BOTH, "first look"
    )
    assert main(["ledger", str(path)]) == 0 and "one group" in capsys.readouterr().out
    assert "rows_per_group=5" in repr(made)
    eval(repr(made), {"PrivacyLedger": PrivacyLedger})


def test_copies_and_pickles_are_the_ledger_and_a_lost_file_grants_nothing(tmp_path):
    ledger = PrivacyLedger(tmp_path / "a.db", epsilon=BOTH, delta=1e-6, rows_per_group=5)
    assert clone(PrivateMean(ledger=ledger)).ledger is ledger
    twin = pickle.loads(pickle.dumps(ledger))
    fit(twin)
    assert twin == ledger and twin.spent() == ledger.spent()
    (tmp_path / "a.db").unlink()
    assert pickle.loads(pickle.dumps(twin)).epsilon == BOTH
    with pytest.raises(FileNotFoundError, match="Nothing was granted"):
        fit(twin)
    PrivacyLedger(tmp_path / "a.db", epsilon=BOTH, delta=1e-6)
    with pytest.raises(ValueError, match="was replaced"):
        fit(twin)


RACE = """
import os, sys, threading
from fractions import Fraction
from skdp.accounting import Budget, PrivacyLedger
from skdp.exceptions import BudgetExceeded

def work(unit):
    while True:
        try:
            ledger = PrivacyLedger.open(sys.argv[1])
            number = ledger.charge(Budget.pure(Fraction(1, 20)), "fit", unit=unit)
            os.write(1, f"{number}\\n".encode())
        except BudgetExceeded:
            return

for _ in range(2):
    if os.fork() == 0:
        threads = [threading.Thread(target=work, args=(unit,)) for unit in ("row", "group")]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        os._exit(0)
assert [os.wait()[1] for _ in range(2)] == [0, 0]
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_processes_and_threads_of_both_units_never_overspend(tmp_path):
    ledger = PrivacyLedger(tmp_path / "a.db", epsilon={"row": 1.0, "group": 2.0}, rows_per_group=3)
    command = [sys.executable, "-c", RACE, ledger.path]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = told.stdout.split()
    held = [entry for entry in ledger.entries()[2:] if entry.kind == "charge"]
    rows = [entry for entry in held if entry.unit == "pure"]
    assert len(told) == len(set(told)) == len(rows) == len(held) / 2  # a line in each account
    for unit, of in (("row", "pure"), ("group", "pure, of groups")):
        total = sum(entry.amount for entry in held if entry.unit == of)
        assert ledger.spent(unit).amount == total <= ledger.report(unit).entries[0].amount
    assert ledger.report().latched


@pytest.mark.parametrize("column, value, row", [("amount", "0/1", 2), ("kind", "charge", 2)])
def test_a_damaged_account_is_told(tmp_path, column, value, row):
    ledger = PrivacyLedger(tmp_path / "a.db", epsilon=BOTH, delta=1e-6)
    edited(ledger.path, f"UPDATE entries SET {column} = ? WHERE id = ?", (value, row))
    with pytest.raises(OSError, match="damaged"):
        PrivacyLedger.open(ledger.path)


@pytest.mark.parametrize("unit", ["", "gdp, of group", "of groups", "row"])
def test_a_line_of_a_damaged_unit_counts_in_both_accounts_of_an_old_file(tmp_path, unit):
    ledger = PrivacyLedger(tmp_path / "a.db", epsilon={"row": 6, "group": 6}, composition="basic")
    ledger.charge(Budget.pure(1.0), "fit", unit="group")
    before = ledger.spent()
    as_before(ledger.path)
    edited(ledger.path, "UPDATE entries SET unit = ? WHERE id > 2", (unit,))
    after = PrivacyLedger.open(ledger.path).spent()
    assert all(after[name].amount > before[name].amount for name in ("row", "group"))


# -- what is given -------------------------------------------------------------------------------


def test_parameters_are_checked():
    for epsilon in ({}, {"row": None}, {"person": 1.0}, {"row": 1.0, "user": 2.0}):
        with pytest.raises(ValueError, match="is a dict with a number for 'row'"):
            PrivacyLedger(epsilon=epsilon)
    with pytest.raises(ValueError, match="pass epsilon as a dict"):
        PrivacyLedger(epsilon=1.0, rows_per_group=5)
    with pytest.raises(ValueError, match="leave it out"):
        PrivacyLedger(epsilon=BOTH, unit="group")
    for m in (0, -1, 2.0, True, 1001, "5"):
        with pytest.raises(ValueError, match="integer from 1 to 1000"):
            PrivacyLedger(epsilon=BOTH, rows_per_group=m)
    with pytest.raises(ValueError, match="must be 'row' or 'group'"):
        PrivacyLedger(epsilon=BOTH).charge(Budget.pure(0.1), "fit", unit="person")


def test_numbers_of_numpy_are_numbers(tmp_path):
    epsilon = {"row": np.float32(2.5), "group": np.int8(100)}
    ledger = PrivacyLedger(
        tmp_path / "a.db", epsilon=epsilon, delta=np.float64(1e-6), rows_per_group=np.int8(100)
    )
    same = {"row": 2.5, "group": 100}
    assert PrivacyLedger(ledger.path, epsilon=same, delta=1e-6, rows_per_group=100) == ledger
    PrivateCount(epsilon=np.float32(0.125), delta=0, ledger=ledger).fit(X)
    row, group = (ledger.report(unit).entries[1] for unit in ("row", "group"))
    assert row.epsilon == Fraction(1, 8) and row.amount < group.amount  # nothing has wrapped
    assert all(type(n) is int for n in (group.amount.numerator, group.amount.denominator))
    basic = PrivacyLedger(epsilon=np.int16(3), composition="basic", delta=np.float16(0.5))
    PrivateCount(epsilon=np.int64(3), delta=0, ledger=basic).fit(X)
    assert basic.spent().amount == 3 and basic.remaining().epsilon == 0


def test_pictures_are_of_one_unit():
    pytest.importorskip("matplotlib")
    ledger = PrivacyLedger(epsilon=BOTH, delta=1e-6, rows_per_group=5)
    fit(ledger)
    with pytest.raises(ValueError, match="has a picture of each"):
        LedgerDisplay.from_ledger(ledger)
    for unit in BOTH:
        assert len(ledger.report().plot(unit).spent) == 2
    frame = ledger.report().to_frame()
    assert list(frame["account"]) == ["row", "group"]


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.9])
@pytest.mark.parametrize("composition", ["basic", None])
def test_a_ledger_of_huge_budgets_has_a_report(delta, composition):
    one = PrivacyLedger(1e6, delta, unit="group", composition=composition)
    assert one.report().remaining.fraction == 1
    several = PrivacyLedger({"group": 1e6}, delta, composition=composition)
    told = several.report().unclaimed["row"]
    assert told.endswith("two of its steps: " + ("nothing" if delta else "epsilon=2e+06, delta=0"))
