"""The mechanism of Dwork, Nikolov and Talwar (2014) as published: when each of its parts pays.

error     root mean squared error of parities over n: raw noise, Frank-Wolfe, the exact projection
          (cvxpy), the square root of Theorem 4.5's bound; number of rows public, as in the paper.
steps     what a number of Frank-Wolfe steps leaves, with linear problems solved to 1e-4 of the gap
          (exact) and as the library does (hasty).
oracle    seconds for one linear maximisation, Gaussian coefficients.
boosting  largest error of a pair parity, in rows; every run spends the whole budget.
promise   guaranteed largest errors without any data, if the base were always right.
synopsis  numbers per vector, Johnson-Lindenstrauss.

Data: binary trees, every attribute depends on one of the four before it.

Usage: ``python benchmarks/marginals_published.py [--reps N] [--only TABLE] [--json PATH]``
"""

import argparse
import math
import time
from itertools import combinations
from pathlib import Path
from unittest import mock

import numpy as np
from _harness import print_table, write_json

from skdp.accounting import Budget, Plan, gaussian_sigma
from skdp.gate._curator import Curator
from skdp.marginals.published import _frank_wolfe
from skdp.marginals.published._boosting import boosted_answers, boosting_plan
from skdp.marginals.published._frank_wolfe import (
    average_error_bound,
    relaxed_projection,
    width_bound,
)
from skdp.marginals.published._relaxation import (
    bilinear_maximum,
    bilinear_maximum_by_cvxpy,
    projection_by_cvxpy,
    relaxed_body,
)
from skdp.marginals.published._synopsis import jl_dimension
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows

DELTA = 1e-6
ERRORS = tuple((d, 2, 1000, e) for d in (10, 20, 50, 100) for e in (0.1, 1))
ERRORS += ((50, 2, 10**4, 0.1), (50, 2, 10**4, 1), (100, 2, 10**4, 0.1))
ERRORS += ((10, 3, 1000, 0.1), (10, 3, 1000, 1), (20, 3, 1000, 0.1), (20, 3, 1000, 1))
ERRORS += ((30, 3, 1000, 1), (30, 3, 10**4, 1), (12, 4, 1000, 1))
EXACT_ORDER = 45
STEPS = ((30, "exact"), (30, "hasty"), (100, "exact"), (100, "hasty"))
STEPS += ((300, "hasty"), (1000, "hasty"))
ORACLES = {"exact": 1e-4, "hasty": _frank_wolfe.TOLERANCE}


def tree(rng, n, d):
    """Return n rows of codes: each attribute has a random parent and random probabilities."""
    X = np.empty((n, d))
    X[:, 0] = rng.random(n) < rng.beta(0.7, 0.7)
    for j in range(1, d):
        parent = X[:, j - 1 - rng.integers(min(j, 4))].astype(int)
        X[:, j] = rng.random(n) < rng.beta(0.7, 0.7, size=2)[parent]
    return X


def parities(X, sets):
    signs = 1 - 2 * X.astype(np.int8)
    sums = (np.prod(signs[:, list(s)], axis=1, dtype=np.int8).sum() for s in sets)
    return np.array([float(total) for total in sums])


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def noisy_parities(rng, d, k, n, epsilon):
    sets = list(combinations(range(d), k))
    c = gaussian_sigma(epsilon, DELTA)
    exact = parities(tree(rng, n, d), sets)
    return sets, c, exact, exact + c * math.sqrt(len(sets)) * rng.normal(size=len(sets))


def errors(reps):
    for d, k, n, epsilon in ERRORS:
        runs = []
        for rep in range(reps or 3):
            rng = np.random.default_rng([1, d, k, n, rep])
            sets, c, exact, y = noisy_parities(rng, d, k, n, epsilon)
            start = time.perf_counter()
            done = relaxed_projection(y, sets, d, n=n)
            seconds = time.perf_counter() - start
            bound = average_error_bound(n, c, width_bound(d, k), gap=done.gap)
            best, body = math.nan, relaxed_body(sets, d)
            if sum(body.shape) <= EXACT_ORDER:
                uniform = np.full(len(sets), 1 / len(sets))
                best = rms(projection_by_cvxpy(y, body, n=n, weights=uniform) - exact) / n
            raw, frank_wolfe = rms(y - exact) / n, rms(done.values - exact) / n
            runs.append((raw, frank_wolfe, best, math.sqrt(bound) / n, seconds))
        raw, frank_wolfe, best, bound, seconds = np.mean(runs, axis=0).tolist()
        head = {"d": d, "k": k, "n": n, "epsilon": epsilon, "raw": raw, "FW": frank_wolfe}
        ratio = (frank_wolfe / raw) ** 2
        best = None if math.isnan(best) else best
        yield {**head, "exact": best, "MSE ratio": ratio, "bound": bound, "s": seconds}


