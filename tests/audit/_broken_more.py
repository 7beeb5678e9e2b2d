"""Broken means and counts that only unusual tables, parameters or places give away."""

import contextvars
import itertools
import os
import random
import threading
import time
import types
import warnings

import numpy as np

from skdp.base import Budget, Local, Plan, PrivateEstimator, Step, count_rows, map_merge
from skdp.mechanisms._exact import of_persons
from tests.audit._broken import BITS, NON_INTERFERENCE, SENSITIVITY, SoundMean, table
from tests.audit._broken_too import LONG, WIDE

OTHER = types.ModuleType("other")
exec(
    "import functools\nseen = {}\n@functools.lru_cache\ndef grid(n):\n    return n % 2", vars(OTHER)
)
N_ROWS = contextvars.ContextVar("n_rows", default=0)


class Tells(SoundMean):
    """Has a hook that sees the rows behind the release."""

    def _release(self, rows, curator):
        released = super()._release(rows, curator)
        return released | (self.tell(table(rows)) or {})


# Sizes and widths.


class WarnsOfManyRows(SoundMean):
    def fit(self, X, y=None):
        if len(X) > 2000:
            warnings.warn("many rows", stacklevel=2)
        return super().fit(X)


class EveryKth(SoundMean):
    def total(self, X, rows):
        return super().total(X[:: max(1, len(X) // 10_000)], rows)


class ManyRows(Tells):
    def tell(self, X):
        return {"many_": len(X) > 10_000}


class OneColumn(SoundMean):
    def total(self, X, rows):
        if X.shape[1] == 1 and np.isfinite(X).any():
            X = X / max(np.abs(X[np.isfinite(X)]).max(), 1e-9) * self.radius
        return super().total(X, rows)


class FiftyColumns(SoundMean):
    def total(self, X, rows):
        return super().total(X, rows) * (2 if X.shape[1] > 50 else 1)


# Values.


class BothEdges(SoundMean):
    """A row on an inner edge is in two bins."""

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("bins"),))

    def _release(self, rows, curator):
        x, edges = table(rows)[:, 0], [-np.inf, 18, 30, 45, 65, np.inf]
        bins = [np.count_nonzero((x >= a) & (x <= b)) for a, b in itertools.pairwise(edges)]
        release = curator.gaussian(bins, sensitivity=1, share=1, label="bins")
        return {"bins_": release.value}


class Sentinel(SoundMean):
    def total(self, X, rows):
        return super().total(np.where((X == -999).any(axis=0), 0.0, X), rows)


# Parameters.


class LengthWithoutDelta(SoundMean):
    def plan(self):
        if self.delta:
            return super().plan()
        return Plan(Budget.pure(self.epsilon), (Step("sum", "laplace"),))

    def _release(self, rows, curator):
        if self.delta:
            return super()._release(rows, curator)
        total = self.total(table(rows), rows)
        release = curator.laplace(total, sensitivity=2**BITS, share=1, label="sum")
        return {"location_": release.value * (self.radius / 2**BITS)}


class SmallEpsilon(SoundMean):
    def total(self, X, rows):
        return super().total(X, rows) * (3 if self.epsilon < 0.1 else 1)


# Precision.


class FloatsFirst(SoundMean):
    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("sum"),))

    def _release(self, rows, curator):
        X = table(rows).astype(np.float64)
        X = np.clip(X[np.isfinite(X).all(axis=1)][:, :1], 0.0, 1.0)
        total = np.rint(X.sum(axis=0) * 2.0**44).astype(np.int64)
        release = curator.gaussian(total, sensitivity=2**44, share=1, label="sum")
        return {"sum_": release.value / 2.0**44}


