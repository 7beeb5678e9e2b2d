"""Rows of codes: whatever the entries, a code is a function of its entry alone, or is refused."""

import numpy as np
import pytest

from skdp.audit import CannedCurator
from skdp.base import Budget, Plan, Step, Table
from skdp.kernel._labels import Coded
from skdp.kernel._plain import refuse
from skdp.kernel._statistic import Shape
from skdp.readers import ArrayRows
from skdp.readers._columns import ColumnBlock
from skdp.readers._labels import AnyLevel, LevelBins, LevelLabels, LevelNumbers, LevelSigns
from skdp.readers._persons import Persons, weighed_rows
from tests.kernel._examples_marginals import block_of_columns

INF = np.inf
LEVELS = {
    "labels": LevelLabels(("a", 1, 2.5, "b"), 4, 5),
    "labels alone": LevelLabels(("b", "a", True), None, None),
    "bins": LevelBins(np.array([-1.0, 0.0, 3.0]), False, -INF, INF, 4, 4),
    "bins between": LevelBins(np.array([0.0]), True, -2.0, 5e300, None, 2),
    "one bin": LevelBins(np.empty(0), True, 0.0, 1.0, 1, None),
    "numbers": LevelNumbers(3),
    "signs": LevelSigns(),
    "one level": AnyLevel(),
}


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("seed", range(5))
def test_every_code_is_a_function_of_its_entry(name, seed):
    """In blocks of any length and order; and it is a level, or NaN."""
    level, rng = LEVELS[name], np.random.default_rng(seed)
    Coded((level,)).check(Shape(1))
    for column in block_of_columns(rng).columns:
        codes = np.asarray(level.codes(column), dtype=float)
        alone = [level.codes(column[i : i + 1])[0] for i in range(len(column))]
        order = rng.permutation(len(column))
        assert np.array_equal(codes, alone, equal_nan=True)
        assert np.array_equal(codes[order], level.codes(column[order]), equal_nan=True)
        known = codes[~np.isnan(codes)]
        assert np.isin(known, np.arange(level.n)).all()
        assert len(level.codes(column[:0])) == 0


def test_rows_without_entries_have_no_codes():
    block = ColumnBlock([np.array([np.nan, np.nan, 1.0]), np.array([None, "a", None], object)])
    levels = (LEVELS["bins"], LEVELS["labels"])
    assert Coded(levels).of_block(block).tolist() == [[4, 5], [4, 0], [2, 5]]
    codes = Coded(levels, entered=True).of_block(block)
    assert np.isnan(codes[0]).all() and np.array_equal(codes[1:], [[4, 0], [2, 5]])


NUMBERS, TEXT = Shape(2), Shape(2, "text")
TWO = (LevelNumbers(2), LevelNumbers(2))
REFUSED = {
    "edges that fall": (Coded((TWO[0], LevelBins(np.array([1.0, 0.0]), True, 0, 1, 0, 0))), TEXT),
    "edges of NaN": (Coded((TWO[0], LevelBins(np.full(2, np.nan), True, 0, 1, 0, 0))), TEXT),
    "a code that is none": (Coded((TWO[0], LevelLabels(("a",), 10**9, None))), TEXT),
    "a code below 0": (Coded((TWO[0], LevelLabels(("a",), None, -1))), TEXT),
    "no level": (Coded((TWO[0], LevelNumbers(0))), NUMBERS),
    "too many levels": (Coded((TWO[0], LevelNumbers(2**30))), NUMBERS),
    "numbers that wrap": (Coded((TWO[0], LevelLabels((10**400,), None, None))), TEXT),
    "what is no level": (Coded((TWO[0], Coded(TWO))), TEXT),
    "another number of columns": (Coded(TWO[:1]), NUMBERS),
    "rows of cells": (Coded(TWO), Shape(2, "cells")),
    "entries of numbers": (Coded(TWO, entered=True), NUMBERS),
}


@pytest.mark.parametrize("name", REFUSED)
def test_fields_are_refused_before_rows_are_read(name):
    view, shape = REFUSED[name]
    with pytest.raises(ValueError) as raised:
        view.check(shape)
    assert raised.traceback[-1].frame.code.raw is refuse.__code__


def test_rows_with_weights_keep_them_and_have_codes_in_memory(rng):
    X = rng.choice([0.0, 1.0, 2.0, np.nan], size=(300, 2))
    persons = Persons(rng.integers(0, 40, size=300), 40)
    curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("x"),)), "exact")
    rows = weighed_rows(ArrayRows(X), persons, 3, curator.coins, None)
    view = Table(rows, curator).map(Coded((LevelNumbers(2), LevelNumbers(3))))._rows
    assert view.unit == rows.unit and np.array_equal(view.weights, rows.weights)
    wanted = np.where(np.isnan(X) | (X == [2, 3]), -1, X)
    assert np.array_equal(view._rows.take(np.arange(300)), wanted)
