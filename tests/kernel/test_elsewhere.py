"""A fit whose rows are in another process gives the same bits and the same bill."""

import gc
import re
import types
from dataclasses import dataclass
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone

import skdp
from skdp.audit._fingerprint import fingerprint
from skdp.audit._tables import example
from skdp.base import Budget, Plan, PrivateEstimator, Step
from skdp.exceptions import PlanError
from skdp.gate._curator import Curator
from skdp.kernel._parts import Parts
from skdp.kernel._plain import public
from skdp.kernel._statistic import Rule
from skdp.kernel._sums import BallSum, Count, KeptRows
from skdp.kernel._table import Table, replaced_table
from skdp.readers._rows import MappedRows, Source
from skdp.remote._wire import as_json, refuse_annex
from tests._estimators import COMPOSED, ESTIMATORS
from tests.kernel._elsewhere import elsewhere, handle, rows_elsewhere

MOST_WAITING = 0
pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


class _Asks(PrivateEstimator):
    steps = ()

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        return Plan(Budget.gaussian(self.epsilon, self.delta), self.steps)


class Mean(_Asks):
    _weighs_groups = True
    steps = (Step("count", at_most=0.1), Step("sum"), Step("kept", at_most=0.1))

    def _release(self, table):
        n = table.ask(Count(), share=0.1, label="count").value[0]
        ball = np.zeros(table.n_features), 10.0, None, 2.0
        kept = KeptRows(*ball), 0.1, "kept"
        told, kept = table.ask_all((BallSum(*ball), 0.5, "sum"), kept)
        table.decide("clipped")
        table.doubt("few", np.arange(table.n_features) > 0)
        left = float(table.remaining)
        return {
            "mean_": told.real / max(n, 1.0),
            "sd_": told.sd,
            "kept_": kept.value,
            "left_": left,
        }


@public
@dataclass(frozen=True)
class Sign(Rule):
    """Rows with a first entry below 0, and others."""

    def __call__(self, block):
        return (block[:, 0] >= 0).astype(np.int64)


class Parted(_Asks):
    steps = (
        Step("here", "child", at_most=0.5),
        Step("here/count"),
        Step("sides", at_most=0.25),
        Step("last", at_most=0.25),
    )

    def _release(self, table):
        inner = table.child("here", 0.5)
        counts = {0: Count(), 1: Count()}
        sides = table.split(Sign(), 2).ask(counts, share=0.25, label="sides")
        drawn = table.drawn()
        answers = (
            inner.ask(Count(), share=1, label="count").value,
            *(sides[i].value for i in sorted(sides)),
            drawn.ask(Count(last=True), share=0.25, label="last").value,
        )
        return {
            "counts_": np.concatenate(answers),
            "left_": float(inner.remaining),
            "same_": table.paid_by(table) is table and drawn.paid_by(table) is drawn,
            "heads_": table.heads,
        }


def name(x):
    """Return the name of an estimator or a table in a test: no address of a function is in it."""
    return getattr(x, "__name__", re.sub(r" at 0x\w+", "", str(x)))


def asks(estimator):
    release = getattr(estimator, "_release", None)
    return release is not None and len(signature(release).parameters) == 1


def numbers():
    return np.random.default_rng(0).normal(size=(500, 3)) * [1, 10, 100] + 5


TINY = [(Mean(), numbers), (Parted(), numbers)]
ALL = [*((one, numbers) for one in ESTIMATORS), *COMPOSED.values()]
ASKING = [pair for pair in ALL if asks(pair[0])]
WAITING = sorted({type(one).__name__ for one, _ in ALL if not asks(one)})


def fitted(estimator, groups=None, make=numbers):
    sample = example(estimator, make(), groups=groups)
    model = clone(estimator).set_params(random_state=7)
    with skdp.config_context(debug=True):
        sample.fit(model)
    return model


def same(one, other):
    one, other = ({k: v for k, v in vars(m).items() if k != "random_state"} for m in (one, other))
    assert one.keys() == other.keys()
    for name in one:
        assert fingerprint(one[name]) == fingerprint(other[name]), name


def is_annex(error):
    return isinstance(error, AttributeError) and error.name in ("_rows", "_curator")


@pytest.mark.parametrize("groups", [None, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("estimator", "make"), [*TINY, *ASKING], ids=name)
def test_the_same_bits_and_bill(estimator, make, groups):
    try:
        here = fitted(estimator, groups, make)
    except (PlanError, TypeError, ValueError):
        if groups:
            pytest.skip("protects no persons")
        raise
    try:
        with rows_elsewhere() as lines:
            there = fitted(estimator, groups, make)
    except AttributeError as error:
        if is_annex(error):
            with pytest.raises(TypeError):  # before a holder charges for it
                as_json(estimator)
                refuse_annex(estimator)
            pytest.skip("an annex: its rows are in this process")
        raise
    assert lines and all(line.requests for line in lines)
    assert here.privacy_report_ == there.privacy_report_
    same(here, there)


def test_who_is_asked_elsewhere(record_property):
    """The list of those whose rows cannot go yet; it only gets shorter."""
    record_property("not elsewhere", " ".join(WAITING))
    assert len(WAITING) <= MOST_WAITING


# -- no rows can be reached from what an engine holds ------------------------------------------

STOP = types.ModuleType | type | types.FrameType | types.BuiltinFunctionType


def reached(start):
    """Return all that can be reached from an object: by attributes, items, cells, slots."""
    seen, left = {}, [start]
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, STOP):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, types.FunctionType):  # not its globals, which are all the modules
            left += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
        else:
            left += gc.get_referents(thing)
    return list(seen.values())


def holds_rows(things, n_rows):
    private = Source, MappedRows, Curator
    return any(
        isinstance(x, private) or (isinstance(x, np.ndarray) and n_rows in x.shape) for x in things
    )


class Looks(_Asks):
    """Shows what an engine could reach."""

    steps = Mean.steps
    seen = None

    def _release(self, table):
        found = [table, table.split(None, 1), table.drawn()]
        table.ask(Count(), share=0.1, label="count")
        Looks.seen = holds_rows(reached(found), 500)
        return {"n_": table.n_features}


def test_no_rows_are_reachable_from_a_handle():
    with rows_elsewhere():
        fitted(Looks())
    assert Looks.seen is False
    fitted(Looks())
    assert Looks.seen is True, "the walk finds them where they are"


def test_a_handle_is_a_table_without_rows():
    kept = []

    def spy(rows, curator):
        kept.append((rows, curator))
        return elsewhere(rows, curator, lines)

    with rows_elsewhere() as lines, replaced_table(spy):
        fitted(Mean())
    rows, curator = kept[0]
    assert not vars(rows) and curator.coins is None
    table = handle(None, {"number": 0, "class": "Table"})
    assert isinstance(table, Table) and isinstance(
        handle(None, {"number": 0, "class": "Parts"}), Parts
    )
    for name in ("_rows", "_curator", "_log"):
        assert not hasattr(table, name)
