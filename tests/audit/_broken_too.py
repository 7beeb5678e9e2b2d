"""More means of a public ball that are broken, each where it is hard to see."""

import sched
import warnings
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import ClassifierMixin

from skdp.base import Budget, Plan, Step, ball_sum
from skdp.exceptions import PlanError
from skdp.gate._curator import make_curator
from skdp.mechanisms import make_entropy
from tests.audit._broken import BITS, FAR, NON_INTERFERENCE, SENSITIVITY, SoundMean, table

ELSEWHERE = sched  # a module of Python, of which audits see numbers and texts alone
ELSEWHERE.n_rows = WeakKeyDictionary()
SEEN = {}
POOL = np.random.default_rng(0)


class Remembers(SoundMean):
    """The number of rows, where nobody finds it by itself."""

    def _release(self, rows, curator):
        ELSEWHERE.n_rows[self] = len(rows)
        return super()._release(rows, curator)

    def _n_rows(self):
        return ELSEWHERE.n_rows.get(self, 0)


class TagsTell(Remembers):
    """The tags of scikit-learn tell it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = self._n_rows() % 2 == 1
        return tags


class PredictTells(Remembers):
    """What is predicted for public rows tells it."""

    def predict(self, X):
        return np.full(len(X), self._n_rows())


class PropertyTells(Remembers):
    """A property tells it."""

    @property
    def size(self):
        return self._n_rows()


class MethodTells(Remembers):
    """A method without arguments tells it."""

    def describe(self, verbose=False):
        return f"a mean of {self._n_rows()} rows"


class HiddenCallable(SoundMean):
    """A function that knows the rows, and is left out of pickles."""

    def _release(self, rows, curator):
        X = table(rows)
        return super()._release(rows, curator) | {"peek_": lambda: X}

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "peek_"}


class DefaultKnows(SoundMean):
    """A released function whose default argument is private."""

    def _release(self, rows, curator):
        n_rows = len(rows)

        def shifted(x, n=n_rows):
            return x + n

        return super()._release(rows, curator) | {"shift_": shifted}


class KeepsAView(SoundMean):
    """An empty array, with all rows behind it."""

    def _release(self, rows, curator):
        return super()._release(rows, curator) | {"like_": table(rows)[:0]}


class StateOfTheClass(SoundMean):
    """The class remembers the last table."""

    def _release(self, rows, curator):
        StateOfTheClass.last = len(rows)
        return super()._release(rows, curator)


class StateOfTheModule(SoundMean):
    """A dict of the module remembers all tables."""

    def _release(self, rows, curator):
        SEEN[float(np.nansum(np.clip(table(rows), -1, 1)))] = True
        return super()._release(rows, curator)


class StateOfADefault(SoundMean):
    """A mutable default argument remembers the last table."""

    def count(self, rows, last=[None]):  # noqa: B006
        last[0] = len(rows)
        return super().count(rows)


class ShapeTells(SoundMean):
    """Zeros, as many as the exact number of rows has digits."""

    def _release(self, rows, curator):
        digits = np.zeros(len(str(len(rows))) + len(rows) % 2)
        return super()._release(rows, curator) | {"zeros_": digits}


class TypeTells(SoundMean):
    """Single precision if all rows would fit into it."""

    def _release(self, rows, curator):
        fits = np.all(np.abs(table(rows)) < FAR)
        released = super()._release(rows, curator)
        return {k: v.astype(np.float32 if fits else np.float64) for k, v in released.items()}


class OrderTells(SoundMean):
    """A dict sorted by exact sums of columns."""

    def _release(self, rows, curator):
        sums = np.nan_to_num(np.clip(table(rows), -1, 1)).sum(axis=0)
        names = {str(j): j for j in np.argsort(sums).tolist()}
        return super()._release(rows, curator) | {"names_": names}


class Warns(SoundMean):
    """A warning about far rows, behind the private part."""

    def fit(self, X, y=None):
        super().fit(X)
        if np.any(np.abs(X) > FAR):
            warnings.warn("far rows", stacklevel=2)
        return self


class PlansAnew(SoundMean):
    """The one kind of exception that gets through, decided by a row."""

    def total(self, X, rows):
        if np.any(np.abs(X) > FAR):
            raise PlanError("the plan is too small for this table")
        return super().total(X, rows)


class RefusesNoRows(SoundMean):
    """An exception for a table without rows."""

    def total(self, X, rows):
        if not len(X):
            raise ValueError("no rows")
        return super().total(X, rows)


# Values move too far.


class ComparesWithNaN(SoundMean):
    """Rows that are not longer than the radius are not clipped; nothing is longer than NaN."""

    def total(self, X, rows):
        length = np.linalg.norm(X, axis=1)
        longer = length > self.radius
        X = np.where(longer[:, None], X * (self.radius / np.maximum(length, 1))[:, None], X)
        X = np.nan_to_num(X / self.radius, posinf=0, neginf=0) * (2**BITS - 4)
        return np.clip(np.trunc(X).sum(axis=0), -(2.0**60), 2.0**60).astype(np.int64)


class SensitivityOverflows(SoundMean):
    """A product of numpy's integers wraps around."""

    def _release(self, rows, curator):
        unit = np.int32(2**16)
        with np.errstate(all="ignore"):
            declared = max(1, int(unit * unit))
        total = ball_sum(table(rows), center=0.0, radius=self.radius, bits=BITS)[0] << 12
        release = curator.gaussian(total, sensitivity=declared, share=1, label="sum")
        return {"location_": release.value * (self.radius / 2.0**32)}


