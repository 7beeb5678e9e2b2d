"""The targets of rows alone."""

import numpy as np

from skdp.chunks._rows import MappedRows, take
from skdp.kernel._statistic import RowMap, public

__all__ = ["Targets"]


@public
class Targets(RowMap):
    """The target of every row, one column: NaN for a row that is absent."""

    ones: bool = False  # show a one in the place of every target: labels are no numbers

    def over(self, rows):
        return TargetColumn(rows, self.ones)


class TargetColumn(MappedRows):
    """What :class:`Targets` shows of TargetRows."""

    def __init__(self, rows, ones):
        super().__init__(rows.joined)
        self.n_features, self._there, self._ones = 1, rows.present, ones

    def _mapped(self, block):
        target = np.where(self._there(block), 1.0 if self._ones else block.target, np.nan)
        return target.astype(np.float64)[:, None]

    def take(self, indices):
        """Return the targets at ``indices`` as a float64 array."""
        return super().take(indices) if self.random_access else take(self, indices)
