"""A ledger protects rows or groups, and says which wherever it is shown."""

import json
import sqlite3
from contextlib import closing

import pytest

from skdp import PrivacyLedger
from skdp.__main__ import main
from skdp.accounting import Budget
from skdp.exceptions import BudgetExceeded

WORDS = {"row": "add or remove one row;", "group": "add or remove one group (all rows with"}


@pytest.mark.parametrize("unit", WORDS)
def test_every_face_of_a_ledger_names_its_unit(unit, tmp_path, capsys):
    path = tmp_path / "study.db"
    PrivacyLedger(path, epsilon=1.0, delta=1e-6, unit=unit)
    ledger = PrivacyLedger.open(path)
    report = ledger.report()
    assert ledger.unit == report.unit == report.to_dict()["protects"] == unit
    assert WORDS[unit] in str(report) and WORDS[unit] in report._repr_html_()
    assert json.loads(report.to_json())["protects"] == unit
    assert main(["ledger", str(path)]) == 0 and WORDS[unit] in capsys.readouterr().out
    assert main(["ledger", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protects"] == unit


@pytest.mark.parametrize(("unit", "other"), [("row", "group"), ("group", "row")])
def test_a_fit_of_another_unit_is_refused_and_told(unit, other):
    ledger = PrivacyLedger(epsilon=1.0, unit=unit)
    with pytest.raises(BudgetExceeded, match=f"it protects {unit}s"):
        ledger.charge(Budget.pure(0.1), "PrivateMean", unit=other)
    report = ledger.report()
    assert report.latched and report.spent.amount == 0
    assert report.entries[-1].what == f"PrivateMean of {other}s"
    ledger.acknowledge()
    ledger.charge(Budget.pure(0.1), "PrivateMean", unit=unit)
    assert ledger.report().entries[-1].what == "PrivateMean"


def test_files_from_before_groups_protect_rows(tmp_path):
    path = tmp_path / "old.db"
    PrivacyLedger(path, epsilon=1.0, delta=1e-6)
    with closing(sqlite3.connect(path)) as db, db:
        (unit,) = db.execute("SELECT unit FROM entries").fetchone()
    assert unit == Budget.gaussian(1.0, 1e-6).measure  # as it was written then
    assert PrivacyLedger.open(path).unit == "row"
    with pytest.raises(ValueError):
        PrivacyLedger(path, epsilon=1.0, delta=1e-6, unit="group")
