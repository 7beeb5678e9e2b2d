"""What an analyst with a token may send to get more than the budget pays for: all is refused.

One server answers them all. Whatever was sent, nothing more is charged, and an honest question is
answered as before.
"""

import json
import threading
from contextlib import closing, suppress

import numpy as np
import pytest

import skdp
from skdp.accounting import Budget, Step
from skdp.by_group._plan import planned
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.kernel._bins import LogBins
from skdp.kernel._friends import HIndex, SoftCore
from skdp.kernel._labels import ColumnLabels
from skdp.kernel._sums import BallSum, Count, Distances
from skdp.model_selection import PrivateSearchCV
from skdp.remote import _session
from skdp.remote._client import _HttpLine, _UnixConnection
from skdp.remote._wire import Withheld, as_json, registry, sent
from tests.remote._holder import holder, tables

pytest.importorskip("uvicorn")
REFUSED = ValueError, TypeError, PlanError, BudgetExceeded, Withheld
SMALL = {"epsilon": 0.01, "delta": 1e-8}
LEVELS = [(0.0,), (1.0,)]
MEAN = skdp.PrivateMean(**SMALL)
BY_GROUP = skdp.PrivateGroupBy(skdp.PrivateMean(), by="y", **SMALL)
BY_LEVEL = skdp.PrivateGroupBy(
    skdp.PrivateMean(bounds=(0, 1), delta=0), by="y", levels=[0.0, 1.0], epsilon=0.01, delta=0
)
SEARCH = PrivateSearchCV(
    skdp.PrivateLogisticRegression(), {"C": [1.0]}, epsilon=0.1, delta=1e-8, mean_trials=2
)
FITS = {  # estimator, name of the target
    "mean": (MEAN, None),
    "group-by": (BY_GROUP, None),
    "by level": (BY_LEVEL, None),
    "search": (SEARCH, "y"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    with holder(folder, open_fits=100, body=2**21):
        yield folder


@pytest.fixture(scope="module")
def fits(folder):
    """Return what gives the handle of the table of a fit; that of a mean is open until it ends."""
    held = {}

    def table(name):
        if name != "mean":
            return opened(folder, name.strip("!"))[0]
        if not held or b"no such fit" in held["line"].raw("[]"):
            held["table"], held["line"] = opened(folder, "mean")
        return held["table"]

    return table


def asked_for(name, **more):
    """Return the request for a fit of :data:`FITS`."""
    estimator, y = FITS[name]
    told = {"table": "rows", "estimator": sent(as_json(estimator), None), "y": y, "columns": None}
    return {**told, "registry": registry(), **more}


def opened(folder, name, who="ana"):
    """Open a fit of :data:`FITS`; return the handle of its table and the line to it."""
    line = _HttpLine(tables(folder, who)["rows"]._holder)
    return line.opened(asked_for(name))["table"], line


def parts(table, *, estimator=BY_GROUP, **more):
    """Return the tables of groups, as the engine asks for them; ``more`` is the attack."""
    granted = planned(estimator, grouped=False, most=1)[1].ledger.granted
    return table.partition(LEVELS, "groups", **{"most": 1, **granted, **more})


def count(table, share=0.01, label="row count", **more):
    return table.ask(Count(), share=share, label=label, **more)


def ball(table, center, radius):
    return table.ask(BallSum(np.array(center), radius), share=0.01, label="step")


def line(table, text):
    """Send a line that no handle would send."""
    return table._line.told(json.loads(table._line.raw(text)))


def asks(table, *questions):
    """Send questions as JSON of the attacker's own."""
    told = {"to": 0, "do": "ask", "args": {"list": list(questions)}, "named": {"dict": []}}
    return line(table, json.dumps(told))


def do(table, what, *args, to=0):
    told = {"to": to, "do": what, "args": sent(args, None), "named": {"dict": []}}
    return line(table, json.dumps(told))


NAN, INF, ZERO = float("nan"), float("inf"), [0.0] * 4
# name, fit ("!": one of its own), what is asked of its table, what is told: None for one constant
QUESTIONS = [
    ("a search of another budget", "search", lambda t: t.search(SEARCH), None),
    ("a search described by plain data", "search", lambda t: t.search({"epsilon": 1e6}), None),
    (
        "sets that nobody pays for",
        "by level",
        lambda t: parts(t, estimator=BY_LEVEL, budget=Budget.pure(10**6), most=-1),
        "positive integer",
    ),
    ("half a set", "group-by", lambda t: parts(t, most=0.5), "positive integer"),
    ("no set", "group-by", lambda t: parts(t, most=0), "positive integer"),
    ("a set as true", "group-by", lambda t: parts(t, most=True), "positive integer"),
    ("sets for more than their share", "group-by", lambda t: parts(t, share=2), "no room"),
    (
        "sets of a larger budget",
        "group-by",
        lambda t: parts(t, budget=Budget.gaussian(9.0, 1e-8)),
        "worth more than its share",
    ),
    ("sets twice", "group-by", lambda t: (parts(t), parts(t)), "no room|is left"),
    (
        "all rows, paid by the budget of a set",
        "group-by",
        lambda t: t.paid_by(parts(t)[0]),
        "a budget of other rows",
    ),
    (
        "a set, paid by the budget of another",
        "group-by",
        lambda t: (lambda p: p[0].paid_by(p[1]))(parts(t)),
        "a budget of other rows",
    ),
    (
        "rows of a set that are read, paid by another",
        "group-by",
        lambda t: (lambda p: p[0].read("groups")[0].paid_by(p[1]))(parts(t)),
        "a budget of other rows",
    ),
    ("a negative share", "mean", lambda t: count(t, -0.5), "no room"),
    ("a share above one", "mean", lambda t: count(t, 2), "no room"),
    ("a share above the plan", "mean", lambda t: count(t, 0.5), "no room"),
    ("a share of nothing", "mean", lambda t: count(t, 0), "no room"),
    ("a share that is no number", "mean", lambda t: count(t, NAN), None),
    ("an infinite share", "mean", lambda t: count(t, INF), None),
    ("a share as text", "mean", lambda t: count(t, "1/100"), None),
    ("a share as an array", "mean", lambda t: count(t, np.array([0.01, 0.01])), None),
    ("a step of the analyst", "mean", lambda t: t.ask(Count(), Step("row count")), "no room"),
    ("a label that is not planned", "mean", lambda t: count(t, label="y"), "no room"),
    ("a label of another law", "mean", lambda t: count(t, law="laplace"), "no room"),
    ("a law of no noise", "mean", lambda t: count(t, law="none"), "a law of noise"),
    ("a label twice", "mean!", lambda t: (count(t), count(t)), "no release|no room"),
    (
        "two questions under one label",
        "mean!",
        lambda t: t.ask_all(*[(Count(), 0.001, "row count")] * 2),
        "no release",
    ),
    ("another statistic", "mean", lambda t: ball(t, ZERO, 1.0) and count(t, label="step"), "plan"),
    ("an infinite radius", "mean", lambda t: ball(t, ZERO, INF), "radius"),
    ("a radius that is no number", "mean", lambda t: ball(t, ZERO, NAN), "radius"),
    ("a negative radius", "mean", lambda t: ball(t, ZERO, -1.0), "radius"),
    ("a centre of another length", "mean", lambda t: ball(t, [0.0], 1.0), "center"),
    ("a centre that is no number", "mean", lambda t: ball(t, [NAN] * 4, 1.0), "center"),
    ("a centre of text", "mean", lambda t: ball(t, ["a"] * 4, 1.0), None),
    (
        "2^40 cells",
        "mean",
        lambda t: t.ask(Distances(np.zeros(4), LogBins(2**40)), share=0.01, label="norms"),
        None,
    ),
    ("pairs of all rows", "mean", lambda t: t.ask(HIndex(1.0), share=0.1, label="h-index"), None),
    (
        "a core by tickets of nothing",
        "mean",
        lambda t: t.sample(100.0, 1500.0).ask(SoftCore(1.0, 98, 99), share=0.1, label="soft core"),
        "no answer has this ticket",
    ),
    (
        "a core by a ticket from behind",
        "mean!",
        lambda t: (
            count(t),
            t.sample(9.0, 99.0).ask(SoftCore(1.0, -1, -1), share=0.1, label="soft core"),
        ),
        "ticket",
    ),
    ("a view by a statistic", "mean", lambda t: t.map(Count()).n_features, "only registered views"),
    ("a sample of no size", "mean", lambda t: t.sample(NAN, 10.0).shape, "positive finite size"),
    ("a sample of no rows", "mean", lambda t: t.sample(5.0, 0.0).shape, "number of rows"),
    ("keys of no use", "mean", lambda t: t.thinned(5.0, 9.0, use=""), "a use, a text"),
    ("sets without a rule", "mean", lambda t: t.split(None, 10**9), "without a rule"),
    ("a choice that is none", "mean", lambda t: t.choose(Count(), share=1, label="step"), "Choice"),
    (
        "names that are not planned",
        "mean",
        lambda t: t.names(ColumnLabels(), share=0.1, label="row count", event="h-index"),
        None,
    ),
    ("an event that is not planned", "mean", lambda t: t.fails("rare"), "no failure event"),
    ("an event twice", "mean!", lambda t: (t.fails("h-index"), t.fails("h-index")), "no failure"),
    ("a child that is not planned", "mean", lambda t: t.child("part", 0.5), "no room"),
    (
        "a child of a larger budget",
        "mean",
        lambda t: t.child("columns with gaps", 0.1, budget=Budget.gaussian(9.0, 1e-8)),
        "worth more than its share",
    ),
    ("a decision that is no text", "mean", lambda t: do(t, "decide", 7), "a text"),
    ("rows", "mean", lambda t: do(t, "_rows"), "an unknown request"),
    ("the Curator", "mean", lambda t: do(t, "_curator"), "an unknown request"),
    ("the class", "mean", lambda t: do(t, "__class__"), "an unknown request"),
    ("a method of the class", "mean", lambda t: do(t, "nothing"), "an unknown request"),
    ("a name that is a list", "mean", lambda t: do(t, ["ask"]), None),
    ("sets of all rows for their owner", "mean", lambda t: do(t, "local", 1, 2), None),
    ("a view of another number", "mean", lambda t: do(t, "n_features", to=7**7), "no such view"),
    ("a view from behind", "mean", lambda t: do(t, "n_features", to=-1), "no such view"),
    ("a view that is true", "mean", lambda t: do(t, "n_features", to=True), "no such view"),
    ("other arguments", "mean", lambda t: do(t, "fails"), None),
    (
        "a class that is not registered",
        "mean",
        lambda t: asks(t, {"t": "os.system", "f": {}}),
        "type",
    ),
    (
        "a bound as a field",
        "mean",
        lambda t: asks(t, {"t": "Count", "f": {"squared_l2": 0}}),
        "fields",
    ),
    ("a class by a list", "mean", lambda t: asks(t, {"t": ["Count"], "f": {}}), None),
    ("an array of objects", "mean", lambda t: asks(t, {"a": "|O", "s": [1], "b": "AAAA"}), "type"),
    (
        "an array of 2^60 entries",
        "mean",
        lambda t: asks(t, {"a": "<f8", "s": [2**60], "b": ""}),
        "size",
    ),
    ("texts of two types", "mean", lambda t: asks(t, {"texts": ["<U3,<f8", [1], ["x"]]}), "type"),
    (
        "texts that fill memory",
        "mean",
        lambda t: asks(t, {"texts": ["<U999999999", [1], ["x"]]}),
        None,
    ),
    (
        "a record that is none",
        "mean",
        lambda t: asks(t, {"record": "Curator", "values": []}),
        "record",
    ),
    ("a fraction of nothing", "mean", lambda t: asks(t, {"exact": ["0x1", "0x0"]}), "of nothing"),
    ("a pickle", "mean", lambda t: line(t, b"\x80\x04\x95"), None),
    ("a deep nest", "mean", lambda t: line(t, b"[" * 9000), None),
    ("an integer of 9000 digits", "mean", lambda t: line(t, b'{"to": %s}' % (b"9" * 9000)), None),
    ("no object", "mean", lambda t: line(t, b"[]"), "no request"),
    (
        "a key twice",
        "mean",
        lambda t: line(
            t, b'{"to": 0, "to": 7777, "do": "heads", "args": {"list": []}, "named": {"dict": []}}'
        ),
        "no such view",
    ),
    (
        "a key more",
        "mean",
        lambda t: line(t, b'{"to": 0, "do": "heads", "args": [], "named": {}, "law": 0}'),
        "no request",
    ),
]


@pytest.mark.parametrize(
    ("kind", "act", "text"), [q[1:] for q in QUESTIONS], ids=[q[0] for q in QUESTIONS]
)
def test_hostile_questions(fits, kind, act, text):
    with pytest.raises(REFUSED, match=text) as refusal:
        act(fits(kind))
    told = str(refusal.value)
    assert len(told) < 1000 and "Traceback" not in told


def test_a_fit_ends_with_what_is_withheld(folder):
    """Rows may have raised it: whoever asks so for one bit pays a fit for it."""
    table, line = opened(folder, "mean")
    with pytest.raises(Withheld):
        count(table, share=np.array([0.01, 0.01]))
    assert b"has ended" in line.raw("[]")


def test_after_all_of_them_an_honest_question_is_answered(folder, fits):
    assert abs(fits("mean").n_features - 4) == 0
    table = opened(folder, "mean")[0]
    assert np.isfinite(count(table).value).all()


def changed(**with_):
    """Return the request for a fit whose estimator is told otherwise."""
    return {"estimator": sent({"estimator": "PrivateMean", "with": with_}, None)}


LOGISTIC = sent({"estimator": "PrivateLogisticRegression", "with": {}}, None)
OPENINGS = [
    ("another table", {"table": "other"}),
    ("a path as a table", {"table": "../rows"}),
    ("a name with an end", {"table": "rows\0"}),
    ("the ledger of another", {"table": "bob@rows"}),
    ("a column of IDs", {"table": "visits", "columns": ["person"]}),
    ("IDs as a target", {"table": "visits", "y": "person", "estimator": LOGISTIC}),
    ("a column twice", {"columns": ["a", "a"]}),
    ("no column", {"columns": []}),
    ("columns by number", {"columns": [0]}),
    ("a target that is an object", {"y": {"a": 1}}),
    ("a seed", {"seed": 0}),
    ("another analyst", {"analyst": "bob"}),
    ("another registry", {"registry": "0" * 16}),
    ("a ledger", changed(ledger={"value": None})),
    ("a random state", changed(random_state={"value": 0})),
    ("an epsilon that is no number", changed(epsilon={"value": NAN})),
    ("an infinite epsilon", changed(epsilon={"value": INF})),
    ("a negative epsilon", changed(epsilon={"value": -1.0})),
    ("an epsilon above the budget", changed(epsilon={"value": 900.0})),
    ("an epsilon as text", changed(epsilon={"value": "1" * 5000})),
    ("a delta of one", changed(delta={"value": 1.0})),
    ("bounds that are an estimator", changed(bounds=as_json(MEAN))),
    ("an estimator by a path", {"estimator": sent({"estimator": "os.system", "with": {}}, None)}),
    ("a base class", {"estimator": sent({"estimator": "PrivateEstimator", "with": {}}, None)}),
    ("a table as an estimator", {"estimator": {"number": 0}}),
    ("a denoiser", {"estimator": sent(as_json(skdp.JamesSteinDenoiser()), None)}),
    ("rows themselves", {"estimator": sent(as_json(skdp.PrivateTrimmedMean(epsilon=0.01)), None)}),
]


@pytest.mark.parametrize("change", [o[1] for o in OPENINGS], ids=[o[0] for o in OPENINGS])
def test_hostile_fits(folder, change):
    status, told = raw(folder, "POST", "/fits", json.dumps({**asked_for("mean"), **change}))
    assert status == 200 and set(told) == {"no"} and set(told["no"]) <= {"kind", "text"}
    assert len(told["no"].get("text", "")) <= 2000


def test_what_was_refused_is_not_charged(folder):
    before = tables(folder, "bob")["rows"].remaining
    for _, change in OPENINGS:
        raw(folder, "POST", "/fits", json.dumps({**asked_for("mean"), **change}), "bob")
    assert tables(folder, "bob")["rows"].remaining == before


def raw(folder, method, path, body=None, who="ana", kind="Bearer"):
    """Return status and JSON of a request."""
    body = b"" if body is None else body.encode() if isinstance(body, str) else body
    with closing(_UnixConnection(str(folder / "socket"), 60)) as connection:
        connection.putrequest(method, path)
        connection.putheader("Authorization", f"{kind} {who}".encode())
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        with suppress(BrokenPipeError, ConnectionResetError):  # it is refused before its end
            connection.send(body)
        answer = connection.getresponse()
        told = answer.read()
    return answer.status, json.loads(told) if told[:1] == b"{" else None


REQUESTS = [
    ("a token of nobody", ("GET", "/tables", None, "eve"), 401),
    ("no token", ("GET", "/tables", None, ""), 401),
    ("a token in Unicode", ("GET", "/tables", None, "\u00e9\u4e2d"), 401),
    ("a digest as a token", ("GET", "/tables", None, "ana", "Digest"), 401),
    ("a path upwards", ("GET", "/tables/../fits", None), 404),
    ("a file", ("GET", "/../../rows.db", None), 404),
    ("a list of fits", ("GET", "/fits", None), 404),
    ("all fits deleted", ("DELETE", "/fits", None), 404),
    ("another method", ("PUT", "/tables", None), 404),
    ("a fit of a long name", ("POST", "/fits/" + "a" * 5000, "{}"), 200),
    ("a fit of an encoded path", ("POST", "/fits/..%2f..%2ftables", "{}"), 404),
    ("a body that is too long", ("POST", "/fits", b"0" * (2**21 + 1)), 413),
    ("a fit that is too long", ("POST", "/fits", b"[" + b"[]," * 2**19 + b"0]"), 200),
]


@pytest.mark.parametrize(
    ("given", "status"), [r[1:] for r in REQUESTS], ids=[r[0] for r in REQUESTS]
)
def test_hostile_requests(folder, given, status):
    found, told = raw(folder, *given)
    assert found == status and (told is None or set(told) == {"no"})


def test_one_analyst_cannot_hold_what_others_need(folder):
    """Many requests about one fit at once: one is answered at a time, the others are refused."""
    line = opened(folder, "search")[1]
    ask = json.dumps({"to": 0, "do": "search", "args": {"list": []}, "named": {"dict": []}})
    told = []

    def asked(path, body):
        told.append(raw(folder, "POST", path, body))

    threads = [threading.Thread(target=asked, args=(f"/fits/{line._fit}", ask)) for _ in range(30)]
    for thread in threads:
        thread.start()
    assert opened(folder, "mean", "bob")[0].n_features == 4
    for thread in threads:
        thread.join()
    texts = [one.get("no", {}).get("text", "") for status, one in told if status == 200]
    assert any("already" in text for text in texts) and len(told) == 30
    assert sum(status == 200 and "ok" in one for status, one in told) == 1, "a search is paid once"


def test_pairs_have_no_other_name(tmp_path):
    pair = {"list": [sent(HIndex(1.0), None)]}
    asked = json.dumps({"to": 0, "do": "ask", "args": pair, "named": {"dict": []}})
    with holder(tmp_path, pace=None):
        _, line = opened(tmp_path, "mean")
        for name in ("HIndex", "\\u0048Index", "\\u0048\\u0049ndex"):
            told = json.loads(line.raw(asked.replace("HIndex", name)))
            assert "set pace" in told["no"]["text"]


class Searched:
    """Stands in for the table of a search."""

    _curator = None

    def search(self):
        return 7

    def fewer(self, one):
        return 8


@pytest.mark.parametrize(
    ("do", "took", "waits"),
    [("search", 0.33, 0.07), ("search", 0.01, 0.09), ("search", 0.9, 0.7), ("fewer", 0.33, 0.0)],
)
def test_the_time_of_a_search_leaves_at_a_power_of_two(monkeypatch, do, took, waits):
    slept, clock = [0.0], iter([10.0, 10.0 + took])
    monkeypatch.setattr(_session.time, "sleep", slept.append)
    monkeypatch.setattr(_session.time, "monotonic", lambda: next(clock))
    args = {"list": [] if do == "search" else [1]}
    line = json.dumps({"to": 0, "do": do, "args": args, "named": {"dict": []}})
    assert "ok" in json.loads(_session.Session(Searched(), None, search_pace=0.1).line(line))
    assert abs(sum(slept) - waits) < 1e-9


def test_what_stands_beside_a_search_moves_no_limit_of_its_time(monkeypatch):
    slept, clock = [0.0], iter([10.0, 10.07, 10.4])
    monkeypatch.setattr(_session.time, "sleep", slept.append)
    monkeypatch.setattr(_session.time, "monotonic", lambda: next(clock))
    asked = [("fewer", [1]), ("search", [])]
    lines = [{"to": 0, "do": do, "args": {"list": a}, "named": {"dict": []}} for do, a in asked]
    told = _session.Session(Searched(), None, search_pace=0.1).line(json.dumps(lines))
    assert json.loads(told) == [{"ok": 8}, {"ok": 7}]
    assert abs(sum(slept) - 0.07) < 1e-9
