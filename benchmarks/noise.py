"""Samples per second of the noise samplers: skdp, OpenDP, and numpy as the unsafe reference.

python benchmarks/noise.py [--json PATH]
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import opendp.prelude as dp

from skdp.mechanisms import make_entropy, rounded_gaussian, rounded_laplace

SCALE = 1000
SIZES = [1, 1_000, 1_000_000]
DEFAULT_JSON = Path(__file__).parent / "results" / "noise.json"


def opendp_sampler(make, metric):
    space = dp.vector_domain(dp.atom_domain(T=int)), metric(T=float)
    measurement = make(*space, scale=float(SCALE))
    return lambda size: measurement([0] * size)


def samplers():
    """Samplers of each law: name -> function of the size. The first is the one compared."""
    dp.enable_features("contrib")
    system, rng = make_entropy(None), np.random.default_rng(0)
    return {
        "gaussian": {
            "skdp": lambda size: rounded_gaussian(SCALE, size, system),
            "opendp": opendp_sampler(dp.m.make_gaussian, dp.l2_distance),
            "numpy (unsafe)": lambda size: rng.normal(scale=SCALE, size=size),
        },
        "laplace": {
            "skdp": lambda size: rounded_laplace(SCALE, size, system),
            "opendp": opendp_sampler(dp.m.make_laplace, dp.l1_distance),
            "numpy (unsafe)": lambda size: rng.laplace(scale=SCALE, size=size),
        },
    }


def seconds(call, size, at_least=0.5):
    """Return the best time of one call among those made within ``at_least`` seconds."""
    best, start = np.inf, time.perf_counter()
    while True:
        before = time.perf_counter()
        call(size)
        now = time.perf_counter()
        best = min(best, now - before)
        if now - start > at_least:
            return best


def measure():
    rows = []
    for law, by_name in samplers().items():
        for size in SIZES:
            rates = {name: size / seconds(call, size) for name, call in by_name.items()}
            rows += [
                {
                    "law": law,
                    "size": size,
                    "sampler": name,
                    "samples_per_second": rate,
                    "skdp_is_faster_by": rates["skdp"] / rate,
                }
                for name, rate in rates.items()
            ]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    path = parser.parse_args().json
    rows = measure()
    print(f"{'law':<10}{'size':>9}  {'sampler':<16}{'samples/s':>12}{'skdp faster by':>16}")
    for row in rows:
        print(
            f"{row['law']:<10}{row['size']:>9}  {row['sampler']:<16}"
            f"{row['samples_per_second']:>12.3g}{row['skdp_is_faster_by']:>16.3g}"
        )
    about = {"python": platform.python_version(), "numpy": np.__version__, "scale": SCALE}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
