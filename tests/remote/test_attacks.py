"""What an analyst with a token may send to get more than the budget pays for: all is refused.

One server answers them all. Whatever was sent, nothing more is charged, and an honest question is
answered as before.
"""

import json

import pytest

import skdp
from skdp.accounting import Budget
from skdp.by_group._plan import planned
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.kernel._friends import HIndex
from skdp.kernel._sums import Count
from skdp.model_selection import PrivateSearchCV
from skdp.remote._client import _HttpLine
from skdp.remote._estimators import as_json
from skdp.remote._handles import Withheld
from skdp.remote._registry import registry
from skdp.remote._wire import sent
from tests.remote._holder import holder, tables

pytest.importorskip("uvicorn")
REFUSED = ValueError, TypeError, PlanError, BudgetExceeded, Withheld
SMALL = {"epsilon": 0.01, "delta": 1e-8}
LEVELS = [(0.0,), (1.0,)]
BY_GROUP = skdp.PrivateGroupBy(skdp.PrivateMean(), by="y", **SMALL)
BY_LEVEL = skdp.PrivateGroupBy(
    skdp.PrivateMean(bounds=(0, 1), delta=0), by="y", levels=[0.0, 1.0], epsilon=0.01, delta=0
)
FITS = {  # estimator, name of the target
    "mean": (skdp.PrivateMean(**SMALL), None),
    "group-by": (BY_GROUP, None),
    "by level": (BY_LEVEL, None),
    "search": (
        PrivateSearchCV(skdp.PrivateLogisticRegression(), {"C": [1.0]}, epsilon=0.1, delta=1e-8),
        "y",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    with holder(folder, open_fits=40):
        yield folder


@pytest.fixture(scope="module")
def fits(folder):
    """Return what opens a fit by its name: the handle of its table."""
    return lambda name: opened(folder, name)[0]


def opened(folder, name, who="ana", **more):
    """Open a fit of :data:`FITS`; return the handle of its table and the line to it."""
    estimator, y = FITS[name]
    line = _HttpLine(tables(folder, who)["rows"]._holder)
    told = line.opened(
        {
            "table": "rows",
            "estimator": sent(as_json(estimator), None),
            "y": y,
            "columns": None,
            "registry": registry(),
            **more,
        }
    )
    return told["table"], line


def parts(table, *, estimator=BY_GROUP, **more):
    """Return the tables of groups, as the engine asks for them; ``more`` is the attack."""
    granted = planned(estimator, grouped=False, most=1)[1].ledger.granted
    return table.partition(LEVELS, "groups", **{"most": 1, **granted, **more})


def count(table, share=0.01, label="row count"):
    return table.ask(Count(), share=share, label=label)


# name, fit, what is asked of its table, what is told
QUESTIONS = [
    ("a search of another budget", "search", lambda t: t.search(PrivateSearchCV), None),
    (
        "a search described by the analyst",
        "search",
        lambda t: t.search({"name": "PrivateSearchCV", "parameters": {"epsilon": 1e6}}),
        None,
    ),
    (
        "sets that nobody pays for",
        "by level",
        lambda t: parts(t, estimator=BY_LEVEL, budget=Budget.pure(10**6), most=-1),
        "positive integer",
    ),
    ("half a set", "group-by", lambda t: parts(t, most=0.5), None),
    ("no set", "group-by", lambda t: parts(t, most=0), None),
    (
        "all rows, paid by the budget of a set",
        "group-by",
        lambda t: t.paid_by(parts(t)[0]),
        "a budget of other rows",
    ),
    (
        "a set, paid by the budget of another",
        "group-by",
        lambda t: t.paid_by(t) and (lambda p: p[0].paid_by(p[1]))(parts(t)),
        "a budget of other rows",
    ),
    (
        "rows of a set that are read, paid by another",
        "group-by",
        lambda t: (lambda p: p[0].read("groups")[0].paid_by(p[1]))(parts(t)),
        "a budget of other rows",
    ),
]


@pytest.mark.parametrize(
    ("kind", "act", "text"), [q[1:] for q in QUESTIONS], ids=[q[0] for q in QUESTIONS]
)
def test_hostile_questions(fits, kind, act, text):
    with pytest.raises(REFUSED, match=text):
        act(fits(kind))


def test_pairs_have_no_other_name(tmp_path):
    pair = {"list": [sent(HIndex(1.0), None)]}
    asked = json.dumps({"to": 0, "do": "ask", "args": pair, "named": {"dict": []}})
    with holder(tmp_path, pace=None):
        _, line = opened(tmp_path, "mean")
        for name in ("HIndex", "\\u0048Index", "\\u0048\\u0049ndex"):
            told = json.loads(line.raw(asked.replace("HIndex", name)))
            assert "set pace" in told["no"]["text"]
