"""The log of a holder: bounded lines, one for each request that is answered."""

import json
import os
import signal
import socket

import numpy as np
import pytest

import skdp
from skdp.kernel._sums import BallSum, Count
from skdp.remote._session import MOST_ITEMS, MOST_TOGETHER, noted
from skdp.remote._wire import request
from tests.remote._holder import holder, tables
from tests.remote.test_attacks import asked_for, opened
from tests.remote.test_remote import raw
from tests.remote.test_spare import until, workers

pytest.importorskip("uvicorn")
COUNT = request(0, "ask", Count(), share=0.001, label="row count")
COLUMNS, REFUSED = request(0, "n_features"), request(0, "nothing")
BLANK = b" " * 2**20
LONGEST = 6000  # characters of a line: no text of a request is longer than 4000
CALLED = "ask Count of 0"
CHUNKED = "POST /fits HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logged")
    with holder(folder, open_fits=100, body=2**22, requests=300):
        yield folder


def lines(folder, act):
    """Return the lines of the log that something has caused."""
    before = (folder / "log").read_text().count("\n")
    act()
    new = (folder / "log").read_text().splitlines()[before:]
    assert all(len(line) < LONGEST and line.isascii() for line in new)
    return [json.loads(line) for line in new]


def sends(folder, path, body, who="ana", method="POST"):
    """Return the lines of the log that a message has caused."""
    return lines(folder, lambda: raw(folder, method, path, body, who))[1:]  # the first: it connects


def outcomes(told):
    return [one["outcome"] for one in told]


def test_each_request_of_a_list_has_a_line_and_its_own_outcome(folder):
    _, line = opened(folder, "mean")
    told = sends(folder, f"/fits/{line._fit}", json.dumps([COLUMNS, COUNT, REFUSED, COUNT]))
    assert outcomes(told) == ["answered", "answered", "an unknown request"]
    assert [one["request"].split(" {")[0] for one in told] == [
        *("n_features of 0", CALLED, "2 requests: nothing of 0")
    ]
    assert "; ask Count of 0" in told[2]["request"]
    assert "row count" in told[1]["request"] and "0.001" in told[1]["request"]
    assert {one["who"] for one in told} == {"ana"} and len({one["fit"] for one in told}) == 1


@pytest.mark.parametrize(
    "asked",
    [
        [COUNT, COUNT, 7],
        [COUNT] * (MOST_TOGETHER + 1),
        [COUNT, [COUNT]],
        [COUNT, {"do": "ask"}],
        [{**COUNT, "more": 1}, COUNT],
    ],
)
def test_a_list_that_is_refused_whole_hides_nothing(folder, asked):
    _, line = opened(folder, "mean")
    told = sends(folder, f"/fits/{line._fit}", json.dumps(asked))
    (one,) = told
    assert one["outcome"] == "no request"
    assert one["request"].startswith(f"{len(asked)} requests: ")
    assert one["request"].count("Count") >= min(len(asked), MOST_ITEMS) - 1


@pytest.mark.parametrize("items", [2, 150, 2**18])
@pytest.mark.parametrize("fit", [None, "none"])
def test_requests_that_are_refused_together_have_one_line(folder, fit, items):
    _, line = opened(folder, "mean")
    told = sends(folder, f"/fits/{fit or line._fit}", f"[{'1,' * (items - 1)}1]")
    assert len(told) == 1 and told[0]["request"].startswith(f"{items} requests: no request: 1; ")


@pytest.mark.parametrize("pad", [BLANK, b"\n" * 99, BLANK * 2])
@pytest.mark.parametrize("where", ["before", "inside", "behind"])
def test_blanks_hide_nothing(folder, pad, where):
    _, line = opened(folder, "mean")
    text = json.dumps(COUNT).encode()
    body = {"before": pad + text, "behind": text + pad, "inside": b"{" + pad + text[1:]}[where]
    (told,) = sends(folder, f"/fits/{line._fit}", body)
    assert told["request"].startswith(CALLED) and told["outcome"] == "answered"
    text = json.dumps(asked_for("mean")).encode()
    body = {"before": pad + text, "behind": text + pad, "inside": b"{" + pad + text[1:]}[where]
    (told,) = sends(folder, "/fits", body)
    if len(body) > 2**20:
        assert told["outcome"] == "no request for a fit" and told["charged"] is None
    else:
        assert "PrivateMean" in told["request"] and told["charged"] == [0.01, 1e-8]


