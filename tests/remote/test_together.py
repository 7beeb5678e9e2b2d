"""Several requests in one message: fewer messages, the same answers, quotas, times and log."""

import json
import time

import numpy as np
import pytest

import skdp
from skdp.kernel._friends import HIndex
from skdp.kernel._lattice import InBox
from skdp.kernel._sums import Count
from skdp.remote import _client
from skdp.remote._session import MOST_TOGETHER
from skdp.remote._wire import Withheld, request
from tests.remote._holder import holder, tables
from tests.remote.test_attacks import opened

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
COLUMNS = request(0, "n_features")
REFUSED = request(0, "nothing")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    with holder(folder, requests=10, pace=0.3, open_fits=20):
        yield folder


def told(line, *requests):
    return json.loads(line.raw(json.dumps(requests)))


def test_a_list_is_answered_by_a_list_or_by_the_first_refusal(folder):
    _, line = opened(folder, "mean")
    assert told(line, COLUMNS, COLUMNS) == [{"ok": 4}, {"ok": 4}]
    count = request(0, "ask", Count(), share=0.001, label="row count")
    answer = told(line, REFUSED, count)
    assert answer == {"no": {"kind": "ValueError", "text": "an unknown request"}}
    assert told(line, request(0, "remaining"))[0]["ok"] == {"exact": ["0x1", "0x1"]}, "not done"


def test_requests_count_one_by_one(folder):
    _, line = opened(folder, "mean")
    assert len(told(line, *[COLUMNS] * 9)) == 9
    assert "the most requests" in told(line, COLUMNS, COLUMNS)["no"]["text"]
    assert "the most requests" in told(line, COLUMNS)["no"]["text"]


@pytest.mark.parametrize(
    "requests", [[], [COLUMNS] * (MOST_TOGETHER + 1), [[COLUMNS]], [COLUMNS, 7]]
)
def test_other_lists_are_refused(folder, requests):
    _, line = opened(folder, "mean")
    assert told(line, *requests) == {"no": {"kind": "ValueError", "text": "no request"}}


def test_pairs_beside_others_leave_at_the_pace(folder):
    _, line = opened(folder, "mean")
    pairs = request(0, "ask", HIndex(1.0), share=0.1, label="h-index")
    for requests in ([COLUMNS, pairs], [pairs, COLUMNS]):
        began = time.monotonic()
        assert "no" in told(line, *requests)
        assert time.monotonic() - began >= 0.3


def test_a_fit_waits_for_few_answers(folder, monkeypatch):
    messages, raw = [], _client._Holder.raw

    def counted(self, method, path, body=None):
        messages.append((method, body))
        return raw(self, method, path, body)

    monkeypatch.setattr(_client._Holder, "raw", counted)
    table = tables(folder)["rows"][["a"]]
    for delta, first in ((0, ["ask"]), (1e-6, ["map", "ask"])):
        messages.clear()
        fit = skdp.PrivateMean(bounds=(0, 10), epsilon=5.0, delta=delta).fit(table)
        done = [[one["do"] for one in json.loads(body)] for _, body in messages[1:-1]]
        assert done[0] == [*first, "remaining"] and done[-1][-1] == "close_fit"
        assert all(one[-2:] == ["ask", "remaining"] for one in done[:-1])
        assert fit.location_.shape == (1,)


def test_a_view_that_waits_is_the_one_that_the_holder_makes(folder):
    table, line = opened(folder, "mean")
    low, high = np.full((2, 4), [[0.0], [1.0]])
    first, second = (table.map(InBox(low, high + more)) for more in (0.0, 1.0))
    assert second.n_features == 4 and first.heads is None and not line._views
    sample = table.sample(50.0, 1500.0)
    scaled = sample.scaled(2.0)
    views = first, second, sample, scaled, scaled.map(InBox(low, high))
    assert [view._number for view in views] == [1, 2, 3, 4, 5] and not line._views
    assert type(scaled) is type(sample) and type(views[-1]) is type(table) is not type(sample)
    assert scaled.n == sample.n == scaled.fewer(60.0).n


def test_a_view_that_was_refused_is_no_other_one(folder):
    table, _ = opened(folder, "mean")
    refused, low = table.map(Count()), np.zeros(4)
    other = table.map(InBox(low, low + 1))
    with pytest.raises(ValueError, match="only registered views"):
        table.shape  # noqa: B018
    for view in (refused, other):
        with pytest.raises(ValueError, match="no such view"):
            view.shape  # noqa: B018
    assert table.map(InBox(low, low + 1))._number == 3  # where the holder counts 1
    with pytest.raises(Withheld, match="fit again"):
        table.shape  # noqa: B018


def test_what_is_noted_waits_and_what_is_left_is_known(folder, monkeypatch):
    table, line = opened(folder, "mean")
    messages, raw = [], line._holder.raw

    def counted(*given):
        messages.append(given)
        return raw(*given)

    monkeypatch.setattr(line._holder, "raw", counted)
    table.decide("first")
    table.doubt("second")
    assert not messages
    before = table.remaining
    table.ask(Count(), share=0.001, label="row count")
    after = table.remaining
    assert len(messages) == 1 and before == 1 and after < 1
    table.decide("third")
    report = line(0, "close_fit", "PrivateMean")
    assert [str(text) for text in report.decisions] == ["first", "low accuracy: second", "third"]
    inner = table.child("columns with gaps", 0.1)
    assert table.remaining < after and inner.remaining == 1
    before = len(messages)
    table.doubt("long", np.zeros((2000, 4), dtype=bool))
    assert len(messages) == before + 1, "many of them would exceed what a holder reads"
