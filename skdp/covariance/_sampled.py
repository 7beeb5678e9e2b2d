"""Tables of rows drawn by their own coins, and sums over their blocks."""

import operator
from dataclasses import dataclass

import numpy as np

from skdp.chunks import ArrayRows, map_merge

__all__ = ["DrawnRows", "draw_rows"]

MOST_ENTRIES = 2**22  # of a sample that is kept in memory: 32 MB


@dataclass(frozen=True)
class DrawnRows:
    """The rows of a table whose secret keys are below a public limit, read block by block.

    Parameters
    ----------
    rows : ArrayRows
    n : float
        Their number, from a release.
    coins : RowKeys, default=None
        None if all rows of ``rows`` belong to the sample.
    q : float, default=1.0
        Public probability with which a row is taken.
    use : str, default=""
        Constant text; see :class:`skdp.mechanisms.RowKeys`.

    Notes
    -----
    **Privacy**: couple the keys of neighbouring tables so that common rows share theirs: the
    samples are equal or neighbours. No amplification is claimed.
    """

    rows: ArrayRows
    n: float
    coins: object = None
    q: float = 1.0
    use: str = ""

    @property
    def n_features(self):
        """Number of columns."""
        return self.rows.n_features

    def take(self, indices):
        """Return rows by their numbers in the table that was drawn from."""
        return self.rows.take(indices)

    def total(self, statistic, merge=operator.add):
        """Return the sum of ``statistic(block)`` over the rows that were drawn of every block."""
        if self.coins is None:
            return map_merge(self.rows, lambda start, block: statistic(block), merge)

        def drawn(start, block, index):
            return statistic(block[index])

        return map_merge(self.rows, drawn, merge, self._drawn)

    def _drawn(self, start, stop):
        limit = np.uint64(min(int(self.q * 2.0**64), 2**64 - 1))
        return np.flatnonzero(self.coins.keys(start, stop, use=self.use) <= limit)


def draw_rows(rows, coins, size, *, n, use):
    """Draw about ``size`` of about ``n`` rows; all of them if that saves less than half.

    Parameters
    ----------
    rows : ArrayRows
    coins : RowKeys
    size : float
        Public or released.
    n : float
        Released number of rows.
    use : str

    Returns
    -------
    drawn : DrawnRows
    """
    if 2 * size > n:
        return DrawnRows(rows, n)
    drawn = DrawnRows(rows, size, coins, size / n, use)
    if size * rows.n_features > MOST_ENTRIES:
        return drawn
    parts = drawn.total(lambda block: [block])
    return DrawnRows(ArrayRows(np.concatenate(parts)), size)