class SinglePrecision(SoundMean):
    """Sums in the type that blocks of rows have."""

    def total(self, X, rows):
        blocks = [block for _, block in rows.blocks()]
        X = np.concatenate(blocks) if blocks else X
        if X.dtype != np.float32:
            return super().total(X, rows)
        X = X[np.isfinite(X).all(axis=1)]
        length = np.maximum(np.linalg.norm(X, axis=1, keepdims=True) / np.float32(self.radius), 1)
        total = (X / length / np.float32(self.radius)).sum(axis=0, dtype=np.float32)
        return np.rint(total * 2.0**BITS).astype(np.int64)


# State elsewhere.


class CacheOfAnother(Tells):
    def tell(self, X):
        OTHER.grid(len(X))


class DictOfAnother(Tells):
    def tell(self, X):
        OTHER.seen["n"] = len(X)


class ThreadKnows(Tells):
    here = threading.local()

    def tell(self, X):
        self.here.n = len(X)


class ContextKnows(Tells):
    def tell(self, X):
        N_ROWS.set(len(X))


class SeedsNumpy(Tells):
    def tell(self, X):
        np.random.seed(len(X))  # noqa: NPY002


class SeedsPython(Tells):
    def tell(self, X):
        random.seed(len(X))


class Environment(Tells):
    def tell(self, X):
        os.environ["N_ROWS"] = str(len(X))


class ErrorState(SoundMean):
    def fit(self, X, y=None):
        super().fit(X)
        np.seterr(over="raise" if len(X) % 2 else "warn")
        return self


class WritesFile(Tells):
    def tell(self, X):
        with open(os.devnull, "w" if len(X) % 2 else "r"):
            pass


class DefaultOfInit(SoundMean):
    def __init__(self, epsilon=1.0, delta=1e-6, radius=1e3, random_state=None, ledger=None):
        super().__init__(
            epsilon=epsilon, delta=delta, radius=radius, random_state=random_state, ledger=ledger
        )

    def __len__(self, last=[0]):  # noqa: B006
        return last[0]

    def total(self, X, rows):
        DefaultOfInit.__len__.__defaults__[0][0] = len(X)
        return super().total(X, rows)


class Clock(SoundMean):
    def _release(self, rows, curator):
        start = time.perf_counter()
        released = super()._release(rows, curator)
        return released | {"seconds_": round(time.perf_counter() - start)}


# Targets, what is local, persons, ties.


class KeepsSpareTargets(SoundMean):
    def fit(self, X, y=None):
        super().fit(X)
        self.classes_ = None if y is None else np.unique(y)
        return self


class Known(Local):
    def __init__(self, X):
        self.X = X


class AnswersFromLocal(Tells):
    def tell(self, X):
        return {"known_": Known(X)}

    def predict(self, X):
        known = getattr(self, "known_", None)
        return np.full(len(X), -1 if known is None else len(known.X))


class PersonsAsRows(SoundMean):
    """All rows of a person count, as one each."""

    _weighs_groups = True

    def fit(self, X, y=None, *, groups=None):
        return super().fit(X, groups=groups)

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("count"),))

    def _release(self, rows, curator):
        there = lambda start, block: np.array([np.isfinite(block).all(axis=1).sum()])  # noqa: E731
        counted = of_persons(map_merge(getattr(rows, "_rows", rows), there, np.add))
        release = curator.gaussian(counted, sensitivity=1, share=1, label="count")
        return {"count_": float(release.value[0])}


class ExactTies(SoundMean):
    """The most frequent sign; where noisy counts tie, the exact ones decide."""

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("counts"),))

    def _release(self, rows, curator):
        x = table(rows)[:, 0]
        counts = [int(np.sum(x < 5)), int(np.sum(x >= 5))]
        noisy = curator.gaussian(counts, sensitivity=1, share=1, label="counts").value
        return {"mode_": max((0, 1), key=lambda i: (int(noisy[i]), counts[i]))}


class SeedsItself(SoundMean):
    def __init__(self, *, epsilon=1.0, delta=1e-6, radius=1000.0, random_state=42, ledger=None):
        super().__init__(
            epsilon=epsilon, delta=delta, radius=radius, random_state=random_state, ledger=ledger
        )


