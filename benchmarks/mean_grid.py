"""Means of columns with other places and units: errors beside the floor of one sum of all rows.

    python benchmarks/mean_grid.py [--quick] [--reps N] [--cells PATTERN] [--json PATH]

Rows are Gaussian with independent columns. "grid" has places of 10 sd, scales 10^U(-2, 2), both or
neither; its floor is ``(sqrt(d) + 2) / (n mu)`` per column, in standard deviations, and "error" the
root of the mean square over columns and fits. "places" are 50 apart, "unlike" columns have sd
100 / i^p at 1000: their "l2" is the length of the error over ``1.2 sum(sd) / (n mu)``, and "worst"
the largest column, in sd. "covers" is the part of the intervals of 95 % that hold the mean of the
rows. All fits are at epsilon = 1, delta = 1e-6.
"""

import argparse
import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from _mean_cells import MeanBudget

from skdp import PrivateMean
from skdp.exceptions import SeededNoiseWarning

BUDGET = MeanBudget.approximate(1.0, 1e-6)
LEAST = 40  # rows in noise units of one of d sums: with fewer there is no target
GOALS = {"median": 1.3, "95 %": 2.0, "worst": 3.0}
UNLIKE, WORST, PLACES = 1.5, 1.0, 1.1


@dataclass(frozen=True)
class Cell:
    """One kind of tables."""

    kind: str
    d: int
    n: int
    what: str = ""
    power: int = 0

    @property
    def name(self):
        """Kind, shape and what is special."""
        return f"{self.kind} d={self.d} n={self.n} {self.what}".strip()

    def draw(self, rng):
        """Return rows and the scales of their columns."""
        scale, place = np.ones(self.d), np.zeros(self.d)
        if "scales" in self.what:
            scale = 10 ** rng.uniform(-2, 2, self.d)
        if "offsets" in self.what:
            place = 10 * rng.normal(size=self.d)
        if self.kind == "places":
            place = 50.0 * np.arange(self.d)
        if self.kind == "unlike":
            scale = 100.0 / np.arange(1, self.d + 1) ** self.power
            place = 1000 / scale
        return (rng.normal(size=(self.n, self.d)) + place) * scale, scale


def cells(*, quick=False):
    """Return all cells; quick: those of 2000 rows, and one of the others."""
    grid = [
        Cell("grid", d, n, what)
        for d in (2, 5, 10, 20, 50, 100)
        for n in (500, 2000, 10000)
        for what in ("alike", "offsets", "scales", "offsets, scales")
        if n * BUDGET.mu / math.sqrt(d) >= LEAST
    ]
    others = [Cell("places", 50, 4000, "50 apart")]
    others += [
        Cell("unlike", d, 4000, f"100/i^{power}", power)
        for d, power in ((50, 1), (100, 1), (50, 2), (100, 2))
    ]
    return [c for c in grid if c.n == 2000] + others[::3] if quick else grid + others


def measure(cell, reps, seed, **options):
    """Return one line of the table."""
    errors, scales, covered, reliable = [], [], [], 0
    for rep in range(reps):
        X, scale = cell.draw(np.random.default_rng([seed, cell.d, cell.n, cell.power, rep]))
        mean = PrivateMean(random_state=1000 * seed + rep, **options).fit(X)
        low, high = mean.interval()
        truth = X.mean(axis=0)
        errors.append(mean.location_ - truth)
        scales.append(scale)
        covered.append(np.mean((low <= truth) & (truth <= high)))
        reliable += bool(np.all(mean.reliable_))
    errors, scales = np.array(errors), np.array(scales)
    part = np.square(errors / scales)
    units = cell.n * BUDGET.mu
    floor = (math.sqrt(cell.d) + 2) / units
    ideal = 1.2 * scales.sum(axis=1) / units
    return {
        "cell": cell.name.ljust(34),
        "units": units / math.sqrt(cell.d),
        "error": math.sqrt(part.mean()) / floor,
        "best": math.sqrt(part.mean(axis=1).min()) / floor,
        "most": math.sqrt(part.mean(axis=1).max()) / floor,
        "l2": float(np.mean(np.linalg.norm(errors, axis=1) / ideal)),
        "worst": float(np.sqrt(part.mean(axis=0)).max()),
        "covers": float(np.mean(covered)),
        "reliable": reliable,
    }


def targets(lines):
    """Return what the lines should show, and whether they do."""
    by = {}
    for line in lines:
        by.setdefault(line["cell"].split()[0], []).append(line)
    if "grid" in by:
        error = np.array([line["error"] for line in by["grid"]])
        told = np.median(error), np.quantile(error, 0.95), error.max()
        for (what, limit), value in zip(GOALS.items(), told, strict=True):
            yield {"cell": "grid", "what": f"error / floor, {what}", "value": value, "limit": limit}
    for line in by.get("places", ()):
        yield {"cell": line["cell"], "what": "error", "value": line["error"], "limit": PLACES}
    for line in by.get("unlike", ()):
        for what, limit in (("l2", UNLIKE), ("worst", WORST)):
            yield {"cell": line["cell"], "what": what, "value": line[what], "limit": limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions, few cells")
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--cells", default="", help="regular expression for the names of cells")
    parser.add_argument("--accuracy", help="what PrivateMean balances; its default without")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results/mean_grid.json"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    warnings.simplefilter("ignore", UserWarning)
    reps = options.reps or (2 if options.quick else 6)
    given = {} if options.accuracy is None else {"accuracy": options.accuracy}
    lines = []
    for cell in cells(quick=options.quick):
        if re.search(options.cells, cell.name):
            lines.append(measure(cell, reps, options.seed, **given))
            print_table(lines[-1:], header=len(lines) == 1)
    judged = [{**one, "met": bool(one["value"] <= one["limit"])} for one in targets(lines)]
    print()
    print_table(judged)
    write_json(options.json, [], summary=lines, targets=judged)


if __name__ == "__main__":
    main()
