"""Examples of what additive models ask: cells, and residuals of models of all magnitudes."""

import numpy as np

from skdp.kernel._cells import Block, Pair
from skdp.kernel._terms import (
    END,
    FAR,
    FARTHEST,
    Calibration,
    ClassCounts,
    Clipped,
    FeatureCells,
    HalfCircle,
    Logistic,
    ResidualLengths,
    ResidualSum,
    Softmax,
    TermScores,
)
from tests.kernel._examples import hostile

MOST = 2**57  # of an entry, of models of at most eight tables


class Cells(Block):
    """Cells, and what is public of them."""

    sizes: tuple

    def __getitem__(self, part):
        return cells_of(self.cells[:, part], self.target[part], self.sizes, self.pairs)

    @property
    def n_features(self):
        return len(self.sizes) + 1


def cells_of(cells, target, sizes, pairs=()):
    block = Cells(cells, target, pairs)
    block.__dict__["sizes"] = sizes
    return block


def block_of(rng, n=60):
    """Return cells and targets: codes, wrong ones and large numbers."""
    sizes = tuple(rng.integers(1, 9, size=rng.integers(1, 5)).tolist())
    cells = np.array([rng.integers(size, size=n) for size in sizes], dtype=np.uint8)
    target = rng.integers(0, 4, size=n)
    target[n // 2 :] = rng.choice([0, 1, -1, 2**40, -(2**40), 7], size=n - n // 2)
    pairs = tuple(pair_of(rng, sizes) for _ in range(rng.integers(3)))
    return cells_of(cells, target, (*sizes, *(pair.size for pair in pairs)), pairs)


def pair_of(rng, sizes):
    """Return a pair of two features, or of one with itself, whose cells are merged anyhow."""
    first, second = map(int, rng.integers(len(sizes), size=2))
    left, right = (rng.integers(rng.integers(1, 5), size=sizes[j]) for j in (first, second))
    return Pair(first, second, left, right)


def scores_of(rng, outputs, sizes, most=None):
    """Return a model of all magnitudes."""
    most = most or int(rng.choice([1, 1000, END, MOST]))
    tables = tuple(rng.integers(-most, most + 1, size=(outputs, size)) for size in sizes)
    return TermScores(rng.integers(-most, most + 1, size=(outputs, 1)), tables)


def link_of(rng, most=2**30):
    radius = int(rng.choice([1, 77, most]))
    classes = Logistic(), Softmax(3), Softmax(1), Softmax(6)
    return [*classes, Clipped(radius), HalfCircle(min(radius, 2**26))][rng.integers(6)]


def residuals(cls, *others):
    def make(rng):
        block, link = block_of(rng), link_of(rng)
        scores = scores_of(rng, link.outputs, block.sizes)
        return cls(scores, link, *(other(rng, block) for other in others)), block

    return make


def some_feature(rng, block):
    """Return a feature, or None for all rows."""
    return int(rng.integers(len(block.sizes))) if rng.random() < 0.6 else None


def lengths(rng):
    block, link = block_of(rng), link_of(rng, FARTHEST)
    edges = np.sort(rng.integers(1, 2**30, size=5))
    return ResidualLengths(scores_of(rng, link.outputs, block.sizes), link, edges), block


def calibration(rng):
    block, link = block_of(rng), [Logistic(), Softmax(3)][rng.integers(2)]
    most = int(rng.choice([FAR, 2 * END, MOST]))
    scores = scores_of(rng, link.outputs, block.sizes, most)
    start = rng.integers(-most // 4, most // 4, size=(link.outputs, 1))
    return Calibration(scores, link, start, bool(rng.random() < 0.5)), block


def feature_cells(rng):
    block = block_of(rng)
    return FeatureCells(block.sizes), block


EXAMPLES = {
    ClassCounts: lambda rng: (ClassCounts(int(rng.integers(1, 5))), np.round(hostile(rng, 2))),
    FeatureCells: feature_cells,
    ResidualSum: residuals(ResidualSum, some_feature),
    ResidualLengths: lengths,
    Calibration: calibration,
}
