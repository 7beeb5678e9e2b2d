"""What exact sums of bounded rows cost: skdp against plain floating point in equal blocks.

python benchmarks/rows.py [--json PATH]
"""

import argparse
import time
from pathlib import Path

import numpy as np
from _harness import print_table, write_json

from skdp.mechanisms import ball_sum, gram_sum, row_norms

BITS = 20
CELLS = 2**16
TABLES = [(1_000_000, 100), (1_000_000, 10), (1_600, 1_000)]
GRAMS = [(1_000_000, 50), (100_000, 10), (1_600, 1_000)]
CLIPPED = [0.0, 0.01, 0.5, 1.0]  # part of the rows that is longer than the radius
DEFAULT_JSON = Path(__file__).parent / "results" / "rows.json"


def clip(block, center, radius, out):
    rows = np.subtract(block, center, out=out[: len(block)])
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows *= np.minimum(1, radius / norms)[:, None]
    return rows


def plain(X, center, radius, merge, step):
    """Merge the sums of clipped rows in floats, block by block."""
    out = np.empty((step, X.shape[1]))
    parts = (clip(X[i : i + step], center, radius, out) for i in range(0, len(X), step))
    return sum(merge(rows) for rows in parts)


def milliseconds(call, repeats=5):
    """Return the best time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def compare(what, X, clipped, ours, theirs):
    n, d = X.shape
    times = {"plain_ms": milliseconds(theirs), "exact_ms": milliseconds(ours)}
    ratio = times["exact_ms"] / times["plain_ms"]
    return {"what": what, "n": n, "d": d, "clipped": clipped, **times, "ratio": ratio}


def table(n, d):
    """Return rows, a centre, and the radius for each part of rows to be clipped."""
    X = np.random.default_rng(0).normal(size=(n, d))
    center = np.full(d, 0.01)
    norms = row_norms(X, center=center)
    radii = {p: float(np.quantile(norms, 1 - p)) for p in CLIPPED}
    return X, center, {p: r * (1 + (p == 0)) / (1 + (p == 1)) for p, r in radii.items()}


def measure():
    for n, d in TABLES:
        X, center, radii = table(n, d)
        step = max(1, CELLS // d)
        for clipped, radius in radii.items():
            ball = {"center": center, "radius": radius, "bits": BITS}
            yield compare(
                "sum",
                X,
                clipped,
                lambda X=X, ball=ball: ball_sum(X, **ball),
                lambda X=X, c=center, r=radius, m=step: plain(X, c, r, lambda y: y.sum(axis=0), m),
            )
        yield compare(
            "norms",
            X,
            None,
            lambda X=X, c=center: row_norms(X, center=c),
            lambda X=X, c=center: np.linalg.norm(X - c, axis=1),
        )
    for n, d in GRAMS:
        X, center, radii = table(n, d)
        step = max(CELLS // d, 2 * d)
        ball = {"center": center, "radius": radii[0.5], "bits": BITS, "n_max": 2**22}
        yield compare(
            "gram",
            X,
            0.5,
            lambda X=X, ball=ball: gram_sum(X, **ball),
            lambda X=X, c=center, r=radii[0.5], m=step: plain(X, c, r, lambda y: y.T @ y, m),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    path = parser.parse_args().json
    rows = list(measure())
    print_table(rows)
    write_json(path, rows, bits=BITS)


if __name__ == "__main__":
    main()
