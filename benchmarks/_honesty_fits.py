"""The fits of ``honesty.py``: each draws columns of a table, fits them and has answers judged.

``ESTIMATORS`` are functions of the name of a table, a generator, and a function that fits; they
return the rows and the answers, or raise NoColumns.
"""

from functools import partial

import _honesty_judges as judge
import numpy as np
from _honesty_tables import KINDS, LEAST_ROWS, MOST_LEVELS, MOST_ROWS, kind, load, numbers
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture

import skdp

__all__ = ["ESTIMATORS", "NoColumns"]

OF_MODELS = 5000  # rows
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
CONSTANT = 1e-9  # of the largest entry: a column whose standard deviation is not above is constant
LABELS = ("yes/no", "rare rate")
NUMBERS = tuple(about for about in KINDS if about not in LABELS)


class NoColumns(Exception):
    """The table has no columns for the estimator."""


def _answer(model, column, kinds, judged):
    """Return an answer; of several kinds it has the most difficult one."""
    about = max(kinds, key=KINDS.index)
    return {"column": str(column), "kind": about, "reliable": bool(model.reliable_)} | judged


def _varies(x):
    return x.std() > CONSTANT * np.abs(x).max()


def _far(X):
    """Return how far rows are from the median, in the column in which they are farthest."""
    apart = np.abs(X - np.median(X, axis=0)) / X.std(axis=0)
    return apart if X.ndim == 1 else apart.max(axis=1)


def _kinds(frame):
    columns = {column: frame[column].dropna().to_numpy() for column in frame}
    return {c: kind(x) for c, x in columns.items() if len(x) >= LEAST_ROWS and _varies(x)}


def _column(frame, rng, allowed=KINDS):
    """Draw a kind that is there, and a column of this kind."""
    kinds = {column: about for column, about in _kinds(frame).items() if about in allowed}
    if not kinds:
        raise NoColumns
    chosen = rng.choice(sorted(set(kinds.values())))
    return rng.choice([column for column in kinds if kinds[column] == chosen])


def _some(columns, least, most, rng):
    """Draw ``least`` to ``most`` columns."""
    if len(columns) < least:
        raise NoColumns
    return rng.choice(columns, min(len(columns), int(rng.integers(least, most + 1))), replace=False)


def _rows(frame, columns, n=MOST_ROWS):
    """Return n complete rows, or all."""
    rows = frame[list(columns)].dropna().iloc[:n]
    if len(rows) < LEAST_ROWS or (rows.nunique() < 2).any():
        raise NoColumns
    return rows


def _several(table, rng, most, least=2, levels=2, n=MOST_ROWS):
    """Draw columns of so many levels."""
    frame = numbers(table)
    fine = [column for column in _kinds(frame) if frame[column].nunique() >= levels]
    return _rows(frame, _some(fine, least, most, rng), n)


def _columns(made, most, table, rng, fit):
    frame = numbers(table)
    rows = _several(table, rng, most) if most > 1 else _rows(frame, [_column(frame, rng)])
    model = made(rng.choice(QUANTILES)) if made is skdp.PrivateQuantile else made()
    model, answers = fit(model, rows), []
    results = model.results() if hasattr(model, "results") else None
    for j, x in enumerate(rows.to_numpy().T):
        if made is skdp.PrivateStandardScaler:  # a scale of 1: none was found
            found = np.nan if model.scale_[j] == 1.0 else model.var_[j]
            judged = judge.judged_twice(judge.variance, fit.few, _far(x), x, found)
        else:
            told = results.iloc[j]
            released = told["value"], told["low"], told["high"]
            more = [model.q] if hasattr(model, "q") else []
            judged = judge.judged_twice(_JUDGES[made], fit.few, _far(x), x, *released, *more)
            judged["reliable"] = bool(told["reliable"])
        answers.append(_answer(model, rows.columns[j], [kind(x)], judged))
    return rows, answers


def _groups(made, table, rng, fit):
    frame, answers = load(table), []
    column = _column(frame.select_dtypes("number"), rng)
    keys = [c for c in frame if c != column and 2 <= frame[c].nunique() <= MOST_LEVELS]
    rows = _rows(frame, [*_some(keys, 1, 1, rng), column])
    key = rows.columns[0]
    model = fit(skdp.PrivateGroupBy(made(), key, sorted(rows[key].unique().tolist())), rows)
    for group in model.results().itertuples():
        x = rows[column][rows[key] == group.group].to_numpy()
        if _varies(x):
            released = group.value, group.low, group.high
            told = judge.judged_twice(_JUDGES[made], fit.few, _far(x), x, *released)
            told["reliable"] = bool(group.reliable)
            answers.append(_answer(model, group.group, [kind(x)], told))
    return rows, answers


def _whole(judged, most, table, rng, fit, **more):
    """Fit all columns that are drawn at once, and give one answer of them."""
    rows = _several(table, rng, most, **more)
    model, told = judged(rows.to_numpy(), rng, fit)
    return rows, [_answer(model, "all", map(kind, rows.to_numpy().T), told)]


def _covariance(X, rng, fit):
    model = fit(skdp.PrivateCovariance(), X)
    released = model.covariance_, model.noise_scale_, model.correlation_
    return model, judge.judged_twice(judge.correlations, fit.few, _far(X), X, *released)


