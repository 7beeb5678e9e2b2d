"""Ten thousand hostile lines at the door of the process that holds the rows.

Each is refused by a text of public fields or by one constant text, or is a question like others:
it is paid for, and spends no more than the budget. None ends the holder, or shows an entry.
"""

import copy
import json
import socket
import threading
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.gate._curator import Curator
from skdp.kernel._bins import LogBins, UniformCells
from skdp.kernel._columns import ColumnCells
from skdp.kernel._sums import BallSum, Count, Distances
from skdp.kernel._table import Table
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows
from skdp.remote import _session
from tests.kernel._elsewhere import KINDS, Holder, handle
from tests.kernel.test_hostile import Direct, Third

ENTRY = 987654.3125  # of all rows: no answer shows it
HOSTILE = [
    *(None, True, -1, 0, 2**63, 10**400, 1e308, float("nan"), float("inf"), "", "x", "_rows", "\0"),
    *([], {}, {"list": []}, {"dict": []}, {"number": 0}, {"number": -1}, {"number": 10**9}),
    *({"exact": ["0x1", "0x0"]}, {"step": ["x", 1]}, {"record": "Budget", "values": []}),
    *({"t": "Count", "f": {}}, {"t": "Curator", "f": {}}, {"l": [{"l": [[]]}]}, "ask", "bill"),
    *({"a": "|O", "s": [1], "b": "AAAAAAAAAAA="}, {"a": "<f8", "s": [2**60], "b": ""}, "close"),
]


def scene():
    """Return a holder, and the Curator that pays for what it answers."""
    steps = (Step("x", times=500), Step("part", "child", at_most=0.5, times=9), Step("part/x"))
    curator = Curator(Plan(Budget.gaussian(1.0, 1e-6), steps), make_entropy(0))
    table = Table(ArrayRows(np.full((40, 3), ENTRY)), curator)
    return Holder(table, curator), curator


def honest():
    """Return the lines of an ordinary fit."""
    holder, _ = scene()
    line = Direct(holder)
    table = handle(line, holder.number(holder.things[0]))
    pay = {"share": 1e-3, "label": "x"}
    table.ask(Count(), **pay)
    table.ask_all((BallSum(np.zeros(3), 1.0), 1e-3, "x"), (Count(), 1e-3, "x"))
    table.ask(Distances(np.zeros(3), LogBins(4)), **pay)
    table.ask(ColumnCells(np.array([0]), (UniformCells(0.0, 1.0, 9),)), **pay)
    table.split(Third(), 3).ask({0: Count(), 2: Count()}, **pay)
    table.child("part", Fraction(1, 4)).ask(Count(), share=1e-3, label="x")
    table.sample(10.0, 40.0).ask(Count(), **pay)
    table.decide("a decision")
    table.doubt("a doubt", np.array([True, False, True]))
    assert table.n_features == 3 and table.remaining < 1
    return line.requests


def places(x, path=()):
    """Yield the paths to everything in a JSON value."""
    yield path
    for key, value in x.items() if isinstance(x, dict) else enumerate(x):
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def replaced(x, path, value):
    """Put a value somewhere into a JSON value."""
    if not path:
        return value
    for key in path[:-1]:
        x = x[key]
    x[path[-1]] = value
    return None


def other_fields(rng, line):
    """Return a line with other things in some places."""
    x = json.loads(line)
    for _ in range(rng.integers(1, 4)):
        hostile = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
        found = list(places(x)) if isinstance(x, dict | list) else [()]
        whole = replaced(x, found[rng.integers(len(found))], hostile)
        x = x if whole is None else whole
    return json.dumps(x).encode()


def other_bytes(rng, line):
    """Return a line with some bytes changed, left out or said twice."""
    raw = bytearray(line.encode())
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(raw)))
        way = rng.integers(3)
        if way == 0:
            raw[at] = rng.integers(256)
        elif way == 1:
            del raw[at : at + int(rng.integers(1, 20))]
        else:
            raw[at:at] = raw[at : at + int(rng.integers(1, 40))]
        raw = raw or bytearray(b"{")
    return bytes(raw)


def crossed(rng, lines):
    """Return a line whose arguments are those of another."""
    x, other = (json.loads(lines[i]) for i in rng.integers(len(lines), size=2))
    key = str(rng.choice(["to", "do", "args", "named"]))
    x[key] = other[key]
    return json.dumps(x).encode()


def hostile_lines(n):
    """Yield lines: malformed, replayed, in another order, and of other sizes."""
    rng, lines = np.random.default_rng(0), honest()
    for _ in range(n):
        line = lines[rng.integers(len(lines))]
        way = rng.integers(8)
        if way < 3:
            yield other_fields(rng, line)
        elif way < 5:
            yield other_bytes(rng, line)
        elif way == 5:
            yield crossed(rng, lines)
        elif way == 6:
            yield line.encode()
        else:
            yield line.encode()[: rng.integers(len(line))] * int(rng.integers(1, 30))


def test_ten_thousand_hostile_lines(capfd):
    holder, curator = scene()
    kinds, answered = set(), 0
    for k, line in enumerate(hostile_lines(10_000)):
        if k % 500 == 0:  # a fit of its own, with all of its budget
            holder, curator = scene()
        told = json.loads(holder.line(line))
        assert set(told) in ({"ok"}, {"no"}), line
        answered += "ok" in told
        if "no" in told:
            kinds.add(told["no"]["kind"])
            assert "987654" not in json.dumps(told), line
            assert set(told["no"]) == (
                {"kind", "text"} if told["no"]["kind"] in KINDS else {"kind"}
            )
        assert 0 <= curator.remaining <= 1
    assert kinds <= {*KINDS, "Withheld"} and "Withheld" in kinds
    assert answered > 500, "some lines are questions like others"
    assert capfd.readouterr() == ("", "")
    assert "ok" in json.loads(scene()[0].line(honest()[0]))


def test_a_line_that_is_too_long_ends_the_talk(monkeypatch):
    monkeypatch.setattr(_session, "MOST_LINE", 2000)
    (holder, curator), (here, there) = scene(), socket.socketpair()
    here.settimeout(60)

    def serve():
        with there, there.makefile("rwb") as stream:
            holder.serve(stream)

    thread = threading.Thread(target=serve)
    thread.start()
    question = honest()[0].encode()
    with here, here.makefile("rwb") as stream:
        stream.write(question + b"\n")
        stream.flush()
        assert b"Count" in stream.readline() and stream.readline().startswith(b'1 {"ok"')
        spent = curator.remaining
        stream.write(b" " * 2000 + question + b"\n")  # the rest of it would be a question
        stream.flush()
        assert stream.readlines() == [b"[]\n", b'0 {"no": {"kind": "Withheld"}}\n']
    thread.join()
    assert curator.remaining == spent


@pytest.mark.parametrize("line", [b'{"to": NaN, "do": "bill"}', b"null", b"\xff\xfe", b"[" * 9000])
def test_what_is_no_request_is_withheld_by_one_text(line):
    assert json.loads(scene()[0].line(line))["no"].get("text", "no request") == "no request"
