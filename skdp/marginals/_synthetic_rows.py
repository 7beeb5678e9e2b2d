"""Synthetic rows of a fitted MarginalReleaser, and how near they are to its tables."""

import math
from itertools import combinations
from numbers import Integral

import numpy as np
from scipy.special import chdtri
from sklearn.utils.validation import check_is_fitted

from skdp.marginals._chosen_pairs import combined
from skdp.marginals._column_logits import PublicUniforms, sample_codes, table_agreements
from skdp.marginals._inference import infer_from_table, infer_slopes
from skdp.marginals._noisy_tables import DenoisedTables, NoisyTables
from skdp.marginals._postprocess import has_small_domain, nearest_joint
from skdp.marginals._residuals import Measurement, workload_layout
from skdp.marginals._synthetic_report import SyntheticReport, codes_of_rows, table_of_codes
from skdp.utils._numbers import public_seed

GOLDEN = (math.sqrt(5) - 1) / 2


FAR = 1e-3  # probability with which a residual that has drifted like others is left out
ROUNDS = 60  # of a bisection


class SyntheticRows:
    """Methods of a fitted MarginalReleaser. All of them are free post-processing."""

    def sample(self, n_rows=None, *, random_state=None, as_frame="auto", earlier=None):
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
        earlier : MarginalReleaser, default=None
            An earlier fit of the same source, on ``domain_`` of which this one was fitted. Its
            tables are joined with these as far as the two releases agree.

        Returns
        -------
        rows : DataFrame, or ndarray of shape (n_rows, n_columns)
            The columns of the domain in the order and of the types of X. Values where levels are
            values; "other" for other texts; None or NaN for missing entries, and for other ones
            among numbers; numbers inside their bins.

        Raises
        ------
        ValueError
            If ``n_rows`` is no number of rows, and if ``earlier`` has other levels.

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
        codes = self._codes(int(n_rows), seed, earlier)
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
        told_of = {pair for columns in sets for pair in combinations(columns, 2)}
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
            unreleased=math.comb(len(names), 2) - len(told_of),
        )

    def infer(self, statistic, columns, *, m=20, confidence=0.95, binned=False, random_state=None):
        """Return a statistic of the population behind the rows, with intervals.

        The intervals know the noise of the release and the draw of the rows. Synthetic rows have
        none: a test on them takes the model for the data.

        Parameters
        ----------
        statistic : callable or "ols"
            A function of rows of ``columns``, in the form of X, that returns a number or several:
            it must not depend on the number of rows, as a mean or a slope does not. ``"ols"``: the
            coefficients of least squares of the first column on the others, an indicator for every
            text but the first.
        columns : list of str or int
            Columns that are together in a released table; with ``"ols"`` all pairs of them.
        m : int, default=20
            Redrawn releases, at least 5; least squares redraws 200, since these take no rows.
        confidence : float, default=0.95
            Probability with which an interval covers the statistic of the population.
        binned : bool, default=False
            Whether the mean of its bin stands in place of every number, where bins hold several.
        random_state : int, RandomState instance or None, default=None
            Of the redrawn releases, as in :meth:`sample`.

        Returns
        -------
        told : InferredStatistic

        Raises
        ------
        ValueError
            If no release has the tables that the statistic needs, for columns with a level of
            missing or other entries, and for bins of several numbers unless ``binned``.

        Notes
        -----
        The released table is put onto the simplex, which moves it; one Newton step along the
        influence function of the statistic, found by adding rows of one cell, moves the estimate
        back. The same influence function gives the variance of the noise, whose law is known, and
        that of the draw of rows. Then the whole way from population to estimate is taken m times
        again, with fresh rows and fresh noise. If the mean of these is off by more than half a
        standard error, or their spread by half of it, there is no interval: the reason is in
        ``refusals``. Least squares takes moments of levels, linear functions of the released
        tables, and adds the variance ``s^2 (X'X)^-1`` of the draw of rows, for equal variances of
        the errors.

        **Privacy**: post-processing of what was released; free.

        References
        ----------
        .. [1] Raisa, Jalko, Kaski, Honkela. "Noise-aware statistical inference with differentially
           private synthetic data". AISTATS 2023.
        """
        check_is_fitted(self)
        slopes = isinstance(statistic, str)
        if (slopes and statistic != "ols") or not (slopes or callable(statistic)):
            raise ValueError(f"statistic must be a callable or 'ols'. Got {statistic!r}.")
        if not isinstance(m, Integral) or m < 5:
            raise ValueError(f"m must be an integer, at least 5. Got {m!r}.")
        places, words = (
            self.domain_.place(columns),
            PublicUniforms("infer", public_seed(random_state)),
        )
        wanted = {"confidence": confidence, "words": words, "binned": binned}
        if not slopes:
            return infer_from_table(
                statistic,
                self.measurement_,
                self.domain_,
                self._places(columns),
                self._library("auto"),
                m=int(m),
                **wanted,
            )
        if len(places) < 2:
            raise ValueError("least squares needs two columns at least. Name a target and another.")
        for pair in combinations(columns, 2):
            self._places(list(pair))
        return infer_slopes(self.measurement_, self.domain_, places, **wanted)

    def _codes(self, n_rows, seed, earlier=None):
        """Return level numbers, an array of int of shape (n_rows, n_columns)."""
        measurement, small = self._measured(), has_small_domain(self.measurement_.layout)
        if earlier is not None:
            check_is_fitted(earlier)
            if (earlier.domain_.names, earlier.domain_.kinds) != (
                self.domain_.names,
                self.domain_.kinds,
            ):
                raise ValueError(
                    "earlier must have the same columns and levels. Fit on domain=earlier.domain_."
                )
            measurement = joined(measurement, earlier._measured())
            if small:
                return systematic_rows(nearest_joint(measurement, measurement.values), n_rows)
        if self.joint_.size or small:
            return systematic_rows(self._joint(), n_rows)
        words = PublicUniforms("rows", seed)
        return sample_codes(self._noisy_tables(measurement), n_rows, words)

    def _measured(self):
        """Return the Measurement of everything that was released."""
        if self.singles_ is None:
            return self.measurement_
        return combined(self.singles_, self.measurement_)

    def _noisy_tables(self, measurement):
        """Return the NoisyTables that rows are made of."""
        if self.singles_ is None:
            return NoisyTables(measurement)
        mu2 = sum(
            np.sum(m.layout.row_lengths / np.square(m.sd))
            for m in (self.singles_, self.measurement_)
        )
        target = None if self.target is None else self.domain_.number(self.target)
        return DenoisedTables(measurement, math.sqrt(mu2), target)

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


