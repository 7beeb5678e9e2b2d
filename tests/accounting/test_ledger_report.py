import builtins
import contextlib
import json
import os
import pickle
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV

from skdp import PrivacyLedger, PrivateHistogram, PrivateMean
from skdp.accounting import Budget
from skdp.exceptions import BudgetExceeded
from skdp.inspection import LedgerDisplay

X = np.random.default_rng(0).normal(size=(200, 2))


@pytest.fixture
def ledger(tmp_path):
    """Two charges, a refusal, an acknowledgement, a seeded charge."""
    ledger = PrivacyLedger(tmp_path / "study.db", epsilon=3, delta=1e-6)
    ledger.charge(ledger.admit(Budget.gaussian(1.0, 1e-7)), "<mean>")
    ledger.charge(ledger.admit(Budget.gaussian(1.5, 1e-7)), "clusters")
    with pytest.raises(BudgetExceeded):
        ledger.charge(ledger.admit(Budget.gaussian(2.9, 1e-6)), "too much")
    ledger.acknowledge()
    ledger.charge(ledger.admit(Budget.gaussian(0.1, 1e-7)), "seeded", seeded=True)
    return ledger


# -- the path may come first -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path])
def test_the_path_may_come_first(tmp_path, kind):
    path = kind(tmp_path / "study.db")
    made = PrivacyLedger(path, epsilon=3, delta=1e-6)
    assert made.path == str(tmp_path / "study.db")
    assert (made.epsilon, made.delta, made.composition) == (3.0, 1e-6, "gaussian")
    for same in (
        PrivacyLedger(path, 3, 1e-6),
        PrivacyLedger(path, delta=1e-6, epsilon=3.0),
        PrivacyLedger(3, 1e-6, path),
        PrivacyLedger(3.0, 1e-6, path=path),
        PrivacyLedger(epsilon=3, delta=1e-6, path=path, composition="gaussian"),
        pickle.loads(pickle.dumps(made)),
    ):
        assert same == made
    with pytest.raises(ValueError, match=r"created with epsilon=3\.0"):
        PrivacyLedger(path, epsilon=2, delta=1e-6)
    basic = PrivacyLedger(kind(tmp_path / "basic.db"), epsilon=1, composition="basic")
    assert (basic.composition, basic.delta) == ("basic", 0.0)


def test_a_path_alone_or_two_paths_are_an_error(tmp_path):
    with pytest.raises(TypeError, match=r"epsilon must be given.*PrivacyLedger\.open"):
        PrivacyLedger(tmp_path / "study.db")
    with pytest.raises(TypeError, match="path"):
        PrivacyLedger(tmp_path / "a.db", epsilon=1, path=tmp_path / "b.db")
    with pytest.raises(TypeError, match="epsilon"):
        PrivacyLedger(tmp_path / "a.db", 1, epsilon=1)
    assert os.listdir(tmp_path) == []


# -- with ---------------------------------------------------------------------------------------


def test_a_block_without_a_refusal_ends_quietly(tmp_path):
    with PrivacyLedger(tmp_path / "study.db", epsilon=1, delta=1e-6) as ledger:
        PrivateMean(epsilon=0.5, delta=1e-7, ledger=ledger).fit(X)
    assert ledger.spent().fraction > 0


class Swallower(BaseEstimator):
    """A search without a refit forgets that fits were refused."""

    def __init__(self, ledger=None, epsilon=0.4):
        self.ledger, self.epsilon = ledger, epsilon

    def fit(self, X, y=None):
        self.ledger.charge(Budget.pure(self.epsilon), "fit")
        return self

    def score(self, X, y=None):
        return 0.0


def test_a_block_tells_of_a_refusal_that_a_search_has_swallowed():
    search = GridSearchCV(Swallower(PrivacyLedger(1.0)), {"epsilon": [0.4]}, cv=4, refit=False)
    with pytest.raises(BudgetExceeded, match="has refused a fit"), search.estimator.ledger:
        with pytest.warns((FitFailedWarning, UserWarning)):
            search.fit(X)
        assert np.isnan(search.cv_results_["mean_test_score"]).any()


