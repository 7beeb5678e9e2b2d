"""Synthetic rows of a fitted MarginalReleaser, and how near they are to its tables."""

import math
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.marginals._postprocess import has_small_domain, nearest_joint
from skdp.marginals._synthetic import table_of_codes
from skdp.marginals._synthetic_report import SyntheticReport, codes_of_rows
from skdp.marginals.synthesis import NoisyTables, PublicUniforms, sample_codes, table_agreements
from skdp.utils._public import public_seed

__all__ = ["SyntheticRows", "systematic_rows"]

GOLDEN = (math.sqrt(5) - 1) / 2


class SyntheticRows:
    """Methods of a fitted MarginalReleaser. All of them are free post-processing."""

    def sample(self, n_rows=None, *, random_state=None, as_frame="auto"):
        """Return synthetic rows, in the form of X, whose tables are near to the released ones.

        Parameters
        ----------
        n_rows : int, default=None
            None is the estimated number of rows.
        random_state : int, RandomState instance or None, default=None
            Of the rows, not of the noise: it is public. Every call with the same number returns
            the same rows, and None is one such number.
        as_frame : bool or "auto", default="auto"
            As of :meth:`marginal`.

        Returns
        -------
        rows : DataFrame, or ndarray of shape (n_rows, n_columns)
            The columns of the domain in the order and of the types of X. Values where levels are
            values; "other" for other texts; None or NaN for missing entries, and for other ones
            among numbers; numbers inside their bins.

        Raises
        ------
        ValueError
            If ``n_rows`` is no number of rows.

        Notes
        -----
        Rows answer only what their tables hold: what they say of combinations of columns that are
        together in no table is an extrapolation, and tables with more noise than counts say little.

        Domains of at most 4096 combinations of levels: rows are those of ``joint_``, or, where
        post-processing has made no table of all columns, of the distribution whose tables are
        nearest to the released ones. No chance is involved: every cell has its expected number of
        rows to within one.

        Larger domains: columns are drawn one after the other, each by a multinomial logit given
        those before it, whose tables with them are the released ones as far as these are above
        their noise, and whose entropy is the largest. Draws are balanced, so that tables of the
        rows are nearer to their expectation than those of independent rows.

        **Values**: numbers in a bin of ``domain="auto"`` have the law that the search for bins has
        released, of the finer cells that it counted; those in public :class:`Bins` a uniform one,
        and an open bin is as wide as the bin beside it. Whole numbers stay whole. Inside their bins
        numbers of one column tell nothing of those of others.

        **Privacy**: post-processing of what was released; free.
        """
        check_is_fitted(self)
        n_rows = max(round(self.n_rows_), 0) if n_rows is None else n_rows
        if not isinstance(n_rows, Integral) or n_rows < 0:
            raise ValueError(
                "n_rows must be an integer, not negative. None is the estimated number."
            )
        seed = public_seed(random_state)
        codes = self._codes(int(n_rows), seed)
        return table_of_codes(self.domain_, codes, self._library(as_frame), seed=seed)

    def synthetic_report(self, rows):
        """Return how near synthetic rows are to the released tables, beside the noise of these.

        Synthetic rows answer only what their tables hold, and this tells how well they do: rows
        that are within noise of a table may be used in its place, those beyond it have missed
        something. Of combinations of columns that are in no table it says nothing.

        Parameters
        ----------
        rows : DataFrame or array of shape (n_rows, n_columns)
            Synthetic rows: of :meth:`sample`, or any others with its columns and levels. Those of
            an array are in its order.

        Returns
        -------
        report : SyntheticReport
            For every table of the workload the total variation distance, its mean and its upper
            bound for rows that have the exact shares, and whether it is within that bound.
            ``to_frame()`` makes it a tidy frame, ``print`` a text.

        Raises
        ------
        ValueError
            For no rows, other columns, and entries outside the levels.

        Notes
        -----
        **Privacy**: a function of what was released and of the rows it is given; free for synthetic
        ones. **It protects no rows**: do not pass private ones, of which its numbers, and its
        errors, would tell.
        """
        check_is_fitted(self)
        codes = codes_of_rows(self.domain_, rows)
        sets = [tuple(columns) for same in self.workload_ for columns in same.tolist()]
        found = table_agreements(self.measurement_, sets, codes)
        names = [str(name) for name in self.domain_.names]
        told = ([getattr(a, part) for a in found] for part in ("distance", "noise", "bound"))
        return SyntheticReport(
            len(codes),
            tuple(tuple(names[place] for place in columns) for columns in sets),
            *map(np.array, told),
            library="polars" if self._library("auto") == "polars" else "pandas",
            bins=tuple(
                (name, n_levels)
                for name, n_levels, kind in zip(
                    names, self.domain_.levels, self.domain_.kinds, strict=True
                )
                if hasattr(kind, "edges") and any(label[0] in "([" for label in kind.labels)
            ),
        )

    def _codes(self, n_rows, seed):
        """Return level numbers, an array of int of shape (n_rows, n_columns)."""
        if self.joint_.size or has_small_domain(self.measurement_.layout):
            return systematic_rows(self._joint(), n_rows)
        words = PublicUniforms("rows", seed)
        return sample_codes(NoisyTables(self.measurement_), n_rows, words)

    def _joint(self):
        """Return a table of all columns with nonnegative cells, as near as can be to the tables."""
        if self.joint_.size:
            return self.joint_
        return nearest_joint(self.measurement_, self.residuals_)


def systematic_rows(joint, n_rows):
    """Return rows whose numbers in all cells are as near to a distribution as integers can be.

    Shapes: joint (L_1, ..., L_d); rows (n_rows, d).

    Notes
    -----
    Row i is the cell in which the share (i + 1/2) / n_rows of all falls, counted in C order: so a
    cell, and every run of cells, has its expected number of rows to within one. The rows then come
    in the order of the multiples of the golden ratio, which visits all parts of the table evenly:
    the first m rows are a sample too. It takes no random numbers, and none are needed: all of it is
    post-processing.
    """
    shares = np.cumsum(joint, axis=None, dtype=np.float64)
    points = (np.arange(n_rows) + 0.5) / max(n_rows, 1) * shares[-1]
    cells = np.searchsorted(shares, points, side="right").clip(max=joint.size - 1)
    order = np.argsort(np.arange(1, n_rows + 1) * GOLDEN % 1.0, kind="stable")
    return np.column_stack(np.unravel_index(cells[np.argsort(order, kind="stable")], joint.shape))
