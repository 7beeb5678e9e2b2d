"""Regression and classification on real tables: skdp, given no bounds, and peers, given exact ones.

    python benchmarks/supervised.py [--only PREFIX ...] [--splits N] [--seed S] [--no-peers]
                                    [--json PATH]

additive  PrivateAdditiveClassifier or -Regressor
both      PrivateAdditiveRegressor(linear=True, extrapolate=True)
line      PrivateLogisticRegression or PrivateLinearRegression, names as columns of 0 and 1
DP-EBM    interpret; AdaSSP: Wang 2018; diffprivlib: pure epsilon, delta = 0
plain     boosted trees without interactions, and a plain line, of scikit-learn, without privacy

Four fifths of each table are fitted and the score is that of the others: AUC, accuracy or R^2, the
mean of the splits (the median for diabetes), and ``least``, the worst of the additive model. Splits
are 100, 101, ...: 0 to 4 were seen while rules were chosen. Classes and levels of categories are
public for all, delta is 1e-6. ``vs`` is the CPU time of DP-EBM over that of the additive model.
``--only coverage`` and ``--only cost`` take intervals of slopes and a large table alone.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from _supervised_cells import cells, split
from _supervised_costs import cost, coverage
from _supervised_peers import additive, both, line, peers, plain_additive, plain_line
from _supervised_tables import table
from threadpoolctl import threadpool_limits

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

DEFAULT_JSON = Path(__file__).parent / "results" / "supervised.json"
PEERS = ["DP-EBM", "AdaSSP", "diffprivlib"]
PLAIN = {"plain additive": plain_additive, "plain line": plain_line}
COLUMNS = [
    *("cell", "metric", "additive", "least", "line", "both", *PEERS, *PLAIN),
    *("seconds", "line_seconds", "vs", "splits", "target", "met"),
]
MADE_UP = ("gaussian", "units")


def methods(cell, found):
    """Return the methods that a cell is given to."""
    ours = {name: {"additive": additive, "line": line, "both": both}[name] for name in cell.models}
    theirs = {name: method for name, method in found.items() if able(name, cell)}
    plain = {name: method for name, method in PLAIN.items() if name.split()[1] in cell.models}
    return {**ours, **theirs, **plain}


def able(name, cell):
    """Return whether a peer does such a thing at all."""
    if name == "AdaSSP":
        return cell.metric == "R2"
    if name == "diffprivlib":
        return "line" in cell.models
    return cell.metric != "accuracy"  # DP-EBM knows two classes


def measure(cell, found, splits, seed):
    whole, classes = table(cell.table), cell.classes()
    scores, seconds, raised, chosen = {}, {}, {}, methods(cell, found)
    for index in range(splits):
        train, test = split(whole, seed + index, cell.rows)
        for name, method in chosen.items():
            start = time.process_time()
            try:
                predicted = method(train, test, classes, cell.epsilon, seed + index)
            except Exception as exception:  # a crash is a result of the benchmark too
                raised[name] = type(exception).__name__
                continue
            seconds.setdefault(name, []).append(time.process_time() - start)
            scores.setdefault(name, []).append(cell.score(test.y, predicted))
    reached = {name: cell.summary(values) for name, values in scores.items()}
    times = {name: float(np.median(values)) for name, values in seconds.items()}
    ratio = times["DP-EBM"] / times["additive"] if {"DP-EBM", "additive"} <= set(times) else None
    return {
        "cell": cell.name,
        "metric": cell.metric,
        **{name: round(value, 5) for name, value in reached.items()},
        "least": min(scores["additive"]) if "additive" in scores else None,
        "all": {name: values for name, values in scores.items() if name in cell.models},
        "seconds": times.get("additive"),
        "line_seconds": times.get("line"),
        "peer_seconds": {name: times[name] for name in found if name in times},
        "vs": ratio,
        "splits": splits,
        "raised": raised,
        "target": [f"{name}={limit}" for name, limit in cell.targets.items()],
        "met": met(cell, reached) if cell.targets else None,
    }


def met(cell, reached):
    """Return whether the targets are reached, and DP-EBM is left behind by the additive model."""
    ours = all(reached.get(name, -np.inf) >= limit for name, limit in cell.targets.items())
    ahead = reached.get("additive", -np.inf) > reached.get("DP-EBM", -np.inf)
    return ours and (ahead or "DP-EBM" not in reached)


def shown(row):
    """Return a row with four digits of its scores, and the names of what was raised."""
    scores = ("additive", "least", "line", "both", *PEERS, *PLAIN)
    digits = {k: f"{row[k]:.4f}" for k in scores if isinstance(row.get(k), float)}
    return {**row, **row["raised"], **digits}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--only", nargs="*", default=[""], help="cells whose names begin so")
    parser.add_argument("--splits", type=int, help="of every cell")
    parser.add_argument("--seed", type=int, default=0, help="added to those of splits and noise")
    parser.add_argument("--no-peers", action="store_true", help="skdp and plain models alone")
    parser.add_argument("--runs", type=int, default=1000, help="of the coverage of intervals")
    args = parser.parse_args()
    chosen = [c for c in cells() if c.name.startswith(tuple(args.only))]
    found, without = ({}, []) if args.no_peers else peers()
    without += [
        f"{c.name}: {' or '.join(c.missing())} not installed" for c in chosen if c.missing()
    ]
    for word in without:
        print("left out:", word)
    wide, rows, made_up = max((len(c.name) for c in chosen), default=0), [], []
    with threadpool_limits(1), warnings.catch_warnings():
        for category in (SeededNoiseWarning, LowAccuracyWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", module=r"interpret|diffprivlib|sklearn")
        for cell in chosen:
            if cell.missing():
                continue
            rows.append(measure(cell, found, args.splits or cell.splits, args.seed))
            line = {**shown(rows[-1]), "cell": cell.name.ljust(wide)}
            print_table([line], COLUMNS, header=len(rows) == 1)
        for kind in MADE_UP:
            if f"coverage {kind}".startswith(tuple(args.only)):
                made_up.append(coverage(kind, args.seed, args.runs))
                print_table(made_up[-1:])
        if "cost".startswith(tuple(args.only)):
            made_up.append(cost(args.seed))
            print_table(made_up[-1:])
    if args.only == [""]:
        write_json(args.json, rows, made_up=made_up, left_out=without)


if __name__ == "__main__":
    main()
