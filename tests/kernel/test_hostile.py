"""Hostile questions are refused before anything is charged and before a row is looked at.

Or they are without effect: the kernel answers what it would have answered to an honest one.
"""

import base64
import copy
import json
import pickle
import re
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest

from skdp import PrivateMean
from skdp._unread import Unread
from skdp.accounting import Budget, Plan, Step
from skdp.audit._statistics import shape_of
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.gate._curator import Curator
from skdp.kernel._bins import LogBins, UniformCells
from skdp.kernel._bounded import BoundedSums
from skdp.kernel._cells import Binned, Codes
from skdp.kernel._columns import ColumnCells
from skdp.kernel._friends import HIndex, Ring, RingColumns, SparseRing
from skdp.kernel._plain import own, public
from skdp.kernel._statistic import RowMap, Rule, Shape, Statistic
from skdp.kernel._sums import BallSum, Count, Distances, KeptRows
from skdp.kernel._table import Noisy, Table
from skdp.kernel._totals import decoded, encoded
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows
from tests._curators import CannedCurator
from tests._estimators import ESTIMATORS
from tests.kernel._elsewhere import Holder, Line, handle, sent
from tests.kernel._examples import all_examples

REFUSED = (ValueError, TypeError, ArithmeticError, PlanError, BudgetExceeded)
WITHHELD = (*REFUSED, RuntimeError, AttributeError)
STEPS = (
    Step("x", times=4),
    Step("small", at_most=0.01),
    Step("once"),
    Step("choice", "select"),
    Step("pure", "laplace", times=9),
    Step("matrix", "matrix"),
    Step("part", "child", at_most=0.5),
    Step("part/y"),
    Step("count", times=2, of=(Count, KeptRows)),
)
EVENTS = (("rare", Fraction(1, 10**9)),)
ZERO = np.zeros(3)


@public
@dataclass(frozen=True)
class Third(Rule):
    """Of three sets, by the number of a row's first entry."""

    n: int = 3

    def __call__(self, block):
        return np.nan_to_num(block[:, 0]).astype(np.int64) % self.n


@public
@dataclass(frozen=True)
class NoPure(Statistic):
    """A count that no pure budget pays for."""

    squared_l2 = 1

    def total(self, block):
        return np.array([len(block)])


@public
@dataclass(frozen=True)
class OfCells(Count):
    """Reads another kind of rows."""

    kind = "cells"


@dataclass(frozen=True)
class Unregistered(Count):
    """A count that says it adds nothing."""

    squared_l2 = 0


@dataclass(frozen=True)
class Identity(RowMap):
    """Shows rows as they are, and is not registered."""

    def over(self, rows):
        return rows


@dataclass(frozen=True)
class Everywhere(Rule):
    """Is not registered."""

    def __call__(self, block):
        return np.zeros(len(block), dtype=np.int64)


class Heard(np.ndarray):
    """An array that would be handed rows by its operators."""

    def __array_ufunc__(self, *args, **kwargs):
        raise AssertionError("rows were handed over")


class Listening(float):
    def __rtruediv__(self, other):
        raise AssertionError("rows were handed over")

    __rmul__ = __rtruediv__


class Twice(int):
    def __hash__(self):
        return 17


class Watched(ArrayRows):
    """Rows that notice when they are looked at."""

    looked = False

    def pieces(self):
        self.looked = True
        return super().pieces()


class Words:
    """Entropy that notices when it is drawn from."""

    def __init__(self):
        self._entropy, self.drawn = make_entropy(0), False
        self.seeded = True

    def __getattr__(self, name):
        self.drawn = True
        return getattr(self._entropy, name)


class Direct(Line):
    """A line to a holder in this process."""

    def __init__(self, holder):
        self.holder, self.requests, self.answers = holder, [], []

    def raw(self, line):
        self.requests.append(line)
        self.answers.append(self.holder.line(line))
        return self.answers[-1]


