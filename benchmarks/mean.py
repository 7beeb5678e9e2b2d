"""Private means: skdp beside CoinPress, a clipped mean, the non-private mean and the floor.

    python benchmarks/mean.py [--quick] [--reps N] [--cells PATTERN] [--json PATH]

Errors are l2, trimmed 10-90 %. The floor is one clipped sum with the whole budget whose centre and
radius are known for free, for neighbours that add or remove one row and a private number of rows:
the same neighbours as skdp. CoinPress and the clipped mean work for the easier neighbours that
replace one row; they know n, the variance and a ball of radius R around 0 that holds the mean,
which is at R / 2. CoinPress runs with 2, 3, 4, 10 and 20 steps and the best of them counts.
"""

import argparse
import math
import re
import warnings
from pathlib import Path
from subprocess import CalledProcessError

import numpy as np
from _coinpress import coinpress_mean, floor_mean, naive_clipped_mean
from _costs import fit_cost, import_ratio
from _harness import print_table, run_cells, write_json
from _mean_cells import MeanBudget, mean_cells

STEPS = (2, 3, 4, 10, 20)
COSTS = [  # budget, n, d, limit in ms, limit in MB above the data
    (MeanBudget.zcdp(1.0), 1600, 1000, 100.0, None),
    (MeanBudget.approximate(1.0, 1e-6), 1600, 1000, 100.0, None),
    (MeanBudget.approximate(1.0, 1e-6), 10**6, 10, 600.0, 64.0),
]
IMPORT_LIMIT = 1.15
TAIL = 1.6


def mean_methods():
    """Return the methods by name; skdp only if it can be imported."""
    methods = {
        "non-private": lambda X, cell, truth, rng: X.mean(axis=0),
        "floor": lambda X, cell, truth, rng: floor_mean(
            X[truth.bulk], truth.mean, mu=cell.budget.mu, rng=rng
        ),
        "clipped": lambda X, cell, truth, rng: naive_clipped_mean(
            X, center=0.0, radius=cell.R, rho=cell.budget.rho, rng=rng
        ),
    }
    for steps in STEPS:
        methods[f"CoinPress t={steps}"] = _coinpress(steps)
    try:
        from skdp import PrivateMean
        from skdp.exceptions import SeededNoiseWarning
    except ImportError:
        return methods
    warnings.simplefilter("ignore", SeededNoiseWarning)

    def skdp(X, cell, truth, rng):
        return (
            PrivateMean(
                epsilon=cell.budget.epsilon,
                delta=cell.budget.delta,
                trim=bool(cell.outliers),
                random_state=int(rng.integers(2**31)),
            )
            .fit(X)
            .location_
        )

    return {"skdp": skdp, **methods}


def _coinpress(steps):
    return lambda X, cell, truth, rng: coinpress_mean(
        X, center=0.0, radius=cell.R, rho=cell.budget.rho, steps=steps, rng=rng
    )


def judge(cell, rows):
    """Return one line about a cell, and its targets as dicts with ``value``, ``limit``, ``met``."""
    by = {row["method"]: row for row in rows}
    best = min((r for m, r in by.items() if m.startswith("CoinPress")), key=lambda r: r["trimmed"])
    floor, ours = by["floor"]["trimmed"], by.get("skdp")
    line = {
        "cell": cell.name,
        "reps": by["floor"]["reps"],
        "non-private": by["non-private"]["trimmed"],
        "floor": floor,
        "CoinPress": best["trimmed"],
        "t": int(best["method"].rpartition("=")[2]),
        "ms CoinPress": best["ms"],
    }
    if ours is None:
        return line, []
    target = _targets(cell.name)
    targets = [target("error / best CoinPress", ours["trimmed"] / best["trimmed"], 1.0)]
    if "floor" in cell.limits:
        targets.append(target("error / floor", ours["trimmed"] / floor, cell.limits["floor"]))
    if "tail" in cell.limits:
        beyond = int(np.sum(ours["errors"] > TAIL * floor))
        targets.append(target(f"runs above {TAIL} floors", beyond, cell.limits["tail"]))
    line |= {
        "skdp": ours["trimmed"],
        "/ floor": ours["trimmed"] / floor,
        "max / floor": ours["max"] / floor,
        "ms": ours["ms"],
        "met": all(t["met"] for t in targets),
    }
    return line, targets


def cost_targets(pattern):
    """Measure times, memory and import; return targets."""
    targets = []
    for budget, n, d, ms, mb in COSTS:
        name = f"cost {budget.name} n={n} d={d}"
        if not re.search(pattern, name):
            continue
        cost, target = _fit_cost(n, d, budget), _targets(name)
        targets.append(target("ms, best of 7", cost["ms_min"], ms))
        targets[-1]["median"] = cost["ms_median"]
        if mb is not None and cost["mb_above_data"] is not None:
            targets.append(target("MB above the data", cost["mb_above_data"], mb))
    if re.search(pattern, "cost import"):
        ratio = import_ratio()["ratio"]
        targets.append(_targets("cost import")("import skdp / sklearn.base", ratio, IMPORT_LIMIT))
    return targets


def _fit_cost(n, d, budget):
    try:
        return fit_cost(n, d, budget.epsilon, budget.delta)
    except CalledProcessError:  # a fit that fails misses every limit
        return dict.fromkeys(("ms_min", "ms_median", "mb_above_data"), math.inf)


def _targets(cell):
    def target(what, value, limit):
        return {
            "cell": cell,
            "what": what,
            "value": value,
            "limit": limit,
            "met": bool(value <= limit),
        }

    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions, small cells")
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--cells", default="", help="regular expression for the names of cells")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results/mean.json")
    options = parser.parse_args()

    cells = [c for c in mean_cells(quick=options.quick) if re.search(options.cells, c.name)]
    methods = mean_methods()
    if "skdp" not in methods:
        print("skdp cannot be imported: baselines only")
    rows, targets, lines = [], [], []
    for cell in cells:
        done = run_cells([cell], methods, options.reps, options.seed)
        line, new = judge(cell, done)
        rows, targets, lines = rows + done, targets + new, [*lines, line]
        print_table([{**line, "cell": cell.name.ljust(44)}], header=len(lines) == 1)
    if "skdp" in methods:
        targets += cost_targets(options.cells)
    print()
    print_table(targets, ["cell", "what", "value", "limit", "met"])
    print(f"\n{sum(t['met'] for t in targets)} of {len(targets)} targets met")
    write_json(options.json, rows, summary=lines, targets=targets)


if __name__ == "__main__":
    main()
