"""Noise needed for (epsilon, delta): the exact curve, the classical formula, zCDP, and peers.

Every sigma is checked against mpmath: ``excess`` is ``delta(sigma) / delta - 1``, which must not be
positive. Run ``python benchmarks/calibration.py [--json PATH]``.
"""

import argparse
import json
import math
import time
from pathlib import Path

import mpmath as mp

from skdp.accounting import _gaussian
from skdp.accounting._conversions import zcdp_rho

EPSILONS = [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0]
DELTAS = [1e-3, 1e-6, 1e-9, 1e-14, 1e-30]


def excess(epsilon, delta, sigma):
    with mp.workdps(120):
        mu, root = 1 / mp.mpf(sigma), mp.sqrt(2)
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        real = (mp.erfc(a / root) - mp.exp(epsilon) * mp.erfc(b / root)) / 2
        return float(real / mp.mpf(delta) - 1)


def ours(epsilon, delta):
    _gaussian._largest_mu.cache_clear()
    return _gaussian.gaussian_sigma(epsilon, delta)


def classical(epsilon, delta):
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon  # also where it is not proved


def zcdp(epsilon, delta):
    return 1 / math.sqrt(2 * zcdp_rho(epsilon, delta))


def methods():
    found = {"skdp": ours, "classical": classical, "zcdp": zcdp}
    try:
        from dp_accounting import gaussian_mechanism

        found["dp-accounting"] = lambda e, d: gaussian_mechanism.get_sigma_gaussian(e, d)
    except ImportError:
        pass
    try:
        from diffprivlib.mechanisms import GaussianAnalytic

        found["diffprivlib"] = lambda e, d: (
            GaussianAnalytic(epsilon=e, delta=d, sensitivity=1)._scale
        )
    except ImportError:
        pass
    return found


def measure(method, epsilon, delta, repeats=5):
    try:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            sigma = method(epsilon, delta)
            times.append(time.perf_counter() - start)
    except (ArithmeticError, ValueError) as error:
        return {"error": type(error).__name__}
    return {
        "sigma": sigma,
        "excess": excess(epsilon, delta, sigma),
        "microseconds": 1e6 * min(times),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "results" / "calibration.json"
    parser.add_argument("--json", type=Path, default=default)
    path = parser.parse_args().json
    rows, found = [], methods()
    print(f"{'epsilon':>8} {'delta':>8} {'method':>14} {'sigma':>14} {'excess':>10} {'us':>8}")
    for epsilon in EPSILONS:
        for delta in DELTAS:
            for name, method in found.items():
                row = measure(method, epsilon, delta)
                rows.append({"epsilon": epsilon, "delta": delta, "method": name} | row)
                cells = f"{epsilon:8g} {delta:8.0e} {name:>14} "
                if "error" in row:
                    print(cells + row["error"])
                    continue
                print(cells + "{sigma:14.9g} {excess:10.1e} {microseconds:8.1f}".format(**row))
    summary = {}
    for name in found:
        mine = [row for row in rows if row["method"] == name and "sigma" in row]
        pairs = zip(mine, (row for row in rows if row["method"] == "skdp"), strict=False)
        summary[name] = {
            "cases": len(mine),
            "under_calibrated": sum(row["excess"] > 0 for row in mine),
            "worst_excess": max(row["excess"] for row in mine),
            "slowest_microseconds": max(row["microseconds"] for row in mine),
        }
        if len(mine) == len(EPSILONS) * len(DELTAS):
            ratios = [(row["sigma"] / best["sigma"]) ** 2 for row, best in pairs]
            summary[name]["variance_ratio_range"] = [min(ratios), max(ratios)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
