"""Nobody states what a conditional answer rests on: requests that try to are refused."""

from dataclasses import dataclass

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.friendly import h_index
from skdp.gate._curator import make_curator
from skdp.kernel import _friends
from skdp.kernel._bins import LogBins
from skdp.kernel._friends import (
    FIRST_COUNT,
    H_INDEX,
    SECOND_COUNT,
    HIndex,
    Ring,
    RingColumns,
    SoftCore,
)
from skdp.kernel._lattice import Boxed
from skdp.kernel._log import Log
from skdp.kernel._sampled import Members
from skdp.kernel._sums import Count, KeptRows
from skdp.kernel._table import Table
from skdp.kernel._totals import decoded, encoded
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers import ArrayRows
from skdp.readers._persons import NoisyUnitCount, SampledRows

REFUSED = ValueError, TypeError, AttributeError
EVENTS = FIRST_COUNT, SECOND_COUNT, H_INDEX
N, RADIUS = 900, 8.0
ROWS = np.random.default_rng(0).normal(size=(N, 2))


def table(rows=ROWS, *, declared=EVENTS, step="x"):
    """Return a Table of a fit that may ask for much."""
    budget = Budget.gaussian(10.0, 1e-5)
    steps = Step(step, times=99), Step("part", "child"), Step(f"part/{step}", times=9)
    names = *EVENTS, *(f"part/{name}" for name in EVENTS)
    plan = Plan(budget, steps, tuple((name, budget.failure / 6) for name in names))
    rows = rows if hasattr(rows, "n_features") else ArrayRows(rows)
    made = Table(rows, make_curator(plan, make_entropy(0)))
    for event in declared:
        made.fails(event)
    return made


def ask(thing, question, **how):
    """Return the ticket of an answer."""
    return thing.ask(question, share=0.02, label="x", **how).ticket


class Fit:
    """A table, its sample, and the tickets of an honest soft core."""

    def __init__(self, rows=ROWS, size=1e6, **how):
        self.table = table(rows, **how)
        self.sample = self.table.sample(size, N)
        self.h = ask(self.sample, HIndex(RADIUS))

    @property
    def count(self):
        return ask(self.table, Count())

    def core(self, **fields):
        """Ask for a soft core."""
        if "count" not in fields:
            fields["count"] = self.count
        question = SoftCore(**{"radius": RADIUS, "h": self.h, **fields})
        return self.sample.ask(question, share=0.02, label="x")


def test_honest_tickets_are_answered():
    for size, counts in ((1e6, Count()), (500.0, None)):
        fit = Fit(size=size)
        count = ask(fit.table, counts) if counts else ask(fit.sample, Members())
        question = SoftCore(RADIUS, count, fit.h)
        n_up, h_low = fit.sample.bounds(question)
        Z = fit.sample._sample.Z
        assert len(Z) < n_up < len(Z) + 60
        assert 0 < h_index(fit.sample._sample.friends(RADIUS)) - h_low < 60
        told = fit.sample.ask(question, share=0.02, label="x")
        assert np.abs(told.real - Z.mean(axis=0)).max() < 0.5


def test_bounds_follow_the_log_to_the_last_unit():
    fit = Fit()
    count = fit.table.ask(Count(), share=0.02, label="x")
    h = fit.sample.ask(HIndex(RADIUS), share=0.02, label="x")
    q = fit.table._log.quantile[FIRST_COUNT]
    n_up, h_low = fit.sample.bounds(SoftCore(RADIUS, count.ticket, h.ticket))
    assert n_up == int(count.value[0]) + np.ceil(q * count.scale) + 1
    assert h_low == int(h.value[0]) - np.ceil(q * h.scale) - 1


def test_bounds_are_no_field_and_no_argument():
    fit = Fit()
    with pytest.raises(TypeError):
        SoftCore(RADIUS, fit.count, fit.h, n_up=9)
    raw = encoded(SoftCore(RADIUS, fit.count, fit.h))
    raw["f"]["n_up"] = 10**6
    with pytest.raises(ValueError, match="other fields"):
        decoded(raw)
    with pytest.raises(REFUSED):
        ask(fit.sample, _friends._Mean(RADIUS, 10**6, 9 * 10**5, 2))
    with pytest.raises(REFUSED):
        encoded(_friends._Mean(RADIUS, 10**6, 9 * 10**5, 2))
    with pytest.raises(REFUSED):
        fit.sample.bounds(HIndex(RADIUS))


