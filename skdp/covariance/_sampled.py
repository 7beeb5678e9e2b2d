"""Tables of rows drawn by their own coins, and sums over their blocks."""

from dataclasses import dataclass

import numpy as np

from skdp.chunks import ArrayRows, map_merge, weighed_sum

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

    def total(self, statistic):
        """Return the sum of ``statistic(block)`` over the rows that were drawn of every block."""
        if self.coins is None:
            return weighed_sum(self.rows, lambda start, block: statistic(block))

        def drawn(start, block, chosen):
            return statistic(block[chosen])

        return weighed_sum(self.rows, drawn, self._drawn)

    def gathered(self):
        """Return the rows that were drawn."""
        parts = map_merge(
            self.rows, lambda start, block, chosen: [block[chosen]], list.__add__, self._drawn
        )
        return np.concatenate(parts)

    def _drawn(self, start, stop):
        limit = np.uint64(min(int(self.q * 2.0**64), 2**64 - 1))
        return self.coins.keys(start, stop, use=self.use) <= limit


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
    if size * rows.n_features > MOST_ENTRIES or rows.unit != 1:
        return drawn
    return DrawnRows(ArrayRows(drawn.gathered()), size)
