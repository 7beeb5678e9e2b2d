"""The one release of a step of Lloyd: sizes, sums and squares of all clusters at once."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.kernel._cluster_sums import ClusterTotals

__all__ = ["ClusterSums", "cluster_sums"]


@dataclass(frozen=True)
class ClusterSums:
    """Released ``counts`` (k,), ``sums`` (k, d) of differences to the centres, total ``squares``.

    Lengths are in units of the largest clip radius. ``count_sd``, ``sum_sd`` (k,), of every entry
    of a sum, and ``square_sd`` are standard deviations of the noise. Without squares both are 0.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: float
    count_sd: float
    sum_sd: np.ndarray
    square_sd: float

    def scaled(self, unit):
        """Return the same with lengths multiplied by ``unit``."""
        return ClusterSums(
            self.counts, self.sums * unit, self.squares * unit**2,
            self.count_sd, self.sum_sd * unit, self.square_sd * unit**2,
        )  # fmt: skip


def cluster_sums(table, rule, centers, *, radii, weight, share, step, squares=1.0, halvings=2):
    """Release the size of every cluster, the sum of its rows around its centre, and all squares.

    Shapes: centers (k, d); radii (k,).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._cluster_sums.ClusterTotals`.
    """
    k, d = centers.shape
    question = ClusterTotals(rule, centers, radii, weight, squares, halvings)
    release = table.ask(question, step, share=share)
    question = replace(question, bits=release.bits)
    sd = release.scale * (math.sqrt(2) if release.law == "laplace" else 1)
    area = squares**2 / question.square if squares else 0.0  # of a step of the squares
    cells = release.value[: k * (d + 1)].reshape(k, d + 1)
    lengths = np.asarray(radii) / float(np.max(radii)) / 2.0**release.bits
    return ClusterSums(
        counts=cells[:, 0] / question.one,
        sums=cells[:, 1:] * lengths[:, None],
        squares=float(release.value[-1]) * area,
        count_sd=sd / question.one,
        sum_sd=sd * lengths,
        square_sd=sd * area,
    )
