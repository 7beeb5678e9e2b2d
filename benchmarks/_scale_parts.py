"""What the benchmark of large tables measures, part by part: memory, threads, growth, passes."""

import math
import os

import numpy as np
from _scale_fits import FITS, PEERS
from _scale_runs import run
from _scale_tables import array, parquet

__all__ = ["exponent", "of_growth", "of_jobs", "of_parquet", "of_passes"]

MOST_MB, LEAST_SPEEDUP, MOST_EXPONENT = 500, 1.7, 1.05
STREAMED = ["mean", "k-means", "covariance", "marginals"]
SHARED = ["mean", "covariance", "k-means", "GMM", "filter"]
SIZES = [100_000, 1_000_000, 10_000_000]
GROWTH_MB = 48  # a few blocks: what threads and allocators keep differs from run to run


def load():
    """Return how busy the machine is: tasks that want to run, of the last minute."""
    return os.getloadavg()[0]


def of_parquet(scale, folder, only):
    """Yield what fits on 5e7 rows in parquet files cost beside one plain pass of pyarrow."""
    n_rows = int(5e7 * scale)
    table = parquet(folder / "rows", n_rows)
    plain = run("plain", table)
    yield {"fit": "one pass of pyarrow", "n": n_rows, "passes": 1.0} | _costs(plain)
    for name in only or STREAMED:
        cost = run(name, table)
        passes = cost["rows_read"] / n_rows
        yield {
            "fit": name,
            "n": n_rows,
            "passes": passes,
            **_costs(cost),
            "cpu_per_pass": cost["cpu"] / passes / plain["cpu"],
            "wall_per_pass": cost["wall"] / passes / plain["wall"],
            "met": cost["peak_mb"] < MOST_MB,
        }


def of_jobs(scale, folder, only):
    """Yield how much faster two threads are on 1e6 rows, and whether all bits are the same."""
    n_rows = int(1e6 * scale)
    table = array(folder / "rows.npy", n_rows)
    for name in only or SHARED:
        one, two = (run(name, table, n_jobs=n, in_memory=True) for n in (1, 2))
        speedup, equal = one["wall"] / two["wall"], one["bits"] == two["bits"]
        yield {
            "fit": name,
            "n": n_rows,
            "wall_1": one["wall"],
            "wall_2": two["wall"],
            "speedup": speedup,
            "cpu_2_over_1": two["cpu"] / one["cpu"],
            "same_bits": equal,
            "load": load(),
            "met": equal and speedup >= LEAST_SPEEDUP,
        }


def of_growth(scale, folder, only):
    """Yield how CPU time and memory grow from 1e5 to 1e7 rows of a memory map."""
    sizes = [int(n * scale) for n in SIZES]
    table = array(folder / "rows.npy", sizes[-1])
    for name in only or FITS:
        costs = [run(name, table, n_rows=n) for n in sizes]
        cpus, own = ([cost[key] for cost in costs] for key in ("cpu", "own_mb"))
        whole = exponent(sizes, cpus)
        yield {
            "fit": name,
            **{f"cpu_{n:.0e}": cpu for n, cpu in zip(sizes, cpus, strict=True)},
            "exponent": whole,
            "last_exponent": exponent(sizes[1:], cpus[1:]),
            "passes": [round(c["rows_read"] / n, 1) for c, n in zip(costs, sizes, strict=True)],
            "own_mb": [round(mb, 1) for mb in own],
            "load": load(),
            "met": whole <= MOST_EXPONENT and own[2] - own[1] <= GROWTH_MB,
        }


def of_passes(scale, folder, only):
    """Yield what every fit costs on 1e6 rows in memory beside its counterpart without privacy."""
    n_rows = int(1e6 * scale)
    table = array(folder / "rows.npy", n_rows)
    for name in only or FITS:
        cost = run(name, table, in_memory=True)
        peer = run(name, table, in_memory=True, peer=True)["cpu"] if name in PEERS else None
        yield {
            "fit": name,
            "n": n_rows,
            "cpu": cost["cpu"],
            "peer_cpu": peer,
            "ratio": peer and cost["cpu"] / peer,
            "passes": cost["rows_read"] / n_rows,
            "own_mb": cost["own_mb"],
        }


def exponent(sizes, costs):
    """Return the slope of the line through the logarithms of costs."""
    return float(np.polyfit([math.log(n) for n in sizes], [math.log(c) for c in costs], 1)[0])


def _costs(cost):
    return {key: cost[key] for key in ("cpu", "wall", "peak_mb")} | {"load": load()}
