"""Ranks that are counted some levels of a search ahead are those of a pass for each level."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.base import Table, weighed_sum
from skdp.kernel._ranks import KeyRanks, Thresholds
from skdp.kernel._totals import Total, levels_of
from skdp.location._rank_release import LARGEST, divide
from skdp.mechanisms import _compiled
from skdp.readers import ArrayRows
from skdp.readers._loop import Levels
from tests.readers.test_weights import rows_of

ODD = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, -1e-310, 1e308, -1.7e308, 2.0**30]
ENTRIES = st.one_of(st.sampled_from(ODD), st.floats(-4, 4), st.integers(-4, 4).map(float))
TABLES = arrays(np.float64, st.tuples(st.integers(0, 40), st.just(2)), elements=ENTRIES)
COLUMNS = np.array([0, 1, 1])
COMPILED = pytest.mark.parametrize("compiled", [False, True])


class Counted(ArrayRows):
    """An array that counts how often it is read."""

    passes = 0

    def map_merge(self, statistic, merge, beside=None):
        self.passes += 1
        return super().map_merge(statistic, merge, beside)


def searched(rows, question, low, high, middle, turns):
    """Ask for the middles of brackets, and turn by the ranks, or at random; return the levels."""
    levels = levels_of(rows)
    for turn in turns:
        asked = question(np.array([middle(*ends) for ends in zip(low, high, strict=True)]))
        found, told = asked.ahead(levels), weighed_sum(rows, Total(asked))
        np.testing.assert_array_equal(np.asarray(found), np.asarray(told), strict=True)
        assert getattr(found, "unit", None) == getattr(told, "unit", None)
        thresholds = asked.thresholds
        up = (np.asarray(told) < 0) ^ turn
        low, high = np.where(up, thresholds, low), np.where(up, high, thresholds)
    return levels


def ordered(low, high):
    return low + (high - low) // 2


@COMPILED
@settings(max_examples=40, deadline=None)
@given(
    X=TABLES,
    center=st.sampled_from([0.0, -0.5, 1.0, 1e308]),
    unit=st.sampled_from([None, 1.0, 3.0, 1e-300, 1e300]),
    parts=st.sampled_from([1, 250, 500, 999]),
    turns=st.lists(st.sampled_from([False, False, True]), max_size=45),
)
def test_ranks_of_hostile_rows_are_those_of_a_pass(compiled, X, center, unit, parts, turns):
    units = None if unit is None else np.full(3, unit)
    asked = partial(
        Thresholds, COLUMNS, parts=np.full(3, parts), center=np.full(3, center), unit=units
    )
    start = -LARGEST if unit is None else 0.0
    keys = partial(KeyRanks, (1, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compiled, "loops", _compiled.loops if compiled else None)
        ends = np.full(3, start), np.full(3, LARGEST)
        searched(ArrayRows(X), lambda t: asked(thresholds=t), *ends, divide, turns)
        ends = np.zeros(2, np.uint64), np.full(2, 2**64 - 1, np.uint64)
        searched(ArrayRows(X), keys, *ends, ordered, turns)


@pytest.mark.parametrize("cap", [1, 3])
def test_rows_that_count_with_weights_are_counted_ahead(cap):
    rng = np.random.default_rng(cap)
    X, codes = rng.normal(size=(200, 2)) * [1, 1e-5], rng.integers(0, 40, 200)
    rows = rows_of(X, codes, cap, rng.integers(0, 2**62, size=200, dtype=np.uint64) * 2)
    asked = partial(Thresholds, COLUMNS, parts=np.full(3, 300), center=np.zeros(3))
    ends = np.full(3, -LARGEST), np.full(3, LARGEST)
    levels = searched(rows, lambda t: asked(thresholds=t), *ends, divide, [False] * 30)
    assert levels._unit == rows.unit


@pytest.mark.parametrize(("n_columns", "passes"), [(1, 2), (130, 3)])  # of 256 brackets each
def test_a_search_of_many_levels_takes_few_passes(n_columns, passes):
    rng = np.random.default_rng(0)
    rows = Counted(rng.lognormal(size=(500, n_columns)) * 3)
    columns = np.tile(np.arange(n_columns), 2)
    k = len(columns)
    parts = np.repeat([20, 970], n_columns)
    asked = partial(Thresholds, columns, parts=parts, center=np.zeros(k))
    low, high, levels = np.full(k, -LARGEST), np.full(k, LARGEST), levels_of(rows)
    for _ in range(14):  # zero, some octaves, then middles
        t = np.array([divide(*ends) for ends in zip(low, high, strict=True)])
        up = asked(thresholds=t).ahead(levels) < 0
        low, high = np.where(up, t, low), np.where(up, high, t)
    assert rows.passes == passes
    x = rows.take(np.arange(500))[:, columns]
    assert (1000 * (x <= low).sum(axis=0) < 500 * parts).all()
    assert (1000 * (x <= high).sum(axis=0) >= 500 * parts).all()


def test_a_table_keeps_what_it_has_counted_and_a_new_one_counts_anew():
    plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("ranks", times=40, of=(Thresholds,)),))
    rows = Counted(np.random.default_rng(0).normal(size=(300, 1)))
    curator = CannedCurator(plan, "exact")
    table = Table(rows, curator)
    for t in (0.0, 1.0, 0.5, -1.0, -0.25):
        asked = Thresholds(np.zeros(1, int), np.array([t]), np.array([500]), np.zeros(1))
        value = table.ask(asked, share=0.01, label="ranks").value
        assert value == asked.total(rows.take(np.arange(300)))
    assert rows.passes == 1
    Table(rows, curator).ask(asked, share=0.01, label="ranks")
    assert rows.passes == 2


def passes_of(X, places):
    """Return how often rows are read until each of some thresholds is answered."""
    rows, passes = Counted(X), []
    levels = levels_of(rows)
    for at in places:
        asked = Thresholds(np.array([0]), np.array([at]), np.array([500]), np.zeros(1))
        asked.ahead(levels)
        passes.append(rows.passes)
    return passes


def test_where_others_hold_the_clock_passes_tell_nothing_of_rows(monkeypatch):
    places = [0.0, 1.3, 1.31, 700.1, -3.3, 1.3000001]
    tables = [np.full((9, 1), x) for x in (1.3, 700.0, -3.0, np.nan)]
    assert len({tuple(passes_of(X, places)) for X in tables}) > 1  # cells around exact ranks
    monkeypatch.setattr(Levels, "counts_ahead", False)
    assert len({tuple(passes_of(X, places)) for X in tables}) == 1
