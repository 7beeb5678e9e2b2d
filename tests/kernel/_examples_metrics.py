"""Examples of what reports of classifiers ask: cells of scores by class, and confusions."""

import numpy as np

from skdp.kernel.applied._scores import ConfusionCells, PrefixCells, ScoreCells
from tests.kernel._examples import hostile

EDGES = (0.0, 5e-324, 1e-3, 0.2, 0.5, 1.0, 3.0, 1e300, 1.7e308)


def scored(rng, edges, n_classes):
    """Return rows of scores, many on an edge or far beyond, and codes, some of no class."""
    m, n = len(edges), 60
    block = np.nan_to_num(hostile(rng, m + 1, n), nan=0.3, posinf=1e308, neginf=-1e308)
    on_edge = rng.random((n, m)) < 0.5
    block[:, :m] = np.where(on_edge, rng.choice(edges[0], size=(n, m)), block[:, :m])
    block[:, -1] = rng.integers(0, n_classes, size=n)
    for j in range(m):  # some rows at every end of a bin at once
        k = min(len(edges[0]), n // 2)
        block[:k, j] = edges[0][:k]
    some = rng.integers(n, size=4)
    block[some, rng.integers(m + 1, size=4)] = [np.nan, np.inf, -1.0, 0.5]
    return block


def score_cells(rng):
    m, bins, q = (int(rng.integers(1, high)) for high in (4, 8, 5))
    row = np.sort(rng.choice([*EDGES, *(-np.array(EDGES[1:]))], size=bins + 1, replace=False))
    edges, positives = np.tile(row, (m, 1)), tuple(rng.integers(0, 3, size=m).tolist())
    most = int(rng.choice([1, 1000, 2**22]))
    left, right = rng.integers(-most, most + 1, size=(2, m, q, 2, bins))
    k = int(rng.integers(bins))  # the longest of all columns are at one end of a bin with rows
    end, x = (left, row[k]) if rng.random() < 0.5 else (right, np.nextafter(row[k + 1], -np.inf))
    left //= 2
    right //= 2
    end[..., k] = most
    block = scored(rng, edges, 3)
    block[-2:, :m], block[-2:, -1] = x, [positives[0], (positives[0] + 1) % 3]
    return ScoreCells(edges, positives, left, right), block


def prefix_cells(rng):
    m, bins = int(rng.integers(1, 4)), int(rng.integers(1, 8))
    edges = [
        np.sort(rng.choice([*EDGES, *(-np.array(EDGES[1:]))], size=bins + 1, replace=False))
        for _ in range(m)
    ]
    columns = tuple(rng.choice(m, size=int(rng.integers(1, m + 1)), replace=False).tolist())
    positives = tuple(rng.integers(0, 3, size=len(columns)).tolist())
    return PrefixCells(columns, np.array(edges)[list(columns)], positives), scored(rng, edges, 3)


def confusions(rng):
    k = int(rng.integers(1, 5))
    return ConfusionCells(k), scored(rng, np.tile([0.1, 0.5, 0.9], (k, 1)), k)


EXAMPLES = {ScoreCells: score_cells, PrefixCells: prefix_cells, ConfusionCells: confusions}
