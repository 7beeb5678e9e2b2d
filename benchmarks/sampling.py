"""Intervals for the population: coverage over rows drawn from real columns.

    python benchmarks/sampling.py [--tables aside|tuned|all] [--n N ...] [--reps N]
        [--epsilon E] [--cells PATTERN] [--json PATH]

Every column of ``benchmarks/_columns_data.py`` is a population: n rows are drawn from it with
replacement, anew for every fit, and ``interval(0.95, sampling=True)`` is held against the mean, the
variance and the quantiles of the whole column. "rate" is the mean of a 0/1 column with public
bounds, "line" a regression of one column of a table on another.
"covered" is the share of intervals that hold the truth, "least" that of the column that is covered
least, "infinite" the share of intervals that say nothing, "of rows" the coverage by the intervals
for the rows themselves, which is what goes wrong if these are taken for the population, "width" the
median half width over that of an interval without privacy, 1.96 standard errors (of a slope: those
of a sandwich).
"""

import argparse
import math
import re
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from _columns_data import LISTS, TABLES
from _harness import _stream, print_table, write_json

import skdp

DELTA = 1e-6
SIZES = (500, 3000)
Z = 1.959964
ROUNDING = 1e-12  # of the largest entry


def moments(x):
    """Return mean, variance and its standard error times sqrt n."""
    mean = math.fsum(x) / len(x)
    far = np.square(x - mean)
    return mean, float(far.mean()), float(far.std())


def statistics(x, kind):
    """Yield name, estimator, parameters, the least and the largest truth, and a standard error.

    A quantile of a column with atoms is any number with ``F(x-) <= q <= F(x)``.
    """
    mean, variance, of_variance = moments(x)
    low, high = float(x.min()), float(x.max())
    yield "mean", skdp.PrivateMean, {}, mean, math.sqrt(variance)
    yield "variance", skdp.PrivateVariance, {}, variance, of_variance
    if low < high:
        bounds = {"bounds": (low, high)}
        name = "rate" if kind in ("rare", "binary") else "mean, bounds"
        yield name, skdp.PrivateMean, bounds, mean, math.sqrt(variance)
        yield "variance, bounds", skdp.PrivateVariance, bounds, variance, of_variance
    for q in (0.25, 0.5, 0.9):
        truth = float(np.quantile(x, q, method="inverted_cdf"))
        yield f"quantile {q}", skdp.PrivateQuantile, {"q": q}, truth, None


def measure_column(name, kind, x, n, options):
    """Yield one row of figures per statistic of a population."""
    slack = ROUNDING * float(np.abs(x).max())
    for what, estimator, params, truth, error in statistics(x, kind):
        figures = defaultdict(list)
        for rep in range(options.reps):
            rows = _stream(0, name, n, rep).choice(x, n)[:, None]
            seed = int(_stream(0, name, n, rep, what).integers(2**31))
            budget = {"epsilon": options.epsilon, "delta": DELTA, "random_state": seed}
            fitted = estimator(**budget, **params).fit(rows)
            for key, sampling in (("covered", True), ("of rows", False)):
                low, high = (float(end[0]) for end in fitted.interval(0.95, sampling=sampling))
                figures[key].append(low - slack <= truth <= high + slack)
                if sampling:
                    figures["infinite"].append(math.isinf(high - low))
                    half = high / 2 - low / 2
                    if error:
                        figures["width"].append(half * math.sqrt(n) / (Z * error))
        told = {key: float(np.mean(figures[key])) for key in ("covered", "of rows", "infinite")}
        width = float(np.median(figures["width"])) if error else None
        yield {"statistic": what, "column": name, "kind": kind, "n": n, **told, "width": width}


def least_squares(x, y):
    """Return the slope of a population and its standard error times sqrt n, of a sandwich."""
    far = x - x.mean()
    slope = float(far @ y / (far @ far))
    residuals = y - y.mean() - slope * far
    return slope, math.sqrt(np.mean(np.square(far * residuals))) / float(np.mean(far * far))


def measure_line(table, n, options):
    """Yield one row of figures per pair of neighbouring columns of a table."""
    X = table.load()
    for j, (x_name, y_name) in enumerate(zip(table.columns, table.columns[1:], strict=False)):
        x, y = X[:, j], X[:, j + 1]
        slope, error = least_squares(x, y)
        figures = defaultdict(list)
        for rep in range(options.reps):
            name = f"{table.name}/{y_name} on {x_name}"
            at = _stream(0, name, n, rep).integers(len(x), size=n)
            model = skdp.PrivateLinearRegression(
                epsilon=options.epsilon, delta=DELTA, random_state=rep
            ).fit(x[at, None], y[at])
            for key, sampling in (("covered", True), ("of rows", False)):
                low, high = (float(end[0]) for end in model.interval(0.95, sampling=sampling))
                figures[key].append(low <= slope <= high)
                if sampling:
                    figures["infinite"].append(math.isinf(high - low))
                    figures["width"].append((high / 2 - low / 2) * math.sqrt(n) / (Z * error))
        width = float(np.median(figures["width"]))
        told = {key: float(np.mean(figures[key])) for key in ("covered", "of rows", "infinite")}
        yield {"statistic": "line", "column": name, "kind": "line", "n": n, **told, "width": width}


def summary(rows):
    """Return one line per statistic and number of rows."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["statistic"], row["n"]].append(row)
    lines = []
    for (statistic, n), found in sorted(cells.items()):
        least = min(found, key=lambda row: row["covered"])
        widths = [row["width"] for row in found if row["width"] is not None]
        means = {
            key: float(np.mean([row[key] for row in found]))
            for key in ("covered", "of rows", "infinite")
        }
        lines.append(
            {
                "statistic": statistic,
                "n": n,
                "columns": len(found),
                **means,
                "width": float(np.median(widths)) if widths else None,
                "least": least["covered"],
                "least of": least["column"],
            }
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", choices=[*LISTS, "all"], default="aside")
    parser.add_argument("--n", type=int, nargs="+", default=SIZES)
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--cells", default="", help="regular expression for kind table/column")
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, default=results / "sampling.json")
    options = parser.parse_args()

    warnings.simplefilter("ignore")
    wanted = re.compile(options.cells).search
    lists = [name for name in LISTS if options.tables in (name, "all")]
    columns = [c for name in lists for c in LISTS[name] if wanted(f"{c.kind} {c.name}")]
    tables = [t for t in TABLES if t.list in lists and wanted(f"line {t.name}")]
    rows = []
    for column, n in product(columns, options.n):
        rows += measure_column(column.name, column.kind, column.load(), n, options)
    for table, n in product(tables, options.n):
        rows += measure_line(table, n, options)
    lines = summary(rows)
    print_table(lines)
    write_json(options.json, rows, summary=lines)


if __name__ == "__main__":
    main()
