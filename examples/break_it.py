"""
Break it: ten targets
=====================

Each target claims (epsilon, delta)-differential privacy for tables that differ by one row. Some are
sound. Read one, say what is wrong with it, and let the tools of ``skdp.audit`` judge:
``python examples/break_it.py`` attacks all of them, ``python examples/break_it.py 7`` one.
"""

import sys

import numpy as np

from skdp.audit import conditional_sensitivity, non_interference, precision_attack
from skdp.base import Budget, Plan, PrivateEstimator, Step, finite_rows, map_merge
from skdp.exceptions import AuditFailure


class Target(PrivateEstimator):
    """What targets have in common: a budget, and steps that cost a half of it each."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        """Return what a fit may release and what it costs, without any data."""
        return Plan(
            self._budget(Budget.gaussian), (Step("first", at_most=0.5), Step("second", at_most=0.5))
        )


def count(rows, condition=lambda block: block[:, 0] == block[:, 0]):
    """Return how many finite rows fulfil a condition: one row changes it by one."""

    def statistic(start, block):
        return np.array([np.count_nonzero(condition(block[finite_rows(block)]))])

    return map_merge(rows, statistic, np.add)


def gaussian(curator, label, value, sensitivity=1):
    """Spend half of the budget on one value, and return what is released."""
    return curator.gaussian(value, sensitivity=sensitivity, share=0.5, label=label).value


# %%
# The targets.


class Target1(Target):
    """How many rows there are, and how many are positive."""

    def _release(self, rows, curator):
        n = gaussian(curator, "first", count(rows))
        positive = gaussian(curator, "second", count(rows, lambda block: block[:, 0] > 0))
        return {"rate_": float(positive[0] / max(n[0], 1))}


class Target2(Target):
    """The sum of entries, each clipped to -10 to 10 and rounded."""

    def _release(self, rows, curator):
        def statistic(start, block):
            block = block[finite_rows(block)][:, 0]
            return np.array([np.rint(np.clip(block, -10, 10)).astype(np.int64).sum()])

        return {"sum_": gaussian(curator, "first", map_merge(rows, statistic, np.add))}


class Target3(Target):
    """How many rows are positive, with the number of rows for reference."""

    def _release(self, rows, curator):
        positive = gaussian(curator, "first", count(rows, lambda block: block[:, 0] > 0))
        return {"positive_": positive, "n_samples_": int(count(rows)[0])}


class Target4(Target):
    """How many rows are positive; a table without any is an error of the caller."""

    def _release(self, rows, curator):
        positive = count(rows, lambda block: block[:, 0] > 0)
        if positive[0] == 0:
            raise ValueError("no row is positive")
        return {"positive_": gaussian(curator, "first", positive)}


class Target5(Target):
    """How many rows are positive; if many are, how many are above one."""

    def _release(self, rows, curator):
        positive = gaussian(curator, "first", count(rows, lambda block: block[:, 0] > 0))
        above = positive
        if positive[0] > 20:
            above = gaussian(curator, "second", count(rows, lambda block: block[:, 0] > 1))
        return {"positive_": positive, "above_": above}


class Target6(Target):
    """How many rows are positive; large tables are asked how many are above one."""

    def _release(self, rows, curator):
        positive = gaussian(curator, "first", count(rows, lambda block: block[:, 0] > 0))
        above = positive
        if count(rows)[0] > 20:
            above = gaussian(curator, "second", count(rows, lambda block: block[:, 0] > 1))
        return {"positive_": positive, "above_": above}


class Target7(Target):
    """How many rows are above the average of the table."""

    def _release(self, rows, curator):
        def statistic(start, block):
            block = np.clip(block[finite_rows(block)][:, 0], -1, 1)
            return np.rint([1000 * block.sum(), 1000 * len(block)]).astype(np.int64)

        total, thousands = map_merge(rows, statistic, np.add)
        middle = total / max(thousands, 1)
        return {"above_": gaussian(curator, "first", count(rows, lambda b: b[:, 0] > middle))}


class Target8(Target):
    """How many rows are positive, computed once for each table."""

    _known = {}

    def _release(self, rows, curator):
        positive = count(rows, lambda block: block[:, 0] > 0)
        self._known["positive"] = positive
        return {"positive_": gaussian(curator, "first", positive)}


class Target9(Target):
    """The sum of entries, clipped to the largest power of two that the table needs."""

    def _release(self, rows, curator):
        def reach(start, block):
            block = np.abs(block[finite_rows(block)][:, 0])
            return np.array([int(np.ceil(np.log2(min(block.max(initial=1.0), 2.0**20))))])

        top = 2 ** max(int(map_merge(rows, reach, np.maximum)[0]), 0)

        def statistic(start, block):
            block = block[finite_rows(block)][:, 0]
            return np.array([np.rint(np.clip(block, -top, top)).astype(np.int64).sum()])

        return {"sum_": gaussian(curator, "first", map_merge(rows, statistic, np.add), top)}


def target10(value, draws=20_000):
    """Return releases of a count with Laplace noise of scale 1, for epsilon = 1."""
    return value + np.random.default_rng(0).laplace(size=draws)


TARGETS = [Target1, Target2, Target3, Target4, Target5, Target6, Target7, Target8, Target9]

# %%
# The attacks.


def attack(target, n_pairs=100):
    """Return the name of the tool that breaks a target, None if it stands."""
    if target is target10:
        return "precision_attack" if precision_attack(target) > 1 else None
    X = np.random.default_rng(0).normal(size=(60, 2))
    try:
        non_interference(target(), X, datasets=[X[:10], -np.abs(X), 100 * X, X[:1]])
    except AuditFailure:
        return "non_interference"
    try:
        conditional_sensitivity(target(), X, n_pairs=n_pairs)
    except AuditFailure:
        return "conditional_sensitivity"
    return None


if __name__ == "__main__":
    chosen = [int(word) for word in sys.argv[1:]] or range(1, 11)
    for number in chosen:
        target = [*TARGETS, target10][number - 1]
        print(f"target {number}: {attack(target) or 'stands'}")
