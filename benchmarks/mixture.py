"""Private Gaussian mixtures: held-out log-likelihood against that of scikit-learn.

Loss: nats per row of fresh data by which PrivateGMM (epsilon = 1, delta = 1e-6, no bounds given)
stays below ``GaussianMixture(n_init=3)`` with the same covariance_type on the same rows. Centres
lie at least ``sep`` apart, in units of the largest standard deviation of a component. Eigenvalues
of covariances: "mild" .3 to 1 and "hard" .01 to 1 in random directions, "aligned" .1 to 1.
"units": mild, with columns in units from 1e-3 to 1e6. "levels": three columns of four levels each
as zeros and ones, every component with a preferred level of probability .7; "levels+4" has four
numeric columns beside them, "rare" levels of Dirichlet(.5). "far": one component of 4.9 % a
thousand standard deviations away. ``one`` is the loss of one Gaussian fitted without privacy,
``worse`` counts the fits that lose more.

Usage: ``python benchmarks/mixture.py [--reps N] [--quick] [--json PATH]``
"""

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _harness import print_table, run_cells, write_json
from sklearn.mixture import GaussianMixture

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning
from skdp.mixture import PrivateGMM

HELD_OUT = 20_000


@dataclass(frozen=True)
class Cell:
    """A mixture, a number of rows, and the loss to reach."""

    n: int
    d: int
    k: int
    sep: float
    shape: str
    kind: str = "full"
    reps: int = 10
    target: float | None = None
    quick: bool = False
    epsilon: float = 1.0

    @property
    def name(self):
        """Return all that tells cells apart."""
        return f"{self.kind} {self.shape} d={self.d} k={self.k} sep={self.sep:g} n={self.n}" + (
            f" epsilon={self.epsilon:g}" if self.epsilon != 1 else ""
        )

    def draw(self, rng):
        """Return rows, and what the loss is measured with."""
        sample = {"far": self._far, "levels": self._levels, "levels+4": self._levels}.get(
            self.shape, self._levels if self.shape == "rare" else self._gaussians
        )(rng)
        train, held_out = sample(self.n), sample(HELD_OUT)

        def fit(k, starts):
            model = GaussianMixture(k, covariance_type=self.kind, n_init=starts, random_state=0)
            return model.fit(train).score(held_out)

        return train, (held_out, fit(self.k, 3), fit(1, 1))

    def error(self, result, truth):
        """Return the loss in nats per row."""
        held_out, best, _ = truth
        return best - (result if isinstance(result, float) else result.score(held_out))

    def _gaussians(self, rng):
        centers, roots = self._centers(rng), self._roots(rng)
        weights = rng.dirichlet(np.full(self.k, 8.0))
        units = 10 ** rng.uniform(-3, 6, self.d) if self.shape == "units" else 1.0

        def sample(n):
            z = rng.choice(self.k, size=n, p=weights)
            noise = rng.normal(size=(n, self.d))
            return (centers[z] + np.einsum("nij,nj->ni", roots[z], noise)) * units

        return sample

    def _far(self, rng):
        places = np.array([0.0, -self.sep, 1000.0]) / self.d**0.5

        def sample(n):
            z = rng.choice(3, size=n, p=[0.4755, 0.4755, 0.049])
            return places[z][:, None] + rng.normal(size=(n, self.d))

        return sample

    def _levels(self, rng):
        preferred = rng.integers(4, size=(self.k, 3))
        parts = 0.1 + 0.6 * np.eye(4)[preferred]
        if self.shape == "rare":
            parts = rng.dirichlet(np.full(4, 0.5), size=(self.k, 3))
        numeric = self.d - 12
        centers, weights = 3 * rng.normal(size=(self.k, numeric)), rng.dirichlet(np.full(self.k, 8))

        def sample(n):
            z = rng.choice(self.k, size=n, p=weights)
            above = rng.random((n, 3, 1)) > np.cumsum(parts[z], axis=2)
            levels = np.minimum(above.sum(axis=2), 3)
            columns = np.eye(4)[levels].reshape(n, 12)
            return np.hstack([columns, centers[z] + rng.normal(size=(n, numeric))])

        return sample

    def _centers(self, rng):
        while True:
            c = rng.normal(size=(self.k, self.d))
            c *= (
                self.sep
                * rng.uniform(0.8, 1.5, size=(self.k, 1))
                / np.linalg.norm(c, axis=1)[:, None]
            )
            gaps = np.linalg.norm(c[:, None] - c, axis=2)[np.triu_indices(self.k, 1)]
            if gaps.min() >= self.sep:
                return c

    def _roots(self, rng):
        def root():
            d = self.d
            if self.shape == "round":
                return np.eye(d) * rng.uniform(0.3, 1) ** 0.5
            low = {"mild": 0.3, "hard": 0.01, "aligned": 0.1, "units": 0.3}[self.shape]
            values = low ** rng.uniform(size=d) if self.shape == "hard" else rng.uniform(low, 1, d)
            turn = (
                np.eye(d) if self.shape == "aligned" else np.linalg.qr(rng.normal(size=(d, d)))[0]
            )
            return turn * values**0.5

        return np.stack(
            [root()] * self.k if self.kind == "tied" else [root() for _ in range(self.k)]
        )


