"""Rows clipped to public bounds, one by one, before anything else looks at them."""

import numpy as np

__all__ = ["ClippedRows"]


class ClippedRows:
    """A view of rows whose entries are clipped to bounds.

    Parameters
    ----------
    rows : ArrayRows
    low, high : ndarrays of shape (n_features,)
        Public, finite.

    Notes
    -----
    **Privacy**: a clipped row is a function of the row alone, so neighbouring tables stay
    neighbours. NaN and infinity become NaN, no bound: a row that holds them stays absent.
    """

    def __init__(self, rows, low, high):
        self._rows, self._low, self._high = rows, low, high
        self.n_features, self.block_rows = rows.n_features, rows.block_rows

    def __len__(self):
        return len(self._rows)

    def blocks(self):
        """Yield (index of the first row, block of rows), float64."""
        for start, block in self._rows.blocks():
            yield start, self._clipped(block)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return self._clipped(self._rows.take(indices))

    def _clipped(self, block):
        clipped = np.clip(block, self._low, self._high)
        clipped[~np.isfinite(block)] = np.nan
        return clipped
