"""Times, memory and import cost, each measured in a process of its own."""

import json
import subprocess
import sys

__all__ = ["fit_cost", "import_ratio"]

_FIT = """
import json, sys, time
import numpy as np
from skdp import PrivateMean

n, d, epsilon, delta, times = json.loads(sys.argv[1])


def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


def fit(rows):
    start = time.perf_counter()
    PrivateMean(epsilon=epsilon, delta=delta).fit(rows)
    return 1e3 * (time.perf_counter() - start)


rng = np.random.default_rng(0)
fit(rng.standard_normal((500, d)))
X = np.empty((n, d))
rng.standard_normal(out=X)
try:
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = memory("VmRSS")
    first = fit(X)
    above = memory("VmHWM") - before
except OSError:
    first, above = fit(X), None
ms = sorted([first, *(fit(X) for _ in range(times - 1))])
print(json.dumps({"ms_min": ms[0], "ms_median": ms[len(ms) // 2], "mb_above_data": above}))
"""

_IMPORT = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def fit_cost(n, d, epsilon, delta, times=7):
    """Time fits of PrivateMean on N(0, I); peak resident memory above the data (Linux only).

    Returns
    -------
    cost : dict
        ``ms_min`` and ``ms_median`` of ``times`` calls; ``mb_above_data`` of the first call in a
        process that has fitted a small table before, None where it cannot be read.
    """
    return json.loads(_run(_FIT, json.dumps([n, d, epsilon, delta, times])))


def import_ratio(module="skdp", base="sklearn.base", times=7):
    """Return import times in seconds, the best of ``times`` fresh processes, and their ratio."""
    pairs = [[float(_run(_IMPORT.format(m))) for m in (module, base)] for _ in range(times)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    return {module: ours, base: theirs, "ratio": ours / theirs}


def _run(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
