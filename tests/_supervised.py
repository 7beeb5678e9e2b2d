"""A classifier and a regressor with public bounds, small enough to be read beside their tests."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.base import Budget, Plan, PrivateEstimator, Step, finite_rows, map_merge

GRID = 2**12


class _Bounded(PrivateEstimator):
    """What both have: parameters, and rows on a grid of the box ``[-bound, bound]``."""

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("moments"),))

    def _scaled(self, block):
        return np.clip(block[:, : self.n_features_in_] / self.bound, -1, 1)

    def _rows_of(self, X):
        check_is_fitted(self)
        return self._scaled(validate_data(self, X, reset=False, dtype=np.float64))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        for kind in (tags.regressor_tags, tags.classifier_tags):
            if kind is not None:
                kind.poor_score = True
        return tags


class BoundedLine(RegressorMixin, _Bounded):
    """Least squares of a clipped target on clipped columns.

    Privacy (add or remove one row): a row adds the integers ``q q^T`` with ``q`` in
    ``{-GRID, ..., GRID}^(d + 2)``, of Frobenius norm ``|q|^2 <= (d + 2) GRID^2``.
    """

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

    def _release(self, rows, curator):
        d, (low, high) = self.n_features_in_, self.target_range

        def statistic(start, block):
            block = block[finite_rows(block)]
            y = (2 * np.clip(block[:, -1:], low, high) - low - high) / (high - low)
            table = np.hstack([self._scaled(block), np.ones_like(y), y])
            q = np.rint(GRID * table).astype(np.int64)
            return q.T @ q

        release = curator.gaussian(
            map_merge(rows, statistic, np.add),
            sensitivity=(d + 2) * GRID**2,
            share=1,
            label="moments",
        )
        moments = (release.value + release.value.T) / 2
        gram = moments[:-1, :-1] + 3 * release.scale * np.eye(d + 1)
        slopes = np.linalg.pinv(gram, hermitian=True) @ moments[:-1, -1]
        return {"slopes_": np.clip(slopes, -1e3, 1e3)}

    def predict(self, X):
        low, high = self.target_range
        line = self._rows_of(X) @ self.slopes_[:-1] + self.slopes_[-1]
        return (np.clip(line, -1, 1) * (high - low) + low + high) / 2


class BoundedCentroids(ClassifierMixin, _Bounded):
    """The nearest of the means of the classes.

    Privacy (add or remove one row): a row adds integers ``(q, GRID)`` with ``|q_j| <= GRID`` to the
    counts and sums of one class: at most ``(d + 1) GRID`` in l2.
    """

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
        from skdp._target import coded_classes

        classes, rows = coded_classes(rows, curator, self.classes)
        k, d = len(classes), self.n_features_in_

        def statistic(start, block):
            block = block[finite_rows(block)]
            q = np.rint(GRID * np.hstack([self._scaled(block), np.ones((len(block), 1))]))
            sums = np.zeros((k, d + 1), dtype=np.int64)
            np.add.at(sums, block[:, -1].astype(np.intp), q.astype(np.int64))
            return sums

        release = curator.gaussian(
            map_merge(rows, statistic, np.add),
            sensitivity=(d + 1) * GRID,
            share=1,
            label="moments",
        )
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
