"""What a comparison releases, column after column."""

import math
from dataclasses import replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel._histograms import HistogramCounts
from skdp.kernel._views import TheseColumns
from skdp.location._public import bounds_vectors
from skdp.mechanisms._exact import exact
from skdp.stats._laws import CLEAR, means, share_of_arm, sparse
from skdp.stats._result import FEW, Around
from skdp.stats._search import find_ranks, find_windows
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

MOST_COLUMNS = 2**10  # of a kind
CHILDREN = {kind: Step(kind, "child", times=MOST_COLUMNS) for kind in ("ranks", "means")}
COUNTS = Step("counts", of=(HistogramCounts,), times=MOST_COLUMNS)


class ComparedColumns:
    """What a comparison releases, column after column.

    **Privacy** (add or remove one row): every column is a table of its own, of the rows that have
    an entry in it and a group, with a k-th of what is left: sequential composition.
    """

    def __init__(self, estimator, table, kinds, labels, coding):
        self.estimator, self.table, self.labels = estimator, table, labels
        self.kinds, self.coding = kinds, coding
        self.tests, self.rows = {}, []
        share = exact(table.remaining) / max(len(kinds), 1)
        for j in sorted(kinds):
            view = table.map(TheseColumns(np.array([j, table.n_features - 1])))
            if kinds[j] == "counts":
                self._counts(j, view, share)
            else:
                self._numbers(j, view.child(kinds[j], share))

    def attributes(self):
        """Return the fitted attributes, in the order of the columns."""
        told = [self.estimator._name(j) for j in sorted(self.kinds)]
        for name in told:
            if not self.tests[name].told:
                self.table.doubt(f"{name}: {FEW}")
        return {"tests_": {name: self.tests[name] for name in told}, "groups_": self.rows}

    def _numbers(self, j, view):
        ranks, bounds = self.kinds[j] == "ranks", self._bounds(j)
        if ranks:
            found = find_ranks(columns_of(view), bounds)
        else:
            found = find_windows(columns_of(view), bounds, self.estimator.tails, len(self.labels))
        (of,) = group_sums(view, found, len(self.labels), SUMS, view.remaining)
        ok, middle, half = bool(found.found[0]), found.middle[0], found.half[0]
        if ranks:
            result = rank_result(of, "two-sided", ok)
        else:
            result = mean_result(of, middle, half, "two-sided", ok)
        self._keep(j, result)
        each = means(of)
        scale = (0.5, 0.5, 0.0, 1.0) if ranks else (half, middle, -np.inf, np.inf)
        name = "mean rank" if ranks else "mean"
        for g, label in enumerate(self.labels):
            df = each.var[g] ** 2 * 2 / each.of_variance[g]
            around = Around(each.mean[g], math.sqrt(each.var[g]), max(df, 2.0), *scale)
            value, *ends = (around.value, *around.at(0.95)) if result.told else (np.nan, *scale[2:])
            self._row(j, label, name, value, *ends, of.n[g])

    def _bounds(self, j):
        d = len(self.coding.levels)
        if self.estimator.bounds is None:
            return None
        return tuple(one[[j]] for one in bounds_vectors(self.estimator.bounds, d))

    def _counts(self, j, view, share):
        levels = self.coding.levels[j]
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
                if n[g] <= CLEAR * sd * math.sqrt(len(counts)):
                    value, ends = math.nan, (0.0, 1.0)
                self._row(j, label, f"part of {level}", value, *ends, n[g])

    def _keep(self, j, result):
        if len(self.labels) == 2 and self.kinds[j] != "counts":
            x, y = self.labels
            if self.kinds[j] == "ranks":
                name = f"P({x} > {y})"
                names = {"effect_name": f"{name}, half of ties with it", "interval_name": name}
            else:
                names = {
                    "effect_name": f"Cohen's d, {x} less {y}",
                    "interval_name": f"mean of {x} less that of {y}",
                }
            result = replace(result, **names)
        self.tests[self.estimator._name(j)] = result if result.told else unknown(result)

    def _row(self, j, label, measure, value, low, high, n):
        numbers = {"value": value, "low": low, "high": high, "n": n}
        self.rows.append(
            {"variable": self.estimator._name(j), "group": label, "measure": measure}
            | {key: float(x) for key, x in numbers.items()}
            | {"reliable": math.isfinite(value)}
        )
