"""What a fit on a table of a holder costs beside the same fit in one process.

    python benchmarks/remote.py [--rows N] [--reps 5] [--fits mean ...] [--quick] [--json PATH]

Processor seconds of analyst and server together for a fit, and of the fit in one process: medians.
"ahead" is not part of them: what the server spends on the process that waits for the next fit. The
table has ten normal columns and a target; the server listens at a Unix socket. Linux only.
"""

import argparse
import hashlib
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import print_table, write_json
from sklearn.base import clone

import skdp
import skdp.remote
from skdp.remote._holdings import Holding, Holdings

COLUMNS, BUDGET = list("abcdefghij"), (1000.0, 1e-3)
FITS = {  # estimator, name of the target
    "mean with bounds": (skdp.PrivateMean(bounds=(-5, 5)), None),
    "mean": (skdp.PrivateMean(), None),
    "quantile": (skdp.PrivateQuantile(), None),
    "variance": (skdp.PrivateVariance(), None),
    "scaler": (skdp.PrivateStandardScaler(), None),
    "k-means": (skdp.LloydKMeans(2), None),
    "covariance": (skdp.PrivateCovariance(), None),
    "summary": (skdp.PrivateSummary(), None),
    "linear": (skdp.PrivateLinearRegression(), "y"),
    "logistic": (skdp.PrivateLogisticRegression(), "y"),
    "additive": (skdp.PrivateAdditiveClassifier(), "y"),
    "boosting": (skdp.PrivateBoostingClassifier(), "y"),
}


def table(n):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 10)), columns=COLUMNS)
    return rows.assign(y=(rows["a"] > 0).astype(float))


def served(folder, rows):
    """Return the number of a process that serves rows at a socket of a folder."""
    process = os.fork()
    if process == 0:
        try:
            digest = hashlib.sha256(b"token").hexdigest()
            told = {"rows": Holding("rows", rows)}
            holdings = Holdings(
                folder, told, {"rows": BUDGET}, {"ana": digest}, {("ana", "rows"): BUDGET}
            )
            skdp.remote.serve(holdings, socket=f"{folder}/socket")
        finally:
            os._exit(0)
    return process


def connected(folder):
    """Return the table, when the server is there and has read all it reads before a fit."""
    while True:
        try:
            remote = skdp.remote.connect(f"unix:{folder}/socket", token="token")["rows"]
        except ConnectionError:
            time.sleep(0.1)
        else:
            skdp.PrivateCount(epsilon=0.01, delta=0).fit(remote[["a"]])
            return remote


def told_of(process):
    """Return the processor seconds of a process, those of ended ones that it forked, and others."""
    told = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    forked = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    tick = os.sysconf("SC_CLK_TCK")
    return sum(map(int, told[11:13])) / tick, sum(map(int, told[13:15])) / tick, map(int, forked)


def seconds(server):
    """Return the processor seconds of a server and its workers, and those before the next fit."""
    own, _, (forking,) = told_of(server)
    forks, ended, (spare,) = told_of(forking)
    waits, _, _ = told_of(spare)
    return np.array([own + forks + ended + waits, forks, waits])


def cost(estimator, X, y, server=None):
    """Return the processor seconds of a fit, with those of a server, and of its next worker."""
    before = seconds(server) if server else 0.0
    began = time.process_time()
    clone(estimator).set_params(epsilon=0.3, delta=1e-7).fit(X, y)
    own = time.process_time() - began
    if not server:
        return own, 0.0
    time.sleep(0.5)  # until the worker has ended, and the next one waits
    after = seconds(server)
    ahead = after[1] - before[1] + after[2]
    return own + after[0] - before[0] - ahead, ahead


def runs(names, n, reps):
    """Yield a row for every fit."""
    rows = table(n)
    with tempfile.TemporaryDirectory() as folder:
        process = served(folder, rows)
        try:
            remote = connected(folder)
            for name in names:
                estimator, y = FITS[name]
                here, there = (one if y else one[COLUMNS] for one in (rows, remote))
                pairs = [
                    (cost(estimator, here, y)[0], *cost(estimator, there, y, process))
                    for _ in range(reps + 1)
                ][1:]  # the first ones warm up
                alone, served_, ahead = np.median(pairs, axis=0)
                yield {
                    "fit": name,
                    "rows": n,
                    "one process, s": float(alone),
                    "remote, s": float(served_),
                    "more, s": float(served_ - alone),
                    "ratio": float(served_ / alone),
                    "ahead, s": float(ahead),
                }
        finally:
            os.kill(process, signal.SIGTERM)
            os.waitpid(process, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--fits", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--quick", action="store_true", help="two fits to 10,000 rows")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of low accuracy
    if options.quick:
        options.rows, options.reps, options.fits = 10_000, 1, ["mean with bounds", "mean"]
    rows = list(runs(options.fits, options.rows, options.reps))
    print_table(rows)
    if options.json:
        write_json(options.json, rows)


if __name__ == "__main__":
    main()