def _components(X, rng, fit):
    model = fit(skdp.PrivatePCA(X.shape[1] // 2), X)
    return model, judge.judged_twice(judge.subspace, fit.few, _far(X), X, model.components_)


def _clusters(X, rng, fit):
    k = int(rng.choice([3, 5]))
    model, best = fit(skdp.FriendlyCoreKMeans(k), X), KMeans(k, n_init=2, random_state=0).fit(X)
    centers, apart = model.cluster_centers_, model.transform(X).min(axis=1)
    return model, judge.judged_twice(
        judge.clusters, fit.few, apart, X, centers, best.cluster_centers_
    )


def _mixture(X, rng, fit):
    if np.linalg.cond(np.corrcoef(X.T)) > 1e3:  # a thin Gaussian: its likelihood has no bound
        raise NoColumns
    X, k = X / X.std(axis=0), int(rng.choice([2, 3]))
    model = fit(skdp.PrivateGMM(k), X)
    one, best = (GaussianMixture(j, random_state=0).fit(X).score(X) for j in (1, k))
    return model, judge.mixture(model.score_samples(X).mean(), one, best, X.shape[1])


def _supervised(made, target_kinds, table, rng, fit):
    frame = numbers(table)
    target = _column(frame, rng, target_kinds)
    parent = target.partition("=")[0]
    others = [column for column in _kinds(frame) if column.partition("=")[0] != parent]
    rows = _rows(frame, [*_some(others, 1, 8, rng), target], OF_MODELS)
    X, y = rows.to_numpy()[:, :-1], rows[target].to_numpy()
    about, Z, covered = kind(y), (X - X.mean(axis=0)) / X.std(axis=0), None
    if target_kinds == LABELS:
        y = (y == y.max()).astype(int)
        model, best = fit(made(classes=[0, 1]), X, y), LogisticRegression(C=100).fit(Z, y)
        chances = [m.predict_proba(x)[:, 1] for m, x in ((model, X), (best, Z))]
        loss = np.abs(y - chances[0])
        told = judge.judged_twice(judge.labels, fit.few, loss, y, *chances, n_of_rows=3)
    else:
        model, best = fit(made(), X, y), LinearRegression().fit(X, y)
        if made is skdp.PrivateLinearRegression and np.linalg.matrix_rank(Z) == Z.shape[1]:
            low, high = (end[:-1] for end in model.interval())
            covered = np.mean((low <= best.coef_) & (best.coef_ <= high))
        told_of = model.predict(X), best.predict(X)
        residual = np.abs(y - told_of[0])
        told = judge.judged_twice(judge.line, fit.few, residual, y, *told_of, covered, n_of_rows=3)
    return rows, [_answer(model, target, [about], told)]


def _synthetic(table, rng, fit):
    frame, answers = load(table), []
    rows = _rows(frame, _some(list(frame), 2, 6, rng))
    model = fit(skdp.MarginalReleaser(int(rng.integers(1, 3)), domain="auto"), rows)
    made = model.sample(OF_MODELS)
    for j, column in enumerate(rows):
        x = rows[column].to_numpy()
        about, held = "few levels", []
        if x.dtype.kind == "f":
            about = kind(x)
        else:
            for level in sorted(set(x) & set(model.domain_.labels[j])):
                low, high = model.query({column: level}).interval
                held.append(low <= np.sum(x == level) <= high)
        judged = judge.shares(x, made.iloc[:, j].to_numpy(), np.mean(held) if held else None)
        answers.append(_answer(model, column, [about], judged))
    return rows, answers


_JUDGES = {
    skdp.PrivateMean: judge.mean,
    skdp.PrivateQuantile: judge.quantile,
    skdp.PrivateMedian: judge.quantile,
    skdp.PrivateVariance: judge.variance,
}
ESTIMATORS = {
    "mean": partial(_columns, skdp.PrivateMean, 1),
    "joint mean": partial(_columns, skdp.PrivateMean, 6),
    "quantile": partial(_columns, skdp.PrivateQuantile, 1),
    "median": partial(_columns, skdp.PrivateMedian, 1),
    "joint median": partial(_columns, skdp.PrivateMedian, 6),
    "variance": partial(_columns, skdp.PrivateVariance, 1),
    "joint variance": partial(_columns, skdp.PrivateVariance, 6),
    "scaler": partial(_columns, skdp.PrivateStandardScaler, 6),
    "means by group": partial(_groups, skdp.PrivateMean),
    "medians by group": partial(_groups, skdp.PrivateMedian),
    "variances by group": partial(_groups, skdp.PrivateVariance),
    "covariance": partial(_whole, _covariance, 8),
    "components": partial(_whole, _components, 8),
    "k-means": partial(_whole, _clusters, 6, levels=5, n=OF_MODELS),
    "mixture": partial(_whole, _mixture, 4, levels=20, n=OF_MODELS),
    "line": partial(_supervised, skdp.PrivateLinearRegression, NUMBERS),
    "additive numbers": partial(_supervised, skdp.PrivateAdditiveRegressor, NUMBERS),
    "logistic": partial(_supervised, skdp.PrivateLogisticRegression, LABELS),
    "additive classes": partial(_supervised, skdp.PrivateAdditiveClassifier, LABELS),
    "synthetic": _synthetic,
}
