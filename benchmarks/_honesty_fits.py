"""The fits of ``honesty.py``: each draws columns of a table, fits them and has the answers judged.

``ESTIMATORS`` are functions of a table's name, a generator, epsilon and the seed of the noise. They
return a dict with ``columns``, ``n`` and ``answers``, or None where a table has no such columns.
"""

from functools import partial

import _honesty_judges as judge
import numpy as np
from _honesty_tables import KINDS, MOST_LEVELS, kind, load, numbers, worst_kind, zero_or_one
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture

import skdp

__all__ = ["ESTIMATORS"]

DELTA = 1e-6
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_ROWS, LEAST_ROWS, MOST_FEATURES = 5000, 200, 8  # of models; of all fits; of models


def _told(rows, answers):
    return {"columns": list(map(str, rows.columns)), "n": len(rows), "answers": answers}


def _fitted(estimator, epsilon, seed, *rows):
    made = estimator.set_params(epsilon=epsilon, delta=DELTA, random_state=seed)
    return made.fit(*rows)


def _answer(model, column, kind, judged, reliable=None):
    reliable = model.reliable_ if reliable is None else bool(reliable)
    return {"column": str(column), "kind": kind, "reliable": reliable, **judged}


def _kinds(frame):
    """Return the kind of every column that has enough rows and is not constant."""
    kinds = {}
    for column in frame:
        x = frame[column].dropna().to_numpy()
        if len(x) >= LEAST_ROWS and x.std() > 0:
            kinds[column] = kind(x)
    return kinds


def _column(frame, rng, kinds=KINDS):
    """Draw a kind that is there, then a column of it; None without any."""
    there = {c: k for c, k in _kinds(frame).items() if k in kinds}
    if not there:
        return None
    chosen = rng.choice(sorted(set(there.values())))
    return rng.choice([c for c, k in there.items() if k == chosen])


def _rows(frame, columns, rng, most=None):
    """Return complete rows of these columns; None if they are few or a column is constant."""
    rows = frame[list(columns)].dropna()
    if most is not None and len(rows) > most:
        rows = rows.sample(most, random_state=int(rng.integers(2**31)))
    if len(rows) < LEAST_ROWS or (rows.nunique() < 2).any():
        return None
    return rows


def _several(table, rng, least, most, levels=2, rows=None):
    """Draw complete rows of several columns, each with some levels at least."""
    frame = numbers(table)
    fine = [c for c in _kinds(frame) if frame[c].nunique() >= levels]
    if len(fine) < least:
        return None
    chosen = rng.choice(
        fine, size=min(len(fine), int(rng.integers(least, most + 1))), replace=False
    )
    return _rows(frame, chosen, rng, rows)


def _mean(model, x, j):
    low, high = model.interval()
    return judge.mean(x, model.location_[j], np.ravel(low)[j], np.ravel(high)[j])


def _quantile(model, x, j, q=0.5):
    low, high = model.interval()
    return judge.quantile(x, np.ravel(model.location_)[j], np.ravel(low)[j], np.ravel(high)[j], q)


def _variance(model, x, j):
    low, high = model.interval()
    return judge.variance(x, model.var_[j], np.ravel(low)[j], np.ravel(high)[j])


def _scale(model, x, j):
    if model.scale_[j] == 1.0:  # not found: the column stays as it is
        return judge.variance(x, np.nan)
    return judge.variance(x, model.var_[j])


def _of_columns(made, judged, joint, table, rng, epsilon, seed):
    frame = numbers(table)
    if joint:
        rows = _several(table, rng, 2, 6)
    else:
        column = _column(frame, rng)
        rows = None if column is None else _rows(frame, [column], rng)
    if rows is None:
        return None
    estimator, more = made(), {}
    if isinstance(estimator, skdp.PrivateQuantile):
        more["q"] = float(rng.choice(QUANTILES))
        estimator.set_params(**more)
    model = _fitted(estimator, epsilon, seed, rows)
    columns = [(c, rows[c].to_numpy()) for c in rows]
    answers = [
        _answer(model, c, kind(x), judged(model, x, j, **more)) for j, (c, x) in enumerate(columns)
    ]
    return {**_told(rows, answers), **more}


def _by_group(table, rng, epsilon, seed):
    mixed = load(table)
    keys = [c for c in mixed if 2 <= mixed[c].nunique() <= MOST_LEVELS]
    column = _column(mixed.select_dtypes("number"), rng)
    if column is None or not set(keys) - {column}:
        return None
    key = rng.choice(sorted(set(keys) - {column}))
    rows = mixed[[key, column]].dropna()
    judged, made = _GROUPED[rng.integers(len(_GROUPED))]
    levels = sorted(rows[key].unique().tolist())
    if len(rows) < LEAST_ROWS:
        return None
    grouped = skdp.PrivateGroupBy(made(), key, levels)
    answers = []
    for line in _fitted(grouped, epsilon, seed, rows).results().itertuples():
        x = rows[column][rows[key] == line.group].to_numpy()
        if len(x) and x.std() > 0:
            told = judged(x, line.value, line.low, line.high)
            answers.append(_answer(None, line.group, kind(x), told, line.reliable))
    return {**_told(rows, answers), "of": made.__name__}


def _matrix(table, rng, epsilon, seed):
    rows = _several(table, rng, 2, 8)
    if rows is None:
        return None
    X = rows.to_numpy()
    model = _fitted(skdp.PrivateCovariance(), epsilon, seed, rows)
    told = judge.correlations(X, model.covariance_, model.noise_scale_, model.correlation_)
    return _told(rows, [_answer(model, "all", _worst(rows), told)])