class Scene:
    """A Table, and whether anything has happened to it."""

    def __init__(self, remote=False, budget=None):
        budget = budget or Budget.gaussian(1.0, 1e-6)
        self.rows = Watched(np.arange(60.0).reshape(20, 3))
        self.words = Words()
        events = EVENTS if budget.failure else ()
        self.curator = Curator(Plan(budget, STEPS, events), self.words)
        self.words.drawn = False
        self.table = Table(self.rows, self.curator)
        self.holder = Holder(self.table, self.curator)
        if remote:
            self.table = handle(Direct(self.holder), self.holder.number(self.table))

    def untouched(self):
        quiet = not self.curator._bill() and self.curator.remaining == 1
        return quiet and not self.rows.looked and not self.words.drawn


def changed(statistic, **attributes):
    """Return a question with attributes that its class has not declared, or forged fields."""
    vars(statistic).update(attributes)
    return statistic


def ask(statistic, share=0.1, label="x", **how):
    return lambda table: table.ask(statistic, share=share, label=label, **how)


def parts(statistics, rule=None, n_parts=3, share=0.1, label="x"):
    rule = Third() if rule is None else rule
    return lambda table: table.split(rule, n_parts).ask(statistics, share=share, label=label)


def forged_budget(**fields):
    return changed(Budget.gaussian(0.1, 1e-6), **fields)


def zero_denominator():
    share = Fraction(1, 2)
    share._denominator = 0
    return share


def ball(**fields):
    return BallSum(**{"center": ZERO, "radius": 1.0} | fields)


def far(cls, **fields):
    """Return a question whose fields its own constructor has not seen."""
    return changed(object.__new__(cls), **fields)


