"""How far tables of two columns are from public ones: a score for every pair of columns."""

from functools import cached_property
from itertools import combinations
from typing import Annotated

import numpy as np

from skdp.kernel._plain import each, made_of, public, refuse, within
from skdp.kernel._residual_sums import OfCodes, are_codes, table_counts
from skdp.kernel._statistic import MOST_CELLS, Statistic
from skdp.readers import weighed_sum

MOST_ROWS = 2.0**36  # that a field may tell: sums of 2^24 cells then fit into 63 bits


@public
class PairDistances(Statistic):
    """For every pair of columns, the distance of its table from that of independent columns.

    **Privacy** (add or remove one row). Let N_S be the table of the pair S, and c_S the public
    integers ``round(n p_i p_j)``. The answer has the m entries ``f_S = |N_S - c_S|_1``. A row of
    codes adds 1 to one cell of every N_S, and any other row adds nothing. By the triangle
    inequality ``|f_S(D') - f_S(D)| <= |N_S(D') - N_S(D)|_1 = 1``. So the answer moves by at most
    ``sqrt(m)`` in l2 and m in l1. A person whose weights sum to at most ``unit`` moves each f_S by
    at most ``unit``: c_S is multiplied by it.

    The sums over rows are the tables themselves. A row adds a vector of m ones to them, whose
    lengths are the same sqrt(m) and m.
    """

    n: Annotated[float, within(0, MOST_ROWS)]  # number of rows: public or released
    # the shares of the levels of every column: public or released
    shares: Annotated[tuple, "d", made_of(np.ndarray), each(within(0, 1))]

    def check(self, shape):
        super().check(shape)
        refuse(len(self.shares) < 2, "two columns at least")
        fits = (law.ndim == 1 and law.dtype.kind == "f" and len(law) > 1 for law in self.shares)
        refuse(not all(fits), "vectors of shares")
        sizes = self.levels
        cells = (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2
        refuse(cells > MOST_CELLS, "at most 2^24 cells of all pairs")

    @property
    def levels(self):
        """The number of levels of every column."""
        return tuple(map(len, self.shares))

    @property
    def pairs(self):
        """The pairs of columns, in the order of the answer."""
        return list(combinations(range(len(self.shares)), 2))

    @property
    def squared_l2(self):
        return len(self.shares) * (len(self.shares) - 1) // 2

    l1 = squared_l2

    @cached_property
    def starts(self):
        """Where the table of every pair starts in their flat vector."""
        sizes = self.levels
        return np.cumsum([0, *(sizes[i] * sizes[j] for i, j in self.pairs)])[:-1]

    def expected(self):
        """Return the tables of independent columns, flat, in whole rows."""
        tables = (np.outer(self.shares[i], self.shares[j]).ravel() for i, j in self.pairs)
        return np.rint(self.n * np.concatenate(list(tables))).astype(np.int64)

    def over(self, rows):
        tables = weighed_sum(rows, OfCodes(self.levels, self._tables))
        gaps = np.abs(tables - self.expected() * getattr(rows, "unit", 1))
        return np.add.reduceat(gaps, self.starts)

    def total(self, block):
        """Return the sum, all tables one after the other."""
        block = np.asarray(block)
        return self._tables(block[are_codes(block, self.levels)], None)

    def _tables(self, codes, weights):
        columns, sizes = codes.T.astype(np.int64, order="C"), self.levels
        pairs = ((np.array([pair]), (sizes[pair[0]], sizes[pair[1]])) for pair in self.pairs)
        return np.concatenate([table_counts(columns, of, pair, weights) for pair, of in pairs])