@pytest.mark.parametrize("code", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize(("name", "read"), [("row\ncount", "answered"), ("row\u0a63ount", None)])
def test_what_is_logged_is_what_is_read(folder, code, name, read):
    """A newline in a text becomes a blank on its way to the process of the fit."""
    _, line = opened(folder, "mean")
    text = json.dumps(COUNT).replace("row count", name).encode(code)
    (told,) = sends(folder, f"/fits/{line._fit}", text)
    done = told["outcome"] == "answered"
    assert not done or "row count" in told["request"]
    assert code != "utf-8" or read is None or done


def test_long_names_and_arguments_hide_nothing_that_is_done(folder):
    _, line = opened(folder, "mean")
    long = request(0, "doubt_fit", "a" * 10**6)
    ball = request(0, "ask", BallSum(np.zeros(4), 1.0), share=0.001, label="step")
    odd = {"to": 0, "do": "ask", "args": {"list": []}, "named": {"x" * 10**5: [[["y" * 99] * 99]]}}
    told = sends(folder, f"/fits/{line._fit}", json.dumps([long, ball, COUNT, odd]))
    assert len(told) == 4 and told[2]["request"].startswith(CALLED)
    assert told[1]["request"].startswith("ask BallSum of 0") and "step" in told[1]["request"]


def test_what_reaches_no_fit_has_a_line(folder):
    for path in ("/fits/none", "/fits"):
        (told,) = sends(folder, path, b" " * 2**22 + b"{}")
        assert told["who"] == "ana" and told["outcome"].startswith("longer than")
        (told,) = sends(folder, path, b"\xff{")
        assert told["request"].startswith("2 bytes") and told["outcome"].startswith("no ")
    told = sends(folder, "/fits/none", json.dumps([COUNT, COLUMNS]))
    assert outcomes(told) == ["no such fit, or one that has ended"]
    assert told[0]["request"].startswith(f"2 requests: {CALLED}")
    assert "; n_features of 0" in told[0]["request"]
    (told,) = sends(folder, "/fits", json.dumps({**asked_for("mean"), "table": ["rows"]}))
    assert told["outcome"] == "no such table"
    (told,) = sends(folder, "/fits", json.dumps({**asked_for("mean"), "estimator": [[]] * 99}))
    assert told["outcome"] == "another kind of JSON" and told["charged"] is None
    with pytest.raises(ConnectionError):
        tables(folder, "eve")
    told = json.loads((folder / "log").read_text().splitlines()[-1])
    assert told["who"] is None and told["outcome"] == "an unknown token"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/secret"), ("PUT", "/tables"), ("GET", "/fits/secret")]
)
def test_other_addresses_have_a_line(folder, method, path):
    (told,) = sends(folder, path, b"", method=method)
    assert told["outcome"] == "no such address" and told["who"] == "ana"


def test_a_message_that_breaks_off_has_a_line(folder):
    _, line = opened(folder, "mean")
    head = f"POST /fits/{line._fit} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ana\r\n"

    def broken():
        before = (folder / "log").read_text().count("\n")
        with socket.socket(socket.AF_UNIX) as sent:
            sent.connect(str(folder / "socket"))
            sent.sendall(f"{head}Content-Length: 999\r\n\r\n{json.dumps(COUNT)}".encode())
        until(lambda: (folder / "log").read_text().count("\n") > before)

    (told,) = lines(folder, broken)
    assert told["outcome"] == "broken off" and "row count" in told["request"]
    assert line._fit not in json.dumps(told), "names of fits are secret"


@pytest.mark.parametrize("start", ["GET /", "GET / HTTP/1.1\r\nA: ", "GET / HTTP/1.1\r\n", CHUNKED])
def test_nobody_sends_a_head_without_end(folder, start):
    piece = (b"A: a\r\n" if start.endswith("\n") else b"a") * 2**14
    with socket.socket(socket.AF_UNIX) as sent:
        sent.connect(str(folder / "socket"))
        sent.sendall(start.encode())
        with pytest.raises(OSError, match=r"roken|reset"):
            for _ in range(2**10):
                sent.sendall(piece)


def test_a_fit_that_is_asked_too_much_and_one_that_ends_have_lines(folder):
    _, line = opened(folder, "mean")
    line.raw(json.dumps([COLUMNS] * 100))
    line.raw(json.dumps([COLUMNS] * 100))
    told = sends(folder, f"/fits/{line._fit}", json.dumps([COUNT, *[COLUMNS] * 99]))
    assert outcomes(told) == ["answered"] * 100
    told = sends(folder, f"/fits/{line._fit}", json.dumps([COUNT, COLUMNS]))
    assert "the most requests" in told[0]["outcome"] and CALLED in told[0]["request"]
    assert [one["outcome"] for one in lines(folder, line.close)] == ["ended"]


def test_a_fit_whose_process_is_killed_has_a_line_of_what_it_was_asked(tmp_path):
    with holder(tmp_path, search_pace=60.0, open_fits=1) as server:
        until(lambda: len(workers(server)) == 1)
        (worker,) = workers(server)
        _, line = opened(tmp_path, "mean")

        def killed():
            os.kill(worker, signal.SIGKILL)
            line.raw(json.dumps([COUNT, COLUMNS]))

        told = lines(tmp_path, killed)
        assert outcomes(told) == ["Withheld"]
        assert told[0]["request"].startswith(f"2 requests: {CALLED}")


def test_the_log_cannot_be_forged():
    forged = 'x\n{"who": "bob", "do": "open"}\r\u2028'
    for one in (forged, [forged], {forged: forged}, {**COUNT, "do": forged}, {**COUNT, "to": {}}):
        (told,) = noted([one])
        assert "\n" not in told and "\r" not in told and told.isascii()


def test_the_log_holds_no_answer(folder):
    fit = skdp.PrivateMean(epsilon=0.5, bounds=(0, 10)).fit(tables(folder)["rows"][["a"]])
    said = (folder / "log").read_text()
    assert repr(float(fit.location_[0]))[:8] not in said and '"charged": [0.5, 1e-06]' in said
