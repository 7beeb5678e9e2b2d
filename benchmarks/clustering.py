"""Private k-means against peers: cost divided by the best non-private cost, time, memory.

``skdp`` is given nothing. ``ball`` is the same estimator, given the ball around the exact box of
the rows; so are noisy Lloyd (``lloyd``) and a Lloyd with relative updates (``FastLloyd``), which
knows the number of rows too; ``diffprivlib`` is given the exact box. ``one`` is what one centre
costs. All methods of a repetition see the same rows. ``warned`` counts fits of ``skdp`` that warn.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _clustering_costs import costs
from _clustering_hard import hard_cells
from _clustering_plain import plain_cells
from _clustering_small import small_cells
from _diffprivlib import diffprivlib_kmeans
from _fast_lloyd import fast_lloyd
from _harness import _stream, print_table, write_json
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from skdp import FriendlyCoreKMeans, LloydKMeans
from skdp.exceptions import LowAccuracyWarning

DEFAULT_JSON = Path(__file__).parent / "results" / "clustering.json"
DELTA = 1e-6
PEERS = ["ball", "lloyd", "FastLloyd", "diffprivlib"]
COLUMNS = [
    *("cell", "epsilon", "median", "p90", "max", "one", *PEERS),
    *("accuracy", "warned", "seconds", "target", "met"),
]
LARGE = 50_000_000  # entries of a table


def skdp_kmeans(drawn, k, epsilon, seed):
    kmeans = FriendlyCoreKMeans(k, epsilon=epsilon, delta=DELTA, random_state=seed)
    return kmeans.fit(drawn.X).cluster_centers_


def skdp_ball(drawn, k, epsilon, seed):
    center, radius = drawn.ball()
    kmeans = FriendlyCoreKMeans(
        k, epsilon=epsilon, delta=DELTA, center=center, radius=radius, random_state=seed
    )
    return kmeans.fit(drawn.X).cluster_centers_


def skdp_lloyd(drawn, k, epsilon, seed):
    center, radius = drawn.ball()
    lloyd = LloydKMeans(
        k, epsilon=epsilon, delta=DELTA, center=center, radius=radius, random_state=seed
    )
    return lloyd.fit(drawn.X).cluster_centers_


def relative_lloyd(drawn, k, epsilon, seed):
    center, radius = drawn.ball()
    rng = np.random.default_rng(seed)
    return fast_lloyd(
        drawn.X, k, center=center, radius=radius, epsilon=epsilon, delta=DELTA, rng=rng
    )


def laplace_lloyd(drawn, k, epsilon, seed):
    bounds = drawn.X.min(axis=0), drawn.X.max(axis=0)
    kmeans = diffprivlib_kmeans()(k, epsilon=epsilon, bounds=bounds, random_state=seed)
    return kmeans.fit(drawn.X).cluster_centers_


def methods():
    found = {"skdp": skdp_kmeans, "ball": skdp_ball, "lloyd": skdp_lloyd}
    found["FastLloyd"] = relative_lloyd
    return {**found, "diffprivlib": laplace_lloyd} if diffprivlib_kmeans() else found


def accuracy(X, centers, truth):
    """Return the part of the rows that nearest true and nearest found centre agree on."""
    if truth is None or len(centers) != len(truth):
        return None
    from scipy.optimize import linear_sum_assignment

    X = X[:100_000]
    table = np.zeros((len(truth),) * 2)
    labels = [pairwise_distances_argmin(X, c) for c in (truth, centers)]
    np.add.at(table, tuple(labels), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(X))


def cells():
    return [*plain_cells(), *hard_cells(), *small_cells()]


def measure(cell, reps, seed=0, epsilon=None):
    """Return the row of a cell; at another epsilon than its own it has no target."""
    ratios, ones, hits, warned, seconds = {}, [], [], 0, []
    for rep in range(reps):
        drawn = cell.draw(_stream(seed, cell.name, rep))
        ones.append(drawn.ratio(drawn.inner.mean(axis=0, keepdims=True)))
        for name, method in methods().items():
            if name == "diffprivlib" and drawn.X.size > LARGE / 5:
                continue  # minutes a fit
            noise = int(_stream(seed, cell.name, rep, name).integers(2**31))
            start = time.perf_counter()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                centers = method(drawn, cell.k, epsilon or cell.epsilon, noise)
            spent = time.perf_counter() - start
            ratios.setdefault(name, []).append(drawn.ratio(centers))
            if name == "skdp":
                seconds.append(spent)
                hits.append(accuracy(drawn.X, centers, drawn.truth))
                warned += any(issubclass(t.category, LowAccuracyWarning) for t in told)
    hit = None if hits[0] is None else float(np.median(hits))
    ours = np.asarray(ratios["skdp"])
    return {
        "cell": cell.name,
        "epsilon": epsilon or cell.epsilon,
        "median": round(float(np.median(ours)), 5),
        "p90": round(float(np.quantile(ours, 0.9)), 5),
        "max": float(ours.max()),
        "one": float(np.median(ones)),
        **{name: float(np.median(ratios[name])) for name in PEERS if name in ratios},
        **{f"{name}_max": float(max(ratios[name])) for name in PEERS if name in ratios},
        "accuracy": hit,
        "warned": f"{warned}/{reps}",
        "seconds": float(np.median(seconds)),
        "target": [f"{name}={limit}" for name, limit in cell.target.asked().items()],
        "met": None if epsilon else cell.target.met(ratios, ones, hit),
    }


def left_out(chosen):
    """Yield what is not measured, and why."""
    for cell in chosen:
        if cell.missing():
            yield f"{cell.name}: {cell.package} is not installed"
    if diffprivlib_kmeans() is None:
        yield "diffprivlib: not installed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--quick", action="store_true", help="3 repetitions, no large tables")
    parser.add_argument("--only", default="", help="cells whose name begins with this")
    parser.add_argument("--reps", type=int, help="repetitions of every cell")
    parser.add_argument("--epsilon", type=float, help="instead of each cell's own: no targets")
    parser.add_argument("--seed", type=int, default=0, help="of rows and noise, 0 by default")
    parser.add_argument("--no-costs", action="store_true", help="leave time and memory out")
    args = parser.parse_args()
    chosen = [c for c in cells() if c.name.startswith(args.only) and not (args.quick and c.large)]
    without = list(left_out(chosen))
    for line in without:
        print("left out:", line)
    wide, rows = max((len(c.name) for c in chosen), default=0), []
    with threadpool_limits(1):
        for cell in chosen:
            if cell.missing():
                continue
            reps = args.reps or (3 if args.quick else cell.reps)
            rows.append(measure(cell, reps, args.seed, args.epsilon))
            shown = {**rows[-1], "cell": cell.name.ljust(wide)}
            print_table([shown], COLUMNS, header=len(rows) == 1)
        bills = [] if args.quick or args.no_costs or args.only else list(costs())
    print_table(bills)
    write_json(args.json, rows, costs=bills, left_out=without)


if __name__ == "__main__":
    main()