def steps(reps):
    n = 1000
    for d, k in ((10, 2), (20, 2), (50, 2), (100, 2), (20, 3)):
        rng = np.random.default_rng([2, d, k])
        sets, _, exact, y = noisy_parities(rng, d, k, n, 0.1)
        for number, name in STEPS:
            with mock.patch.object(_frank_wolfe, "TOLERANCE", ORACLES[name]):
                start = time.perf_counter()
                done = relaxed_projection(y, sets, d, n=n, steps=number)
                seconds = time.perf_counter() - start
            yield {
                "d": d,
                "k": k,
                "steps": number,
                "oracle": name,
                "gap / objective": done.gap / (0.5 * float(np.mean((done.values - y) ** 2))),
                "gap / n^2": done.gap / n**2,
                "theorem": 16 / (number + 2),
                "error / n": rms(done.values - exact) / n,
                "s": seconds,
            }


def oracle(reps):
    for p in (10, 45, 100, 500):
        A = np.random.default_rng([3, p]).normal(size=(p, p))
        start = time.perf_counter()
        top = bilinear_maximum(A)
        row = {"N": 2 * p, "mixing s": time.perf_counter() - start}
        row["certified"] = top.bound / top.value - 1
        row |= {"cvxpy s": None, "differs": None}
        if p <= 45:
            bilinear_maximum_by_cvxpy(np.eye(2))  # import and compile
            start = time.perf_counter()
            U, V = bilinear_maximum_by_cvxpy(A)
            row["cvxpy s"] = time.perf_counter() - start
            row["differs"] = abs(float(np.sum(A * (U @ V.T))) / top.value - 1)
        yield row


def boosting(reps):
    for d in (6, 8, 10):
        for n in (1000, 10**5):
            for epsilon in (0.1, 1):
                sets, budget = list(combinations(range(d), 2)), Budget.zcdp(epsilon, DELTA)
                row = {"d": d, "n": n, "epsilon": epsilon}
                for name, sampled in (("10", 10), ("|Q|", len(sets)), ("3|Q|", None)):
                    plan, largest, raw = boosting_plan(len(sets), budget, sampled=sampled), [], []
                    for rep in range(reps or 5):
                        rng = np.random.default_rng([4, d, n, rep])
                        X = tree(rng, n, d)
                        curator = Curator(Plan(budget, plan.steps), make_entropy(rep))
                        values, _ = boosted_answers(ArrayRows(X), sets, curator, plan)
                        largest.append(float(np.abs(values - parities(X, sets)).max()))
                        sigma = gaussian_sigma(epsilon, DELTA, math.sqrt(len(sets)))
                        raw.append(sigma * float(np.abs(rng.normal(size=len(sets))).max()))
                    row["raw"] = float(np.mean(raw))
                    row[f"{name} draws"] = float(np.mean(largest))
                yield row | {"rounds": plan.rounds, "promised": plan.tolerance + plan.margin}


def promise(reps):
    for epsilon in (0.1, 1):
        budget = Budget.zcdp(epsilon, DELTA)
        for n_queries in (45, 5050, 10**5, 10**6, 10**7):
            raw = gaussian_sigma(epsilon, DELTA, math.sqrt(n_queries))
            row = {"epsilon": epsilon, "|Q|": n_queries}
            row["raw"] = raw * math.sqrt(2 * math.log(2 * n_queries))
            for sampled in (10, 100, 1000):
                plan = boosting_plan(n_queries, budget, sampled=sampled)
                row[f"{sampled} draws"] = plan.tolerance + plan.margin
            yield row | {"rounds": plan.rounds}


def synopsis(reps):
    for d, k in ((100, 2), (100, 3), (300, 3), (100, 4)):
        N = math.comb(d, (k + 1) // 2) + math.comb(d, k // 2)
        sizes = {f"gamma={g}": jl_dimension(N, g) for g in (0.05, 0.1, 0.3)}
        yield {"d": d, "k": k, "N": N, **sizes}


TABLES = {
    "error": errors,
    "steps": steps,
    "oracle": oracle,
    "boosting": boosting,
    "promise": promise,
    "synopsis": synopsis,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--only", choices=TABLES)
    default = Path(__file__).parent / "results" / "marginals_published.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    rows = []
    for name, table in TABLES.items():
        if options.only in (None, name):
            print(f"\n{name}")
            done = list(table(options.reps))
            print_table(done)
            rows += [{"table": name, **row} for row in done]
    if options.only is None:
        write_json(options.json, rows)


if __name__ == "__main__":
    main()
