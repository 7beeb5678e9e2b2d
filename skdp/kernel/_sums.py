"""Counts, distances and clipped sums of rows."""

from dataclasses import replace

import numpy as np

from skdp.kernel._grid_bits import grid_bits
from skdp.kernel._log_bins import LogBins
from skdp.kernel._statistic import OnBall, OneCell, Statistic, public, refuse
from skdp.mechanisms import ball_sum, finite_rows, row_norms

__all__ = ["BallSum", "Count", "Distances", "KeptRows"]

BITS = 20  # a row of the length of the clip radius is 2^20 grid units long
NOISE_BITS = 40


def _check_columns(question, shape):
    """Refuse a centre and a scale that have no entry for each column: rows may be as many."""
    for one in (question.center, question.scale):
        refuse(one is not None and np.shape(one) != (shape.n_features,), "an entry for each column")


@public
class Count(Statistic):
    """The number of rows without NaN and infinity.

    Parameters
    ----------
    last : bool, default=False
        Of rows whose last entry has none.

    See Also
    --------
    Statistic, Table

    Notes
    -----
    **Privacy** (add or remove one row): a row is counted by itself, once.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import Count
    >>> Count().total(np.array([[1.0], [np.nan]]))
    array([1])
    """

    last: bool = False
    squared_l2 = l1 = 1

    def _there(self, block):
        return np.isfinite(block[:, -1]) if self.last else finite_rows(block)

    def total(self, block):
        """Return the number of rows, shape (1,)."""
        return np.array([np.count_nonzero(self._there(block))])


@public
class Distances(OneCell):
    """How many rows lie at which distance of a point."""

    center: np.ndarray  # (d,)
    bins: LogBins
    scale: np.ndarray | None = None  # (d,): of the columns
    starts: np.ndarray | None = None  # first bins of cells that join bins

    def check(self, shape):
        super().check(shape)
        _check_columns(self, shape)
        self.bins.check()
        if self.starts is not None:
            refuse(np.ndim(self.starts) != 1 or len(self.starts) == 0, "cells have first bins")
            refuse(np.asarray(self.starts).dtype.kind != "i", "first bins are integers")
            rise = (np.diff(self.starts) > 0).all() and self.starts[0] >= 0
            refuse(not (rise and self.starts[-1] < self.bins.n_bins), "first bins rise")

    @property
    def size(self):
        return self.bins.n_bins if self.starts is None else len(self.starts)

    def _bins(self, block):
        return self.bins.index(row_norms(block, center=self.center, scale=self.scale))

    def cells(self, block):
        at = self._bins(block)
        if self.starts is None:
            return at
        return np.where(at < 0, -1, np.searchsorted(self.starts, at, side="right") - 1)

    def weighed_total(self, block, weights):
        sums = np.bincount(self._bins(block) + 1, weights, minlength=self.bins.n_bins + 1)[1:]
        sums = sums.astype(np.int64, copy=False)
        return sums if self.starts is None else np.add.reduceat(sums, self.starts)


@public
class BallSum(OnBall):
    """The sum of ``(x - center) / scale``, every row clipped to a ball.

    **Privacy**: every row becomes an integer vector of length at most 2^bits, certified in integers
    by :func:`skdp.mechanisms.ball_sum`.
    """

    center: np.ndarray  # (d,)
    radius: float  # of the ball
    scale: np.ndarray | None = None  # (d,): of the columns
    drop: float | None = None  # rows beyond ``drop * radius`` add nothing
    bits: int | None = None

    def check(self, shape):
        super().check(shape)
        _check_columns(self, shape)

    def at(self, offer):
        return replace(self, bits=grid_bits(offer.strength, noise_bits=NOISE_BITS, most=BITS))

    def _ball(self):
        return {
            "center": self.center,
            "radius": self.radius,
            "bits": self.bits,
            "scale": self.scale,
        }

    def total(self, block):
        """Return the sum, shape (d,)."""
        return ball_sum(block, **self._ball(), drop=self.drop)[0]


@public
class KeptRows(BallSum):
    """The number of rows that a :class:`BallSum` of the same fields does not drop."""

    squared_l2 = l1 = 1
    step = 1.0

    def at(self, offer):
        return replace(self, bits=BITS)

    def total(self, block):
        """Return the number of rows, shape (1,)."""
        return np.array([ball_sum(block, **self._ball(), drop=self.drop)[1]])