REFUSALS = {
    # what may be asked
    "no statistic": ask(LogBins(1)),
    "a number": ask(7),
    "nothing": ask(None),
    "a class in place of a question": ask(Count),
    "a lambda": ask(lambda block: block.sum()),
    "a subclass of a registered statistic": ask(Unregistered()),
    "a statistic of the same name": ask(
        dataclass(frozen=True)(type("Count", (Unregistered,), {}))()
    ),
    "an answer as a question": ask(Noisy(np.zeros(1), 1.0)),
    "a question without its fields": ask(object.__new__(BallSum)),
    "a question with half of its fields": ask(far(BallSum, center=ZERO)),
    "a statistic of another kind of rows": ask(OfCells()),
    # fields
    "radius infinite": ask(ball(radius=np.inf)),
    "radius NaN": ask(ball(radius=np.nan)),
    "radius 0": ask(ball(radius=0.0)),
    "radius the integer 0": ask(ball(radius=0)),
    "radius negative": ask(ball(radius=-1.0)),
    "radius a negative fraction": ask(ball(radius=Fraction(-1, 2))),
    "radius a fraction": ask(ball(radius=Fraction(1, 10**400))),
    "cells as wide as a fraction": ask(
        ColumnCells(np.array([0]), (UniformCells(0.0, Fraction(1, 10**300), 5),))
    ),
    "bounds at infinity": ask(BoundedSums(ZERO + np.inf, ZERO + np.inf)),
    "radius a bool": ask(ball(radius=True)),
    "radius a text": ask(ball(radius="1")),
    "radius an array": ask(ball(radius=np.ones(20))),
    "radius complex": ask(ball(radius=1j)),
    "radius with operators of its own": ask(ball(radius=Listening(1.0))),
    "radius of no denominator": ask(ball(radius=zero_denominator())),
    "a centre of another length": ask(ball(center=np.zeros(4))),
    "a centre of one entry": ask(ball(center=np.zeros(1))),
    "a centre for each row": ask(ball(center=np.zeros((20, 3)))),
    "a centre of NaN": ask(ball(center=np.array([0, np.nan, 0]))),
    "a centre of objects": ask(ball(center=np.array([0, 1, None], dtype=object))),
    "a centre of texts": ask(ball(center=np.array(["a", "b", "c"]))),
    "a centre of times": ask(ball(center=np.zeros(3, dtype="datetime64[s]"))),
    "a centre of records": ask(ball(center=np.zeros(3, dtype=[("a", float)]))),
    "a centre that is a number": ask(ball(center=0.0)),
    "a centre that is a tuple of nothing": ask(ball(center=(None,) * 3)),
    "a centre that is a list of texts": ask(ball(center=["a", "b", "c"])),
    "cells seen from nothing": ask(
        ColumnCells(np.array([0]), (UniformCells(0.0, 1.0, 5),), center=(None,))
    ),
    "cells in the unit of a text": ask(
        ColumnCells(np.array([0]), (UniformCells(0.0, 1.0, 5),), unit=("1",))
    ),
    "a scale for each row": ask(ball(scale=np.ones((20, 1)))),
    "a scale of another length": ask(ball(scale=np.ones(2))),
    "a scale of 0": ask(ball(scale=np.zeros(3))),
    "a scale of distances for each row": ask(Distances(ZERO, LogBins(1), np.ones((20, 1)))),
    "drop NaN": ask(ball(drop=np.nan)),
    "drop 0": ask(ball(drop=0)),
    "bins of another class": ask(Distances(ZERO, Count())),
    "2^40 bins": ask(Distances(ZERO, LogBins(2**40))),
    "bins of no octave": ask(Distances(ZERO, LogBins(2**40, 0, 0))),
    "bins that fall": ask(Distances(ZERO, LogBins(-1))),
    "starts that are a table": ask(Distances(ZERO, LogBins(1), None, np.zeros((2, 2), dtype=int))),
    "starts beyond 2^62": ask(Distances(ZERO, LogBins(1), None, np.array([2**63], np.uint64))),
    "starts that fall": ask(Distances(ZERO, LogBins(1), None, np.array([9, 0]))),
    "no starts": ask(Distances(ZERO, LogBins(1), None, np.zeros(0, dtype=int))),
    "last a number": ask(Count(2)),
    "last a function": ask(Count(lambda block: block)),
    "a field that is a dict": ask(ball(drop={"a": 1})),
    "a field that is a table": lambda table: table.ask(ball(drop=table), share=0.1, label="x"),
    # shares and labels
    "share negative": ask(Count(), Fraction(-1, 2)),
    "share 0": ask(Count(), 0),
    "share above 1": ask(Count(), 2),
    "share above its step": ask(Count(), 0.5, "small"),
    "share NaN": ask(Count(), float("nan")),
    "share infinite": ask(Count(), float("inf")),
    "share a bool": ask(Count(), True),
    "share a bool of numpy": ask(Count(), np.True_),
    "share a text": ask(Count(), "0.1"),
    "share an array": ask(Count(), np.array([0.1, 0.1])),
    "share None": ask(Count(), None),
    "share of no denominator": ask(Count(), zero_denominator()),
    "a label that is not planned": ask(Count(), 0.1, "y"),
    "a label that is a list": ask(Count(), 0.1, ["x"]),
    "a label that is None": ask(Count(), 0.1, None),
    "a step of a choice": ask(Count(), 0.1, "choice"),
    "a step of a child": ask(Count(), 0.1, "part"),
    "a step of Laplace noise": ask(Count(), 0.1, "pure"),
    "twice what is planned once, in one pass": lambda table: table.ask_all(
        (Count(), 0.1, "once"), (Count(), 0.1, "once")
    ),
    "shares that sum to more than 1": lambda table: table.ask_all(
        (Count(), 0.6, "x"), (Count(), 0.6, "x")
    ),
    "an honest question beside a hostile one": lambda table: table.ask_all(
        (Count(), 0.1, "x"), (ball(radius=np.nan), 0.1, "x")
    ),
    "no share": lambda table: table.ask_all((Count(), 0.1)),
    "a statistic that the plan does not name": ask(ball(), 0.1, "count"),
    "a statistic of a set that the plan does not name": parts({0: ball()}, label="count"),
    # laws
    "Laplace noise of a Gaussian budget": ask(Count(), 0.1, "pure", law="laplace"),
    "a law of no noise": ask(Count(), law="none"),
    "noise of a matrix": ask(Count(), 0.1, "matrix", law="matrix"),
    "a choice": ask(Count(), 0.1, "choice", law="select"),
    # views
    "edges of a view that are none": lambda table: table.map(Binned(((None,),) * 2, Codes(2))),
    "edges of a view that are texts": lambda table: table.map(Binned((("a", "b"),) * 2, Codes(2))),
    "a map that is none": lambda table: table.map(Count()),
    "a map that is not registered": lambda table: table.map(Identity()),
    "a map that is a function": lambda table: table.map(np.arctan),
    "a rule that is none": lambda table: table.split(Count(), 2),
    "a rule that is not registered": lambda table: table.split(Everywhere(), 2),
    "a rule that is a function": lambda table: table.split(lambda block: block[:, 0], 2),
    "no sets": lambda table: table.split(Third(), 0),
    "less than no sets": lambda table: table.split(Third(), -1),
    "half a set": lambda table: table.split(Third(), 2.5),
    "sets that are no number": lambda table: table.split(Third(), True),
    "several sets of all rows": lambda table: table.split(None, 2),
    "fields of a rule": lambda table: table.split(Third(np.inf), 2),
    "a rule by a text": lambda table: table.split(Third("3"), 2),
    # disjoint sets
    "a negative set": parts({-1: Count()}),
    "a set beyond the last": parts({3: Count()}),
    "a set that is a float": parts({0.5: Count()}),
    "a set that is NaN": parts({float("nan"): Count()}),
    "a set that is None": parts({None: Count()}),
    "a set twice under two keys": parts({1: Count(), Twice(1): Count()}),
    "no question": parts({}),
    "no statistic of a set": parts({0: Count(), 1: Unregistered()}),
    "hostile fields of a set": parts({0: Count(), 1: ball(radius=np.nan)}),
    "a share of sets above 1": parts({0: Count()}, share=1.5),
    "a label of sets that is not planned": parts({0: Count()}, label="y"),
    "sets by a step of Laplace noise": parts({0: Count()}, label="pure"),
    # parts of the budget
    "a child of no label": lambda table: table.child("nobody", 0.1),
    "a child above its step": lambda table: table.child("part", 0.9),
    "a child of a share below 0": lambda table: table.child("part", -0.1),
    "a child with a budget of its own": lambda table: table.child(
        "part", 0.1, budget=Budget.gaussian(9.0, 1e-6)
    ),
    "a child with a forged amount": lambda table: table.child(
        "part", 0.1, budget=forged_budget(amount=Fraction(100))
    ),
    "a child of another unit": lambda table: table.child("part", 0.1, budget=Budget.pure(0.001)),
    "a budget of another fit": lambda table: table.paid_by(Scene().table),
    "a budget of nobody": lambda table: table.paid_by("me"),
    # public talk
    "an event that is not planned": lambda table: table.fails("never"),
    "an event that is a list": lambda table: table.fails(["rare"]),
    "a decision that is a line of the bill": lambda table: table.decide(Noisy(ZERO, 1.0)),
}


