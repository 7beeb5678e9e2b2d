"""Which tables of installed packages four fits take as they are, and what the others say.

Usage: python benchmarks/tables_as_they_are.py [FOLDER ...]; by default those of site-packages.
Tables are CSV files with a line of names, at least 30 rows and 2 columns, read by pandas alone;
text that reads as dates becomes dates. At most 3,000 rows are taken.
"""

import site
import sys
import warnings
from pathlib import Path

import pandas as pd

from skdp import (
    MarginalReleaser,
    PrivateAdditiveRegressor,
    PrivateMean,
    PrivateQuantile,
    PrivateSummary,
)

ROWS, LEAST, WIDEST = 3_000, 30, 300
APART = "tests", "numpy", "tornado", "sample_data"  # files that are no tables of a study
NUMBERS = ["number", "bool", "datetime", "datetimetz", "timedelta"]


def tables(folders):
    """Yield (name, table) of CSV files."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.csv")):
            if set(APART) & set(path.parts):
                continue
            try:
                table = pd.read_csv(path, nrows=ROWS, low_memory=False)
            except (ValueError, OSError):
                continue
            for name in table.columns[
                [str(t) in ("object", "str", "string") for t in table.dtypes]
            ]:
                table[name] = _dates(table[name])
            if len(table) >= LEAST and 2 <= table.shape[1] <= WIDEST and table.columns.is_unique:
                yield path.stem, table


def _dates(column):
    """Return a column of text as dates, if all of it reads as such."""
    try:
        return pd.to_datetime(column, format="ISO8601")
    except (ValueError, TypeError):
        return column


def fits(table):
    """Yield (name, function that fits) of what takes the table."""
    numbers = table.select_dtypes(NUMBERS)
    yield "summary", lambda: PrivateSummary().fit(table)
    if table.select_dtypes(["number", "bool"]).shape[1]:
        yield "mean", lambda: PrivateMean().fit(numbers)
        yield "quantiles", lambda: PrivateQuantile([0.1, 0.5, 0.9]).fit(numbers)
        target = table.select_dtypes(["number", "bool"]).columns[-1]
        there = table[table[target].notna()]
        yield (
            "additive",
            lambda: PrivateAdditiveRegressor().fit(
                there.drop(columns=target), there[target].astype(float)
            ),
        )
    yield "marginals", lambda: MarginalReleaser(1, domain="auto").fit(table)


def main(folders):
    warnings.simplefilter("ignore")
    taken, asked = {}, {}
    for name, table in tables(folders):
        for fit, run in fits(table):
            asked[fit] = asked.get(fit, 0) + 1
            try:
                run()
            except Exception as error:
                print(f"{name}: {fit}: {type(error).__name__}: {str(error)[:150]}")
            else:
                taken[fit] = taken.get(fit, 0) + 1
    for fit, n in asked.items():
        print(f"{fit:10} {taken.get(fit, 0)} of {n}")


if __name__ == "__main__":
    main(sys.argv[1:] or site.getsitepackages())