CELLS = [
    Cell(20_000, 10, 4, 6, "mild", target=0.01, quick=True),
    Cell(20_000, 10, 4, 6, "hard", target=0.01),
    Cell(20_000, 10, 4, 6, "round", target=0.01),
    Cell(10_000, 10, 4, 6, "mild", target=0.03, quick=True),
    Cell(10_000, 10, 4, 6, "hard", target=0.03),
    Cell(4_000, 10, 4, 6, "mild", target=0.15, quick=True),
    Cell(4_000, 10, 4, 6, "hard"),
    Cell(20_000, 10, 4, 6, "aligned", "diag"),
    Cell(4_000, 10, 4, 6, "aligned", "diag", quick=True),
    Cell(4_000, 10, 4, 6, "round", "spherical", quick=True),
    Cell(4_000, 10, 4, 6, "mild", "tied", quick=True),
    Cell(20_000, 10, 4, 2.5, "mild"),
    Cell(10_000, 2, 5, 6, "mild", quick=True),
    Cell(50_000, 30, 4, 6, "mild", reps=4),
    Cell(1_000_000, 10, 4, 6, "mild", reps=1),
    Cell(20_000, 10, 4, 6, "units", target=0.01, reps=12, quick=True),
    Cell(2_000, 10, 4, 6, "mild", target=1, reps=12, quick=True),
    Cell(2_000, 10, 4, 6, "hard", reps=12),
    Cell(2_000, 10, 4, 6, "aligned", "diag", reps=12),
    Cell(1_000, 4, 3, 6, "mild", reps=12),
    Cell(300, 2, 2, 6, "mild", reps=12, quick=True),
    Cell(2_000, 2, 3, 6, "mild", reps=12, epsilon=0.2),
    Cell(500, 10, 4, 6, "mild", reps=12, epsilon=0.1),
    Cell(20_000, 12, 5, 0, "levels", reps=12),
    Cell(20_000, 16, 5, 0, "levels+4", target=0.5, reps=12),
    Cell(20_000, 12, 5, 0, "rare", reps=12),
    Cell(100_000, 3, 3, 6, "far", target=0.05, reps=6),
    Cell(100_000, 10, 3, 6, "far", target=0.05, reps=6),
]


def private_gmm(X, cell, truth, rng):
    seed = int(rng.integers(2**31))
    return PrivateGMM(
        cell.k, covariance_type=cell.kind, epsilon=cell.epsilon, random_state=seed
    ).fit(X)


def one_gaussian(X, cell, truth, rng):
    return truth[2]


def run(cells, reps=None):
    rows = []
    for cell in cells:
        row, one = run_cells([cell], {"PrivateGMM": private_gmm, "one": one_gaussian}, reps)
        line = {
            "cell": cell.name,
            "median": row["median"],
            "p90": float(np.quantile(row["errors"], 0.9)),
            "max": row["max"],
            "one": one["median"],
            "worse": sum(np.subtract(row["errors"], one["errors"]) > 0),
            "target": cell.target,
            "ms": row["ms"],
            "reps": row["reps"],
        }
        rows.append(line)
        print_table([line], header=len(rows) == 1)
    return rows


def main():
    results = Path(__file__).parent / "results"
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--quick", action="store_true", help="few cells, three repetitions")
    parser.add_argument("--json", type=Path, default=results / "mixture.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    warnings.simplefilter("ignore", LowAccuracyWarning)
    if options.quick:
        run([cell for cell in CELLS if cell.quick], options.reps or 3)
    else:
        write_json(options.json, run(CELLS, options.reps))


if __name__ == "__main__":
    main()
