"""An own statistic is examined before it is believed."""

from dataclasses import dataclass

import numpy as np
import pytest

from skdp.audit import check_private_estimator, check_statistic
from skdp.base import Budget, Plan, PrivateEstimator, Statistic, Step, finite_rows, public
from skdp.exceptions import AuditFailure

BLOCK = np.random.default_rng(0).normal(size=(20, 2))


class Single(Statistic):
    squared_l2 = 1


@public
@dataclass(frozen=True)
class Unclipped(Single):
    def total(self, block):
        return np.rint(np.nan_to_num(np.clip(block[:, 0], -3, 3))).astype(np.int64).sum()[None]


@public
@dataclass(frozen=True)
class AboveTheSum(Single):
    def total(self, block):
        return np.array([np.count_nonzero(block[:, 0] > block[:, 0].sum())])


@public
@dataclass(frozen=True)
class Raises(Single):
    def total(self, block):
        if (block[:, 0] > 1e300).any():
            raise ValueError("a large number")
        return np.array([len(block)])


@public
@dataclass(frozen=True)
class WrongForOddFields(Single):
    width: float = 1.0

    def total(self, block):
        cells = np.floor(np.clip(block[finite_rows(block), :1], 0, 1) / self.width)
        return np.minimum(cells, 2**40).astype(np.int64).sum(axis=0)


@public
@dataclass(frozen=True)
class Reals(Single):
    def total(self, block):
        return np.array([float(len(block))])


@public
@dataclass(frozen=True)
class TakesItsBound(Statistic):
    squared_l2: int = 1

    def total(self, block):
        return np.array([len(block)])


@dataclass(frozen=True)
class NotRegistered(Single):
    def total(self, block):
        return np.array([len(block)])


@public
@dataclass(frozen=True)
class OfLastRow(Single):
    def total(self, block):
        return np.array([int(len(block) > 0 and bool(block[-1, 0] > 0))])


WRONG = {
    Unclipped: "adds more",
    AboveTheSum: "not the sum of its rows",
    Raises: "raises ValueError",
    WrongForOddFields: "adds more",
    Reals: "integers",
    TakesItsBound: "a bound from its caller",
    NotRegistered: "not registered",
    OfLastRow: "not the sum of its rows",
}


@pytest.mark.parametrize(("cls", "told"), WRONG.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_wrong_statistic_is_found(cls, told):
    with pytest.raises(AuditFailure, match=told):
        check_statistic(cls(), BLOCK)


class AsksForTooMuch(PrivateEstimator):
    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("sum"),))

    def _release(self, table):
        return {"sum_": table.ask(Raises(), share=1, label="sum").real}


def test_the_statistics_that_an_estimator_asks_are_examined():
    with pytest.raises(AuditFailure, match="raises ValueError"):
        check_private_estimator(AsksForTooMuch())