def joined(measurement, earlier):
    """Return the Measurement of all sets of two releases, the earlier one as far as it holds.

    Notes
    -----
    A residual of the earlier release, times the ratio of the numbers of rows, tells that of this
    one up to a drift. Its variance t, one for all sets of one size, is estimated from sets that
    both have: ``sum |y - y'|^2 / (v + v' + t)`` is their number of coordinates (Paule and Mandel
    1982). Then both are averaged by precision, v against v' + t. A set whose difference is beyond
    the 0.999 quantile of this law has drifted by more, and takes this year's value alone. So what
    has changed is not smoothed away, and what has not gains a second measurement. Released numbers
    alone: post-processing.
    """
    new, old = measurement.layout, earlier.layout
    ratio = max(float(measurement.values[0]), 1.0) / max(float(earlier.values[0]), 1.0)
    values, variance = {}, {}
    for layout, m, scale in ((old, earlier, ratio), (new, measurement, 1.0)):
        for name, number in layout.position.items():
            here = slice(*layout.starts[number : number + 2])
            which = m is measurement
            values[name, which] = scale * m.values[here]
            variance[name, which] = (scale * m.sd[number]) ** 2
    drift = {
        order: _drift(values, variance, new, old, order) for order in range(1, len(old.subsets))
    }
    sets = [name for name in new.position if name]
    sets += [
        name for name in old.position if name and name not in new.position and drift[len(name)] >= 0
    ]
    layout, weights = workload_layout(new.levels, sets)
    made, sd = np.empty(layout.starts[-1]), np.empty(len(layout.lengths))
    for name, number in layout.position.items():
        y, v = _best(name, values, variance, drift.get(len(name), -1.0))
        made[layout.starts[number] : layout.starts[number + 1]], sd[number] = y, v**0.5
    known = layout.starts[-1] == new.starts[-1]
    return Measurement(layout, made, sd, measurement.weights if known else weights)


def _drift(values, variance, new, old, order):
    """Return the variance of the drift of the sets of one size, -1 if none is in both."""
    both = [name for name in new.position if len(name) == order and name in old.position]
    if not both:
        return -1.0
    gaps = [np.sum(np.square(values[name, True] - values[name, False])) for name in both]
    noise = [variance[name, True] + variance[name, False] for name in both]
    free = sum(len(values[name, True]) for name in both)
    gaps, noise = np.array(gaps), np.array(noise)
    low, high = 0.0, float(gaps.sum()) + 1e-12
    if np.sum(gaps / noise) <= free:
        return 0.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(gaps / (noise + middle)) > free else (low, middle)
    return high


def _best(name, values, variance, drift):
    """Return the joined residual of a set and its variance."""
    mine, other = (name, True), (name, False)
    if mine not in values:
        return values[other], variance[other] + drift
    if other not in values or drift < 0:
        return values[mine], variance[mine]
    y, v, told, w = values[mine], variance[mine], values[other], variance[other] + drift
    gap = np.sum(np.square(y - told)) / (v + w)
    if gap > chdtri(len(y), FAR):
        return y, v
    return (y / v + told / w) / (1 / v + 1 / w), 1 / (1 / v + 1 / w)