# What JSON makes a plain number or a plain key of.
PLAIN_ELSEWHERE = {"radius with operators of its own", "a set twice under two keys"}
ATTACKS = [(name, far) for name in REFUSALS for far in (False, True)]


@pytest.mark.parametrize(
    ("name", "remote"), [one for one in ATTACKS if not (one[1] and one[0] in PLAIN_ELSEWHERE)]
)
def test_a_hostile_question_is_refused(name, remote):
    scene = Scene(remote)
    with pytest.raises(WITHHELD if remote else REFUSED):
        REFUSALS[name](scene.table)
    assert scene.untouched()


@pytest.mark.parametrize("odd", [None, "x", (), Fraction(1, 2), 2**64, Count()])
def test_an_array_is_no_tuple_of_other_things(odd):
    """Arithmetic with them would raise for rows that are there, and for no others."""
    tried = 0
    for make in all_examples().values():
        statistic, block = make(np.random.default_rng(0))
        for field in fields(statistic):
            value = getattr(statistic, field.name)
            if isinstance(value, np.ndarray) and value.size:
                entries = value.astype(object)
                entries.flat[0] = odd
                with pytest.raises(ValueError):
                    other = own(replace(statistic, **{field.name: tuple(entries.tolist())}))
                    other.check(shape_of(statistic, block))
                tried += 1
    assert tried > 30


def test_a_tuple_of_numbers_becomes_an_array():
    for center in ((0, 1.5, 2), [0, 1.5, 2]):
        held = own(ball(center=center)).center
        assert held.dtype == np.float64 and held.tolist() == [0.0, 1.5, 2.0]


