"""Tables behind a process: the same bits as here, one charge, and nothing but released numbers."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import skdp
import skdp.metrics
import skdp.stats
from skdp.accounting import PrivacyLedger
from skdp.audit._fingerprint import fingerprint
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.remote._holdings import Holding, read_columns
from skdp.remote._workers import _some
from tests.remote._holder import CAPACITY, FRAME, VISITS, WEIGHTS, holder, tables, wait_for

pytest.importorskip("uvicorn")
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
X = FRAME[["a", "b", "c"]]
SCORES = pd.DataFrame(np.random.default_rng(1).dirichlet([1, 1, 1], size=4000), columns=list("abc"))
SCORES = SCORES.assign(y=SCORES.to_numpy().argmax(axis=1) * 1.0, crowded=0.5 + SCORES["a"] / 1e3)
SCORES["one"] = (SCORES["y"] == 0) * 1.0
FILES = ("rows", "ana@rows")  # ledgers of a table, and of an analyst for it


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeded")
    with holder(folder, seeded=True, more={"scores": Holding("scores", SCORES)}.items()):
        yield folder


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    with holder(folder, requests=300):
        yield folder


FITS = {
    "mean": (skdp.PrivateMean(epsilon=0.3), None),
    "bounded": (skdp.PrivateMean(bounds=(0, 10), epsilon=0.3), None),
    "denoised": (skdp.PrivateMean(denoiser=skdp.JamesSteinDenoiser(), epsilon=0.3), None),
    "quantile": (skdp.PrivateQuantile(epsilon=0.3), None),
    "scaler": (skdp.PrivateStandardScaler(epsilon=0.3), None),
    "k-means": (skdp.LloydKMeans(2, epsilon=0.3), None),
    "mixture": (skdp.PrivateGMM(2, epsilon=0.3), None),
    "covariance": (skdp.PrivateCovariance(epsilon=0.3), None),
    "logistic": (skdp.PrivateLogisticRegression(epsilon=0.3), "y"),
    "additive": (skdp.PrivateAdditiveClassifier(epsilon=0.3), "y"),
    "marginals": (skdp.MarginalReleaser(k=2, domain="auto", epsilon=0.3), None),
    "group-by": (skdp.PrivateGroupBy(skdp.PrivateMean(), by="y", epsilon=0.3), None),
    "summary": (skdp.PrivateSummary(epsilon=0.3), None),
    "boosting": (skdp.PrivateBoostingClassifier(epsilon=0.3), "y"),
    "comparison": (skdp.stats.PrivateComparison(by="y", measures=["a"], epsilon=0.3), None),
    "pipeline": (
        skdp.make_private_pipeline(
            skdp.PrivateStandardScaler(), skdp.PrivateLogisticRegression(), epsilon=0.3, delta=1e-6
        ),
        "y",
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_the_same_bits_and_bill_as_in_this_process(seeded, name):
    estimator, y = FITS[name]
    here, there = (clone(estimator).set_params(random_state=3) for _ in range(2))
    table = tables(seeded)["rows"]
    whole = y is not None or name in ("group-by", "comparison")
    there.fit(table if whole else table[list(X.columns)], y)
    here.set_params(ledger=PrivacyLedger(*CAPACITY))
    here.fit(FRAME if whole else X, y)
    assert here.privacy_report_ == there.privacy_report_
    held = vars(here).keys() - {"random_state", "ledger"}
    assert held == vars(there).keys() - {"random_state", "ledger"}
    for attribute in held:
        assert fingerprint(getattr(here, attribute)) == fingerprint(getattr(there, attribute))


@pytest.mark.parametrize(
    ("report", "columns"),
    [
        (skdp.metrics.PrivateConfusionMatrix(epsilon=0.3), ["a", "b", "y"]),
        (skdp.metrics.PrivateRegressionReport(epsilon=0.3), ["a", "y"]),
    ],
    ids=["labels", "regression"],
)
def test_scores_in_columns_of_a_holder_are_judged(seeded, report, columns):
    table = tables(seeded)["rows"][columns]
    here = clone(report).set_params(random_state=3, ledger=PrivacyLedger(*CAPACITY))
    here.fit("y", FRAME[columns])
    for given in (("y", table), (table, "y")):
        there = clone(report).set_params(random_state=3).fit(*given)
        assert there.privacy_report_ == here.privacy_report_
        assert fingerprint(vars(here)) == fingerprint(vars(there) | {"ledger": here.ledger})


@pytest.mark.parametrize(
    ("classes", "columns", "crowded"),
    [((0, 1), ["a"], False), ((0, 1), ["crowded"], True), ((0, 1, 2), ["a", "b", "c"], False)],
)
def test_scores_of_a_classifier_are_judged_by_short_questions(
    seeded, monkeypatch, classes, columns, crowded
):
    lengths, raw = [], skdp.remote._client._Holder.raw

    def counted(self, method, path, body=None):
        lengths.append(len(body or ""))
        return raw(self, method, path, body)

    monkeypatch.setattr(skdp.remote._client._Holder, "raw", counted)
    report = skdp.metrics.PrivateClassifierReport(classes=classes, epsilon=3.0, random_state=3)
    y = "y" if len(classes) == 3 else "one"
    there = clone(report).fit(y, tables(seeded)["scores"][[*columns, y]])
    here = report.set_params(ledger=PrivacyLedger(*CAPACITY)).fit(y, SCORES[[*columns, y]])
    assert there.privacy_report_ == here.privacy_report_
    assert fingerprint(vars(here)) == fingerprint(vars(there) | {"ledger": here.ledger})
    asked = [charge.label for charge in here.privacy_report_.charges]
    assert ("finer cells" in asked) == crowded and max(lengths) < 2**20


def test_questions_that_may_be_too_long_are_refused_before_a_charge(tmp_path):
    more = {"scores": Holding("scores", SCORES)}.items()
    with holder(tmp_path, body=2**16, more=more):
        table = tables(tmp_path)["scores"][["a", "one"]]
        before, report = table.remaining, skdp.metrics.PrivateClassifierReport(epsilon=3.0)
        for one in (report, skdp.metrics.PrivateClassifierReport(epsilon=3.0, by="c", levels=[0])):
            with pytest.raises(PlanError, match="may be longer than the 65536 bytes"):
                one.fit("one", tables(tmp_path)["scores"][["a", *[one.by] * bool(one.by), "one"]])
        assert table.remaining == before
        assert np.isfinite(clone(report).set_params(n_bins=64).fit("one", table).roc_auc_)


@pytest.mark.parametrize("m", [1, 3, 10])
def test_no_question_of_a_report_is_longer_than_what_is_announced(m):
    from skdp.kernel.applied._scores import ScoreCells
    from skdp.metrics._curves import PLACES, finer_edges, logit_edges
    from skdp.remote._wire import BESIDE, request

    edges = logit_edges(256)
    edges, _ = finer_edges(edges, np.ones(len(edges) - 1))
    ends = np.zeros((m, 4, 2, len(edges) - 1), dtype=np.int64)
    edges = np.tile(edges, (m, 1))
    cells = ScoreCells(edges, (2**20,) * m, ends, ends)
    length = len(json.dumps(request(0, "ask", cells, PLACES, share=Fraction(1, 3))))
    announced = skdp.metrics.PrivateClassifierReport()._longest(m) * 4 / 3
    assert announced < length <= announced + BESIDE


@pytest.mark.slow
@pytest.mark.parametrize("min_rows", [0, "auto"])
def test_a_search_runs_at_the_holder(seeded, min_rows):
    given = {"epsilon": 3, "random_state": 3, "min_rows": min_rows, "mean_trials": 3}
    search = skdp.PrivateSearchCV(skdp.PrivateLogisticRegression(), {"C": [1.0, 0.1]}, **given)
    here = clone(search).set_params(ledger=PrivacyLedger(*CAPACITY)).fit(FRAME, "y")
    there = clone(search).fit(tables(seeded)["rows"], "y")
    assert here.best_params_ == there.best_params_
    np.testing.assert_array_equal(here.best_score_, there.best_score_)
    assert (here.best_report_ is None) == (there.best_report_ is None) == (min_rows == "auto")
    if min_rows == 0:
        assert str(here.best_report_.results()) == str(there.best_report_.results())
    assert np.array_equal(here.best_estimator_.coef_, there.best_estimator_.coef_)


def test_a_search_of_denoisers_runs_at_the_holder(seeded):
    mean = skdp.PrivateMean(bounds=(0, 10), delta=0)
    grid = {"denoiser": [None, skdp.JamesSteinDenoiser(target=np.array([1.0, 2.0]))]}
    search = skdp.PrivateSearchCV(mean, grid, epsilon=0.3, random_state=3, mean_trials=2)
    here = clone(search).set_params(ledger=PrivacyLedger(*CAPACITY)).fit(X[["a", "b"]])
    there = clone(search).fit(tables(seeded)["rows"][["a", "b"]])
    assert here.best_index_ == there.best_index_ and here.best_score_ == there.best_score_
    assert np.array_equal(here.best_estimator_.location_, there.best_estimator_.location_)


def test_persons_are_protected_as_the_holder_decides(seeded):
    mean = skdp.PrivateMean(epsilon=0.3, random_state=3)
    here = clone(mean).set_params(ledger=PrivacyLedger(*CAPACITY, unit="group"))
    here.fit(VISITS[["a", "b", "person"]], groups="person")
    table = tables(seeded)["visits"]
    assert table.privacy_unit == "group" and "person" not in table.columns
    there = clone(mean).fit(table[["a", "b"]])
    assert there.privacy_report_ == here.privacy_report_
    assert np.array_equal(here.location_, there.location_)
    with pytest.raises(TypeError, match="without groups"):
        mean.fit(table, groups="person")


WEIGHED = {
    "mean": (skdp.PrivateMean(epsilon=0.3), None),
    "additive": (skdp.PrivateAdditiveClassifier(epsilon=0.3), "y"),
    "pipeline": (
        skdp.make_private_pipeline(skdp.PrivateStandardScaler(), skdp.PrivateRidge(), epsilon=0.3),
        "y",
    ),
}


@pytest.mark.parametrize("table", ["weighed", "weighed visits"])
@pytest.mark.parametrize("name", WEIGHED)
def test_weights_are_a_column_of_the_holder(seeded, name, table):
    estimator, y = WEIGHED[name]
    here, there = (clone(estimator).set_params(random_state=3) for _ in range(2))
    there.fit(tables(seeded)[table][["a", "b"]], y, "w")
    groups = {"groups": "person"} if "visits" in table else {}
    frame = WEIGHTS[["a", "b", "y", "w", *groups.values()]]
    here.set_params(ledger=PrivacyLedger(*CAPACITY, unit="group" if groups else "row"))
    with skdp.config_context(invalid_rows="ignore"):
        here.fit(frame if y else frame.drop(columns="y"), y, "w", **groups)
    assert here.privacy_report_ == there.privacy_report_
    assert fingerprint(vars(here)) == fingerprint(vars(there) | {"ledger": here.ledger})


def test_wrong_weights_of_a_holder_tell_nothing_and_cost_nothing(seeded):
    table, mean = tables(seeded)["weighed"], skdp.PrivateMean(epsilon=0.3)
    before = table.remaining
    with pytest.raises(TypeError, match="sample_weight is a column of the remote table"):
        mean.fit(table, sample_weight=np.ones(1500))
    for name, text in {"z": "no such column", "t": "must be an array of real numbers"}.items():
        with pytest.raises(ValueError, match=text):
            mean.fit(table[["a"]], sample_weight=name)
    forged = skdp.PrivateMedian(epsilon=0.3)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        forged._fit_elsewhere(table[["a"]], None, None, "w")
    assert table.remaining == before


def test_what_is_public_is_here_and_nothing_else_is(private):
    table = tables(private)["rows"]
    assert table.columns == ["a", "b", "c", "y"] and table.dtypes["a"] == "float64"
    assert table.public == {"a": [0, 10]} and repr(table).startswith("<RemoteTable 'rows'")
    assert not hasattr(table, "shape") and not hasattr(table, "__len__")
    assert not hasattr(table, "__array__")
    with pytest.raises(KeyError, match="no column 'z'"):
        table[["a", "z"]]


def test_one_fit_is_charged_once_at_both_ledgers(tmp_path):
    with holder(tmp_path):
        table = tables(tmp_path)["rows"]
        before = table.remaining
        fit = skdp.PrivateMean(epsilon=0.5).fit(table[["a"]])
        assert table.remaining[0] < before[0] and fit.ledger is None
    entries = {name: PrivacyLedger.open(tmp_path / f"{name}.db").entries() for name in FILES}
    assert [len(entries[name]) for name in FILES] == [2, 2]
    assert entries["rows"][-1].what == entries["ana@rows"][-1].what == "PrivateMean by ana"


def test_a_refusal_stops_nobody(tmp_path):
    with holder(tmp_path, budgets={"ana": (1.0, 1e-5), "bob": (1.0, 1e-5)}, caps=(1.1, 1e-5)):
        ana, bob = (tables(tmp_path, who)["rows"][["a"]] for who in ("ana", "bob"))
        with pytest.raises(BudgetExceeded, match="of the analyst for 'rows'"):
            skdp.PrivateMean(epsilon=50).fit(ana)
        skdp.PrivateMean(epsilon=0.9).fit(ana)
        with pytest.raises(BudgetExceeded, match="of the table for 'rows'"):
            skdp.PrivateMean(epsilon=0.9).fit(bob)
        skdp.PrivateMean(epsilon=0.2).fit(bob)
        assert skdp.PrivateMean(epsilon=0.05).fit(ana).location_.shape == (1,)


def test_errors_before_a_charge(private, tmp_path):
    table = tables(private)["rows"]
    before = table.remaining
    search = skdp.PrivateSearchCV(skdp.PrivateLogisticRegression(), {"C": [Fraction(1, 2)]})
    cases = [
        (skdp.PrivateMean(random_state=1), {}, ValueError, "without a seed"),
        (skdp.PrivateMean(ledger=PrivacyLedger(1.0, 1e-5)), {}, ValueError, "ledger=None"),
        (skdp.PrivateMean(epsilon=-1), {}, ValueError, "epsilon"),
        (skdp.PrivateLogisticRegression(), {"y": FRAME["y"]}, TypeError, "Pass its name"),
        (skdp.PrivateLogisticRegression(), {"y": "z"}, PlanError, "names the column"),
        (skdp.PrivateLogisticRegression(), {}, PlanError, "needs a target"),
        (skdp.FriendlyCoreFilter(radius=1.0), {}, TypeError, "needs the rows themselves"),
        (search, {"y": "y"}, TypeError, "needs the rows themselves"),
    ]
    for estimator, given, kind, text in cases:
        with pytest.raises(kind, match=text):
            estimator.fit(table, **given)
    pipeline = skdp.make_private_pipeline(skdp.RowMap(lambda x: x), skdp.PrivateMean(), epsilon=1.0)
    with pytest.raises(TypeError, match="no function of an analyst"):
        pipeline.fit(table)
    assert table.remaining == before


def test_tokens_and_addresses(private):
    with pytest.raises(ConnectionError, match="does not know this token"):
        tables(private, "eve")
    with pytest.raises(ConnectionError, match="is the holder up"):
        skdp.remote.connect("unix:/nowhere", token="ana")
    with pytest.raises(ValueError, match="no address"):
        skdp.remote.connect("localhost", token="ana")


def raw(folder, method, path, body, who="ana"):
    """Return status and JSON of one request."""
    holder = tables(folder, who)["rows"]._holder
    holder._open.request(method, path, body, {"Authorization": f"Bearer {who}"})
    answer = holder._open.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def opened(folder, who="ana", **more):
    """Return the secret name of a fit that was opened by hand."""
    from skdp.remote._wire import as_json, registry, sent

    request = {
        "table": "rows",
        "estimator": sent(as_json(skdp.PrivateMean(epsilon=0.01, delta=1e-7)), None),
        "y": None,
        "columns": ["a"],
        "registry": registry(),
        **more,
    }
    status, answer = raw(folder, "POST", "/fits", json.dumps(request), who)
    assert status == 200
    return answer.get("fit"), answer


def test_pairs_are_refused_without_a_pace(tmp_path):
    asked = {"list": [{"t": "HIndex", "f": {"radius": 1.0}}]}
    with holder(tmp_path, pace=None):
        name, _ = opened(tmp_path)
        line = json.dumps({"to": 0, "do": "ask", "args": asked, "named": {"dict": []}})
        told = raw(tmp_path, "POST", f"/fits/{name}", line)[1]["no"]
        assert told["kind"] == "PlanError" and "set pace" in told["text"]
        skdp.PrivateQuantile(epsilon=0.3).fit(tables(tmp_path)["rows"][["a"]])


def test_fits_belong_to_their_analyst(private):
    name, _ = opened(private)
    line = json.dumps({"to": 0, "do": "n_features", "args": {"list": []}, "named": {"dict": []}})
    assert raw(private, "POST", f"/fits/{name}", line)[1] == {"ok": 1}
    assert "no such fit" in raw(private, "POST", f"/fits/{name}", line, "bob")[1]["no"]["text"]
    assert raw(private, "DELETE", f"/fits/{name}", None, "bob")[1] == {"ok": None}
    assert raw(private, "POST", f"/fits/{name}", line)[1] == {"ok": 1}
    assert raw(private, "DELETE", f"/fits/{name}", None)[1] == {"ok": None}
    assert "no such fit" in raw(private, "POST", f"/fits/{name}", line)[1]["no"]["text"]


def test_quotas(tmp_path):
    with holder(tmp_path, open_fits=2, requests=5, body=4000):
        names = [opened(tmp_path)[0] for _ in range(2)]
        assert "too many open fits" in opened(tmp_path)[1]["no"]["text"]
        assert opened(tmp_path, "bob")[0]
        line = json.dumps(
            {"to": 0, "do": "n_features", "args": {"list": []}, "named": {"dict": []}}
        )
        told = [raw(tmp_path, "POST", f"/fits/{names[0]}", line)[1] for _ in range(6)]
        assert told[4] == {"ok": 1} and "most requests" in told[5]["no"]["text"]
        assert raw(tmp_path, "POST", f"/fits/{names[0]}", "x" * 5000)[0] == 413


def test_fits_that_ask_nothing_are_ended(tmp_path):
    with holder(tmp_path, open_fits=1, idle=0.1):
        assert opened(tmp_path)[0]
        time.sleep(0.2)
        assert opened(tmp_path)[0]


def test_hostile_requests_for_fits(private):
    from skdp.remote._wire import registry

    good = opened(private)[1]
    assert "ok" in good
    bodies = [
        b"",
        b"[]",
        b"{}",
        b"\x80\x04",
        b"[" * 5000,
        json.dumps({"table": "rows"}),
        json.dumps(dict.fromkeys(("table", "estimator", "y", "columns", "registry"))),
    ]
    told = {"table": "rows", "y": None, "columns": None, "registry": registry()}
    for estimator in (
        None,
        {"dict": []},
        {"dict": [["estimator", "os.system"], ["with", {"dict": []}]]},
        {"dict": [["estimator", "PrivateLedger"], ["with", {"dict": []}]]},
        {"dict": [["estimator", "PrivateMean"], ["with", {"dict": [["ledger", 1]]}]]},
        {"dict": [["estimator", "PrivateMean"], ["with", {"dict": [["random_state", 1]]}]]},
        {"dict": [["estimator", "PrivateMean"], ["with", {"dict": [["epsilon", 1]]}]]},
        {"number": 0},
    ):
        bodies.append(json.dumps({**told, "estimator": estimator}))
    mean = {"dict": [["estimator", "PrivateMean"], ["with", {"dict": []}]]}
    for change in (
        {"table": "../rows"},
        {"table": ["rows"]},
        {"columns": ["person"]},
        {"columns": [["a"]]},
        {"columns": "a"},
        {"y": {"a": 1}},
        {"registry": "0"},
        {"seed": 1},
        {"analyst": "bob"},
    ):
        bodies.append(json.dumps({**told, "estimator": mean, **change}))
    before = tables(private)["rows"].remaining
    for body in bodies:
        status, answer = raw(private, "POST", "/fits", body)
        assert status == 200 and set(answer) == {"no"}, body
        assert set(answer["no"]) <= {"kind", "text"}
        assert "Traceback" not in json.dumps(answer)
    assert tables(private)["rows"].remaining == before


@pytest.mark.slow
def test_a_killed_analyst_has_paid_and_stops_nobody(tmp_path):
    code = (
        "import os, signal, skdp, skdp.remote\n"
        "from skdp.remote import _client\n"
        "ask, n = _client._HttpLine.raw, [0]\n"
        "def raw(self, line):\n"
        "    n[0] += 1\n"
        "    if n[0] == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return ask(self, line)\n"
        "_client._HttpLine.raw = raw\n"
        f"t = skdp.remote.connect('unix:{tmp_path}/socket', token='ana')['rows']\n"
        "skdp.PrivateMean(epsilon=0.5).fit(t[['a']])\n"
    )
    with holder(tmp_path):
        ended = subprocess.run([sys.executable, "-c", code], env=os.environ, check=False)
        assert ended.returncode == -signal.SIGKILL
        skdp.PrivateMean(epsilon=0.5).fit(tables(tmp_path, "bob")["rows"][["a"]])
    assert len(PrivacyLedger.open(tmp_path / "ana@rows.db").entries()) == 2
    assert len(PrivacyLedger.open(tmp_path / "rows.db").entries()) == 3


@pytest.mark.slow
def test_two_analysts_at_once(tmp_path):
    done = []

    def fits(who):
        table = tables(tmp_path, who)["rows"][["a"]]
        for _ in range(8):
            done.append(skdp.PrivateMean(epsilon=0.1, delta=1e-7).fit(table).location_[0])

    with holder(tmp_path):
        threads = [threading.Thread(target=fits, args=(who,)) for who in ("ana", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(done)) == 16
    assert len(PrivacyLedger.open(tmp_path / "rows.db").entries()) == 17
    assert len(PrivacyLedger.open(tmp_path / "bob@rows.db").entries()) == 9


@pytest.mark.slow
def test_holders_that_are_killed_grant_no_more_than_is_on_disk(tmp_path):
    """The holder is killed eight times while it fits; each answered fit has been charged."""
    rng, answered = np.random.default_rng(0), 0
    for _ in range(8):
        with holder(tmp_path, budgets={"ana": (3.0, 1e-4)}, caps=(3.0, 1e-4)) as process:
            wait = float(rng.uniform(0.2, 2.0))
            killer = threading.Timer(wait, os.kill, (process, signal.SIGKILL))
            killer.start()
            try:
                table = tables(tmp_path)["rows"][["a"]]
                for _ in range(5):
                    skdp.PrivateMean(epsilon=0.05, delta=1e-7).fit(table)
                    answered += 1
            except (ConnectionError, skdp.exceptions.ReleaseError, BudgetExceeded):
                pass
            killer.join()
        (tmp_path / "socket").unlink(missing_ok=True)
    ledgers = [PrivacyLedger.open(tmp_path / f"{name}.db") for name in FILES]
    charged = [sum(e.kind == "charge" for e in ledger.entries()) for ledger in ledgers]
    assert all(answered <= n <= answered + 8 for n in charged), "at most one fit a kill is lost"
    assert all(ledger.remaining().epsilon >= 0 for ledger in ledgers)


HOLDER = """
folder = "ledgers"
[tables.rows]
source = "rows.csv"
columns = {{a = "number", b = "number", c = "number", y = "number"}}
epsilon = 2.0
delta = 1e-5
public.a = [0, 10]
[analysts.ana]
token_sha256 = "{digest}"
tables.rows = {{epsilon = 1.0, delta = 1e-6}}
"""


def test_the_file_of_a_holder(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    file = tmp_path / "holder.toml"
    file.write_text(HOLDER.format(digest="0" * 64))
    holdings, where = skdp.remote.read_holdings(file)
    assert list(holdings.tables) == ["rows"] and where == {}
    assert holdings.of_analyst("ana")["rows"].epsilon == 1.0
    assert holdings.analyst("no token") is None
    for line, text in (
        ("oddity = 1\n" + HOLDER, "unknown entry 'oddity'"),
        (HOLDER.replace('source = "rows.csv"\n', ""), "needs 'source'"),
        (HOLDER.replace("tables.rows = ", "tables.other = "), "no \\[tables.other\\]"),
        (HOLDER.replace("[tables.rows]", '[tables."../x"]'), "part of a file's name"),
        (HOLDER.replace("rows.csv", "rows.txt"), "no .csv or .parquet"),
        (re.sub("columns = .*", "", HOLDER), 'columns = {a = "number", b = "number"'),
        (HOLDER.replace('c = "number"', 'c = "date"'), "a kind of"),
        (HOLDER.replace("public.a", "public.z"), "'z', which is no column"),
        (HOLDER.replace("{digest}", "A" * 64), "token_sha256 is the digest"),
    ):
        file.write_text(line.format(digest="0" * 64))
        with pytest.raises(ValueError, match=text):
            skdp.remote.read_holdings(file)


def test_no_entry_decides_a_type(tmp_path):
    """A gap, and an entry that is no number, leave the types of columns as they are."""
    kinds = {"n": "number", "t": "text", "d": "time"}
    plain = pd.DataFrame({"n": [1, 2], "t": ["x", "y"], "d": pd.to_datetime(["2020-01-01"] * 2)})
    gaps = plain.astype({"n": "Int64"})
    gaps.loc[0] = None
    types = []
    for frame in (plain, gaps, plain.astype({"t": "category"})):
        frame.to_parquet(tmp_path / "f.parquet")
        types.append(read_columns(tmp_path / "f.parquet", None, "").dtypes)
        frame.to_csv(tmp_path / "f.csv", index=False)
        types.append(read_columns(tmp_path / "f.csv", kinds, "").dtypes)
    (tmp_path / "f.csv").write_text("n,t,d\nfoo,1,bar\n7,2,2020-01-01\n")
    told = read_columns(tmp_path / "f.csv", kinds, "")
    types.append(told.dtypes)
    assert all(one.equals(types[0]) for one in types)
    assert np.isnan(told["n"][0]) and told["t"].tolist() == ["1", "2"]


@pytest.mark.parametrize("odd", ["2020-01-01T01:00+01:00", "9999-12-31", "0001-01-01", "x"])
def test_no_entry_ends_the_reading_of_a_table(tmp_path, odd):
    """A time zone, a year that nanoseconds do not reach, and text that is no UTF-8."""
    lines = f"t,d\na,2020-01-01\n\xff,{odd}\n"
    (tmp_path / "f.csv").write_bytes(lines.encode("latin-1"))
    told = read_columns(tmp_path / "f.csv", {"d": "time", "t": "text"}, "")
    assert told.dtypes["d"] == "datetime64[ns]" and told["d"][0] == pd.Timestamp("2020-01-01")
    assert told["d"][1] is pd.NaT or told["d"][1] == told["d"][0]
    ends = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32))
    text = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xff")])
    pq.write_table(pa.table({"t": text}), tmp_path / "f.parquet")
    assert read_columns(tmp_path / "f.parquet", None, "")["t"].tolist() == ["a", "\ufffd"]


@pytest.mark.parametrize("first, entry, told", [(1.0, 2**53 + 1, 2.0**53), (1, 1.5, 1.5)])
def test_no_entry_of_a_file_of_another_type_ends_the_reading_of_others(
    first, entry, told, tmp_path
):
    """Arrow casts entries to the types of the first file, and raises for those it cannot hold."""
    (folder := tmp_path / "t.parquet").mkdir()
    for i, x in enumerate((first, entry)):
        pq.write_table(pa.table({"x": [x]}), folder / f"{i}.parquet")
    assert read_columns(folder, None, "")["x"].tolist() == [1.0, told]
    pq.write_table(pa.table({"x": ["a"]}).slice(1), folder / "2.parquet")
    with pytest.raises(ValueError, match="columns of other kinds"):
        read_columns(folder, None, "")


@pytest.mark.parametrize("kind, n", [("date32[day]", 2**31 - 1), ("timestamp[us]", 2**62)])
def test_a_time_beyond_nanoseconds_is_missing(kind, n, tmp_path):
    whole = pa.array([1, n], "int32" if kind.startswith("date") else "int64")
    pq.write_table(pa.table({"t": whole.cast(kind)}), tmp_path / "f.parquet")
    assert read_columns(tmp_path / "f.parquet", None, "")["t"].isna().tolist() == [False, True]


def test_columns_of_tables_in_pieces(tmp_path):
    FRAME.assign(k=np.arange(len(FRAME))).to_parquet(tmp_path / "f.parquet")
    kinds = dict.fromkeys("abk", "number")
    source = read_columns(tmp_path / "f.parquet", kinds, "", in_pieces=True)
    assert Holding("f", source, persons="k").columns == {"a": "double", "b": "double"}
    mean = skdp.PrivateMean(bounds=(-50, 50), epsilon=1.0, random_state=0)
    here = mean.fit(FRAME[["b"]]).location_
    assert np.array_equal(mean.fit(_some(source, ["b"])).location_, here)
    with pytest.raises(ValueError, match="no column 'z' of the kind"):
        read_columns(tmp_path / "f.parquet", {"z": "number"}, "")


@pytest.mark.slow
def test_the_command_line_serves(tmp_path):
    run = [sys.executable, "-m", "skdp"]
    told = subprocess.run([*run, "token"], capture_output=True, text=True, check=True).stdout
    token = re.search(r"analyst: +(\S+)", told)[1]
    digest = re.search(r'"(\w+)"', told)[1]
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    text = HOLDER.format(digest=digest) + '[server]\nsocket = "' + str(tmp_path / "socket") + '"\n'
    (tmp_path / "holder.toml").write_text(text)
    log = tmp_path / "log"
    server = subprocess.Popen([*run, "serve", str(tmp_path / "holder.toml"), "--log", str(log)])
    try:
        wait_for(tmp_path / "socket")
        table = skdp.remote.connect(f"unix:{tmp_path / 'socket'}", token=token)["rows"]
        fit = skdp.PrivateMean(epsilon=0.5, bounds=(0, 10)).fit(table[["a"]])
        assert abs(fit.location_[0] - 5) < 1
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) in (0, -signal.SIGTERM)
    said = log.read_text()
    assert "PrivateMean" in said and '"who": "ana"' in said
    assert repr(float(fit.location_[0]))[:7] not in said, "no number of an answer is in the log"