def _components(table, rng, epsilon, seed):
    rows = _several(table, rng, 3, 8)
    if rows is None:
        return None
    model = _fitted(skdp.PrivatePCA(2 if rows.shape[1] > 3 else 1), epsilon, seed, rows)
    told = judge.subspace(rows.to_numpy(), model.components_)
    return _told(rows, [_answer(model, "all", _worst(rows), told)])


def _worst(rows):
    return worst_kind([kind(rows[c].to_numpy()) for c in rows])


def _supervised(made, classes, table, rng, epsilon, seed):
    frame = numbers(table)
    kinds = {"yes/no", "rare rate"}
    target = _column(frame, rng, kinds if classes else set(KINDS) - kinds)
    parent = str(target).partition("=")[0]
    others = [c for c in _kinds(frame) if c.partition("=")[0] != parent]
    if target is None or not others:
        return None
    size = min(len(others), int(rng.integers(1, MOST_FEATURES + 1)))
    rows = _rows(frame, [*rng.choice(others, size, replace=False), target], rng, MOST_ROWS)
    if rows is None:
        return None
    X, y = rows.iloc[:, :-1].to_numpy(), rows[target].to_numpy()
    about = kind(y)
    if classes:
        y = (y == y.max()).astype(int)
        model = _fitted(made(classes=[0, 1]), epsilon, seed, X, y)
        best = LogisticRegression(C=1e4, max_iter=300).fit((X - X.mean(0)) / X.std(0), y)
        line = best.predict_proba((X - X.mean(0)) / X.std(0))[:, 1]
        told = judge.labels(y, model.predict_proba(X)[:, 1], line)
    else:
        model, line = _fitted(made(), epsilon, seed, X, y), LinearRegression().fit(X, y)
        told = judge.numbers(y, model.predict(X), line.predict(X), _held(model, X, line))
    return _told(rows, [_answer(model, target, about, told)])


def _held(model, X, line):
    """Return the share of intervals of slopes that hold those of least squares."""
    X = X - X.mean(axis=0)
    if not isinstance(model, skdp.PrivateLinearRegression):
        return None
    if np.linalg.matrix_rank(X / X.std(axis=0)) < X.shape[1]:
        return None
    low, high = (end[:-1] for end in model.interval())
    return np.mean((low <= line.coef_) & (line.coef_ <= high))


def _clusters(table, rng, epsilon, seed):
    rows = _several(table, rng, 2, 6, levels=5, rows=MOST_ROWS)
    if rows is None:
        return None
    X, k = rows.to_numpy(), int(rng.choice([3, 5]))
    model = _fitted(skdp.FriendlyCoreKMeans(k), epsilon, seed, X)
    best = KMeans(k, n_init=2, random_state=0).fit(X)
    told = judge.clusters(X, model.cluster_centers_, best.cluster_centers_)
    return {**_told(rows, [_answer(model, "all", _worst(rows), told)]), "k": k}


def _mixture(table, rng, epsilon, seed):
    rows = _several(table, rng, 2, 4, levels=20, rows=MOST_ROWS)
    if rows is None or np.linalg.cond(np.corrcoef(rows.to_numpy().T)) > 1e3:
        return None
    X, k = rows.to_numpy() / rows.to_numpy().std(axis=0), int(rng.choice([2, 3]))
    model = _fitted(skdp.PrivateGMM(k), epsilon, seed, X)
    scores = [GaussianMixture(j, random_state=0).fit(X).score(X) for j in (1, k)]
    told = judge.mixture(np.mean(model.score_samples(X)), *scores, X.shape[1])
    return {**_told(rows, [_answer(model, "all", _worst(rows), told)]), "k": k}


def _synthetic(table, rng, epsilon, seed):
    mixed = load(table)
    if mixed.shape[1] < 2:
        return None
    size = min(mixed.shape[1], int(rng.integers(2, 7)))
    rows = _rows(mixed, rng.choice(list(mixed), size, replace=False), rng)
    if rows is None:
        return None
    k = int(rng.integers(1, 3))
    model = _fitted(skdp.MarginalReleaser(k, domain="auto"), epsilon, seed, rows)
    made = model.sample(5000)
    answers = []
    for j, column in enumerate(rows):
        real, drawn = rows[column].to_numpy(), made.iloc[:, j].to_numpy()
        about = kind(real) if real.dtype.kind == "f" else "few levels"
        answers.append(_answer(model, column, about, judge.shares(real, drawn)))
    return {**_told(rows, answers), "k": k}


_GROUPED = [
    (judge.mean, skdp.PrivateMean),
    (partial(judge.quantile, q=0.5), skdp.PrivateMedian),
    (judge.variance, skdp.PrivateVariance),
]
ESTIMATORS = {
    "mean": partial(_of_columns, skdp.PrivateMean, _mean, False),
    "joint mean": partial(_of_columns, skdp.PrivateMean, _mean, True),
    "quantile": partial(_of_columns, skdp.PrivateQuantile, _quantile, False),
    "median": partial(_of_columns, skdp.PrivateMedian, _quantile, False),
    "joint median": partial(_of_columns, skdp.PrivateMedian, _quantile, True),
    "variance": partial(_of_columns, skdp.PrivateVariance, _variance, False),
    "joint variance": partial(_of_columns, skdp.PrivateVariance, _variance, True),
    "scaler": partial(_of_columns, skdp.PrivateStandardScaler, _scale, True),
    "covariance": _matrix,
    "pca": _components,
    "linear": partial(_supervised, skdp.PrivateLinearRegression, False),
    "additive regressor": partial(_supervised, skdp.PrivateAdditiveRegressor, False),
    "logistic": partial(_supervised, skdp.PrivateLogisticRegression, True),
    "additive classifier": partial(_supervised, skdp.PrivateAdditiveClassifier, True),
    "k-means": _clusters,
    "gmm": _mixture,
    "group by": _by_group,
    "synthetic": _synthetic,
}