def test_honest_questions_are_answered():
    for remote in (False, True):
        scene = Scene(remote)
        told = scene.table.ask(Count(), share=0.5, label="x")
        assert abs(told.value[0] - 20) < 20 * told.scale
        told = parts({0: Count(), 2: ball()})(scene.table)
        assert set(told) == {0, 2} and told[2].value.shape == (3,)
        assert not scene.untouched() and len(scene.curator._bill()) == 2


@pytest.mark.parametrize(
    "question",
    [Ring(LogBins(1)), RingColumns(LogBins(1), 2), SparseRing((0, 1), 1, LogBins(1)), HIndex(2.0)],
)
@pytest.mark.parametrize("scale", [1.0, 5e-324])
def test_no_row_of_a_sample_raises_what_numpy_is_told_to_raise(question, scale):
    extremes = [1e308, -1e308, 1.0, 5e-324, np.nan, np.inf]
    X = np.random.default_rng(0).choice(extremes, size=(99, 2))
    table = Table(ArrayRows(X), CannedCurator(Plan(Budget.gaussian(1, 0.1), STEPS)))
    with np.errstate(all="raise"):
        table.sample(200, 99).scaled(scale).ask(question, share=0.1, label="x")


def test_a_plan_names_what_is_released():
    scene = Scene()
    scene.table.ask(KeptRows(ZERO, 1.0), share=0.1, label="count")
    assert ", of Count or KeptRows" in str(scene.curator._plan)
    assert Step("count", of=(Count,)) != Step("count")


# Rows decide by noise of their own: these are asked past the statistics of a Table.
UNNAMED = re.compile(
    r"(.*/)?((core|tuple|part) (filter|size|place|average|diameter|count|points|noise)|diameter)"
)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_plans_of_estimators_name_what_they_ask(estimator):
    steps = [step for step in estimator.plan().steps if step.mechanism not in ("child", "repeat")]
    friendly = getattr(estimator, "method", "") == "friendly" or "Filter" in repr(estimator)
    for step in steps:
        assert step.of or (friendly and UNNAMED.fullmatch(step.label)), step.label


def test_a_statistic_that_a_plan_does_not_name_is_refused():
    """Of the steps of an estimator, each asked for a statistic of another kind."""
    plan = PrivateMean(epsilon=1.0, delta=1e-6).plan()
    table = Table(ArrayRows(np.zeros((20, 3))), CannedCurator(plan))
    for step in plan.steps:
        if step.of and Count not in step.of:
            with pytest.raises(ValueError, match="names another"):
                table.ask(Count(), step, share=0.001)
    assert table.remaining == 1
    with pytest.raises(ValueError, match="names another"):
        table.ask(BallSum(ZERO, 1.0), plan.steps[0])


@pytest.mark.parametrize("label", ["once", "small"])
def test_a_label_is_used_up(label):
    scene = Scene()
    scene.table.ask(Count(), share=0.005, label=label)
    with pytest.raises(PlanError):
        scene.table.ask(Count(), share=0.005, label=label)
    assert len(scene.curator._bill()) == 1


def test_a_pure_budget_pays_for_no_sum_without_a_bound():
    scene = Scene(budget=Budget.pure(1.0))
    for attack in (
        ask(NoPure(), 0.1, "pure"),
        ask(Count(), law="gaussian"),
    ):
        scene.rows.looked = False
        with pytest.raises(REFUSED):
            attack(scene.table)
        assert scene.untouched()
    scene.table.ask_all((Count(), 0.1, "pure"), (KeptRows(ZERO, 1.0), 0.1, "pure"))


# -- without effect ------------------------------------------------------------------------------

FORGERIES = {
    "a bound": {"squared_l2": Fraction(1, 10**18)},
    "a length": {"l2": 1e-9, "l1": 1e-9},
    "another sum": {"total": lambda block: np.array([10**9 * len(block)])},
    "another sum of weights": {"weighed_total": lambda block, weights: np.array([10**9])},
    "another check": {"check": lambda shape: None},
    "another grid": {"at": lambda offer: None, "step": 1e9},
    "rows of its own": {"over": lambda rows: np.array([10**9])},
    "a finer sum": {"finer": Count(), "pooled": lambda exact: 10**9 * exact},
}


