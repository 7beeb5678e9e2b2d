"""Friends of every row: the certified count, exact and inexact alternatives, one core.

Entries are normal, or rounded to one decimal so that many pairs lie at the radius but for rounding.
`wrong` is the number of counts that differ from the elementwise rule.

OMP_NUM_THREADS=1 python benchmarks/friend_counting.py [--json PATH] [--quick]
"""

import argparse
import time
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_chunked
from threadpoolctl import threadpool_limits

from skdp.friendly import DistancePredicate

DEFAULT_JSON = Path(__file__).parent / "results" / "friend_counting.json"
SIZES = {2: 10_000, 10: 10_000, 100: 4_000, 1000: 1_600}
ROWS = 128
COLUMNS = ["table", "n", "d", "method", "ms", "gpairs_per_s", "share_of_dgemm", "wrong"]


def certified(X, radius):
    return DistancePredicate(radius).friends(X)


def certified_two_tables(X, radius):
    return DistancePredicate(radius).friends(X, X.copy())


def plain_product(X, radius):
    squares = np.einsum("ij,ij->i", X, X)
    limits = (squares - radius**2) / 2
    parts = []
    for i in range(0, len(X), ROWS):
        product = X[i : i + ROWS] @ X.T
        product -= squares / 2
        parts.append(np.count_nonzero(product >= limits[i : i + ROWS, None], axis=1))
    return np.concatenate(parts)


def cdist_blocks(X, radius):
    parts = (cdist(X[i : i + ROWS], X, "sqeuclidean") for i in range(0, len(X), ROWS))
    return np.concatenate([np.count_nonzero(p <= radius**2, axis=1) for p in parts])


def kd_tree(X, radius):
    return cKDTree(X).query_ball_point(X, radius, return_length=True)


def sklearn_chunked(X, radius):
    def count(chunk, start):
        return np.count_nonzero(chunk <= radius, axis=1)

    return np.concatenate(list(pairwise_distances_chunked(X, reduce_func=count)))


def elementwise_rule(X, radius):
    predicate = DistancePredicate(radius)
    X = predicate.rows(X)
    parts = (predicate.rule_for_all(X[i : i + ROWS], X) for i in range(0, len(X), ROWS))
    return np.concatenate([np.count_nonzero(p, axis=1) for p in parts])


METHODS = {
    "skdp": certified,
    "skdp, two tables": certified_two_tables,
    "plain product": plain_product,
    "scipy cdist": cdist_blocks,
    "scipy cKDTree": kd_tree,
    "sklearn chunked": sklearn_chunked,
    "elementwise rule": elementwise_rule,
}


def tables(d, n, rng):
    """Yield name, rows, radius: about a tenth of the pairs are friends."""
    for name in ("normal", "decimal"):
        X = rng.normal(size=(n, d)) + 100
        X = X if name == "normal" else np.round(X, 1)
        squares = np.square(X[: n // 2] - X[n // 2 :]).sum(axis=1)
        yield name, X, float(np.sqrt(np.quantile(squares, 0.1)))


def best_seconds(repeats, call, *args):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call(*args)
        times.append(time.perf_counter() - start)
    return min(times), result


def dgemm_rate(rng):
    """Multiplications and additions per second in a large product."""
    A = rng.normal(size=(2000, 2000))
    return 2 * 2000**3 / best_seconds(5, np.matmul, A, A)[0]


def measure(quick=False):
    rng = np.random.default_rng(0)
    rate, rows = dgemm_rate(rng), []
    for d, n in SIZES.items():
        for name, X, radius in tables(d, n // 4 if quick else n, rng):
            truth = elementwise_rule(X, radius)
            for method, count in METHODS.items():
                seconds, counts = best_seconds(1 if quick else 3, count, X, radius)
                pairs = len(X) ** 2
                rows.append(
                    {
                        "table": name,
                        "n": len(X),
                        "d": d,
                        "method": method,
                        "ms": 1e3 * seconds,
                        "gpairs_per_s": pairs / seconds / 1e9,
                        "share_of_dgemm": 2 * d * pairs / seconds / rate,
                        "wrong": int(np.count_nonzero(counts != truth)),
                    }
                )
    return rows, rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--quick", action="store_true", help="a quarter of the rows, once")
    args = parser.parse_args()
    with threadpool_limits(1):
        rows, rate = measure(args.quick)
    print_table(rows, COLUMNS)
    write_json(args.json, rows, dgemm_gflops=rate / 1e9)


if __name__ == "__main__":
    main()
