"""Any number of quantiles of every column at once: cuts that close in on them, round by round."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.columns._magnitude_histogram import ENDS, first_ranks, is_significant, whole_line
from skdp.columns._rank_column import NEWTON, RankColumn
from skdp.columns._ranks import excess_strategy
from skdp.columns._ranks_read import estimate, spread
from skdp.kernel._columns import ColumnCells, EdgeCells, WeighedCells
from skdp.mechanisms._exact import exact
from skdp.scales._column_noise import QUANTILE_AGAIN, ColumnNoise, with_law

# Shares of octaves, at least and at most; of many columns, of which those are looked at again, by
# themselves, that are not seen: with .06, .1 and .15 at most 90, 88 and 88 % of the columns of one
# half of benchmarks/summary.py had nine quantiles within 0.03.
OCTAVES, OF_MANY, AGAIN = (0.02, 0.1), (0.02, 0.06), 0.25
SEARCH = 0.003, 0.05  # of a round, at least and at most
ROUNDS, SEARCH_AT_MOST, LEFT = 16, 0.3, 0.2
BRACKETS = 0.22  # of what is left after the search
# Noise, as a part of all rows: in octaves, in those of columns of which nothing was seen; and of
# the rows in a bracket.
IN_OCTAVES, IN_LOST, IN_GAP = 1 / 60, 1 / 100, 1 / 6
REPAIRS = 3  # rounds for brackets that turn out to hold many ranks after all
FEW = 2.0  # noises in a rank: so few rows within bounds tell nothing
# Of the budget, for each of a few columns: their numbers of entries are as sharp as one number of
# rows would be.
COUNT_PARTS, MOST_COUNTS = (0.01, 0.03), 3
ROW_COUNT, PURE_ROW_COUNT = (
    Step("row count", at_most=MOST_COUNTS * part, of=(EdgeCells,)) for part in COUNT_PARTS
)
WHOLE_LINE = Step("octaves", at_most=AGAIN, times=2, of=(ColumnCells,))
# Many columns, whose ranks are noisy beside all rows: cells with weights tell ranks, at half the
# variance of histograms. Of 432 columns of one half of the tables of benchmarks/summary.py, 36 in a
# summary of 50, these told 98 %, histograms 89 %.
MANY, NOISY = 16, 0.005
ZOOM, SPREAD_OUT, FINER, NOISE = 16, (0.2, 0.15), 32, 0.035  # cells, parts of all rows, a noise
# Of what is left: of that half two, three, four, six and nine last releases told 85, 87, 88, 92 and
# 89 % of the columns, with an error of 1.5 %.
MIDDLE, LAST = 0.3, tuple(1 / k for k in range(6, 1, -1))
CELLS_OF_ALL = EdgeCells, WeighedCells
ROUND = Step("search", at_most=SEARCH[1], times=ROUNDS + REPAIRS, of=CELLS_OF_ALL)
FINAL_BRACKETS = Step("brackets", at_most=MIDDLE, of=CELLS_OF_ALL)
STATISTIC = Step("statistic", times=1 + len(LAST), of=CELLS_OF_ALL)


@dataclass
class Quantiles:
    """Released quantiles of d columns, and what is known of the ranks around them."""

    # location, noise_scale: shape (n_q, d)
    location: np.ndarray
    noise_scale: np.ndarray
    points: list  # each of shape (m,): for every column, cuts between its lower and its upper end
    # excess, sd: each of shape (n_q, m): how many ranks each of them is above each quantile, and
    # the standard deviations of these
    excess: list
    sd: list
    found: np.ndarray  # shape (d,)
    fits: list  # of every column the :class:`skdp.columns._ranks.Fit`, None of what is not found


def rank_steps(budget, *, bounded):
    """Return the planned steps of :func:`find_quantiles`.

    Parameters
    ----------
    budget : Budget
    bounded : bool
        Whether there are bounds.

    Returns
    -------
    steps : tuple of Step

    See Also
    --------
    find_quantiles

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.columns import rank_steps
    >>> [step.label for step in rank_steps(Budget.gaussian(1.0, 1e-6), bounded=True)]
    ['row count', 'search', 'brackets', 'statistic']
    """
    count = PURE_ROW_COUNT if budget.measure == "pure" else ROW_COUNT
    search = (ROUND, FINAL_BRACKETS, STATISTIC)
    return with_law(budget, count, *(() if bounded else (WHOLE_LINE,)), *search)


def are_crowded(noise, share, columns, q, n):
    """Return whether a share of the budget measures ranks of columns by cells with weights."""
    few = noise.pure or columns < MANY
    return not few and bool(_rank_sd(noise, BRACKETS * share, columns, q).max() > NOISY * n)


def _rank_sd(noise, share, columns, q):
    """Return the noise in the ranks of quantiles, by two cuts for each, in one histogram."""
    q, cell = np.asarray(q), noise.deviation(noise.scale(share, columns))
    return cell * np.sqrt((2 * len(q) + 2) * q * (1 - q) + 1)


def find_quantiles(table, q, bounds=None, crowded=None):
    """Release quantiles of every column, with all that is left of the budget.

    Parameters
    ----------
    table : Table
    q : sequence of float
        Rising, in (0, 1).
    bounds : tuple of ndarrays of shape (d,), default=None
        Public: what lies outside counts as being at the nearer bound.
    crowded : bool, default=None
        Whether ranks are measured by cells with weights; None by their noise.

    Returns
    -------
    quantiles : Quantiles

    See Also
    --------
    rank_steps, skdp.PrivateQuantile

    Notes
    -----
    **Privacy**: noisy numbers of entries of all columns; for every column, one histogram after the
    other, of cells that are public or made of what was released before. All else, shares and the
    end of the search among it, is made of released values.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateQuantile
    >>> X = np.random.default_rng(0).normal(size=(2000, 1))
    >>> quantile = PrivateQuantile(q=[0.25, 0.75]).fit(X)  # which calls it with its Curator
    >>> bool(np.abs(quantile.location_.ravel() - [-0.67, 0.67]).max() < 0.5)
    True
    """
    return _Search(table, q, bounds, crowded).run()


class _Search:
    def __init__(self, table, q, bounds, crowded):
        self.table, self.d, self.crowded = table, table.n_features, crowded
        self.noise = ColumnNoise(table.budget)
        self.q, self.bounds = np.asarray(q, dtype=np.float64), bounds
        self.columns = []

    def run(self):
        self._count()
        if self.bounds is None:
            self._octaves()
        else:
            least = FEW * self._rank_sd(BRACKETS, self.d).max()
            self.columns = [
                RankColumn.within(j, float(low), float(high), float(self.n[j]))
                for j, (low, high) in enumerate(zip(*self.bounds, strict=True))
                if self.n[j] > least
            ]
        if self.columns:
            counts, sd = self.count
            for column in self.columns:
                column.ranks.add(np.empty(0), counts[[column.number]], sd)
            if self._is_crowded():
                self._measure()
                return self._result()
            self._close_in(range(ROUNDS), SEARCH_AT_MOST)
            share = BRACKETS * float(self.table.remaining)
            sd = self._rank_sd(share, len(self.columns))
            self._histograms([c.beside(self.q, sd) for c in self.columns], share, FINAL_BRACKETS)
            self._close_in(range(NEWTON, NEWTON + REPAIRS), REPAIRS * SEARCH[1])
            cuts = [c.estimates(self.q) for c in self.columns]
            self._histograms(cuts, self.table.remaining, STATISTIC)
        return self._result()

    def _count(self):
        """Release the number of entries of every column: of one column that of its rows."""
        asked = first_ranks(self.d, bounded=True)[0]
        step = PURE_ROW_COUNT if self.noise.pure else ROW_COUNT
        share = COUNT_PARTS[self.noise.pure] * min(self.d, MOST_COUNTS)
        release = self.table.ask(asked, step, share=share)
        self.count = release.value, self.noise.deviation(release.scale)
        self.n = np.maximum(release.value.astype(np.float64), 2 * self.count[1])

    def _octaves(self):
        """Look for the rows among all floats; make a RankColumn of every column that is seen."""
        limits = OCTAVES if self.d < MANY else OF_MANY
        share = self._share(float(np.median(self.n)) * IN_OCTAVES, self.d, limits)
        looked = self._look(share, np.arange(self.d))
        counts, sd = looked.value.astype(np.float64), self._sd(looked)
        seen = is_significant(counts, ENDS.octave, looked.scale, law=self.noise.law)
        sds, lost = np.full(self.d, sd), np.array([j for j in range(self.d) if not seen[j].any()])
        if lost.size:
            share = self._share(float(np.median(self.n)) * IN_LOST, len(lost), (0.0, AGAIN))
            again = self._look(share, lost)
            weight = sd**2 / (sd**2 + self._sd(again) ** 2)
            scale = looked.scale * math.sqrt(1 - weight)
            false, octaves = QUANTILE_AGAIN
            likely = np.abs(ENDS.octave) <= octaves
            for j, own in zip(lost, again.value, strict=True):
                counts[j] += weight * (own - counts[j])
                options = {"law": self.noise.law, "false": false}
                seen[j] = is_significant(counts[j], ENDS.octave, scale, **options) & likely
                sds[j] = self._sd(again) * math.sqrt(weight)
        self.columns = [
            RankColumn.among(j, counts[j], seen[j], sds[j], float(self.n[j]))
            for j in range(self.d)
            if seen[j].any()
        ]

    def _look(self, share, columns):
        asked = whole_line(columns, "entries")
        return self.table.ask(asked, WHOLE_LINE, share=share)

    def _close_in(self, rounds, most):
        """Cut brackets of quantiles until they hold few ranks, or a single float."""
        sd, left = (
            self._rank_sd(BRACKETS * (1 - LEFT), len(self.columns)),
            self.table.remaining,
        )
        for round_ in rounds:
            cuts = [c.closer(self.q, sd, round_) for c in self.columns]
            needs = [c.need for c, of in zip(self.columns, cuts, strict=True) if of is not None]
            if not needs or left - self.table.remaining > most - SEARCH[1]:
                return
            share = self._share(min(needs) * IN_GAP, len(needs), SEARCH)
            self._histograms(cuts, share, ROUND)

    def _histograms(self, cuts, share, step):
        """Release a histogram of every column for which there are cuts, be it none of them."""
        columns = [c for c, of in zip(self.columns, cuts, strict=True) if of is not None]
        cuts = [of for of in cuts if of is not None]
        edges = tuple(np.concatenate([[-np.inf], of, [np.inf]]) for of in cuts)
        asked = EdgeCells(np.array([c.number for c in columns]), edges, "entries")
        release = self.table.ask(asked, step, share=share)
        parts = np.split(release.value, np.cumsum([len(of) + 1 for of in cuts])[:-1])
        for column, of, part in zip(columns, cuts, parts, strict=True):
            column.add(of, part, self._sd(release))

    def _is_crowded(self):
        if self.crowded is not None:
            return self.crowded
        n = float(np.median([column.rank[-1] for column in self.columns]))
        return are_crowded(self.noise, 1, len(self.columns), self.q, n)

    def _measure(self):
        """Measure ranks by cells with weights: coarse ones, finer ones, and those of estimates."""
        every = [column.number for column in self.columns]
        self._zoom(SPREAD_OUT[0], SEARCH_AT_MOST)
        cuts = {c.number: c.even(self.q, FINER) for c in self.columns}
        self._weigh(cuts, MIDDLE * float(self.table.remaining), FINAL_BRACKETS)
        self._zoom(SPREAD_OUT[1], REPAIRS * SEARCH[1])
        for part in (*LAST, 1):
            cuts = dict(zip(every, (c.estimates(self.q) for c in self.columns), strict=True))
            self._weigh(cuts, self.table.remaining * exact(part), STATISTIC, self.q)

    def _zoom(self, gap, most):
        """Cut cells of quantiles that hold more than a part of all rows."""
        left = self.table.remaining
        for _ in range(ROUNDS // 2):
            crowded = [c for c in self.columns if c.is_crowded(self.q, gap)]
            if not crowded or left - self.table.remaining > most - SEARCH[1]:
                return
            n = float(np.median([column.rank[-1] for column in crowded]))
            share = self._share(NOISE * n, len(crowded), SEARCH)
            self._weigh({c.number: c.even(self.q, ZOOM) for c in crowded}, share, ROUND)

    def _weigh(self, cuts, share, step, q=None):
        """Release measurements of the cells between cuts of columns, sharpest for their ranks."""
        columns = [column for column in self.columns if column.number in cuts]
        edges = [np.concatenate([[-np.inf], cuts[c.number], [np.inf]]) for c in columns]
        matrices = [
            excess_strategy(c.parts(edge[1:-1], q)) for c, edge in zip(columns, edges, strict=True)
        ]
        asked = WeighedCells(np.array(list(cuts)), tuple(edges), tuple(matrices))
        release = self.table.ask(asked, step, share=share)
        parts = np.split(release.value, np.cumsum([len(C) for C in matrices])[:-1])
        for column, C, part in zip(columns, matrices, parts, strict=True):
            column.weigh(cuts[column.number], C, part, self._sd(release))

    def _share(self, sd, columns, limits):
        """Return the share, within limits, that buys noise of a standard deviation."""
        scale = sd / self.noise.deviation(1.0)
        return float(np.clip(self.noise.share(max(scale, 1e-9), columns), *limits))

    def _sd(self, release):
        return self.noise.deviation(release.scale)

    def _rank_sd(self, share, columns):
        return _rank_sd(self.noise, share, columns, self.q)

    def _result(self):
        shape = len(self.q), self.d
        ends = self.bounds or (np.full(self.d, -math.inf), np.full(self.d, math.inf))
        start = np.zeros(self.d) if self.bounds is None else ends[0] / 2 + ends[1] / 2
        result = Quantiles(
            np.tile(start, (shape[0], 1)),
            np.full(shape, math.inf),
            [np.array(pair) for pair in zip(*ends, strict=True)],
            [np.zeros((len(self.q), 2)) for _ in range(self.d)],
            [np.full((len(self.q), 2), math.inf) for _ in range(self.d)],
            np.zeros(self.d, dtype=bool),
            [None] * self.d,
        )
        for c in self.columns:
            j, fit = c.number, c.fit
            value = np.maximum.accumulate([estimate(fit, q) for q in self.q])
            result.location[:, j] = np.clip(value, *c.limits)
            result.noise_scale[:, j] = [spread(fit, q) for q in self.q]
            result.points[j] = np.clip(fit.x, *c.limits)
            pairs = [fit.excess(q) for q in self.q]
            result.excess[j], result.sd[j] = (np.array(part) for part in zip(*pairs, strict=True))
            result.found[j], result.fits[j] = True, fit
        return result
