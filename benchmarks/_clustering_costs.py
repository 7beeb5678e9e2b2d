"""Time and peak memory of a fit beside scikit-learn's, each in a process of its own."""

import json
import subprocess
import sys

__all__ = ["costs"]

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
    """Yield the rows of the comparison."""
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
