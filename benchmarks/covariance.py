"""Private covariance matrices: skdp beside the matrix without privacy, at any conditioning.

    python benchmarks/covariance.py [--quick] [--reps N] [--cells PATTERN] [--json PATH]

Errors are |S^-1/2 Shat S^-1/2 - 1|_F; in a cell of lower rank, of the matrix within its range, and
beside them the leak: the norm of the matrix outside. Location, scale and conditioning are unknown
to skdp; neighbours add or remove a row. "ratio" is the error over that of ``numpy.cov``, medians.
"""

import argparse
import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _harness import print_table, run_cells, write_json
from _mean_cells import MeanBudget

from skdp.covariance import PrivateCovariance
from skdp.exceptions import SeededNoiseWarning

HALF, ONE = MeanBudget.zcdp(0.5), MeanBudget.approximate(1.0, 1e-6)


@dataclass(frozen=True)
class CovarianceCell:
    """Rows of a law with a known covariance matrix, and the most that the ratio may be."""

    budget: MeanBudget
    n: int
    d: int
    law: str
    reps: int = 20
    limit: float | None = None

    @property
    def name(self):
        """Name of the cell."""
        return f"{self.budget.name} d={self.d} n={self.n} {self.law}"

    def draw(self, rng):
        """Return rows and a matrix R with R S R^T = 1, and one whose rows vanish on the rows."""
        n, d, (kind, _, number) = self.n, self.d, self.law.partition(" ")
        normal = rng.standard_normal((n, d))
        if kind == "condition":
            kappa = float(number)
            Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
            L = Q * np.logspace(0, np.log10(kappa) / 2, d)
            return normal @ L.T + 100 * np.sqrt(kappa), (np.linalg.inv(L), None)
        if kind == "rank":
            Q, r = np.linalg.qr(rng.standard_normal((d, d)))[0], int(number)
            return normal[:, :r] @ Q[:, :r].T + 100, (Q[:, :r].T, Q[:, r:].T)
        if kind == "units":
            units = np.logspace(-12, 12, d)
            return normal * units + 5 * units, (np.diag(1 / units), None)
        if kind in ("binary", "half-binary"):
            p, dense = float(number), d // 2 if kind == "half-binary" else 0
            X = (rng.random((n, d)) < p).astype(float)
            X[:, :dense] = normal[:, :dense]
            return X, (np.diag([1.0] * dense + [(p * (1 - p)) ** -0.5] * (d - dense)), None)
        if kind == "duplicated":
            normal[:, 0] = normal[:, 1]
            gap = np.zeros((1, d))
            gap[0, :2] = 1, -1
            return normal, (np.eye(d)[1:], gap)
        if kind == "constant":
            normal[:, 0], normal[:, 1] = 5, 1e9
            return normal, (np.eye(d)[2:], np.eye(d)[:2])
        if kind == "outliers":
            normal[: n // 100] *= 1e4
            return normal, (np.eye(d), None)
        X, variance = {
            "t5": lambda: (rng.standard_t(5, (n, d)), 5 / 3),
            "laplace": lambda: (rng.laplace(size=(n, d)), 2.0),
            "exponential": lambda: (rng.exponential(size=(n, d)), 1.0),
        }[kind]()
        return X, (np.eye(d) / np.sqrt(variance), None)

    def error(self, result, truth):
        """Return the error within the range."""
        root = truth[0]
        return np.linalg.norm(root @ result[0] @ root.T - np.eye(len(root)))


def cells():
    """Return the fixed cells, those of the targets first."""
    for law in ("1", "1e2", "1e4", "1e6", "1e12"):
        yield CovarianceCell(HALF, 10_000, 20, f"condition {law}", 20, 1.09)
    for law in ("1", "1e6", "1e12"):
        yield CovarianceCell(HALF, 100_000, 50, f"condition {law}", 5, 1.04)
        yield CovarianceCell(ONE, 20_000, 10, f"condition {law}", 20, 1.25)
    yield CovarianceCell(HALF, 100_000, 50, "rank 5", 3, None)
    yield CovarianceCell(HALF, 10_000, 20, "rank 10", 10, None)
    yield CovarianceCell(HALF, 10_000, 20, "binary 0.02", 20, 1.5)
    yield CovarianceCell(HALF, 10_000, 20, "half-binary 0.02", 20, 1.5)
    for law in ("binary 0.005", "units", "duplicated", "constant", "outliers"):
        yield CovarianceCell(HALF, 10_000, 20, law, 10)
    for law in ("t5", "laplace", "exponential"):
        yield CovarianceCell(HALF, 10_000, 20, law, 10)
    frontier = {
        HALF: (
            ("1", ((250, 5), (500, 5), (1000, 20), (2000, 20), (8000, 50))),
            ("1e6", ((500, 5), (1000, 5), (4000, 20), (16_000, 50))),
            ("1e12", ((1000, 5), (6000, 20), (8000, 20), (30_000, 50))),
        ),
        ONE: (
            ("1", ((1000, 5), (2000, 10), (4000, 10), (8000, 20), (30_000, 50))),
            ("1e6", ((2000, 5), (6000, 10), (16_000, 20), (64_000, 50))),
            ("1e12", ((4000, 5), (8000, 10), (24_000, 20))),
        ),
    }
    for budget, rows in frontier.items():
        for kappa, sizes in rows:
            for n, d in sizes:
                reps = 10 if d < 50 else 4
                yield CovarianceCell(budget, n, d, f"condition {kappa}", reps)


def methods():
    """Return the methods by name; each returns a matrix and facts about it."""

    def skdp(denoise):
        def fit(X, cell, truth, rng):
            seed, budget = int(rng.integers(2**31)), cell.budget
            estimator = PrivateCovariance(
                epsilon=budget.epsilon, delta=budget.delta, denoise=denoise, random_state=seed
            ).fit(X)
            leak = truth[1]
            S = estimator.covariance_
            out = 0.0 if leak is None else np.linalg.norm(leak @ S @ leak.T)
            FACTS.setdefault((cell.name, denoise), []).append((estimator.resolved_rank_, out))
            return S, estimator.resolved_rank_

        return fit

    return {
        "skdp": skdp(True),
        "skdp, no denoising": skdp(False),
        "non-private": lambda X, cell, truth, rng: (np.cov(X, rowvar=False), None),
    }


FACTS = {}


def line(cell, rows):
    """Return one line about a cell."""
    by = {row["method"]: row for row in rows}
    ours, exact = by["skdp"], by["non-private"]
    facts = FACTS[cell.name, True]
    ratio = ours["median"] / exact["median"]
    return {
        "cell": cell.name,
        "non-private": exact["median"],
        "skdp": ours["median"],
        "max": ours["max"],
        "ratio": ratio,
        "limit": cell.limit,
        "met": None if cell.limit is None else bool(ratio <= cell.limit),
        "raw": by["skdp, no denoising"]["median"],
        "rank": f"{min(r for r, _ in facts)}..{max(r for r, _ in facts)}",
        "leak": max(out for _, out in facts),
        "ms": ours["ms"],
        "reps": ours["reps"],
    }


def speed(n=10**6, d=50):
    """Return the CPU seconds of a fit to a large table beside those of ``numpy.cov``."""
    rng = np.random.default_rng(0)
    X, _ = CovarianceCell(HALF, n, d, "condition 1e4").draw(rng)

    def seconds(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    exact = min(seconds(lambda: np.cov(X, rowvar=False)) for _ in range(3))
    private = PrivateCovariance(epsilon=HALF.epsilon, delta=HALF.delta, random_state=0)
    ours = min(seconds(lambda: private.fit(X)) for _ in range(2))
    return {
        "cell": f"CPU seconds d={d} n={n}",
        "skdp": ours,
        "numpy.cov": exact,
        "limit": 3 * exact + 2,
        "met": ours <= 3 * exact + 2,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions, small cells")
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--cells", default="", help="regular expression for the names of cells")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results/covariance.json"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    chosen = [c for c in cells() if re.search(options.cells, c.name)]
    if options.quick:
        chosen, options.reps = [c for c in chosen if c.n * c.d <= 200_000], options.reps or 3
    rows, lines = [], []
    for cell in chosen:
        done = run_cells([cell], methods(), options.reps, options.seed)
        rows, lines = rows + done, [*lines, line(cell, done)]
        print_table([{**lines[-1], "cell": cell.name.ljust(42)}], header=len(lines) == 1)
    times = []
    if not options.quick and re.search(options.cells, "CPU"):
        times = [speed()]
        print_table(times)
    judged = [row["met"] for row in [*lines, *times] if row["met"] is not None]
    print(f"\n{sum(judged)} of {len(judged)} targets met")
    write_json(options.json, rows, summary=lines, times=times)


if __name__ == "__main__":
    main()
