"""Private k-means against peers: cost divided by the best non-private cost, time, memory.

skdp is given no bounds; diffprivlib and noisy Lloyd are given a ball that holds the rows. All
methods of a repetition see the same rows. `--quick` takes 3 repetitions and leaves the large out.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _clustering_cells import cells, kmeans_cost
from _harness import _stream, print_table, write_json
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from skdp import FriendlyCoreKMeans, LloydKMeans
from skdp.exceptions import SeededNoiseWarning

DEFAULT_JSON = Path(__file__).parent / "results" / "clustering.json"
EPSILON, DELTA = 1.0, 1e-6
COLUMNS = ["cell", "method", "median", "p90", "max", "accuracy", "seconds", "target", "met"]
LARGE = 50_000_000  # entries of a table


def skdp_kmeans(X, cell, seed):
    kmeans = FriendlyCoreKMeans(cell.k, epsilon=EPSILON, delta=DELTA, random_state=seed)
    return kmeans.fit(X).cluster_centers_


def skdp_lloyd(X, cell, seed):
    lloyd = LloydKMeans(
        cell.k, epsilon=EPSILON, delta=DELTA, radius=cell.radius, center=0.0, random_state=seed
    )
    return lloyd.fit(X).cluster_centers_


def diffprivlib_kmeans(X, cell, seed):
    from diffprivlib.models import KMeans

    bounds = (-cell.radius, cell.radius)
    return KMeans(cell.k, epsilon=EPSILON, bounds=bounds, random_state=seed).fit(X).cluster_centers_


def methods():
    found = {"skdp": skdp_kmeans, "LloydKMeans": skdp_lloyd}
    try:
        from diffprivlib.models import KMeans  # noqa: F401
    except ImportError:  # not installed, or too old for this scikit-learn
        return found
    return {**found, "diffprivlib": diffprivlib_kmeans}


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


def measure(chosen, quick=False, reps=None):
    for cell in chosen:
        ratios, hits, seconds = ({name: [] for name in methods()} for _ in range(3))
        for rep in range(3 if quick else reps or cell.reps):
            X, (best, truth) = cell.draw(_stream(0, cell.name, rep))
            for name, method in methods().items():
                if name == "diffprivlib" and X.size > LARGE / 5:
                    continue  # minutes a fit
                seed = int(_stream(0, cell.name, rep, name).integers(2**31))
                start = time.perf_counter()
                centers = method(X, cell, seed)
                seconds[name].append(time.perf_counter() - start)
                ratios[name].append(kmeans_cost(X, centers) / best)
                hits[name].append(accuracy(X, centers, truth))
        for name, values in ratios.items():
            if values:
                yield row(cell, name, values, hits[name], seconds[name])


def row(cell, name, ratios, hits, seconds):
    median, p90 = np.quantile(ratios, [0.5, 0.9])
    hit = None if hits[0] is None else float(np.median(hits))
    met = median <= cell.median and p90 <= cell.tail and (hit is None or hit >= cell.accuracy)
    return {
        "cell": cell.name,
        "method": name,
        "median": round(float(median), 5),
        "p90": round(float(p90), 5),
        "max": float(max(ratios)),
        "accuracy": hit,
        "seconds": float(np.median(seconds)),
        "target": [cell.median, cell.tail],
        "met": bool(met) if name == "skdp" and np.isfinite(cell.median) else None,
        "reps": len(ratios),
    }


_COST = """
import json, sys, time
import numpy as np
n, d, k, ours = json.loads(sys.argv[1])
from sklearn.cluster import KMeans
from skdp import FriendlyCoreKMeans


def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


rng = np.random.default_rng(0)
centres = rng.normal(size=(k, d)) * 4
X = np.empty((n, d))
rng.standard_normal(out=X)
for start in range(0, n, 1000):
    X[start:start + 1000] += centres[rng.integers(k, size=len(X[start:start + 1000]))]
model = FriendlyCoreKMeans(k) if ours else KMeans(k, n_init=1, random_state=0)
model.fit(X[:2000])
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = memory("VmRSS")
start = time.perf_counter()
model.fit(X)
print(json.dumps([time.perf_counter() - start, memory("VmHWM") - before, memory("VmHWM")]))
"""


def costs():
    """Yield time and peak memory beside scikit-learn's, each fit in a process of its own."""
    for n, d, k in ((10**6, 2, 8), (20_000, 1000, 8)):
        for name, ours in (("skdp", True), ("sklearn n_init=1", False)):
            case = json.dumps([n, d, k, ours])
            command = [sys.executable, "-c", _COST, case]
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                for _ in range(3)
            ]
            seconds, above, peak = min(runs)
            yield {
                "cell": f"n={n:.0e} d={d} k={k}",
                "method": name,
                "seconds": seconds,
                "mb_above_data": above,
                "mb_peak": peak,
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--quick", action="store_true", help="3 repetitions, no large tables")
    parser.add_argument("--only", default="", help="cells whose name begins with this")
    parser.add_argument("--reps", type=int, help="repetitions of every cell")
    parser.add_argument("--no-costs", action="store_true", help="leave time and memory out")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", SeededNoiseWarning)
    chosen = [c for c in cells() if c.name.startswith(args.only)]
    if args.quick:
        chosen = [c for c in chosen if "d=1000" not in c.name and "1e+06" not in c.name]
    rows = []
    with threadpool_limits(1):
        for found in measure(chosen, args.quick, args.reps):
            rows.append(found)
            print_table([found], COLUMNS, header=len(rows) == 1)
        bills = [] if args.quick or args.no_costs else list(costs())
    print_table(bills)
    write_json(args.json, rows, costs=bills)


if __name__ == "__main__":
    main()
