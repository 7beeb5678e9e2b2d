"""What a fit gives is a function of the answers: engines run without any rows."""

import json

import numpy as np
import pytest

from skdp.accounting import Budget
from skdp.kernel._table import Noisy, replaced_table
from tests.kernel._elsewhere import rows_elsewhere
from tests.kernel._scripted import ScriptedTable, replayed, view
from tests.kernel.test_elsewhere import ASKING, TINY, Mean, Parted, fitted, is_annex, name, same

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def noisy(*value, step=1.0):
    return Noisy(np.array(value), 2.0, step=step)


@pytest.mark.parametrize(("estimator", "make"), [*TINY, *ASKING], ids=name)
def test_the_same_answers_make_the_same_fit_of_whatever_rows(estimator, make):
    try:
        with rows_elsewhere() as lines:
            first = fitted(estimator, make=make)
    except AttributeError as error:
        if is_annex(error):
            pytest.skip("an annex: its rows are in this process")
        raise
    with replaced_table(replayed(lines[0])):
        second = fitted(estimator, make=lambda: make()[::-3])  # other rows of the same types
    same(first, second)


def test_a_mean_of_written_answers():
    sums = [noisy(50, 100, 200, step=0.5), noisy(99)]
    table = ScriptedTable([noisy(100), 3, sums, None, None, 0.25])
    told = Mean()._release(table)
    np.testing.assert_array_equal(told["mean_"], [0.25, 0.5, 1.0])
    assert (told["left_"], told["sd_"]) == (0.25, 1.0)
    asked = [json.loads(line)["do"] for line in table._line.requests]
    assert asked == ["ask", "n_features", "ask_all", "decide", "doubt", "remaining"]


def test_another_question_is_not_answered():
    with rows_elsewhere() as lines:
        fitted(Mean())
    table = ScriptedTable(lines[0].answers, lines[0].requests)
    with pytest.raises(AssertionError, match="another question"):
        Parted()._release(table)


def test_views_and_budgets_may_be_scripted():
    budget = Budget.gaussian(1.0, 1e-6)
    table = ScriptedTable([view(1, "Parts"), {0: noisy(5), 1: noisy(7)}, budget])
    told = table.split(None, 2).ask({}, share=1, label="x")
    assert [told[i].value.item() for i in (0, 1)] == [5, 7]
    assert table.budget == budget