@pytest.mark.parametrize("ticket", [-1, 10**9, True, 1.0, "0", None, (0,)])
def test_forged_tickets(ticket):
    fit = Fit()
    for forged in ({"h": ticket}, {"count": ticket}):
        with pytest.raises(REFUSED):
            fit.sample.ask(
                SoftCore(RADIUS, **{"count": fit.count, "h": fit.h, **forged}),
                share=0.02,
                label="x",
            )


def test_tickets_of_other_questions():
    fit = Fit()
    others = [
        ask(fit.sample, Ring(LogBins(1))),
        ask(fit.table, KeptRows(np.zeros(2), 1e-9, None, 1e-9)),
        ask(fit.sample, Count()),
    ]
    for other in (*others, fit.h):
        with pytest.raises(ValueError, match="no count of all"):
            fit.core(count=other)
    count = fit.count
    for other in (*others, count):
        with pytest.raises(ValueError, match="no h-index"):
            fit.core(h=other, count=count)


def test_counts_of_other_rows():
    fit = Fit(size=500.0)
    few, other = fit.sample.fewer(20.0), fit.table.sample(500.0, N)
    for count in (ask(few, Members()), ask(other, Members())):
        with pytest.raises(ValueError, match="a count of other rows"):
            fit.core(count=count)
    box = fit.table.map(Boxed(np.zeros(2), np.ones(2)))
    for count in (ask(box, Count()), ask(few, Count()), ask(box.sample(1e6, N), Count())):
        with pytest.raises(ValueError, match="no count of all"):
            fit.core(count=count)


def test_rows_that_a_view_makes_finite_are_not_counted_before_it():
    rows = np.where(np.arange(2 * N)[:, None] < 10, ROWS[0], np.inf)
    fit = Fit(rows)
    box = fit.table.map(Boxed(np.zeros(2), np.ones(2)))
    inner = box.sample(1e6, N)
    h = ask(inner, HIndex(RADIUS))
    with pytest.raises(ValueError, match="no count of all"):
        inner.ask(SoftCore(RADIUS, fit.count, h), share=0.02, label="x")


def test_ranks_of_other_samples_and_radii():
    fit = Fit()
    others = [
        ask(fit.sample, HIndex(RADIUS * 2)),
        ask(fit.table.sample(1e6, N), HIndex(RADIUS)),
        ask(fit.sample.fewer(400.0), HIndex(RADIUS)),
        ask(fit.sample.scaled(np.array([2.0, 0.5])), HIndex(RADIUS)),
    ]
    count = fit.count
    for h in others:
        with pytest.raises(ValueError, match="no h-index of this sample"):
            fit.core(h=h, count=count)


def test_the_same_rows_by_another_table_are_the_same_rows():
    fit = Fit()
    same = fit.sample.scaled(1.0)
    assert fit.sample.bounds(SoftCore(RADIUS, fit.count, ask(same, HIndex(RADIUS))))


def test_an_event_serves_one_answer():
    fit = Fit()
    count = fit.count
    fit.core(count=count)
    fit.core(count=count)  # the same two bounds again
    h = ask(fit.sample, HIndex(RADIUS * 2))
    with pytest.raises(ValueError, match="an event of another answer"):
        fit.core(count=count, radius=RADIUS * 2, h=h)
    with pytest.raises(ValueError, match="an event of another answer"):
        fit.core(h=ask(fit.sample, HIndex(RADIUS)), count=count)
    with pytest.raises(ValueError, match="an event of another answer"):
        fit.core()  # a count once more


@pytest.mark.parametrize("missing", [FIRST_COUNT, H_INDEX])
def test_an_event_that_was_not_declared(missing):
    fit = Fit(declared=[event for event in EVENTS if event != missing])
    with pytest.raises(ValueError, match="not declared"):
        fit.core()


def test_a_child_pays_with_events_of_its_own_and_reads_what_its_parent_was_told():
    fit = Fit()
    child = fit.sample.paid_by(fit.table.child("part", 0.2))
    question = SoftCore(RADIUS, fit.count, fit.h)
    with pytest.raises(ValueError, match="not declared"):
        child.bounds(question)
    for event in EVENTS:
        child.fails(event)
    assert child.bounds(question) == fit.sample.bounds(question)


