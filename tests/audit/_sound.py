"""Sound estimators as users write them, from the pages and the public names alone."""

import numpy as np

from skdp.base import (
    Budget,
    Local,
    Plan,
    PrivateEstimator,
    Step,
    count_rows,
    finite_rows,
    map_merge,
    weighed_sum,
)

GRID = np.linspace(-50.0, 50.0, 101)
LEVELS = np.arange(-20, 41, 10)


class Pure(PrivateEstimator):
    """Has no use for a delta."""

    def __init__(self, *, epsilon=1.0, delta=0.0, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    steps = (Step("counts", "laplace"),)

    def plan(self):
        return Plan(self._budget(lambda epsilon, delta: Budget.pure(epsilon)), self.steps)

    def _counts(self, rows):
        def statistic(start, block):
            x = np.clip(block[finite_rows(block), 0], LEVELS[0], LEVELS[-1])
            return np.bincount(np.searchsorted(LEVELS, x), minlength=len(LEVELS))

        return map_merge(rows, statistic, np.add)


class Count(Pure):
    """Rows with Laplace noise; a delta is ignored."""

    def plan(self):
        return Plan(Budget.pure(self.epsilon), self.steps)

    def _release(self, rows, curator):
        n = [count_rows(rows)]
        return {"count_": int(curator.laplace(n, sensitivity=1, share=1, label="counts").value[0])}


class Histogram(Pure):
    """Disjoint bins: a row is in one of them."""

    def _release(self, rows, curator):
        told = curator.laplace(self._counts(rows), sensitivity=1, share=1, label="counts")
        return {"counts_": np.maximum(told.value, 0), "noise_scale_": float(told.scale)}


class Mode(Pure):
    """The fullest bin, by a choice."""

    steps = (Step("mode", "select"),)

    def _release(self, rows, curator):
        best = curator.select(self._counts(rows), sensitivity=1, share=1, label="mode")
        return {"mode_": int(LEVELS[best])}


class Median(Pure):
    """A point of a public grid with about half of the rows below it: a row moves a score by one."""

    steps = (Step("median", "select"),)

    def _release(self, rows, curator):
        def statistic(start, block):
            x = block[finite_rows(block), 0]
            return np.array([np.sign(x - g).astype(np.int64).sum() for g in GRID])

        scores = -np.abs(map_merge(rows, statistic, np.add))
        return {
            "median_": float(GRID[curator.select(scores, sensitivity=1, share=1, label="median")])
        }


class Approximate(Pure):
    """Adds Gaussian noise."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, bound=20.0, random_state=None, ledger=None):
        super().__init__(epsilon=epsilon, delta=delta, random_state=random_state, ledger=ledger)
        self.bound = bound

    steps = (Step("count", at_most=0.5), Step("sum"))

    def plan(self):
        return Plan(self._budget(Budget.gaussian), self.steps)


class Names(Approximate):
    """Whole parts of the first column that many rows have."""

    def plan(self):
        budget = self._budget(Budget.gaussian)
        return Plan(budget, (Step("names"),), (("names", budget.failure),))

    def _release(self, rows, curator):
        def statistic(start, block):
            x = block[finite_rows(block), 0]
            names, counts = np.unique(np.clip(x, -99, 99).astype(int), return_counts=True)
            return dict(zip(names.tolist(), counts.tolist(), strict=True))

        def added(one, other):
            return {k: one.get(k, 0) + other.get(k, 0) for k in sorted(one.keys() | other)}

        counts = map_merge(rows, statistic, added)
        counts = {name: counts[name] for name in sorted(counts)}
        found = curator.names(counts, moved=1, share=1, label="names", event="names")
        return {"names_": found}


class Seen(Local):
    """The number of rows, for their owner."""

    def __init__(self, n_rows):
        self.n_rows = n_rows


class Mean(Approximate):
    """Clipped sum of the first column by a noisy count; says when it is worth little."""

    def _release(self, rows, curator):
        bits = 20

        def statistic(start, block):
            x = np.clip(block[finite_rows(block), 0] / self.bound, -1, 1)
            return np.array([np.trunc(x * 2**bits).astype(np.int64).sum()])

        told = curator.gaussian([count_rows(rows)], sensitivity=1, share=0.2, label="count")
        n = max(float(told.value[0]), 1.0)
        if n < 5 * told.scale:
            curator.doubt("the mean: there are few rows")
        total = map_merge(rows, statistic, np.add)
        told = curator.gaussian(total, sensitivity=2**bits, share=curator.remaining, label="sum")
        self.draws_ = np.random.permutation(3)  # noqa: NPY002 - does not survive, and is public
        return {
            "mean_": float(np.clip(told.value[0] / 2**bits / n, -1, 1) * self.bound),
            "seen_": Seen(len(rows)),
        }

    def predict(self, X):
        """Return the mean for every row."""
        return np.full(len(X), self.mean_)


class OfPersons(Approximate):
    """Counts rows that are positive, those of a person with weights."""

    _weighs_groups = True
    steps = (Step("count"),)

    def _release(self, rows, curator):
        def statistic(start, block):
            return np.array([np.count_nonzero(block[finite_rows(block), 0] > 0)])

        told = curator.gaussian(
            weighed_sum(rows, statistic), sensitivity=1, share=curator.remaining, label="count"
        )
        return {"count_": float(told.value[0])}


class Targets(Approximate):
    """Counts rows whose target is positive."""

    _target = "number"
    steps = (Step("count"),)

    def _release(self, rows, curator):
        def statistic(start, block):
            return np.array([np.count_nonzero(block[finite_rows(block), -1] > 0)])

        exact = map_merge(rows, statistic, np.add)
        told = curator.gaussian(exact, sensitivity=1, share=curator.remaining, label="count")
        return {"count_": float(told.value[0])}


SOUND = (Count, Targets, Histogram, Mode, Median, Names, Mean, OfPersons)
