"""Codes of labels that are public or released: of a target, and of the columns of a table."""

from functools import partial

import numpy as np

from skdp.chunks._columns import MixedOf, read_columns
from skdp.chunks._labels import Known
from skdp.chunks._raw import schema_of
from skdp.kernel._plain import public
from skdp.kernel._statistic import RowMap

__all__ = ["CodedColumns", "CodedTarget", "Coding"]


@public
class CodedTarget(RowMap):
    """Rows whose last column is the number of the label of their target, NaN for no label."""

    labels: tuple  # tuple of text and numbers: public or released

    def over(self, rows):
        return rows.with_target(Known(self.labels))


@public
class CodedColumns(RowMap):
    """Rows whose columns are codes of levels, see :class:`Coding`."""

    levels: tuple  # public or released: of every column None, for numbers, or a tuple

    def over(self, rows):
        return rows.with_columns(Coding(self.levels).of_block)


class Coding:
    """Codes of the columns of a mixed table.

    ``levels``: public or released: of every column None, for numbers, or a tuple.

    **Privacy**: every code is a function of its entry alone.
    """

    def __init__(self, levels):
        self.levels = levels
        self._known = [
            None if level is None else Known(level, len(level), len(level) + 1.0)
            for level in levels
        ]

    def __repr__(self):
        return f"{type(self).__name__}({self.levels})"

    @property
    def n_cells(self):
        """Cells of every column: 0 for numbers, else its levels, "other" and "missing"."""
        return tuple(0 if level is None else len(level) + 2 for level in self.levels)

    def codes(self, X):
        """Return the codes of a table in memory, an array of float64 of its shape."""
        table = read_columns(X).table
        return self.decoder(table)(table)

    def decoder(self, head):
        """Return what makes codes of tables with the columns of ``head``, to decode a source by."""
        numeric = tuple(level is None for level in self.levels)
        return partial(_coded, self, MixedOf(schema_of(head), numeric))

    def of_block(self, block):
        """Return the codes of an array of numbers, or of a ColumnBlock, as an array of float64."""
        columns = list(block.T) if isinstance(block, np.ndarray) else block.columns
        rows = np.empty((len(block), len(columns)))
        for j, (known, column) in enumerate(zip(self._known, columns, strict=True)):
            rows[:, j] = _finite(column) if known is None else known(column)
        return rows


def _coded(coding, decode, raw):
    return coding.of_block(decode(raw))


def _finite(column):
    return np.where(np.isfinite(column), column, np.nan)
