"""Predicted against realised error: what ``expected_error`` says, and what fits then do.

    python benchmarks/planning.py [--quick] [--sims N] [--cells PATTERN] [--json PATH]

"predicted" is the median error of N fits on public rows (of 4 N if the error is one of columns, of
8 N for one column: such fits are quick): of the family that is named, for rows of known laws; for
real tables of a public part, with half as many rows as are fitted. "realised" is the median of as
many fits on private tables, which the plan has not seen: of the law, or drawn from the other rows
of a real table. The goal is a ratio within 15 %. "covers" is the part of the realised errors in the
predicted range, which is one of 80 %.

With a quarter of the fits: "one table" is the ratio for one private table alone, "report" for a
plan that knows nine quantiles of each column of the public part, in three digits, and "by family"
for one that knows nothing but a family. "chance" is by how much, with probability 0.9, the ratio is
off because both medians are of so many fits, and "far" says that it is beyond 15 % and chance.
Where less than a thousandth of a score is lost in both, the prediction is right and has no ratio.
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
FEW, MANY = 4, 12
KNOWN = ("one table", "report", "by family")
NOTHING = 1e-3  # scores lost below this are none, and have no ratio


def measure(workload, sims):
    """Return one line of the table."""
    sims *= 1 if not workload.is_quick or workload.d > MANY else 8 if workload.d == 1 else 4
    start, n, known = time.process_time(), workload.n, {}

    def errors(seed=0, part=1, **rows):
        d = None if isinstance(rows.get("family"), list) else workload.d
        plan = workload.estimator.expected_error
        return plan(n, d, n_sims=max(sims // part, 1), random_state=seed, **rows)

    if workload.law is not None:
        predicted, realised = errors(family=workload.family), errors(1, family=workload.law)
    else:
        parts = workload.split()
        predicted, realised = errors(like=parts.public), errors(1, like=parts.private)
        known["one table"] = predicted, errors(1, FEW, like=parts.one_table(n))
        if parts.report() is not None:
            known["report"] = errors(2, FEW, family=parts.report()), realised
        if workload.family is not None:
            known["by family"] = errors(2, FEW, family=workload.family), realised
    ratio = _ratio(predicted, realised)
    chance = None if ratio is None else _chance(predicted, realised)
    inside = (predicted.low <= realised.errors) & (realised.errors <= predicted.high)
    return {
        "workload": workload.name.ljust(26),
        "n": n,
        "predicted": predicted.median,
        "low": predicted.low,
        "high": predicted.high,
        "realised": realised.median,
        "ratio": ratio,
        "within": ratio is None or bool(1 - GOAL <= ratio <= 1 + GOAL),
        "covers": float(inside.mean()),
        **{name: _ratio(*known[name]) if name in known else None for name in KNOWN},
        "chance": chance,
        "far": bool(chance and abs(np.log(ratio)) > -np.log(1 - GOAL) + np.log1p(chance)),
        "s": time.process_time() - start,
        "measure": predicted.measure,
    }


def _ratio(predicted, realised):
    """Return predicted by realised; None where both say that nothing is lost."""
    both = predicted.median, realised.median
    nothing = "lost" in predicted.measure and max(map(abs, both)) < NOTHING
    return None if nothing else both[0] / both[1]


def _chance(predicted, realised):
    """Return by how much chance may have moved the ratio of two medians, None below 0."""
    ends = np.array([predicted.median_range, realised.median_range])
    if ends.min() <= 0:
        return None
    return float(np.expm1(np.linalg.norm(np.diff(np.log(ends)) / 2)))


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
        write_json(options.json, rows, sims=sims)
    met = sum(row["within"] for row in rows)
    far = sum(row["far"] for row in rows)
    print(f"\n{met} of {len(rows)} within {GOAL:.0%}, {far} far beyond chance")


if __name__ == "__main__":
    main()