class LengthForSum(SoundMean):
    """Laplace noise by the length of a row, where the sum of its entries counts."""

    def plan(self):
        budget = self._budget(lambda epsilon, delta: Budget.pure(epsilon))
        return Plan(budget, (Step("sum", "laplace"),))

    def _release(self, rows, curator):
        total = self.total(table(rows), rows)
        release = curator.laplace(total, sensitivity=2**BITS, share=1, label="sum")
        return {"location_": release.value * (self.radius / 2**BITS)}


class EveryThousandth(SoundMean):
    """Every thousandth row counts twice."""

    def total(self, X, rows):
        again = ball_sum(X[999::1000], center=0.0, radius=self.radius, bits=BITS)[0]
        return super().total(X, rows) + again


class DropsTheLastOfABlock(SoundMean):
    """The last row of every block is left out."""

    def total(self, X, rows):
        blocks = [np.asarray(block[:-1], dtype=np.float64) for _, block in rows.blocks()]
        return super().total(np.concatenate([X[:0], *blocks]), rows)


class FourthColumn(SoundMean):
    """Columns from the fourth on have a ball of their own."""

    def total(self, X, rows):
        parts = [
            ball_sum(part, center=0.0, radius=self.radius, bits=BITS)[0]
            for part in (X[:, :3], X[:, 3:])
            if part.shape[1]
        ]
        return np.concatenate(parts)


# The bill is wrong.


class SecondCurator(SoundMean):
    """The rows are counted by a Curator that nobody pays for."""

    def count(self, rows):
        plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("count"),))
        curator = make_curator(plan, make_entropy())
        curator.gaussian([super().count(rows)], sensitivity=1, share=1, label="count")
        return super().count(rows)


class InnerFit(SoundMean):
    """Another estimator is fitted on the rows, under a budget of its own."""

    def _release(self, rows, curator):
        inner = SoundMean(epsilon=self.epsilon).fit(table(rows))
        return super()._release(rows, curator) | {"inner_": inner.location_}


class FreeRelease(SoundMean):
    """A release past the books."""

    def _release(self, rows, curator):
        released = super()._release(rows, curator)
        count = curator._noisy(np.array([self.count(rows)]), "gaussian", 100.0)
        return released | {"count_": count}


class CheapNoise(SoundMean):
    """The scale is made smaller on its way to the books."""

    def _release(self, rows, curator):
        kept, more = curator._buys, Budget.gaussian(10 * self.epsilon, self.delta)
        curator._buys = more.measure, more.amount
        released = super()._release(rows, curator)
        curator._buys = kept
        return released


class PoolOfNoise(SoundMean):
    """Noise from a generator that forked processes share."""

    def _release(self, rows, curator):
        class Pool:
            seeded = False

            def words(self, n):
                return POOL.integers(0, 2**64, size=n, dtype=np.uint64)

        curator._entropy = Pool()
        return super()._release(rows, curator)


