"""What a comparison releases, column after column."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._histograms import HistogramCounts
from skdp.location._public import bounds_vectors
from skdp.stats._laws import CLEAR, means
from skdp.stats._result import FEW, Around
from skdp.stats._search import find_ranks, find_windows
from skdp.stats._table_laws import share_of_arm, sparse
from skdp.stats._tests import (
    SPARSE,
    SUMS,
    cell_result,
    codes_axis,
    columns_of,
    group_sums,
    mean_result,
    rank_result,
    released_cells,
    unknown,
)

__all__ = ["CHILDREN", "COUNTS", "ComparedColumns"]

CHILDREN = {kind: Step(kind, "child") for kind in ("ranks", "means")}
COUNTS = Step("counts", of=(HistogramCounts,), times=2**10)


class ComparedColumns:
    """What a comparison releases, column after column."""

    def __init__(self, estimator, table, kinds, labels, coding):
        self.estimator, self.table, self.labels = estimator, table, labels
        self.kinds, self.coding = kinds, coding
        self.tests, self.rows, left = {}, [], table.remaining
        columns = {kind: [j for j in kinds if kinds[j] == kind] for kind in ("ranks", "means")}
        for kind, some in columns.items():
            if some:
                self._numbers(kind, some, left * len(some) / len(kinds))
        counted = [j for j in kinds if kinds[j] == "counts"]
        for j in counted:
            self._counts(j, left / len(kinds))

    def attributes(self):
        """Return the fitted attributes, in the order of the columns."""
        told = [self.estimator._name(j) for j in sorted(self.kinds)]
        for name in told:
            if not self.tests[name].told:
                self.table.doubt(f"{name}: {FEW}")
        order = {name: i for i, name in enumerate(told)}
        rows = sorted(self.rows, key=lambda row: order[row["variable"]])
        return {"tests_": {name: self.tests[name] for name in told}, "groups_": rows}

    def _numbers(self, kind, columns, share):
        last = self.table.n_features - 1
        view = self.table.child(kind, share).map(SomeColumns(np.array([*columns, last])))
        bounds = self._bounds(columns)
        if kind == "ranks":
            found = find_ranks(columns_of(view), bounds)
        else:
            found = find_windows(columns_of(view), bounds, self.estimator.tails, len(self.labels))
        sums = group_sums(view, found, len(self.labels), SUMS, view.remaining)
        for i, (j, of) in enumerate(zip(columns, sums, strict=True)):
            ok, middle, half = bool(found.found[i]), found.middle[i], found.half[i]
            if kind == "ranks":
                result = rank_result(of, "two-sided", ok)
            else:
                result = mean_result(of, middle, half, "two-sided", ok)
            self._keep(j, result)
            each = means(of)
            scale = (0.5, 0.5, 0.0, 1.0) if kind == "ranks" else (half, middle, -np.inf, np.inf)
            name = "mean rank" if kind == "ranks" else "mean"
            for g, label in enumerate(self.labels):
                df = each.var[g] ** 2 * 2 / each.of_variance[g]
                around = Around(each.mean[g], math.sqrt(each.var[g]), max(df, 2.0), *scale)
                ends = around.at(0.95) if result.told else scale[2:]
                self._row(j, label, name, around.value, *ends, of.n[g])

    def _bounds(self, columns):
        d = len(self.coding.levels)
        if self.estimator.bounds is None:
            return None
        return tuple(one[columns] for one in bounds_vectors(self.estimator.bounds, d))

    def _counts(self, j, share):
        levels, last = self.coding.levels[j], self.table.n_features - 1
        view = self.table.map(SomeColumns(np.array([j, last])))
        axes = [codes_axis(len(levels) + 2), codes_axis(len(self.labels))]
        counts, sd = released_cells(view, axes, COUNTS, share)
        counts = counts[:-2]  # others and missing ones are in no level
        if len(counts) < 2:
            counts = np.concatenate([counts, np.zeros((2 - len(counts), counts.shape[1]))])
        if sparse(counts, sd):
            self.table.doubt(f"{self.estimator._name(j)}: {SPARSE}")
        result = cell_result(counts, sd)
        self._keep(j, result)
        n = counts.sum(axis=0)
        for g, label in enumerate(self.labels):
            for level, count in zip(levels, counts[:, g], strict=False):
                value, *ends = share_of_arm(count, n[g], len(counts), sd)
                ends = ends if n[g] > CLEAR * sd * math.sqrt(len(counts)) else (0.0, 1.0)
                self._row(j, label, f"part of {level}", value, *ends, n[g])

    def _keep(self, j, result):
        self.tests[self.estimator._name(j)] = result if result.told else unknown(result)

    def _row(self, j, label, measure, value, low, high, n):
        numbers = {"value": value, "low": low, "high": high, "n": n}
        self.rows.append(
            {"variable": self.estimator._name(j), "group": label, "measure": measure}
            | {key: float(x) for key, x in numbers.items()}
        )