def test_a_block_lets_other_exceptions_through_and_an_acknowledged_refusal_pass():
    with pytest.raises(ZeroDivisionError), PrivacyLedger(1.0) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.charge(Budget.pure(2.0), "fit")
        raise ZeroDivisionError
    with ledger:
        ledger.acknowledge()


# -- what it tells --------------------------------------------------------------------------------


def test_history_holds_what_was_left_after_every_line(ledger):
    lines = ledger.report().history()
    kinds = ["charge", "charge", "refused", "acknowledged", "charge"]
    assert [line.entry.kind for line in lines] == kinds
    first, used = ledger.entries()[0], Fraction(0)
    for line in lines:
        assert line.takes == pytest.approx(float(line.entry.amount / first.amount), rel=1e-12)
        used += line.entry.amount * (line.entry.kind == "charge")
        assert line.left.amount == first.amount - used  # exact rationals
    assert lines[-1].left == ledger.remaining()
    assert lines[1].left == lines[2].left == lines[3].left


@pytest.mark.parametrize("composition", ["gaussian", "basic"])
def test_the_fit_that_was_left_after_a_line_would_have_been_granted(composition):
    def replayed(n):
        twin = PrivacyLedger(3.0, 1e-6, composition=composition)
        for epsilon in epsilons[:n]:
            twin.charge(twin.admit(Budget.gaussian(epsilon, 2e-7)), "fit")
        return twin

    epsilons = [0.5, 1.0, 0.25]
    for i, line in enumerate(replayed(3).report().history(), 1):
        twin = replayed(i)
        twin.charge(twin.admit(Budget.gaussian(line.left.epsilon, line.left.delta)), "last")
        assert twin.spent().fraction > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("composition", ["gaussian", "basic"])
def test_what_remains_is_granted_on_hundreds_of_ledgers(composition, n):
    """Whatever was charged before: floats are rounded down to something that fits."""
    rng = np.random.default_rng(0)
    whole = (3.0, 1e-6), (0.7, 1e-9), (1e-3, 1e-5), (20.0, 1e-3), (1.1, 3.3e-7)
    promised = 0
    for i in range(n):
        epsilon, delta = whole[i % len(whole)]
        ledger = PrivacyLedger(epsilon, delta, composition=composition)
        for _ in range(rng.integers(0, 5)):
            part, kind = float(rng.uniform(0.01, 0.3)), rng.integers(4)
            budget = Budget.gaussian(epsilon * part, delta * part)
            if kind == 0:
                budget = Budget.pure(epsilon * part / 20)
            elif kind > 1:  # or as it is, with more failure than its part
                budget = ledger.admit(budget)
            with contextlib.suppress(BudgetExceeded):
                ledger.charge(budget, "fit")
        if ledger.report().latched:
            ledger.acknowledge()
        left = ledger.remaining()
        if left.epsilon == 0 or left.delta == 0:
            continue
        promised += 1
        ledger.charge(ledger.admit(Budget.gaussian(left.epsilon, left.delta)), "what remains")
        if composition == "gaussian":
            used = ledger.spent()
            capacity = ledger.entries()[0].amount, ledger.entries()[0].failure
            assert max(used.amount / capacity[0], used.failure / capacity[1]) > 0.999
        else:
            assert ledger.remaining().fraction < 1e-12 or ledger.remaining().delta < 1e-12 * delta
    assert promised > 0.8 * n


@pytest.mark.slow
def test_a_basic_ledger_promises_pure_fits_that_it_grants():
    rng = np.random.default_rng(1)
    for _ in range(40):
        ledger = PrivacyLedger(Fraction(int(rng.integers(1, 10**6)), int(rng.integers(1, 10**6))))
        ledger.charge(
            Budget.pure(ledger.remaining().amount * Fraction(int(rng.integers(1, 9)), 9)), "a"
        )
        ledger.charge(Budget.pure(ledger.remaining().epsilon), "b")
        assert ledger.remaining().fraction < 1e-15


