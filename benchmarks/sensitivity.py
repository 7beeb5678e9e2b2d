"""Sensitivity preprocessing: its times at a million rows, and its medians against others'.

Times, the best of three, are of the whole way from floats to the exact bounded integer on one core,
with the targets that they are held against. Medians are compared with smooth sensitivity (Nissim,
Raskhodnikova and Smith 2007; Cauchy noise with delta = 0, Laplace noise with delta = 1e-6) and with
the exponential mechanism. Smooth sensitivity protects the replacement of one row, for which
preprocessing needs twice its sensitivity: "replace one" is the fair column. The others add or
remove a row.

Usage: ``python benchmarks/sensitivity.py [--reps N] [--large] [--json PATH]``
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from _harness import print_table, write_json

from skdp.accounting import Budget, Plan, Step
from skdp.gate._curator import make_curator
from skdp.mechanisms import make_entropy
from skdp.sensitivity import Quantile, TrimmedMean, bounded_statistic

DELTA = 1e-6
TARGETS = {"median": 0.3, "max": 0.3, "range": 0.3, "mean": 3.0, "variance": 2.0}
TABLES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(0, 2, size=n),
    "pareto": lambda rng, n: rng.pareto(1.2, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
}
STATISTICS = ("median", "max", "range", "mean", "variance", "std", Quantile(0.25), TrimmedMean(0.1))
REACH = 20.0  # n times the sensitivity


def times(large):
    rows = []
    for n in (10**6, 10**7) if large else (10**6,):
        for table, draw in TABLES.items():
            x = draw(np.random.default_rng(0), n)
            for statistic in STATISTICS if n == 10**6 else ("median",):
                seconds = min(_seconds(x, statistic) for _ in range(3))
                target = None
                if table != "cauchy":
                    target = 3.0 if n > 10**6 else TARGETS.get(statistic)
                name = str(statistic)
                rows.append({"n": n, "table": table, "statistic": name, "seconds": seconds})
                rows[-1] |= {"target": target, "met": seconds <= (target or math.inf)}
                print_table(rows[-1:], header=len(rows) == 1)
    return rows


def _seconds(x, statistic):
    start = time.perf_counter()
    bounded_statistic(x, statistic, sensitivity=REACH / len(x))
    return time.perf_counter() - start


def preprocessing(x, epsilon, reps, rng, *, sensitivity, center, replace=1, **_):
    """Return noisy medians; the noise is drawn by the Curator, once per repetition."""
    bounded = bounded_statistic(x, "median", sensitivity=sensitivity, center=center)
    plan = Plan(Budget.pure(epsilon), (Step("medians", "laplace"),))
    curator = make_curator(plan, make_entropy(int(rng.integers(2**31))))
    release = curator.laplace(
        np.full(reps, bounded.value),
        sensitivity=replace * bounded.sensitivity,
        share=1,
        label="medians",
    )
    return bounded.origin + bounded.unit * release.value


def smooth_sensitivity(x, beta, low, high):
    """Return max_k e^(-beta k) times the local sensitivity of the median at distance k."""
    n, middle, best = len(x), (len(x) - 1) // 2, 0.0
    s = np.concatenate([np.full(n + 2, low), np.sort(np.clip(x, low, high)), np.full(n + 2, high)])
    middle += n + 2
    for k in range(n + 1):
        gaps = s[middle : middle + k + 2] - s[middle - k - 1 : middle + 1]
        best = max(best, math.exp(-beta * k) * float(gaps.max()))
    return best


def smooth_cauchy(x, epsilon, reps, rng, *, low, high, **_):
    S = smooth_sensitivity(x, epsilon / 6, low, high)
    return np.median(x) + 6 * S / epsilon * rng.standard_cauchy(reps)


def smooth_laplace(x, epsilon, reps, rng, *, low, high, **_):
    S = smooth_sensitivity(x, epsilon / (2 * math.log(2 / DELTA)), low, high)
    return np.median(x) + 2 * S / epsilon * rng.laplace(size=reps)


def exponential(x, epsilon, reps, rng, *, low, high, **_):
    """Draw from a density in proportion to exp(-epsilon |rank - n / 2|) on the public range."""
    edges = np.concatenate([[low], np.sort(np.clip(x, low, high)), [high]])
    width = np.diff(edges)
    with np.errstate(divide="ignore"):
        weights = np.log(width) - epsilon * np.abs(np.arange(len(width)) - len(x) / 2)
    weights = np.exp(weights - weights.max())
    at = rng.choice(len(width), size=reps, p=weights / weights.sum())
    return edges[at] + width[at] * rng.uniform(size=reps)


METHODS = {
    "add or remove": preprocessing,
    "replace one": lambda *given, **more: preprocessing(*given, **more, replace=2),
    "smooth, Cauchy": smooth_cauchy,
    "smooth, Laplace": smooth_laplace,
    "exponential": exponential,
}


def _incomes(sensitivity):
    def draw(rng):
        x = np.minimum(rng.lognormal(10.6, 0.8, size=2001), 1e6)
        return x, {"sensitivity": sensitivity / 2001, "center": 30000.0, "low": 0.0, "high": 1e6}

    return draw


def _example(rng):
    x = np.arange(1, 1002) / 1001
    return x, {"sensitivity": 1 / 1001, "center": 0.25, "low": 0.0, "high": 1.0}


def _ones(rng):
    return np.ones(1001), {"sensitivity": 1 / 1001, "center": 0.5, "low": 0.0, "high": 1.0}


def _far(center, sensitivity):
    def draw(rng):
        x = rng.standard_t(3, size=1001) + 50
        return x, {"sensitivity": sensitivity, "center": center, "low": -1000.0, "high": 1000.0}

    return draw


CELLS = {  # (how to draw, number of tables, whether the error must be a fifth of the others)
    "i / n": (_example, 1, True),
    "income, D = 60000 / n, one table": (_incomes(60000), 1, True),
    "income, D = 60000 / n": (_incomes(60000), 20, True),
    "income, D = 40000 / n": (_incomes(40000), 20, False),
    "all ones": (_ones, 1, False),
    "t3 + 50, centre 0": (_far(0.0, 0.2), 10, False),
    "t3 + 50, centre 40": (_far(40.0, 0.03), 10, False),
}


def medians(reps):
    rows = []
    for cell, (draw, tables, judged) in CELLS.items():
        for epsilon in (0.1, 0.5, 1.0):
            errors = {name: [] for name in METHODS}
            for seed in range(tables):
                x, given = draw(np.random.default_rng(seed))
                for k, (name, method) in enumerate(METHODS.items()):
                    rng = np.random.default_rng([seed, k])
                    found = method(x, epsilon, reps // tables, rng, **given)
                    errors[name].append(np.abs(found - np.median(x)))
            line = {"cell": cell, "epsilon": epsilon}
            for name, parts in errors.items():
                error = np.concatenate(parts)
                line[name] = float(np.median(error))
                line[f"{name}, 95 %"] = float(np.quantile(error, 0.95))
            smooth = min(line["smooth, Cauchy"], line["smooth, Laplace"])
            line["part of smooth"] = line["replace one"] / smooth if smooth else math.inf
            line["met"] = not judged or line["part of smooth"] <= 1 / 5
            rows.append(line)
            shown = ["cell", "epsilon", *METHODS, "part of smooth", "met"]
            print_table(rows[-1:], shown, header=len(rows) == 1)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, default=20_000, help="noise draws in every cell")
    parser.add_argument("--large", action="store_true", help="time ten million rows as well")
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, default=results / "sensitivity.json")
    options = parser.parse_args()
    timed = times(options.large)
    print()
    write_json(options.json, timed, medians=medians(options.reps))


if __name__ == "__main__":
    main()
