"""Rows clipped to public bounds, one by one, before anything else looks at them."""

import numpy as np

from skdp.chunks._rows import MappedRows

__all__ = ["ClippedRows"]


class ClippedRows(MappedRows):
    """A view of rows whose entries are clipped to bounds.

    Parameters
    ----------
    rows : ArrayRows
    low, high : ndarrays of shape (n_features,)
        Public, finite.

    Notes
    -----
    **Privacy**: entry by entry, see :class:`MappedRows`. NaN and infinity become NaN, no bound: a
    row that holds them stays absent.
    """

    def __init__(self, rows, low, high):
        super().__init__(rows)
        self._low, self._high = low, high

    def _mapped(self, block):
        clipped = np.clip(block, self._low, self._high)
        clipped[~np.isfinite(block)] = np.nan
        return clipped