def test_text_has_aligned_columns_and_readable_times(ledger):
    lines = str(ledger.report()).splitlines()
    table = lines[next(i for i, line in enumerate(lines) if "time (UTC)" in line) :]
    assert len({len(line) for line in table}) == 1 and len(table) == 6
    for title, text in (("line", "REFUSED"), ("what", "clusters"), ("line", "acknowledged")):
        row = next(line for line in table if text in line)
        assert row.index(text) == table[0].index(f" {title}") + 1
    time = ledger.entries()[1].time
    assert f"{time[:10]} {time[11:19]}" in table[1] and "T" not in table[1]
    assert "seeded (seeded: not private)" in table[-1]
    assert table[1].split()[-5:] == ["1", "1e-07", "10.89%", "89.11%", "2.814"]
    assert not ledger.report().latched and "LATCHED" not in str(ledger.report())
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.pure(9.0), "x")
    assert "LATCHED" in str(ledger.report())


def test_an_empty_ledger_has_no_table():
    report = PrivacyLedger(1.0).report()
    assert "time" not in str(report) and "epsilon=1" in str(report)
    assert "<th" not in report._repr_html_() and report.history() == []


class Balanced(HTMLParser):
    """Fails at a tag that is closed out of order."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.seen = [], []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_html_has_a_bar_and_a_row_per_line(ledger):
    report = ledger.report()
    page = report._repr_html_()
    seen = Balanced(page).seen
    bar = next(attrs["style"] for tag, attrs in seen if "width" in attrs.get("style", ""))
    assert bar == f"width:{100 * report.spent.fraction:.2f}%"
    rows = [attrs.get("class") for tag, attrs in seen if tag == "tr" and "class" in attrs]
    assert rows == ["charge", "charge", "refused", "acknowledged", "charge"]
    assert "&lt;mean&gt;" in page and "<mean>" not in page and "LATCHED" not in page


def test_json_holds_what_was_left(ledger):
    facts = json.loads(ledger.report().to_json())
    assert [e["id"] for e in facts["entries"]] == [1, 2, 3, 4, 5, 6]
    assert facts["entries"][-1]["left"] == facts["remaining"]["fraction"]
    assert facts["entries"][3]["kind"] == "refused" and "left" not in facts["entries"][0]


def test_frame(ledger):
    pd = pytest.importorskip("pandas")
    frame = ledger.report().to_frame()
    assert list(frame.index) == [2, 3, 4, 5, 6] and frame.index.name == "id"
    assert str(frame["time"].dt.tz) == "UTC" and frame["seeded"].tolist() == [False] * 4 + [True]
    assert all(frame[x].dtype == float for x in ("epsilon", "delta", "takes", "left", "amount"))
    granted = frame[frame["kind"] == "charge"]
    assert granted["takes"].sum() == pytest.approx(ledger.spent().fraction, rel=1e-12)
    assert frame["left"].iloc[-1] == ledger.remaining().fraction
    empty = PrivacyLedger(1.0).report().to_frame()
    assert isinstance(empty, pd.DataFrame) and len(empty) == 0
    assert list(empty.columns) == list(frame.columns)


def test_a_frame_without_pandas_says_what_to_install(ledger, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install pandas"):
        ledger.report().to_frame()


def test_plot(ledger):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    display = ledger.report().plot()
    assert isinstance(display, LedgerDisplay) and display.figure_ is display.ax_.figure
    assert display.times.dtype == "datetime64[s]" and len(display.times) == 6
    assert display.spent[-1] == pytest.approx(ledger.spent().fraction)
    assert np.flatnonzero(np.isfinite(display.refused)).tolist() == [3] and display.refused[3] > 1
    ax = plt.subplots()[1]
    assert LedgerDisplay.from_ledger(ledger, ax=ax, x="line").ax_ is ax
    PrivacyLedger(1.0).report().plot().figure_.canvas.draw()  # nothing but the opening
    with pytest.raises(ValueError, match="'time' or 'line'"):
        ledger.report().plot(x="pid")
    plt.close("all")


def test_fits_are_named_by_their_estimators():
    ledger = PrivacyLedger(2.0, 1e-6)
    PrivateMean(epsilon=0.5, delta=1e-7, ledger=ledger).fit(X)
    PrivateHistogram(bins=3, epsilon=0.5, delta=1e-7, ledger=ledger).fit(X)
    what = [line.entry.what for line in ledger.report().history()]
    assert what == ["PrivateMean", "PrivateHistogram"]
