"""Time, peak memory and mean total variation of fits, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

__all__ = ["costs"]

_COST = """
import json, sys, time
import numpy as np
sys.path.insert(0, sys.argv[1])
from marginals_published import tree
from skdp import MarginalReleaser
from skdp.marginals import tables_of

d, k, n, epsilon, seed = json.loads(sys.argv[2])


def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


rng = np.random.default_rng(seed)
X = tree(rng, n, d)
MarginalReleaser(k=k, epsilon=epsilon).fit(tree(rng, 100, 6))
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before, start = memory("VmRSS"), time.perf_counter()
fit = MarginalReleaser(k=k, epsilon=epsilon).fit(X)
seconds = time.perf_counter() - start
cost = {"s": seconds, "MB": memory("VmHWM"), "MB above": memory("VmHWM") - before}
cost["choice"], cost["risk"], tv = fit.postprocess_, fit.risk_, []
layout = fit.measurement_.layout
if d <= 100:
    for columns in layout.subsets[k][:20000]:
        table = np.bincount(X[:, columns].astype(int) @ 2 ** np.arange(k)[::-1], minlength=2**k)
        tv.append(np.abs(fit.marginal(columns.tolist()).ravel() - table).sum() / 2 / n)
    cost["total variation"] = float(np.mean(tv))
print(json.dumps(cost))
"""
# d, k, n, epsilon: seconds, megabytes, total variation that are wanted, runs
COSTS = {
    (32, 2, 10**3, 1.0): (2, 300, 0.045, 5),
    (100, 2, 10**4, 1.0): (5, None, None, 1),
    (500, 2, 10**4, 1.0): (60, None, None, 1),
    (50, 3, 10**4, 1.0): (30, None, None, 1),
    (100, 3, 10**4, 1.0): (None, None, None, 1),
    (16, 2, 10**5, 1.0): (None, None, 0.00035, 1),
    (8, 2, 10**3, 1.0): (None, None, 0.0179, 5),
}


def costs(options):
    for case, (seconds, megabytes, distance, runs) in COSTS.items():
        if options.quick and case[0] > 32:
            continue
        made = []
        for seed in range(runs):
            command = [sys.executable, "-W", "ignore", "-c", _COST, str(Path(__file__).parent)]
            command.append(json.dumps([*case, seed]))
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            made.append(json.loads(done.stdout))
        distances = [run["total variation"] for run in made if "total variation" in run]
        d, k, n, epsilon = case
        yield {
            "case": f"d={d} k={k} n={n:.0e} eps={epsilon:g}",
            "s": float(np.median([run["s"] for run in made])),
            "wanted s": seconds,
            "MB": max(run["MB"] for run in made),
            "wanted MB": megabytes,
            "MB above": max(run["MB above"] for run in made),
            "total variation": float(np.mean(distances)) if distances else None,
            "se": float(np.std(distances, ddof=1) / len(distances) ** 0.5) if runs > 1 else None,
            "wanted": distance,
            "choice": made[0]["choice"],
            "runs": runs,
        }
