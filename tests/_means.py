"""An estimator that reads everything a target can come from: counts of rows by class and level."""

import numpy as np

from skdp.base import Budget, Plan, PrivateEstimator, Step, finite_rows, map_merge
from skdp.kernel._table import Table, annex
from skdp.table._levels import Selection, coded_classes, coded_columns

GRID = 2**12


class _Target(PrivateEstimator):
    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger


class TargetMean(_Target):
    """The mean of targets in [-1, 1]; a row moves their sum and number by GRID at most."""

    _target = "number"

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("sum"),))

    def _release(self, rows, curator):
        def statistic(start, block):
            y = block[finite_rows(block), -1]
            return np.array([np.rint(GRID * np.clip(y, -1, 1)).sum(), GRID * len(y)], dtype=int)

        value = map_merge(rows, statistic, np.add)
        release = curator.gaussian(value, sensitivity=2 * GRID, share=1, label="sum")
        return {"sums_": release.value}


class ClassCounts(_Target):
    """Numbers of rows by class, and by class and level; a row is in one cell of each column."""

    _target = "class"

    def __init__(
        self,
        *,
        classes=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ):
        super().__init__(epsilon=epsilon, delta=delta, random_state=random_state, ledger=ledger)
        self.classes = classes

    def plan(self):
        budget = self._budget(Budget.gaussian)
        classes = Selection("classes", given=self.classes is not None)
        levels = Selection("levels", given=not self._mixed)
        steps = (*classes.steps(), *levels.steps(), Step("counts"))
        return Plan(budget, steps, (*classes.events(budget, 0.5), *levels.events(budget, 0.5)))

    def _release(self, rows, curator):
        classes, table = coded_classes(Table(rows, curator), self.classes, share=0.05)
        coding, table = coded_columns(table, share=0.05)
        rows, _ = annex(table)
        cells = np.array([max(1, n) for n in coding.n_cells])
        firsts, k = np.cumsum([0, *cells]), max(1, len(classes))

        def statistic(start, block):
            block = block[np.isfinite(block[:, -1])]
            counts = np.zeros((k, firsts[-1]), dtype=np.int64)
            for j, n in enumerate(cells):
                code = np.where(n > 1, block[:, j], 0).astype(np.intp)
                at = block[:, -1].astype(np.intp), firsts[j] + code
                np.add.at(counts, at, 1)
            return counts

        counts = map_merge(rows, statistic, np.add)
        release = curator.gaussian(
            counts, sensitivity=len(cells), share=curator.remaining, label="counts"
        )
        return {"classes_": classes, "levels_": coding.levels, "counts_": release.value}


class MixedCounts(ClassCounts):
    """As :class:`ClassCounts`, of tables with text, truth values and gaps."""

    _mixed = True

    def __init__(
        self,
        *,
        classes=None,
        categories=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ):
        super().__init__(
            classes=classes, epsilon=epsilon, delta=delta, random_state=random_state, ledger=ledger
        )
        self.categories = categories
