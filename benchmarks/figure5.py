"""Figure 5 of FriendlyCore: the error of a mean against its bound R, the columns d, the rows n.

Three panels as a table, as JSON and, with matplotlib, as a plot: PrivateMean, the paper's algorithm
(:func:`skdp.friendly.friendly_mean`) with known and with unknown diameter, CoinPress for several
numbers of steps, the noise floor (centre and radius known) and the mean without privacy. rho = 1
(epsilon chosen to match at delta = 1e-6). Where an algorithm gives no answer its error is infinite.

Usage: ``python benchmarks/figure5.py [--reps N] [--json PATH] [--plot PATH]``
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
from _coinpress import coinpress_mean, floor_mean
from _harness import print_table, run_cells, write_json
from _mean_cells import MeanBudget, MeanCell

from skdp import PrivateMean
from skdp.accounting import Budget
from skdp.exceptions import SeededNoiseWarning
from skdp.friendly import RadiusGrid, friendly_mean, friendly_mean_plan
from skdp.gate._curator import make_curator
from skdp.mechanisms import make_entropy

RHO = MeanBudget.zcdp(1.0)
STEPS = (2, 4, 10, 20)
PANELS = {
    "R": [(800, 1000, R, 20) for R in (10 * math.sqrt(1000), 1e4, 1e6, 1e8, 1e10, 1e12)],
    "d": [
        (800, d, 10 * math.sqrt(d), reps)
        for d, reps in ((1000, 20), (2000, 20), (4000, 10), (8000, 6), (16000, 4))
    ],
    "n": [(n, 50, 10 * math.sqrt(50), 40) for n in (100, 200, 400, 800, 1600, 3200)],
}
LABELS = {"R": "R, n = 800, d = 1000", "d": "d, n = 800, R = 10 sqrt(d)", "n": "n, d = 50"}


def methods():
    def private_mean(X, cell, truth, rng):
        seed = int(rng.integers(2**31))
        mean = PrivateMean(epsilon=cell.budget.epsilon, delta=cell.budget.delta, random_state=seed)
        return mean.fit(X).location_

    def friendly(X, cell, truth, rng, radius):
        budget = Budget.gaussian(cell.budget.epsilon, cell.budget.delta)
        entropy = make_entropy(int(rng.integers(2**31)))
        curator = make_curator(friendly_mean_plan(budget, radius=radius), entropy)
        mean = friendly_mean(X, curator=curator, radius=radius)
        return np.full(cell.d, np.inf) if mean is None else mean.value

    def known(X, cell, truth, rng):
        radius = math.sqrt(2) * (math.sqrt(cell.d) + math.sqrt(math.log(100 * cell.n)))
        return friendly(X, cell, truth, rng, radius)

    def unknown(X, cell, truth, rng):
        return friendly(X, cell, truth, rng, RadiusGrid(0.1, 1e6))

    def coinpress(steps):
        return lambda X, cell, truth, rng: coinpress_mean(
            X, center=0.0, radius=cell.R, rho=cell.budget.rho, steps=steps, rng=rng
        )

    return {
        "PrivateMean": private_mean,
        "FriendlyCore": known,
        "FriendlyCore, no diameter": unknown,
        **{f"CoinPress t={t}": coinpress(t) for t in STEPS},
        "floor": lambda X, cell, truth, rng: floor_mean(X, truth.mean, mu=cell.budget.mu, rng=rng),
        "non-private": lambda X, cell, truth, rng: X.mean(axis=0),
    }


def run(reps=None):
    rows = []
    for panel, points in PANELS.items():
        for n, d, R, cell_reps in points:
            cell = MeanCell(RHO, n, d, R, cell_reps)
            for row in run_cells([cell], methods(), reps):
                rows.append({"panel": panel, "n": n, "d": d, "R": R, **row})
            line = {"panel": panel, "n": n, "d": d, "R": R}
            line |= {row["method"]: row["trimmed"] for row in rows if row["cell"] == cell.name}
            print_table([line], header=len(rows) == len(methods()))
    return rows


def plot(rows, path):
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    for ax, panel in zip(axes, PANELS, strict=True):
        for name in methods():
            line = [row for row in rows if row["panel"] == panel and row["method"] == name]
            own = name.startswith(("PrivateMean", "FriendlyCore"))
            ax.loglog(
                [row[panel] for row in line],
                [row["trimmed"] for row in line],
                marker="o" if own else None,
                lw=2 if own else 1,
                ls=":" if name in ("floor", "non-private") else "-",
                label=name,
            )
        ax.set_xlabel(LABELS[panel])
        best = min(row["trimmed"] for row in rows if row["panel"] == panel)
        ax.set_ylim(best / 1.3, {"R": 50, "d": 500, "n": 10}[panel])
    axes[0].set_ylabel("error of the mean (l2, trimmed)")
    axes[0].legend(fontsize=7)
    fig.suptitle("Private mean of N(mu, I), rho = 1 (PrivateMean and FriendlyCore: n private)")
    fig.savefig(path, dpi=120)


def main():
    results = Path(__file__).parent / "results"
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--json", type=Path, default=results / "figure5.json")
    parser.add_argument("--plot", type=Path, default=results / "figure5.png")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows = run(options.reps)
    write_json(options.json, rows)
    plot(rows, options.plot)


if __name__ == "__main__":
    main()
