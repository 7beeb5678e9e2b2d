"""Seconds and memory of the core of a table as the number of rows grows, one thread.

Above 20,000 rows friends are counted in random groups; the squared sensitivity bounds their size.
Each case is measured in a process of its own.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from _harness import print_table, write_json

DEFAULT_JSON = Path(__file__).parent / "results" / "filter_scale.json"
RHO_1 = 8.53, 1e-8
CASES = [
    # rows, columns, (epsilon, delta), share of the filter, largest table counted without groups
    (20_000, 10, RHO_1, 0.3, 20_000),
    (50_000, 10, RHO_1, 0.3, 20_000),
    (100_000, 10, RHO_1, 0.3, 20_000),
    (200_000, 10, RHO_1, 0.3, 20_000),
    (500_000, 10, RHO_1, 0.3, 20_000),
    (1_000_000, 10, RHO_1, 0.3, 20_000),
    (1_000_000, 10, RHO_1, None, 20_000),
    (1_000_000, 10, (1.0, 1e-6), None, 20_000),
    (20_000, 100, RHO_1, None, 30_000),
]
CODE = """
import json, sys, time
import numpy as np
from skdp.gate._curator import make_curator
from skdp.accounting import Budget
from skdp.friendly import DistancePredicate, friendly_core, friendly_mean_plan
from skdp.mechanisms import make_entropy

n, d, budget, share, most = json.loads(sys.argv[1])
radius = float(np.sqrt(2 * d) + 2.5)
plan = friendly_mean_plan(Budget.gaussian(*budget), radius=radius)


def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def core(X):
    start = time.perf_counter()
    curator = make_curator(plan, make_entropy())
    kept = friendly_core(X, DistancePredicate(radius), curator, share=share, most=most).mask
    return time.perf_counter() - start, kept, curator


X = np.random.default_rng(0).normal(size=(n, d))
core(X[:2000])
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = memory("VmRSS")
seconds, kept, curator = core(X)
charge = curator.close("").charges[-1]
print(json.dumps({
    "seconds": seconds, "mb_above_data": memory("VmHWM") - before,
    "kept": float(kept.mean()), "sensitivity_squared": charge.sensitivity ** 2,
}))
"""


def measure():
    for n, d, budget, share, most in CASES:
        case = json.dumps([n, d, budget, share, most])
        run = subprocess.run([sys.executable, "-c", CODE, case], check=True, capture_output=True)
        yield {
            "n": n,
            "d": d,
            "epsilon": budget[0],
            "share": share or "auto",
            **json.loads(run.stdout),
        }


COLUMNS = [
    "n",
    "d",
    "epsilon",
    "share",
    "seconds",
    "mb_above_data",
    "kept",
    "sensitivity_squared",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    args = parser.parse_args()
    rows = list(measure())
    print_table(rows, COLUMNS)
    write_json(args.json, rows)


if __name__ == "__main__":
    main()
