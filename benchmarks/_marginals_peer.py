"""mbi (private-pgm) and skdp on the same noisy tables of all pairs of ten binary columns."""

import json
import math
import subprocess
import time

import numpy as np
from _harness import _stream
from marginals_published import tree

from skdp.accounting import gaussian_mu
from skdp.marginals._postprocess import postprocess
from skdp.marginals._release import noise_sd, optimal_shares
from skdp.marginals._residuals import Measurement, synthesis, tables_of, transform, workload_layout

__all__ = ["peer", "tables_of_rows"]

DELTA, REPEATED = 1e-6, 10

_PEER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from mbi import Domain, LinearMeasurement, estimation

d, sets, cases = json.load(sys.stdin)
names = [f"x{i}" for i in range(d)]
domain, answers = Domain(names, (2,) * d), []
for tables, sd in cases:
    seen = [LinearMeasurement(np.array(t), (names[i], names[j]), stddev=sd)
            for t, (i, j) in zip(tables, sets)]
    start = time.perf_counter()
    model = estimation.MirrorDescent().estimate(domain, seen, iters=1000)
    made = [np.asarray(model.project((names[i], names[j])).datavector()).tolist() for i, j in sets]
    answers.append([time.perf_counter() - start, made])
json.dump(answers, sys.stdout)
"""


def peer(options):
    """Yield errors of mbi and of skdp, both from noisy tables of all pairs, and skdp's own.

    Noise of one variance in the cells of all tables. All that they say of a parity T is the mean
    over the w_T tables that have it: its noise has the variance 4 sigma^2 / w_T, independent of
    the others. That Measurement is what skdp is given ("K same"), so that both look for the nearest
    distribution in the same metric; "objective" is the relative difference of
    the squared distances. "LS" is the
    Measurement itself. "skdp" is what it does with the same budget, from its own noise.
    """
    d, n = 10, 1000
    layout, weights = workload_layout((2,) * d, 2)
    sets = layout.subsets[2]
    for epsilon in (0.1, 1.0):
        runs, sigma = [], math.sqrt(len(sets)) / gaussian_mu(epsilon, DELTA)
        for rep in range(3 if options.quick else options.reps or REPEATED):
            rng = _stream(7, str(epsilon), rep)
            exact = tables_of_rows(tree(rng, n, d), sets)
            runs.append((exact, exact + sigma * rng.normal(size=exact.shape), rng))
        task = json.dumps(
            [d, sets.tolist(), [[y.reshape(-1, 4).tolist(), sigma] for _, y, _ in runs]]
        )
        done = subprocess.run(
            [options.peer, "-c", _PEER], input=task, check=True, capture_output=True, text=True
        )
        found = []
        for (exact, noisy, rng), (seconds, made) in zip(runs, json.loads(done.stdout), strict=True):
            theirs = np.array(made).reshape(exact.shape)
            start = time.perf_counter()
            same = from_tables(layout, weights, noisy, sigma)
            ours = tables_of(layout, postprocess(same, "exact").values, sets)
            row = {"s": time.perf_counter() - start, "mbi s": seconds}
            values, _ = mean_residuals(layout, exact)
            sd = noise_sd(layout, optimal_shares(layout, weights), gaussian_mu(epsilon, DELTA))
            own = Measurement(layout, values + sd * rng.normal(size=len(sd)), sd, weights)
            answers = {
                "tables": noisy,
                "LS": tables_of(layout, same.values, sets),
                "mbi": theirs,
                "K same": ours,
                "skdp": tables_of(layout, postprocess(own).values, sets),
            }
            row |= {m: math.sqrt(np.mean((t - exact) ** 2)) / n for m, t in answers.items()}
            row["objective"] = np.sum((ours - noisy) ** 2) / np.sum((theirs - noisy) ** 2) - 1
            found.append(row)
        row = {name: float(np.mean([f[name] for f in found])) for name in found[0]}
        pairs = [f["K same"] / f["mbi"] for f in found]
        spread = {"least": min(pairs), "largest": max(pairs)}
        row |= {
            "K / mbi": row["K same"] / row["mbi"],
            **spread,
            "skdp / mbi": row["skdp"] / row["mbi"],
        }
        yield {"d,n,epsilon": f"{d},{n},{epsilon:g}", **row, "reps": len(found)}


def mean_residuals(layout, tables):
    """Return the mean residuals over tables of all pairs, and how many tables each is in."""
    total, times = np.zeros(len(layout.lengths)), np.zeros(len(layout.lengths))
    for table, (i, j) in zip(tables, layout.subsets[2].tolist(), strict=True):
        numbers = [layout.position[T] for T in ((), (j,), (i,), (i, j))]
        total[numbers] += transform(table[None], [np.linalg.inv(synthesis(2))] * 2).ravel()
        times[numbers] += 1
    return total / times, times


def from_tables(layout, weights, noisy, sigma):
    """Return what tables with noise in the cells say, as a Measurement: least squares."""
    values, times = mean_residuals(layout, noisy)
    sd = sigma * np.sqrt(2.0 ** (2 - layout.orders) / times)
    return Measurement(layout, values, sd, weights)


def tables_of_rows(X, sets):
    """Return the exact tables, of binary columns."""
    k = sets.shape[1]
    cells_ = X[:, sets].astype(int) @ 2 ** np.arange(k)[::-1]
    return np.array([np.bincount(c, minlength=2**k).reshape((2,) * k) for c in cells_.T])