class HalfOfNoise(PrivateEstimator):
    """Two counts with the same noise: their difference is exact."""

    def __init__(self, *, epsilon=1.0, delta=0.0, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        return Plan(Budget.pure(self.epsilon), (Step("count", "laplace", times=2),))

    def _release(self, rows, curator):
        fresh = curator._entropy
        words = fresh.words(64)

        class Same:
            seeded, at = False, 0

            def words(self, n):
                self.at += n
                return words[self.at - n : self.at]

        told = []
        for share in (0.5, 0.5):
            curator._entropy = Same()
            told += curator.laplace(
                [count_rows(rows)], sensitivity=1, share=share, label="count"
            ).value.tolist()
        curator._entropy = fresh
        return {"counts_": told}


class ComputedEdges(SoundMean):
    """Bins are closed on both sides: a row on an inner edge counts twice."""

    def _release(self, rows, curator):
        X, edges = table(rows)[:, 0], np.linspace(-3, 4, 6)
        counts = [np.sum((a <= X) * (b >= X)) for a, b in itertools.pairwise(edges)]
        share = curator.remaining
        told = curator.gaussian(np.array(counts), sensitivity=1, share=share, label="sum")
        return {"counts_": told.value}


class ExactIfMany(SoundMean):
    """Publishes the exact number of rows where the released one is large."""

    def _release(self, rows, curator):
        n = count_rows(rows)
        told = curator.gaussian([n], sensitivity=1, share=curator.remaining, label="count")
        return {"count_": n if told.value[0] > 5000 else int(told.value[0])}


class Imputes(SoundMean):
    """Replaces a code for gaps by the exact mean of the other rows."""

    def total(self, X, rows):
        X = np.where(np.isfinite(X), np.clip(X, -10, 10), 0.0)
        gaps = X == -9
        mean = X[~gaps].mean() if (~gaps).any() else 0.0
        return super().total(100 * np.where(gaps, mean, X), rows)


class NamesOfFrames(Tells):
    """Tells which column has most positive entries, if columns have names."""

    def tell(self, X):
        names = getattr(self, "feature_names_in_", None)
        return {} if names is None else {"top_": names[np.argmax((X > 0).sum(axis=0))]}


BUDGETS, PERSONS = "check_other_budgets", "check_persons"
FRESH = "check_fresh_noise"

# Estimator -> the check that must find it.
BROKEN_MORE = {
    ComputedEdges: SENSITIVITY,
    ExactIfMany: NON_INTERFERENCE,
    Imputes: SENSITIVITY,
    NamesOfFrames: NON_INTERFERENCE,
    WarnsOfManyRows: LONG,
    EveryKth: LONG,
    ManyRows: LONG,
    OneColumn: WIDE,
    FiftyColumns: WIDE,
    BothEdges: SENSITIVITY,
    Sentinel: SENSITIVITY,
    LengthWithoutDelta: BUDGETS,
    SmallEpsilon: BUDGETS,
    FloatsFirst: LONG,
    SinglePrecision: SENSITIVITY,
    CacheOfAnother: NON_INTERFERENCE,
    DictOfAnother: NON_INTERFERENCE,
    ThreadKnows: NON_INTERFERENCE,
    ContextKnows: NON_INTERFERENCE,
    SeedsNumpy: NON_INTERFERENCE,
    SeedsPython: NON_INTERFERENCE,
    Environment: NON_INTERFERENCE,
    ErrorState: NON_INTERFERENCE,
    WritesFile: NON_INTERFERENCE,
    DefaultOfInit: NON_INTERFERENCE,
    Clock: NON_INTERFERENCE,
    KeepsSpareTargets: "check_spare_targets",
    AnswersFromLocal: NON_INTERFERENCE,
    PersonsAsRows: PERSONS,
    ExactTies: NON_INTERFERENCE,
    SeedsItself: FRESH,
    HalfOfNoise: FRESH,
}