class NarrowSides(SoundMean):
    """The sensitivity is a product of parameters, which overflows for numpy's narrow integers."""

    __setattr__ = object.__setattr__  # numbers stay what they were given as

    def __init__(
        self,
        *,
        sides=(8, 9),
        epsilon=1.0,
        delta=1e-6,
        radius=1000.0,
        random_state=None,
        ledger=None,
    ):
        super().__init__(
            epsilon=epsilon, delta=delta, radius=radius, random_state=random_state, ledger=ledger
        )
        self.sides = sides

    def _release(self, rows, curator):
        a, b = self.sides
        value = [int(a) * int(b) * self.count(rows)]
        release = curator.gaussian(value, sensitivity=max(1, int(a * b)), share=1, label="sum")
        return {"location_": release.value}


class FirstRowLeftOut(SoundMean):
    """The first row does not count: nobody moves too far, but the order tells who is first."""

    def total(self, X, rows):
        return super().total(X[1:], rows)


BILLED, LONG, WIDE = "check_every_release_billed", "check_long_tables", "check_wide_tables"

# Estimator -> the check that must find it.
BROKEN_TOO = {
    TagsTell: NON_INTERFERENCE,
    PredictTells: NON_INTERFERENCE,
    PropertyTells: NON_INTERFERENCE,
    MethodTells: NON_INTERFERENCE,
    HiddenCallable: NON_INTERFERENCE,
    DefaultKnows: NON_INTERFERENCE,
    KeepsAView: NON_INTERFERENCE,
    StateOfTheClass: NON_INTERFERENCE,
    StateOfTheModule: NON_INTERFERENCE,
    StateOfADefault: NON_INTERFERENCE,
    ShapeTells: NON_INTERFERENCE,
    TypeTells: NON_INTERFERENCE,
    OrderTells: NON_INTERFERENCE,
    Warns: NON_INTERFERENCE,
    PlansAnew: NON_INTERFERENCE,
    RefusesNoRows: NON_INTERFERENCE,
    ComparesWithNaN: SENSITIVITY,
    SensitivityOverflows: SENSITIVITY,
    LengthForSum: SENSITIVITY,
    EveryThousandth: LONG,
    DropsTheLastOfABlock: LONG,
    FourthColumn: WIDE,
    SecondCurator: BILLED,
    InnerFit: BILLED,
    FreeRelease: BILLED,
    CheapNoise: "check_prices",
    PoolOfNoise: "check_fresh_noise",
    NarrowSides: "check_numpy_parameters",
    FirstRowLeftOut: "check_types_and_layouts",
}


# With targets.


class SoundClassifier(ClassifierMixin, SoundMean):
    """Predicts the class that most rows seem to have."""

    def __init__(
        self,
        classes=(0, 1),
        *,
        epsilon=1.0,
        delta=1e-6,
        radius=1000.0,
        random_state=None,
        ledger=None,
    ):
        super().__init__(
            epsilon=epsilon, delta=delta, radius=radius, random_state=random_state, ledger=ledger
        )
        self.classes = classes

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("counts"),))

    def _read(self, X, y):
        return super()._read(X, None), np.asarray(y)

    def _release(self, data, curator):
        rows, y = data
        y = y[np.isfinite(table(rows)).all(axis=1)]
        counts = [self.weight(y, c) for c in self.classes]
        release = curator.gaussian(counts, sensitivity=1, share=1, label="counts")
        return {"classes_": np.array(self.classes), "best_": int(np.argmax(release.value))}

    def weight(self, y, c):
        return np.count_nonzero(y == c)

    def predict(self, X):
        return np.full(len(X), self.classes_[self.best_])


class ClassesFromData(SoundClassifier):
    """The classes are those that occur."""

    def _release(self, data, curator):
        return super()._release(data, curator) | {"classes_": np.unique(data[1])}


class TargetsUnclipped(SoundClassifier):
    """Sums of targets, whatever they are."""

    def weight(self, y, c):
        return int(np.clip(np.abs(y).sum(), 0, 2**60))


BROKEN_TOO |= {ClassesFromData: NON_INTERFERENCE, TargetsUnclipped: SENSITIVITY}
