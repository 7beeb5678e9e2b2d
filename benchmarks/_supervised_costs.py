"""Coverage of intervals of slopes on made-up tables, and what a large additive model costs."""

import resource
import time

import numpy as np
from _supervised_peers import DELTA

import skdp

__all__ = ["cost", "coverage", "peak"]

KILO = 1 / 1024  # megabytes of a kilobyte


def _table(kind, rng, n=4000, d=3):
    """Return rows, target and the line behind them: Gaussian, or correlated in very unequal units.

    Noise is Gaussian: intervals promise nothing where residuals are clipped. Slopes are large
    against their noise, so that none shrinks.
    """
    X = rng.normal(size=(n, d))
    if kind == "units":
        X = X @ (np.eye(d) + 0.5 * np.ones((d, d))) * np.logspace(-3, 3, d) + 1e3
    scale = X.std(axis=0)
    slopes = np.linspace(1.0, 2.0, d) / scale
    y = X @ slopes + 3.0 + rng.normal(size=n)
    return X, y, np.append(slopes, 3.0)


def coverage(kind, seed, runs=1000, epsilon=4.0):
    """Return how often 95 % intervals hold: of noise the line of the rows, and least squares of it.

    The law is a straight line with errors alike everywhere, where both are about the same line.
    """
    held = {"noise": [], "rows": []}
    widest = []
    for run in range(runs):
        X, y, _ = _table(kind, np.random.default_rng([seed, run]))
        model = skdp.PrivateLinearRegression(epsilon=epsilon, delta=DELTA, random_state=run)
        model.fit(X, y)
        design = np.column_stack([X, np.ones(len(y))])
        line = np.linalg.lstsq(design, y, rcond=None)[0]
        for name, ends in (("noise", model.noise_interval()), ("rows", model.interval())):
            low, high = ends
            held[name].append((low[:-1] <= line[:-1]) & (line[:-1] <= high[:-1]))
        widest.append(float(np.max((high - low)[:-1] / 2 * X.std(axis=0))))
    part = {name: float(np.mean(inside)) for name, inside in held.items()}
    met = 0.93 <= part["noise"] <= 0.97 and part["rows"] >= 0.93
    half = float(np.median(widest))
    return {"cell": f"coverage {kind}", "runs": runs, **part, "half_width": half, "met": met}


def cost(seed, n=1_000_000, d=20):
    """Return CPU seconds and megabytes, above its rows, of an additive model of 1e6 x 20."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] ** 2 + X[:, 1] + rng.normal(size=n) > 1).astype(int)
    before, start = peak(), time.process_time()
    skdp.PrivateAdditiveClassifier(epsilon=1.0, delta=DELTA, classes=[0, 1], random_state=seed).fit(
        X, y
    )
    seconds = time.process_time() - start
    return {
        "cell": f"additive {n} x {d}",
        "seconds": seconds,
        "megabytes": (peak() - before) * KILO,
        "rows_megabytes": X.nbytes / 2**20,
        "met": seconds <= 60,
    }


def peak():
    """Return the most kilobytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
