"""What it costs to map every row by itself: RowMap against one call for the whole table.

python benchmarks/row_maps.py [--json PATH] [--quick]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _harness import print_table, write_json
from sklearn.decomposition import PCA
from sklearn.preprocessing import Normalizer, OneHotEncoder, PolynomialFeatures, StandardScaler

from skdp import PublicFit, RowMap
from skdp.rowwise._map import by_rows

DEFAULT_JSON = Path(__file__).parent / "results" / "row_maps.json"


def logs(X):
    return np.log1p(np.abs(X))


def cells(n):
    """Yield (what, step, table, the plain call)."""
    X = np.random.default_rng(0).normal(size=(n, 10))
    few, frame = X[: n // 10], pd.DataFrame(X[: n // 100])
    digits = np.abs(X[:, :2]).astype(int)
    levels = {"categories": [[0, 1, 2, 3, 4]] * 2, "handle_unknown": "ignore"}
    yield "ufunc np.arcsinh", RowMap(np.arcsinh), X, np.arcsinh
    yield "ufunc np.sqrt", RowMap(np.sqrt), X, np.sqrt
    yield "function of a row", RowMap(logs), X, logs
    yield "two of ten columns", RowMap(lambda row: row[:, :2]), X, lambda X: X[:, :2].copy()
    yield "function, on your promise", RowMap(logs, vectorized=True), X, logs
    yield "function of a frame's row", RowMap(logs), frame, logs
    known = StandardScaler().fit(X[:999])
    yield "PublicFit(StandardScaler)", PublicFit(known), X, known.transform
    axes = PCA(3).fit(X[:999])
    yield "PublicFit(PCA)", PublicFit(axes), few, axes.transform
    for step, table in (
        (Normalizer(), X),
        (PolynomialFeatures(2), few),
        (OneHotEncoder(**levels, sparse_output=False), digits),
    ):
        plain = type(step)(**step.get_params()).fit(table)
        yield type(step).__name__, by_rows(step), table, plain.transform


def seconds(call, table, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            call(table)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    rows = []
    for what, step, table, plain in cells(100_000 if options.quick else 1_000_000):
        step.fit(table)
        ours, theirs = seconds(step.transform, table), seconds(plain, table)
        rows.append({"what": what, "n": len(table), "skdp_s": ours, "whole_s": theirs})
        rows[-1]["us_per_row"] = 1e6 * ours / len(table)
    print_table(rows)
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
