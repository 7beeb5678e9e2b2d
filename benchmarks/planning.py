"""Predicted against realised error: what ``expected_error`` says, and what fits then do.

    python benchmarks/planning.py [--quick] [--sims N] [--cells PATTERN] [--json PATH]

"predicted" is the median error of N fits on public rows: of the family that is named, for rows of
known laws; for real tables of a public part, with half as many rows as are fitted. "by family" is
the same for real tables from a family alone, that is, of somebody who knows nothing. "realised" is
the median of N fits on the private rows, which the plan has not seen. The goal is a ratio within
15 %. "chance" is the ratio that two halves of the realised fits have. Where less than a thousandth
of a score is lost in both, the prediction is right and has no ratio.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from _planning_cells import workloads

from skdp.exceptions import SeededNoiseWarning

warnings.simplefilter("ignore", SeededNoiseWarning)
GOAL = 0.15
NOTHING = 1e-3  # scores lost below this are none, and have no ratio


def measure(workload, sims):
    """Return one line of the table; single columns, whose errors scatter most, have more fits."""
    sims *= 4 if workload.d == 1 else 1
    plan, start = workload.estimator, time.process_time()
    by_family, told = None, {"n_sims": sims, "family": workload.family}
    if workload.law is not None:
        predicted = plan.expected_error(workload.n, workload.d, **told)
        truth = {"family": workload.law}
    else:
        public, private = workload.split()
        predicted = plan.expected_error(workload.n, like=public, n_sims=sims)
        if workload.family is not None:
            by_family = plan.expected_error(workload.n, workload.d, **told)
        truth = {"like": private}
    seconds = time.process_time() - start
    realised = plan.expected_error(workload.n, workload.d, n_sims=sims, random_state=1, **truth)
    halves = [float(np.median(part)) for part in np.array_split(realised.errors, 2)]
    ratio = predicted.median / realised.median
    losses = (predicted.median, realised.median)
    nothing = "lost" in predicted.measure and max(map(abs, losses)) < NOTHING
    return {
        "workload": workload.name.ljust(26),
        "n": workload.n,
        "predicted": predicted.median,
        "low": predicted.low,
        "high": predicted.high,
        "realised": realised.median,
        "ratio": None if nothing else ratio,
        "within": nothing or bool(1 - GOAL <= ratio <= 1 + GOAL),
        "by family": None if by_family is None or nothing else by_family.median / realised.median,
        "chance": max(halves) / min(halves) if min(halves) > 0 else None,
        "s": seconds,
        "measure": predicted.measure,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few workloads, few fits")
    parser.add_argument("--sims", type=int, help="fits of a prediction")
    parser.add_argument("--cells", default="", help="regular expression for the names of workloads")
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, default=results / "planning.json")
    options = parser.parse_args()
    sims = options.sims or (20 if options.quick else 100)
    rows = []
    for workload in workloads(options.cells, quick=options.quick):
        rows.append(measure(workload, sims))
        print_table(rows[-1:], header=len(rows) == 1)
    met = sum(row["within"] for row in rows)
    print(f"\n{met} of {len(rows)} within {GOAL:.0%}")
    write_json(options.json, rows, sims=sims)


if __name__ == "__main__":
    main()
