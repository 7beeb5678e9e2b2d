"""A classifier and a regressor with public bounds, small enough to be read beside their tests."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.base import Budget, Plan, PrivateEstimator, Statistic, Step, Table, finite_rows, public

GRID = 2**12


def scaled(X, bound):
    """Return rows of the box ``[-bound, bound]`` as rows of the unit box."""
    return np.clip(X / bound, -1, 1)


@public
@dataclass(frozen=True)
class BoxMoments(Statistic):
    """Products of the entries of clipped rows, of 1 and of the clipped last entry.

    Privacy (add or remove one row): a row adds the integers ``q q^T`` with ``q`` in
    ``{-GRID, ..., GRID}^(d + 2)``, of Frobenius norm ``|q|^2 <= (d + 2) GRID^2``.
    """

    d: int
    half: float
    target_range: tuple

    def check(self, shape):
        super().check(shape)
        (low, high), widest = self.target_range, 1e100
        box = 1 / widest < self.half < widest and -widest < low < high < widest
        if not box or self.d + 1 != shape.n_features or high - low == 0:
            raise ValueError("the moments of a box that has sides, in so many columns")

    @property
    def squared_l2(self):
        return (self.d + 2) ** 2 * GRID**4

    def total(self, block):
        block, (low, high) = block[finite_rows(block)], self.target_range
        y = (2 * np.clip(block[:, -1:], low, high) - low - high) / (high - low)
        table = np.hstack([scaled(block[:, :-1], self.half), np.ones_like(y), y])
        q = np.rint(GRID * np.clip(table, -1, 1)).astype(np.int64)
        return q.T @ q


@public
@dataclass(frozen=True)
class ClassSums(Statistic):
    """Counts of the rows of each class, and sums of their clipped entries.

    Privacy (add or remove one row): a row adds integers ``(q, GRID)`` with ``|q_j| <= GRID`` to the
    counts and sums of one class: at most ``sqrt(d + 1) GRID`` in l2.
    """

    d: int
    n_classes: int
    half: float

    def check(self, shape):
        super().check(shape)
        if not 1e-100 < self.half < 1e100 or self.d + 1 != shape.n_features:
            raise ValueError("the sums of a box that has sides, in so many columns")

    @property
    def squared_l2(self):
        return (self.d + 1) * GRID**2

    def total(self, block):
        code = block[:, -1]
        block = block[finite_rows(block) & (code >= 0) & (code < self.n_classes)]
        q = np.hstack([scaled(block[:, :-1], self.half), np.ones((len(block), 1))])
        sums = np.zeros((self.n_classes, self.d + 1), dtype=np.int64)
        np.add.at(sums, block[:, -1].astype(np.intp), np.rint(GRID * q).astype(np.int64))
        return sums


class _Bounded(PrivateEstimator):
    """What both have: parameters, and rows on a grid of the box ``[-bound, bound]``."""

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("moments"),))

    def _rows_of(self, X):
        check_is_fitted(self)
        return scaled(validate_data(self, X, reset=False, dtype=np.float64), self.bound)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        for kind in (tags.regressor_tags, tags.classifier_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


class BoundedLine(RegressorMixin, _Bounded):
    """Least squares of a clipped target on clipped columns: see :class:`BoxMoments`."""

    _target = "number"

    def __init__(
        self,
        *,
        bound=10.0,
        target_range=(-10.0, 10.0),
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ):
        self.bound, self.target_range = bound, target_range
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def _release(self, table):
        d = self.n_features_in_
        moments = BoxMoments(d, self.bound, self.target_range)
        release = table.ask(moments, share=1, label="moments")
        moments = (release.value + release.value.T) / 2
        gram = moments[:-1, :-1] + 3 * release.scale * np.eye(d + 1)
        slopes = np.linalg.pinv(gram, hermitian=True) @ moments[:-1, -1]
        return {"slopes_": np.clip(slopes, -1e3, 1e3)}

    def predict(self, X):
        low, high = self.target_range
        line = self._rows_of(X) @ self.slopes_[:-1] + self.slopes_[-1]
        return (np.clip(line, -1, 1) * (high - low) + low + high) / 2


class BoundedCentroids(ClassifierMixin, _Bounded):
    """The nearest of the means of the classes: see :class:`ClassSums`."""

    _target = "class"

    def __init__(
        self,
        *,
        classes=(0, 1),
        bound=10.0,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ):
        self.classes, self.bound = classes, bound
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def _release(self, rows, curator):
        from skdp.table._levels import coded_classes

        classes, table = coded_classes(Table(rows, curator), self.classes)
        sums = ClassSums(self.n_features_in_, len(classes), self.bound)
        release = table.ask(sums, share=1, label="moments")
        counts = np.maximum(release.value[:, -1:], 3 * release.scale)
        return {"classes_": classes, "means_": np.clip(release.value[:, :-1] / counts, -1, 1)}

    def decision_function(self, X):
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X):
        scores = self._scores(X)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X):
        return np.log(self.predict_proba(X))

    def predict(self, X):
        return self.classes_[np.argmax(self._scores(X), axis=1)]

    def _scores(self, X):
        scaled = self._rows_of(X)
        return -np.square(scaled[:, None] - self.means_).sum(axis=2) * self.bound**2 / 2
