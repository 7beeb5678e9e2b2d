"""A private summary of 300 mixed columns x 10,000 rows, on tables that nothing was tuned on.

The columns of numbers are those of tables of installed packages, drawn with replacement; dates,
texts and truth values are made up from a seed. Printed, for some epsilon: the part of the columns
of which all nine quantiles are within 0.03 in rank, the part of the texts of 5 % of the rows that
are found, how often 95 % intervals cover, by statistic, all of them and those of reliable numbers,
and seconds of processor time. Beside it, what no mechanism of normal noise reaches that asks linear
questions of cells, were the true quantiles known: the quantiles' share of the budget spent on the
best strategy for nine ranks.

python benchmarks/summary.py [--json PATH] [--quick]
"""

import argparse
import site
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import print_table, write_json
from tables_as_they_are import tables

from skdp import PrivateSummary
from skdp.columns._ranks import excess_strategy
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning, UselessReleaseWarning

DEFAULT_JSON = Path(__file__).parent / "results" / "summary.json"
ROWS, NUMBERS, DATES, TEXTS, TRUTHS = 10_000, 180, 40, 50, 30
NEAR, COMMON = 0.03, 0.05


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON)
    parser.add_argument("--quick", action="store_true", help="fewer fits")
    options = parser.parse_args()
    for warning in (SeededNoiseWarning, LowAccuracyWarning, UselessReleaseWarning):
        warnings.simplefilter("ignore", warning)
    columns = real_columns()
    cells = [(1.0, 1), (1.0, 6), (4.0, 1)]  # epsilon, and of how many columns one is kept
    seeds = range(100, 102 if options.quick else 106)
    lines = [line(columns, epsilon, every, seeds) for epsilon, every in cells]
    print_table(lines)
    write_json(options.json, lines)


def real_columns():
    """Return columns of numbers of installed tables, of at least two values, without the gaps."""
    found = []
    for _, table in tables(site.getsitepackages()):
        for name in table.select_dtypes("number"):
            x = table[name].to_numpy(dtype=np.float64, na_value=np.nan)
            x = x[np.isfinite(x)]
            if len(np.unique(x)) > 1:
                found.append(x)
    return found


def made(columns, every, seed):
    """Return a table."""
    rng = np.random.default_rng(seed)
    own = {}
    for j, i in enumerate(rng.choice(len(columns), size=NUMBERS // every)):
        x = rng.choice(columns[i], size=ROWS)
        own[f"number {j}"] = np.where(rng.random(ROWS) < 0.1 * (j % 3), np.nan, x)
    for j in range(DATES // every):
        days = 3000 * rng.beta(rng.uniform(1, 3), rng.uniform(1, 3), size=ROWS)
        own[f"date {j}"] = pd.Timestamp("2012-05-01") + pd.to_timedelta(days.round(2), "D")
    for j in range(TEXTS // every):
        parts = rng.dirichlet(np.ones(rng.integers(2, 20)))
        own[f"text {j}"] = rng.choice([f"level {k}" for k in range(len(parts))], ROWS, p=parts)
    for j in range(TRUTHS // every):
        own[f"truth {j}"] = rng.random(ROWS) < rng.random()
    return pd.DataFrame(own)


def line(columns, epsilon, every, seeds):
    """Return what fits of one kind do."""
    near, found, taken, told, bounds = [], [], [], [], []
    for seed in seeds:
        X = made(columns, every, seed)
        start = time.process_time()
        fit = PrivateSummary(epsilon=epsilon, random_state=seed).fit(X)
        taken.append(time.process_time() - start)
        near += [is_near(X[name], *column) for name, column in locations(fit).items()]
        results = fit.results()
        for name in X.select_dtypes(object):
            parts = X[name].value_counts(normalize=True)
            shown = set(results["label"][results["variable"] == name])
            found += [label in shown for label in parts.index[parts >= COMMON]]
        told.append(covers(X, results))
        bounds.append(frontier(fit, len(locations(fit))))
    told = pd.concat(told)
    row = {
        "epsilon": epsilon,
        "columns": X.shape[1],
        "near": np.mean(near),
        "known cuts": np.mean(bounds),
        "texts": np.mean(found),
        "seconds": np.median(taken),
    }
    for kind, own in told.groupby("kind"):
        row[kind] = own["covers"].mean()
        row[f"{kind}, reliable"] = own["covers"][own["reliable"]].mean()
    return row


def locations(fit):
    """Return the quantiles that are asked for, and their numbers, of columns of numbers."""
    told = {}
    for name, column in zip(fit.feature_names_in_, fit.columns_, strict=True):
        if hasattr(column, "location"):
            told[name] = column.asked, column.location[np.isin(column.q, column.asked)]
    return told


def is_near(x, q, value):
    """Return whether all quantiles of a column are near in rank."""
    x = np.sort(exact_numbers(x))
    low, high = (np.searchsorted(x, value, side=side) / len(x) for side in ("left", "right"))
    return bool((np.maximum(low - q, q - high) <= NEAR).all())


def exact_numbers(x):
    """Return the entries of a column as numbers; of dates microseconds."""
    if x.dtype.kind == "M":
        x = x.to_numpy().astype("M8[us]").astype(np.int64)
    x = np.asarray(x, dtype=np.float64)
    return x[~np.isnan(x)]


def covers(X, results):
    """Return of all lines about numbers whether their interval covers what is exact."""
    lines = []
    for one in results[results["kind"] == "numbers"].itertuples():
        x = np.sort(X[one.variable].dropna().to_numpy())
        exact = {"entries": len(x), "gaps": 1 - len(x) / ROWS, "mean": x.mean(), "std": x.std()}
        value, kind = exact.get(one.statistic), one.statistic
        if value is None:
            value = x[int(np.ceil(float(kind[:-1]) / 100 * len(x))) - 1]
            kind = "quantiles"
        lines.append((kind, one.low <= value <= one.high, one.reliable))
    return pd.DataFrame(lines, columns=["kind", "covers", "reliable"])


def frontier(fit, d, draws=20_000):
    """Return the probability that nine ranks are near by the best strategy at their true cells."""
    report = fit.privacy_report_
    q, share = fit._q(), quantile_share(report)
    C = excess_strategy(tuple(q)).astype(float)
    excess = (np.arange(len(q) + 1) <= np.arange(len(q))[:, None]) - q[:, None]
    covariance = excess @ np.linalg.pinv(C.T @ C) @ excess.T * np.square(C).sum(axis=0).max()
    scale = np.sqrt(d / share) / float(report.budget.mu) / ROWS
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(len(q)), covariance, size=draws)
    return (np.abs(scale * draws).max(axis=1) <= NEAR).mean()


def quantile_share(report):
    """Return the share of the budget that all releases of quantiles had."""
    return sum(float(one.share) for one in report.charges if one.label.startswith("quantiles"))


if __name__ == "__main__":
    main()