def test_an_answer_cannot_be_changed_afterwards():
    fit = Fit()
    told = fit.table.ask(Count(), share=0.02, label="x")
    bounds = fit.sample.bounds(SoftCore(RADIUS, told.ticket, fit.h))
    told.value[...] = 10**6
    assert fit.sample.bounds(SoftCore(RADIUS, told.ticket, fit.h)) == bounds


def test_no_core_where_none_is_certain():
    fit = Fit(ROWS * 1e6)
    assert fit.sample.bounds(SoftCore(RADIUS, fit.count, fit.h)) is None
    with pytest.raises(REFUSED):
        fit.core()


def test_classes_of_ones_own_are_not_taken_for_those_of_the_kernel():
    @dataclass(frozen=True)
    class Many(Members):
        def total(self, block):
            return np.array([10**6])

    @dataclass(frozen=True)
    class Open(SoftCore):
        def bounds(self, table):
            return 10**6, 9 * 10**5

    fit = Fit()
    for question in (Many(), Open(RADIUS, fit.count, fit.h)):
        with pytest.raises(REFUSED):
            ask(fit.sample, question)


def test_only_samples_are_asked_about_pairs():
    fit = Fit()
    questions = Ring(LogBins(1)), Members(), HIndex(RADIUS), SoftCore(RADIUS, fit.count, fit.h)
    for question in questions:
        for thing in (fit.table, fit.sample.map(Boxed(np.zeros(2), np.ones(2)))):
            with pytest.raises(REFUSED):
                ask(thing, question)
        with pytest.raises(REFUSED):
            fit.sample.split(None, 1).ask({0: question}, share=0.02, label="x")
    with pytest.raises(REFUSED):
        fit.sample.sample(10.0, 20.0)


def test_persons_are_counted_by_their_number_alone():
    rows = SampledRows(ArrayRows(ROWS), NoisyUnitCount(float(N), 3.0), RowKeys(make_entropy(1)))
    fit = Fit(rows)
    with pytest.raises(ValueError, match="no count of all"):
        fit.core()
    assert fit.sample.bounds(SoftCore(RADIUS, fit.table.heads_ticket, fit.h))
    nobody = Fit()
    with pytest.raises(REFUSED):
        nobody.core(count=nobody.table.heads_ticket)


@pytest.mark.parametrize(
    "bins",
    [
        *(LogBins(0), LogBins(1.5), LogBins(-1, 5, 3), LogBins(10**5), LogBins(1, 2.0, 3)),
        *(LogBins(1, 3, 3), 7, None, np.ones(3)),
    ],
)
def test_bins_that_are_none(bins):
    sample = table().sample(1e6, N)
    for question in (Ring(bins), RingColumns(bins, 2)):
        with pytest.raises(REFUSED):
            ask(sample, question)


def test_fields_that_do_not_fit():
    made = table()
    sample = made.sample(1e6, N)
    for question in (
        *(RingColumns(LogBins(1), d) for d in (1, 3, 10**9)),
        *(HIndex(r) for r in (0.0, -1.0, np.nan, np.inf, 5e-324, 1e308, "1", np.ones(2))),
    ):
        with pytest.raises(REFUSED):
            ask(sample, question)
    for scale in (0.0, -1.0, np.nan, np.inf, np.ones(3), np.ones((2, 2))):
        with pytest.raises(REFUSED):
            sample.scaled(scale)
    for size in (0.0, -1.0, np.nan, np.inf):
        for draw in (sample.fewer, lambda x: made.sample(x, 9.0), lambda x: made.sample(9.0, x)):
            with pytest.raises(REFUSED):
                draw(size)


def test_tickets_and_keys_of_a_fit_that_has_ended_stay_used_up():
    fit = Fit()
    count = fit.count
    Log.forget(fit.table._curator)
    for ticket in (count, fit.h):
        with pytest.raises(ValueError, match="no answer has this ticket"):
            fit.core(count=ticket)
    assert fit.count > max(count, fit.h)
    with pytest.raises(ValueError, match="these keys have drawn other rows"):
        fit.table.sample(1e6, N)
