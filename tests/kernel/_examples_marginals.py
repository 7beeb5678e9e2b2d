"""Hostile rows and fields for the statistics of codes."""

import numpy as np

from skdp.kernel._labels import EntryStates, RowsWithEntries
from skdp.kernel._layout import Layout
from skdp.kernel._residual_sums import PairDistances
from skdp.kernel._residuals import RangeResiduals, Residuals
from skdp.marginals._residuals import workload_layout
from skdp.readers._columns import ColumnBlock
from tests.kernel._examples import EXTREMES, OFFER

__all__ = ["EXAMPLES", "block_of_columns"]


def codes(rng, levels, n=40):
    """Return rows of codes, some of them with an entry that is none."""
    rows = np.column_stack([rng.integers(0, n_levels, size=n) for n_levels in levels])
    wrong = rng.random(rows.shape) < 0.05
    return np.where(wrong, rng.choice([*EXTREMES, 1e9, -1e-9], size=rows.shape), rows)


def _residuals(rng):
    levels = tuple(rng.choice([2, 2, 3, 5, 40], size=int(rng.integers(1, 5))).tolist())
    layout, _ = workload_layout(levels, int(rng.integers(0, min(len(levels), 3) + 1)))
    parts = 10.0 ** rng.uniform(*rng.choice([[-12, 0], [-1, 0]]), size=len(layout.lengths))
    layout = Layout(layout.levels, layout.subsets)
    return Residuals(layout, parts / parts.sum()).at(OFFER), codes(rng, levels)


def _ranges(rng):
    levels = tuple(rng.choice([2, 3, 7, 300], size=int(rng.integers(1, 4))).tolist())
    most = int(rng.choice([1, 100, 2**14]))
    matrices = tuple(rng.integers(-most, most + 1, size=(n - 1, n - 1)) for n in levels)
    for matrix in matrices:
        matrix[0, 0] = most
    return RangeResiduals(levels, int(rng.integers(1, 2**24)), matrices), codes(rng, levels)


def _distances(rng):
    levels = tuple(rng.choice([2, 3, 7, 40], size=int(rng.integers(2, 6))).tolist())
    shares = tuple(rng.dirichlet(np.ones(n)) for n in levels)
    return PairDistances(float(rng.choice([0.0, 40.0, 2.0**36])), shares), codes(rng, levels)


class Block(ColumnBlock):
    """A block of columns that tells their number."""

    n_features = property(lambda self: len(self.columns))


def block_of_columns(rng, n=40):
    """Return columns of numbers, of text and of what is neither, with rows of gaps alone."""
    numbers = rng.choice(EXTREMES, size=n)
    odd = [
        None,
        float("nan"),
        "a",
        "b",
        "1",
        1,
        1.0,
        True,
        np.int64(2),
        0.5,
        10**400,
        b"b",
        (),
        np.inf,
    ]
    text = np.empty(n, dtype=object)
    text[:] = [odd[i] for i in rng.integers(0, len(odd), size=n)]
    text[:9], numbers[:9] = None, np.nan
    return Block([numbers, text])


def _states(rng):
    labels = (None, tuple(["a", 1, "b", 2, 10**15][: int(rng.integers(0, 6))]))
    labels = labels if rng.random() < 0.7 else (labels[1], None)
    return EntryStates((0, 1), labels), block_of_columns(rng)


EXAMPLES = {
    Residuals: _residuals,
    PairDistances: _distances,
    RangeResiduals: _ranges,
    RowsWithEntries: lambda rng: (RowsWithEntries(), block_of_columns(rng)),
    EntryStates: _states,
}
