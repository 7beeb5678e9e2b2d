"""Cells of ``supervised.py``: a table, its rows, a budget, what the private models must reach."""

from dataclasses import dataclass, field

import numpy as np
from _supervised_tables import missing, table
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

__all__ = ["Cell", "cells", "split"]

FRESH = 100  # seeds of splits that nothing was tuned on begin here


@dataclass(frozen=True)
class Cell:
    """A table, a budget, and targets of ``additive`` and ``line``."""

    table: str
    epsilon: float
    targets: dict = field(default_factory=dict)
    rows: int | None = None
    splits: int = 5
    metric: str = "AUC"
    typical: str = "mean"
    models: tuple = ("additive", "line")

    @property
    def name(self):
        return f"{self.table}{f' {self.rows // 1000}k' if self.rows else ''} {self.epsilon:g}"

    def missing(self):
        return missing(self.table)

    def classes(self):
        return None if self.metric == "R2" else np.unique(table(self.table).y)

    def score(self, y, predicted):
        measure = {"AUC": roc_auc_score, "R2": r2_score, "accuracy": accuracy_score}[self.metric]
        return float(measure(y, predicted))

    def summary(self, scores):
        return float({"mean": np.mean, "median": np.median}[self.typical](scores))


def split(whole, seed, rows=None):
    """Return train and test: four fifths of a shuffle, the first ``rows`` of them, and the rest."""
    order = np.random.default_rng(FRESH + seed).permutation(len(whole.y))
    fifth = len(order) // 5
    parts = order[fifth:][:rows], order[:fifth]
    kind = type(whole)
    return [
        kind(whole.X.iloc[rows].reset_index(drop=True), whole.y[rows], whole.categories)
        for rows in parts
    ]


def _classes():
    yield Cell("adult14", 1.0, {"additive": 0.905})
    yield Cell("adult14", 0.1, {"additive": 0.876})
    yield Cell("late", 1.0, {"additive": 0.68}, rows=20_000, models=("additive",))
    yield Cell("late", 0.1, {"additive": 0.63}, rows=20_000, models=("additive",))
    yield Cell("late", 1.0, {"additive": 0.69}, models=("additive",))
    yield Cell("late", 0.1, {"additive": 0.687}, models=("additive",))
    yield Cell("breast_cancer", 1.0, {"additive": 0.95}, splits=20)
    for epsilon in (1.0, 4.0):
        yield Cell("digits", epsilon, metric="accuracy")


def _numbers():
    told = {"metric": "R2"}
    three = {"models": ("additive", "line", "both"), **told}
    yield Cell("flights", 1.0, {"line": 0.878, "both": 0.89}, **three)
    yield Cell("flights", 0.1, **three)
    yield Cell("diamonds", 1.0, {"additive": 0.87, "line": 0.845}, **told)
    yield Cell("diamonds", 0.1, **told)
    yield Cell("adult8_number", 1.0, {"line": 0.35}, **told)
    yield Cell("adult14_number", 1.0, {"additive": 0.4, "line": 0.3}, **told)
    yield Cell("adult14_number", 0.1, **told)
    few = {"additive": -0.02, "line": -0.02}
    yield Cell("diabetes", 1.0, few, splits=20, typical="median", **told)


def cells():
    return [*_classes(), *_numbers()]
