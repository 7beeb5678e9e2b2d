"""Figures 6 and 7 (left) of FriendlyCore: private clustering at rho = 1 against the rows n.

Figure 6: eight tight clusters in the unit disc; loss = 1 - cost of k-means / private cost.
Figure 7: a mixture of eight N(c, I) in 512 columns, c uniform in {0, 1}^512; loss = mislabelled
part of the rows. "friendly tuples" is the paper's algorithm with the safe accounting and a public
ball: oracles on 400 (1000) random parts, one tuple of centres, one private step of Lloyd. skdp's
estimators are given no bounds. A run without an answer has loss 1.

Usage: ``python benchmarks/figures67.py [--quick] [--reps N] [--json PATH] [--plot PATH]``
"""

import argparse
import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _harness import print_table, run_cells, write_json
from _mean_cells import MeanBudget
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min

from skdp.accounting import Budget, Plan, Step
from skdp.cluster._synopsis import to_data, to_units
from skdp.exceptions import SeededNoiseWarning
from skdp.gate._curator import make_curator
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows

RHO = MeanBudget.zcdp(1.0)
SIZES = {6: (5000, 10**4, 2 * 10**4, 5 * 10**4, 10**5, 4 * 10**5), 7: (10**5, 2 * 10**5, 4 * 10**5)}
COLUMNS = ["figure", "n", "method", "median", "low", "high", "failures", "ms", "reps"]
K = 8


