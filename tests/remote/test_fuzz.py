"""Requests that are malformed, replayed, reordered or too long: a holder answers all by its schema.

Every request is a good one that was changed, so that it comes as far as a check. What was asked is
drawn from a seed, so a failure can be repeated.
"""

import json
import os
import string
from pathlib import Path

import numpy as np
import pytest

import skdp
from skdp.accounting import PrivacyLedger
from skdp.kernel._bins import LogBins
from skdp.kernel._plain import own
from skdp.kernel._sums import BallSum, Count, Distances
from skdp.remote._wire import heard, sent
from tests.remote._holder import holder, tables
from tests.remote.test_attacks import FITS, asked_for, raw

pytest.importorskip("uvicorn")
BUDGET = (5.0, 1e-3)  # of an analyst: the fits that the fuzzer opens do not exhaust it
BODY = 2**18
ODD = [
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "a" * 300,
    [],
    {},
    [[]],
    {"t": "Count", "f": {}},
    "\0\ud800",
]
DOES = [
    *("ask", "ask_all", "child", "choose", "close", "close_fit", "decide", "doubt", "doubt_fit"),
    *("drawn", "fails", "heads", "map", "n_features", "names", "paid_by", "partition", "read"),
    *("remaining", "sample", "search", "split", "thinned", "_rows", "bill", "about"),
]
STATISTICS = {
    "row count": Count(),
    "step": BallSum(np.zeros(4), 1.0),
    "norms": Distances(np.zeros(4), LogBins(8)),
}


def request(rng):
    """Return a request about a fit that may be a good one."""
    label = str(rng.choice([*STATISTICS]))
    one = STATISTICS[label if rng.random() < 0.8 else "step"]
    args = [one] if rng.random() < 0.8 else []
    named = {"share": float(rng.choice([0.0001, 0.001, 0.5])), "label": label} if args else {}
    told = {"args": sent(args, None), "named": sent(named, None)}
    do = "ask" if args and rng.random() < 0.5 else str(rng.choice(DOES))
    return {"to": int(rng.choice([0, 0, 0, 0, 1, 2])), "do": do, **told}


def spots(x):
    """Return all (container, key) of nested JSON."""
    inner = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    return [pair for key, value in inner for pair in [(x, key), *spots(value)]]


def changed(rng, told):
    """Return the bytes of a request after some changes."""
    told = json.loads(json.dumps(told))
    for _ in range(rng.integers(4)):
        inner, key = (places := spots(told))[rng.integers(len(places))]
        match rng.integers(4):
            case 0:
                inner[key] = ODD[rng.integers(len(ODD))]
            case 1 if isinstance(inner, dict):
                inner[str(rng.choice([*string.ascii_lowercase, "number", "record", "texts"]))] = (
                    inner.pop(key)
                )
            case 2:
                other, at = places[rng.integers(len(places))]
                inner[key] = json.loads(json.dumps(other[at]))
            case _:
                del inner[key]
        if not spots(told):
            break
    body = bytearray(json.dumps(told).encode())
    match rng.integers(8):
        case 0:
            for at in rng.integers(len(body), size=rng.integers(1, 9)):
                body[at] = rng.integers(256)
        case 1:
            del body[rng.integers(len(body)) :]
        case 2 if rng.random() < 0.2:
            body = b"[" * int(rng.choice([900, 5000, BODY + 1]))
    return bytes(body)


def memory(process):
    """Return the bytes that a process holds."""
    pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def is_of_schema(told):
    """Return whether an answer is one: a value of the wire, or a refusal."""
    if set(told) == {"no"}:
        text = told["no"].get("text", "")
        return set(told["no"]) <= {"kind", "text"} and len(text) <= 2000 and "Traceback" not in text
    heard(told["ok"], lambda thing: own(Count()) if "number" in thing else None)
    return set(told) <= {"ok", "fit"}


def fuzzed(folder, n, rng, process):
    """Send ``n`` requests; return what the answers were."""
    fits, sent_before, kinds, began = [], [], {}, None
    for i in range(n):
        if len(fits) < 3 or rng.random() < 0.02:
            told = asked_for(str(rng.choice([name for name in FITS if name != "search"])))
            body = json.dumps(told) if len(fits) < 3 else changed(rng, told)
            path = "/fits"
        elif sent_before and rng.random() < 0.2:
            path, body = sent_before[rng.integers(len(sent_before))]  # again, maybe at another fit
            path = path if rng.random() < 0.5 else f"/fits/{fits[rng.integers(len(fits))]}"
        else:
            path, body = f"/fits/{fits[rng.integers(len(fits))]}", changed(rng, request(rng))
        method = "DELETE" if path != "/fits" and rng.random() < 0.004 else "POST"
        status, told = raw(folder, method, path, body)
        assert status in (200, 413) and is_of_schema(told), (i, method, path, body[:300], told)
        sent_before = [*sent_before[-50:], (path, body)]
        kind = told["no"]["kind"] if "no" in told else "ok"
        kinds[kind] = kinds.get(kind, 0) + 1
        kinds["fit"] = kinds.get("fit", 0) + ("fit" in told)
        if "fit" in told:
            fits = [*fits, told["fit"]][-8:]  # the others stay open until they are idle
        elif "has ended" in told.get("no", {}).get("text", "") or method == "DELETE":
            fits = [name for name in fits if not path.endswith(name)]
        if i == n // 10:
            began = memory(process)
    assert memory(process) < began + 2**25, "memory is bounded"
    return kinds


def check(folder, n, seed):
    with holder(
        folder, budgets={"ana": BUDGET, "bob": BUDGET}, body=BODY, open_fits=10_000
    ) as process:
        kinds = fuzzed(folder, n, np.random.default_rng(seed), process)
        assert min(kinds[kind] for kind in ("ok", "ValueError", "PlanError", "Withheld")) > n / 1000
        mean = skdp.PrivateMean(bounds=(0, 10), epsilon=0.5, delta=0)
        assert abs(mean.fit(tables(folder, "bob")["rows"][["a"]]).location_[0] - 5) < 1
    ledger = PrivacyLedger.open(folder / "ana@rows.db")
    charged = [entry for entry in ledger.entries() if entry.kind == "charge"]
    assert ledger.remaining().epsilon >= 0 and not ledger.report().latched
    assert len(charged) >= kinds["fit"] >= 3, "whatever was opened is charged"


@pytest.mark.slow
def test_requests_at_random(tmp_path):
    check(tmp_path, 400, 0)


@pytest.mark.nightly
def test_ten_thousand_requests_at_random(tmp_path):
    check(tmp_path, 10_000, 1)
