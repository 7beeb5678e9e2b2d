"""Events that tell two tables apart: learned on some of the runs, counted on the others."""

from dataclasses import dataclass

import numpy as np

from skdp.audit._bounds import clopper_pearson, epsilon_between, mu_between, rho_between

__all__ = ["AuditEvidence", "find_evidence"]

TRAIN = 0.3
FAR = 30.0  # robust standard deviations at which a statistic is cut off
MOST_THRESHOLDS = 200
FISHER, DISTANCE, FEATURES = 0, 1, 2  # columns of the scores
_TRAIN_ERROR = 0.01  # makes the training intervals about as wide as those of the other runs


@dataclass(frozen=True)
class AuditEvidence:
    """What the runs that were not learned from say.

    ``mu``, ``rho`` and ``epsilons`` (one per delta) are lower bounds that hold together with the
    confidence asked for. ``first`` and ``second`` are the values of the score whose event bounds mu
    best, ``threshold`` its threshold.
    """

    mu: float
    rho: float
    epsilons: tuple
    first: np.ndarray
    second: np.ndarray
    threshold: float


def find_evidence(first, second, *, deltas, failure=0.0, confidence=0.999):
    """Bound mu, rho and the epsilons at ``deltas`` from below.

    Shapes: first, second (n_runs, n_features).

    Notes
    -----
    The first 30 % of the runs choose, for every parameter, events "score > threshold": the best for
    Fisher's discriminant, and the best for the distance from the median or a single feature. The
    other runs are independent of that choice: K events take 4 K one-sided Clopper-Pearson
    bounds, each wrong with probability ``(1 - confidence) / 4 K``, and everything else follows
    from these (see :mod:`skdp.audit._bounds`).
    """
    cut = max(2, int(TRAIN * len(first)))
    scores = _Scores(first[:cut], second[:cut])
    bounds = _bounds(deltas, failure)
    events = _learn(scores, first[:cut], second[:cut], bounds)
    error = (1 - confidence) / (4 * len(events))  # Bonferroni
    results, values = [], []
    for column, threshold in events:
        pair = scores(first[cut:], column), scores(second[cut:], column)
        results.append([b(*_intervals(*pair, np.array([threshold]), error))[0] for b in bounds])
        values.append((*pair, threshold))
    best = np.max(results, axis=0)
    winner = values[int(np.argmax([row[0] for row in results]))]
    return AuditEvidence(float(best[0]), float(best[1]), tuple(map(float, best[2:])), *winner)


def _bounds(deltas, failure):
    """Return functions of two intervals: the bounds on mu, on rho, and on epsilon at each delta."""
    return [
        lambda p, q: mu_between(p, q, failure),
        lambda p, q: rho_between(p, q, failure),
        *(lambda p, q, delta=delta: epsilon_between(p, q, delta) for delta in deltas),
    ]


def _learn(scores, first, second, bounds):
    """Return the distinct events (column of the scores, threshold) that bound something best.

    Fisher's discriminant fits itself to the runs that it is learned from, so it competes with
    nobody: the best of the other scores is kept beside it.
    """
    best = {}
    for column in range(scores.n_columns):
        pair = scores(first, column), scores(second, column)
        thresholds = _thresholds(np.concatenate(pair))
        intervals = _intervals(*pair, thresholds, _TRAIN_ERROR)
        for i, bound in enumerate(bounds):
            values = bound(*intervals)
            top, kind = int(np.argmax(values)), (i, column == FISHER)
            if kind not in best or values[top] > best[kind][0]:
                best[kind] = (values[top], (column, thresholds[top]))
    return sorted({event for _, event in best.values()})


def _thresholds(values):
    levels = np.unique(values)
    if len(levels) <= MOST_THRESHOLDS:
        return levels
    return levels[np.linspace(0, len(levels) - 1, MOST_THRESHOLDS).astype(int)]


def _intervals(first, second, thresholds, error):
    """Return Clopper-Pearson intervals of "score > threshold" under both tables."""
    hits = (
        (len(x) - np.searchsorted(np.sort(x), thresholds, side="right"), len(x))
        for x in (first, second)
    )
    return tuple(clopper_pearson(*count, error) for count in hits)


class _Scores:
    """Functions of a run: Fisher's discriminant, distance from the median, every feature."""

    def __init__(self, first, second):
        both = np.concatenate([first, second])
        with np.errstate(all="ignore"):
            self._middle, self._scale = _robust(both)
        self._fisher = _discriminant(self._standard(first), self._standard(second))
        self.n_columns = FEATURES + first.shape[1]

    def __call__(self, runs, column):
        if column >= FEATURES:
            feature = [column - FEATURES]
            return self._standard(runs[:, feature], feature)[:, 0]
        Z = self._standard(runs)
        return Z @ self._fisher if column == FISHER else np.sqrt(np.sum(Z * Z, axis=1))

    def _standard(self, runs, columns=slice(None)):
        with np.errstate(all="ignore"):
            Z = (runs - self._middle[columns]) / self._scale[columns]
        return np.nan_to_num(np.clip(Z, -FAR, FAR), nan=FAR + 1)


def _robust(runs):
    """Return median and spread of every feature, from its finite values."""
    finite = np.where(np.isfinite(runs), runs, np.nan)
    finite[:, np.all(np.isnan(finite), axis=0)] = 0.0
    middle = np.nanmedian(finite, axis=0)
    spread = np.abs(finite - middle)
    scale = 1.4826 * np.nanmedian(spread, axis=0)
    scale = np.where(scale > 0, scale, np.nanmean(spread, axis=0))
    return middle, np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _discriminant(first, second):
    """Return Fisher's direction; a ridge keeps it from chasing noise in wide releases."""
    n, d = len(first) + len(second), first.shape[1]
    step = first.mean(axis=0) - second.mean(axis=0)
    within = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    scatter = within.T @ within / n
    ridge = (1e-3 + d / n) * np.trace(scatter) / d + 1e-12
    return np.linalg.solve(scatter + ridge * np.eye(d), step)