@dataclass(frozen=True)
class DiscCell:
    """Eight clusters of sd .02 per coordinate, centres uniform in the unit disc, rows within it."""

    n: int
    reps: int = 6
    radius: float = 1.0
    parts = (400, 1 / 7)

    @property
    def name(self):
        """What the random streams depend on."""
        return f"figure 6, n={self.n}"

    def draw(self, rng):
        """Return the rows and what :meth:`error` needs."""
        angle, length = rng.uniform(0, 2 * np.pi, K), np.sqrt(rng.uniform(size=K))
        centers = length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        X = np.repeat(centers, self.n // K, axis=0)
        X = X + 0.02 * rng.normal(size=X.shape)
        X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
        return X, (X, _cost(X, _lloyd(X, centers)))

    def error(self, centers, truth):
        """Return the loss."""
        X, best = truth
        return 1 - best / _cost(X, centers)


@dataclass(frozen=True)
class MixtureCell:
    """A uniform mixture of eight spherical Gaussians; float32 rows."""

    n: int
    reps: int = 2
    d: int = 512
    parts = (1000, 1 / 3)

    @property
    def radius(self):
        """The public ball of the paper."""
        return 10 * math.sqrt(K * self.d)

    @property
    def name(self):
        """What the random streams depend on."""
        return f"figure 7, n={self.n}"

    def draw(self, rng):
        """Return the rows and what :meth:`error` needs."""
        centers = rng.integers(0, 2, size=(K, self.d)).astype(np.float32)
        labels = rng.integers(K, size=self.n)
        X = rng.standard_normal((self.n, self.d), dtype=np.float32)
        for start in range(0, self.n, 10**4):
            X[start : start + 10**4] += centers[labels[start : start + 10**4]]
        return X, (X, labels)

    def error(self, centers, truth):
        """Return the loss."""
        from scipy.optimize import linear_sum_assignment

        X, labels = truth
        table = np.zeros((K, K))
        np.add.at(table, (labels, pairwise_distances_argmin(X, centers.astype(X.dtype))), 1)
        return 1 - table[linear_sum_assignment(-table)].sum() / len(X)


def _lloyd(X, centers):
    from sklearn.cluster import KMeans

    return KMeans(K, init=centers, n_init=1).fit(X).cluster_centers_


def _cost(X, centers):
    return np.square(pairwise_distances_argmin_min(X, centers)[1]).sum()


def friendly_tuples_and_lloyd(X, cell, truth, rng):
    """Run the paper's algorithm with a public ball; raise if the parts do not agree."""
    from skdp.cluster._locate import LocatedBall
    from skdp.cluster._refine import lloyd_step
    from skdp.cluster.friendly import (
        friendly_centers,
        friendly_road_steps,
        kmeans_oracle,
        pca_oracle,
    )

    budget = Budget.gaussian(RHO.epsilon, RHO.delta)
    steps, events = friendly_road_steps(budget, K, label="tuples", at_most=0.6)
    plan = Plan(budget, (*steps, Step("Lloyd")), events)
    curator = make_curator(plan, make_entropy(int(rng.integers(2**31))))
    rows, (n_parts, gamma) = ArrayRows(X), cell.parts
    centers = friendly_centers(
        rows,
        curator.child("tuples", 0.6),
        K,
        n_parts=n_parts,
        gamma=gamma,
        radius=cell.radius,
        oracle=pca_oracle if isinstance(cell, MixtureCell) else kmeans_oracle,
    )
    if centers is None:
        raise LookupError("the parts do not agree")
    located = LocatedBall(float(cell.n), 0.0, np.zeros(X.shape[1]), cell.radius, cell.radius)
    y, left = to_units(located, centers), curator.remaining
    step = lloyd_step(rows, curator, located, y, np.ones(K), share=left, label="Lloyd")
    return to_data(located, step.y + step.moves)


def friendly_core_kmeans(method):
    def run(X, cell, truth, rng):
        from skdp import FriendlyCoreKMeans

        seed = int(rng.integers(2**31))
        kmeans = FriendlyCoreKMeans(
            K, epsilon=RHO.epsilon, delta=RHO.delta, method=method, random_state=seed
        )
        return kmeans.fit(X).cluster_centers_

    return run


def lloyd_kmeans(X, cell, truth, rng):
    from skdp import LloydKMeans

    seed = int(rng.integers(2**31))
    kmeans = LloydKMeans(K, epsilon=RHO.epsilon, delta=RHO.delta, random_state=seed)
    return kmeans.fit(X).cluster_centers_


METHODS = {
    "friendly tuples": friendly_tuples_and_lloyd,
    "FriendlyCoreKMeans friendly": friendly_core_kmeans("friendly"),
    "FriendlyCoreKMeans auto": friendly_core_kmeans("auto"),
    "LloydKMeans": lloyd_kmeans,
}


def run(reps=None, quick=False):
    rows = []
    for figure, make in ((6, DiscCell), (7, MixtureCell)):
        methods = dict(METHODS)
        if figure == 7:  # k-means on single parts is no oracle for many columns
            del methods["FriendlyCoreKMeans friendly"]
        for n in SIZES[figure][1:-1:2] if quick else SIZES[figure]:
            for row in run_cells([make(n)], methods, 2 if quick else reps):
                errors = np.minimum(row.pop("errors"), 1)  # no answer: infinite, so loss 1
                row |= {"figure": figure, "n": n, "median": float(np.median(errors))}
                row["low"], row["high"] = map(float, np.quantile(errors, [0.1, 0.9]))
                row["failures"] = int(np.count_nonzero(errors == 1))
                rows.append({name: row[name] for name in COLUMNS})
                print_table(rows[-1:], header=len(rows) == 1)
    return rows


def plot(rows, path):
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, figure in zip(axes, (6, 7), strict=True):
        for name in METHODS:
            line = [row for row in rows if row["figure"] == figure and row["method"] == name]
            n, median = [row["n"] for row in line], [row["median"] for row in line]
            band = [[row[side] for row in line] for side in ("low", "high")]
            ax.plot(n, median, marker="o", label=name)
            ax.fill_between(n, *band, alpha=0.15)
        ax.set(xscale="log", xlabel="rows", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("loss of k-means cost (figure 6)")
    axes[1].set_ylabel("mislabelled rows (figure 7, left)")
    axes[0].legend(fontsize=8)
    fig.suptitle("Private clustering, k = 8, rho = 1")
    fig.savefig(path, dpi=120)


def main():
    results = Path(__file__).parent / "results"
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few sizes, two repetitions")
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--json", type=Path, default=results / "figures67.json")
    parser.add_argument("--plot", type=Path, default=results / "figures67.png")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows = run(options.reps, options.quick)
    if not options.quick:
        write_json(options.json, rows)
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
