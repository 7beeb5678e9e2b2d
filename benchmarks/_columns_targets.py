"""What means, intervals, scales and quantiles of columns not used for tuning should reach."""

from _columns_summary import by_kind, by_table
from scipy.stats import binom

__all__ = ["targets"]

RARELY = 1e-3  # one of so many columns may cover less by chance, with so few fits


def targets(rows, tables):
    """Return dicts with ``cell``, ``what``, ``value``, ``limit`` and ``met``."""
    found = []
    for line in by_kind(rows):
        if (line["list"], line["kind"], line["epsilon"]) == ("aside", "all", 1.0):
            reps = max(r["reps"] for r in rows if r["n"] == line["n"])
            found += _of_columns(line, reps)
    for line in by_table(tables):
        if line["epsilon"] == 1.0:
            found += _of_table(line)
    return found


def _of_columns(line, reps):
    cell, n = f"n={line['n']}", line["n"]
    yield _at_most(cell, "absurd standard scales, share", line["absurd std"], 0.0)
    yield _at_most(cell, "absurd robust scales, share", line["absurd iqr"], 0.0)
    if line["bounds / floor"] is not None:
        yield _at_most(cell, "with bounds: error / floor, median", line["bounds / floor"], 1.05)
    if n >= 500:
        yield _at_most(cell, "R, median", line["R"], 1.6)
        yield _at_most(cell, "R, 95th percentile", line["q95"], 4.0)
        yield _at_most(cell, "R, worst", line["worst"], 20.0)
        yield _at_most(cell, "half widths: share of unequal pairs", line["unequal pairs"], 0.05)
        yield _at_least(cell, "coverage, mean", line["covered"], 0.93)
    if n >= 3000:
        least = float(binom.ppf(RARELY, reps, 0.85)) / reps
        yield _at_least(cell, f"coverage, least: {line['least of']}", line["least"], least)
    if n >= 5000:
        yield _at_most(cell, "rank error, worst column", line["rank worst"], 0.01)


def _of_table(line):
    cell = f"{line['table']} n={line['n']}"
    if line["table"] == "adult":
        what = f"over its error alone, worst: {line['worst of']}"
        yield _at_most(cell, what, line["of alone, worst"], 3.0)
    yield _at_least(cell, "coverage, mean", line["covered"], 0.93)


def _at_most(cell, what, value, limit):
    return {"cell": cell, "what": what, "value": value, "limit": limit, "met": value <= limit}


def _at_least(cell, what, value, limit):
    return {"cell": cell, "what": what, "value": value, "limit": limit, "met": value >= limit}