@pytest.mark.parametrize("remote", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("attributes", FORGERIES.values(), ids=FORGERIES)
def test_what_is_patched_onto_a_question_is_without_effect(attributes, remote):
    questions = lambda: (Count(), KeptRows(ZERO, 1.0), Distances(ZERO, LogBins(1)))  # noqa: E731
    for one, honest in zip(questions(), questions(), strict=True):
        forged, plain = Scene(remote), Scene(remote)
        one = changed(one, **attributes)
        told = forged.table.ask(one, share=0.1, label="x")
        wanted = plain.table.ask(honest, share=0.1, label="x")
        np.testing.assert_array_equal(told.value, wanted.value)
        assert (told.scale, told.step) == (wanted.scale, wanted.step)
        assert forged.curator._bill() == plain.curator._bill()
        for scene, asked in ((forged, one), (plain, honest)):
            scene.told = scene.table.split(Third(), 3).ask({0: asked}, share=0.1, label="x")
        np.testing.assert_array_equal(forged.told[0].value, plain.told[0].value)
        assert forged.curator._bill() == plain.curator._bill()


def test_a_grid_of_the_caller_is_replaced():
    scene = Scene()
    assert scene.table.ask(ball(bits=1), share=0.1, label="x").bits > 10


def test_arrays_and_numbers_do_not_hear_of_rows():
    scene = Scene()
    told = scene.table.ask(ball(center=ZERO.view(Heard)), share=0.1, label="x")
    assert type(own(ball(center=ZERO.view(Heard))).center) is np.ndarray
    assert told.value.shape == (3,)


def test_an_array_that_changes_after_asking_changes_no_question():
    center = np.zeros(3)
    scene = Scene()
    asked = scene.table._checked(ball(center=center), "x")
    center[:] = np.nan
    assert np.isfinite(asked.center).all()
    scene.table.ask(ball(center=np.zeros(3)), share=0.1, label="x")
    assert np.isfinite(scene.table._log.answers[0][1].center).all()


def test_a_budget_that_is_patched_buys_no_more():
    for remote in (False, True):
        scene, plain = Scene(remote), Scene(remote)
        changed(scene.table.budget, amount=Fraction(10**6), epsilon=Fraction(1))
        told, honest = (
            one.table.ask(Count(), share=0.5, label="x").scale for one in (scene, plain)
        )
        assert told == honest


def test_a_shape_that_is_patched_lets_no_other_kind_in():
    scene = Scene()
    changed(scene.table.shape, kind="cells", n_features=7)
    with pytest.raises(ValueError):
        scene.table.ask(OfCells(), share=0.1, label="x")
    with pytest.raises(AttributeError):
        scene.table.shape = Shape(3, "cells")
    assert scene.untouched()


def test_a_budget_claims_what_its_amount_proves():
    honest = Budget.gaussian(0.1, 1e-6)
    with pytest.raises(ValueError, match="does not follow"):
        replace(honest, amount=Fraction(100))
    with pytest.raises(ValueError, match="does not follow"):
        copy.copy(forged_budget(amount=Fraction(100)))
    with pytest.raises(ValueError, match="does not follow"):
        pickle.loads(pickle.dumps(forged_budget(amount=Fraction(100))))


def test_a_table_is_not_copied():
    for attack in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            attack(Scene().table)


def test_the_log_knows_no_other_tickets():
    log = Scene().table._log
    for ticket in (-1, 0, 99, True, 0.0, None, "0"):
        with pytest.raises(ValueError):
            log.get(ticket)


# -- what comes as JSON --------------------------------------------------------------------------


def array(dtype, shape, raw):
    return {"a": dtype, "s": shape, "b": base64.b64encode(raw).decode()}


COUNT = {"t": "Count", "f": {"last": False}}
LINES = {
    "unknown type": {"t": "os.system", "f": {}},
    "a type that is a list": {"t": ["Count"], "f": {"last": False}},
    "a private class": {"t": "Table", "f": {}},
    "extra field": {"t": "Count", "f": {"last": False, "squared_l2": 0}},
    "missing field": {"t": "Count", "f": {}},
    "fields as a list": {"t": "Count", "f": ["last"]},
    "a bound beside the fields": {"t": "Count", "f": {"last": False}, "squared_l2": 0},
    "fields of no type": {"f": {"last": False}},
    "two things at once": {**COUNT, "q": ["1", "1"]},
    "nothing": {},
    "a pickle": {"pickle": "gASV"},
    "an array of objects": array("|O", [1], b"\0" * 8),
    "an array of a long type": array("<f16", [1], b"\0" * 16),
    "an array of texts": array("<U1", [1], b"\0" * 4),
    "an array of 2^60 entries": array("<f8", [2**60], b""),
    "an array of 2^30 times 2^30 times 0 entries and one": array("<f8", [2**30, 2**30, 1], b""),
    "a negative size": array("<f8", [-1], b"\0" * 8),
    "a size that is a float": array("<f8", [1.0], b"\0" * 8),
    "a size that is a bool": array("<f8", [True], b"\0" * 8),
    "sizes that are no list": array("<f8", 1, b"\0" * 8),
    "less bytes than entries": array("<f8", [2], b"\0" * 8),
    "more bytes than entries": array("<f8", [1], b"\0" * 16),
    "bytes that are no text": {"a": "<f8", "s": [1], "b": 7},
    "bytes that are no base64": {"a": "<f8", "s": [1], "b": "*" * 12},
    "what is neither true nor false": array("|b1", [2], b"\x02\xff"),
    "a fraction of nothing": {"q": ["0x1", "0x0"]},
    "a fraction of less than nothing": {"q": ["0x1", "-0x2"]},
    "a fraction of words": {"q": ["one", "two"]},
    "a fraction of three": {"q": ["0x1", "0x2", "0x3"]},
    "a fraction of numbers": {"q": [1, 2]},
    "a list of none": {"l": 7},
    "a bare list": [1, 2],
    "a dict of lists": {"d": [[{"a": "<f8", "s": [0], "b": ""}, 1]]},
    "a key twice": {"d": [[1, 2], [1, 3]]},
    "a dict of triples": {"d": [[1, 2, 3]]},
    "a bare list inside": {"l": [{"l": [[]]}]},
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_hostile_json_is_refused(line):
    with pytest.raises(ValueError):
        decoded(line)
    scene = Scene()
    request = {"to": 0, "do": "ask", "args": {"list": [line]}, "named": {"dict": []}}
    assert "no" in json.loads(scene.holder.line(json.dumps(request)))
    assert scene.untouched()


def test_lists_without_end_are_refused():
    deep = 7
    for _ in range(100_000):
        deep = {"l": [deep]}
    with pytest.raises((ValueError, RecursionError)):
        decoded(deep)
    while isinstance(deep, dict):  # or its end would need a deep stack as well
        deep = deep["l"][0]


NAMED = {"dict": [["share", 0.1], ["label", "x"]]}
REQUESTS = {
    "no JSON": b"\x80\x04",
    "no object": b"[1]",
    "an empty line": b"",
    "lists without end": b"[" * 100_000,
    "a number of 5,000 digits": b'{"to":' + b"1" * 5000 + b"}",
    "no name": {"to": 0},
    "more names": {"to": 0, "do": "remaining", "args": [], "named": {}, "rows": 1},
    "a private method": {"to": 0, "do": "_view", "args": {"list": [7]}, "named": {"dict": []}},
    "a private slot": {"to": 0, "do": "_rows", "args": {"list": []}, "named": {"dict": []}},
    "a class": {"to": 0, "do": "__class__", "args": {"list": []}, "named": {"dict": []}},
    "a reduction": {"to": 0, "do": "__reduce__", "args": {"list": []}, "named": {"dict": []}},
    "an unknown name": {"to": 0, "do": "rows", "args": {"list": []}, "named": {"dict": []}},
    "a name that is a list": {"to": 0, "do": ["ask"], "args": {"list": []}, "named": {"dict": []}},
    "another view": {"to": 7, "do": "ask", "args": {"list": [COUNT]}, "named": NAMED},
    "a negative view": {"to": -1, "do": "ask", "args": {"list": [COUNT]}, "named": NAMED},
    "a view that is a bool": {"to": False, "do": "ask", "args": {"list": [COUNT]}, "named": NAMED},
    "a view that is a float": {"to": 0.0, "do": "ask", "args": {"list": [COUNT]}, "named": NAMED},
    "a view that is a text": {"to": "0", "do": "ask", "args": {"list": [COUNT]}, "named": NAMED},
    "arguments too many": {"to": 0, "do": "ask", "args": {"list": [COUNT, 1]}, "named": NAMED},
    "arguments too few": {"to": 0, "do": "ask", "args": {"list": []}, "named": NAMED},
    "an argument that nobody has": {
        "to": 0,
        "do": "ask",
        "args": {"list": [COUNT]},
        "named": {"dict": [["share", 0.1], ["label", "x"], ["sensitivity", 0]]},
    },
    "an unknown record": {
        "to": 0,
        "do": "decide",
        "args": {"list": [{"record": "Curator", "values": []}]},
        "named": {"dict": []},
    },
    "a charge as a decision": {
        "to": 0,
        "do": "decide",
        "args": {"list": [{"record": "Charge", "values": ["x", "gaussian", 1, 1.0, 1.0]}]},
        "named": {"dict": []},
    },
    "a budget that claims too little": {
        "to": 0,
        "do": "child",
        "args": {
            "list": [
                "part",
                0.1,
                {"record": "Budget", "values": ["gdp", 100, 0, 0.1, 0.000001, {"list": []}]},
            ]
        },
        "named": {"dict": []},
    },
    "an exact number of nothing": {
        "to": 0,
        "do": "ask",
        "args": {"list": [COUNT]},
        "named": {"dict": [["share", {"exact": ["0x1", "0x0"]}], ["label", "x"]]},
    },
}


@pytest.mark.parametrize("request_line", REQUESTS.values(), ids=REQUESTS)
def test_a_holder_refuses_hostile_lines(request_line):
    scene = Scene()
    line = request_line if isinstance(request_line, bytes) else json.dumps(request_line)
    told = json.loads(scene.holder.line(line))
    assert set(told) == {"no"} and scene.untouched()


def test_a_forged_number_of_a_view_is_refused():
    scene = Scene(remote=True)
    line = scene.table._line
    for number in (-1, 7, True, None):
        with pytest.raises(REFUSED):
            handle(line, {"number": number, "class": "Table"}).ask(Count(), share=0.1, label="x")
    assert scene.untouched()


def test_what_fails_at_rows_is_withheld():
    scene = Scene(remote=True)
    scene.rows.pieces = lambda: 1 / 0
    with pytest.raises(RuntimeError, match="could not be asked") as told:
        scene.table.ask(Count(), share=0.1, label="x")
    assert "division" not in str(told.value) and "division" not in scene.table._line.answers[-1]


def test_there_are_so_many_attacks():
    assert len(REFUSALS) + len(FORGERIES) + len(LINES) + len(REQUESTS) >= 65


def test_an_answer_crosses_as_it_is():
    told = Noisy(np.array([2**62, -1]), 0.1, step=2.0**-1074, ticket=3, bits=20)
    again = decoded(json.loads(json.dumps(sent(told, None))))
    assert again.value.tolist() == [2**62, -1] and encoded(again) == encoded(told)


@pytest.mark.parametrize(
    "question",
    [
        lambda table: table.keys(share=0.5, label="nobody plans it", event="rare"),
        lambda table: table.keys(share=0.5, label="small", event="rare"),
        lambda table: table.partition(["a"], "part", 0.7, budget=table.budget),
        lambda table: table.partition(["a"], "nobody plans it", 0.5, budget=table.budget),
    ],
    ids=["keys of no plan", "keys too dear", "parts too dear", "parts of no plan"],
)
def test_keys_and_parts_are_priced_before_rows_are_counted(question):
    curator = Scene().curator
    with pytest.raises(PlanError):
        question(Unread(None, curator))  # no rows: looking at them raises another error
    assert not curator._bill() and curator.remaining == 1
