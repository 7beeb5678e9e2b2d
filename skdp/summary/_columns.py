"""What a summary has released of one column, and the numbers that follow from it."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.columns._rank_moments import RankMoments
from skdp.columns._ranks_read import two_sided
from skdp.location._bounded_moments import BoundedColumns
from skdp.location._rank_release import RankCurves

__all__ = ["BOOL", "NUMBER", "TEXT", "LabelColumn", "Line", "NumberColumn"]

BOOL, NUMBER, TEXT = "truth values", "numbers", "text"
LAW = "gaussian"  # of all noise of a summary
JUDGED = 0.95  # confidence of the intervals that are judged, whatever is shown
SURE = 0.98  # of the deviations that means are judged by
# Of those of deviations: noise that makes one large makes it look clear of noise. On one half of
# the tables of the benchmark intervals of reliable deviations held in 82 % of 111 with .98, in 87 %
# of 70 with .995, in 94 % of 51 with this.
CLEAR = 0.998
PART = 0.05  # of all rows, or of a number: an interval that reaches no farther is short
NOTHING = "nothing in this column stands clear of the noise"
NOISE = "the noise is too large beside it"
UNTOLD = "its interval is long beside the spread of the column"
MAYBE = "some numbers may lie so far beyond the others that they count as if nearer"
ALONE = "nearly all entries are one number, and rarer ones are not told from the noise"
TAIL = "numbers far beyond the others count as if they lay nearer"


@dataclass(frozen=True)
class Line:
    """One number about one column."""

    statistic: str
    value: float
    low: float
    high: float
    reason: str = ""  # why it is not reliable, empty if it is
    label: object = None  # of which it is the share

    @property
    def reliable(self):
        """Whether the interval ends and is short."""
        return not self.reason

    def known(self):
        """Return the same line with NaN for a value that is not reliable."""
        return self if self.reliable else replace(self, value=math.nan)


def _shared(statistic, part, sd, z, *, label=None):
    """Return the Line of a share of rows: it lies between 0 and 1."""
    low, high = max(part - z * sd, 0.0), min(part + z * sd, 1.0)
    reason = "" if two_sided(JUDGED, LAW) * sd <= PART else NOISE
    return Line(statistic, min(max(part, 0.0), 1.0), low, high, reason, label)


def _entries(n, sd, z):
    """Return the Line of a number of entries."""
    short = two_sided(JUDGED, LAW) * sd <= max(PART * n, 1.0)
    return Line("entries", max(n, 0.0), max(n - z * sd, 0.0), n + z * sd, "" if short else NOISE)


@dataclass(frozen=True)
class LabelColumn:
    """Released counts of a column of text, categories or truth values."""

    kind: str  # {"text", "truth values"}
    labels: tuple  # the texts that occur often, or False and True
    counts: np.ndarray  # shape (n_labels,)
    other: float  # entries that are none of them
    missing: float
    noise_scale: float  # standard deviation of the noise in each count

    calendar = None

    def entries(self, n, n_sd):
        """Return the number of entries, and the standard deviation of its noise."""
        if self.kind == BOOL:
            return float(self.counts.sum()), math.sqrt(2) * self.noise_scale
        return n - self.missing, math.hypot(n_sd, self.noise_scale)

    def lines(self, n, n_sd, confidence, sampling):
        """Return the Lines of the column."""
        z, (own, sd) = two_sided(confidence, LAW), self.entries(n, n_sd)
        m = max(own, sd, 1.0)
        gaps = math.hypot(self.noise_scale, self.missing / n * n_sd) / n
        lines = [_entries(own, sd, z), _shared("gaps", self.missing / n, gaps, z)]
        for label, part in self.shares(n, n_sd):
            of_all = sd if self.kind == TEXT else self.noise_scale
            noise = math.hypot(self.noise_scale * (1 - part * (self.kind == BOOL)), part * of_all)
            drawn = max(part * (1 - part), 0.0) / m if sampling else 0.0
            what = "share" if self.kind == TEXT else "rate"
            lines.append(
                _shared(what, part, math.hypot(noise / m, math.sqrt(drawn)), z, label=label)
            )
        return lines

    def shares(self, n, n_sd):
        """Return pairs of a label and its part of the entries, the largest first."""
        own, sd = self.entries(n, n_sd)
        parts = self.counts / max(own, sd, 1.0)
        if self.kind == BOOL:
            return [(True, float(parts[1]))]
        return [(self.labels[i], float(parts[i])) for i in np.argsort(-parts, kind="stable")]

    def bars(self, n, n_sd):
        """Return a few heights, for a picture: shares of labels, and of all other entries."""
        if self.kind == BOOL:
            parts = self.counts / max(self.counts.sum(), 1.0)
            return np.clip(parts, 0, 1)
        parts = [part for _, part in self.shares(n, n_sd)][:BARS]
        own, sd = self.entries(n, n_sd)
        return np.clip([*parts, self.other / max(own, sd, 1.0)], 0, 1)


BARS = 10  # of a picture of a column


@dataclass(frozen=True)
class NumberColumn:
    """Released ranks and moments of a column of numbers, dates or durations."""

    q: np.ndarray  # shape (n_q,): rising
    location: np.ndarray  # shape (n_q,): the quantiles
    curves: RankCurves  # of this column alone
    asked: np.ndarray  # those of them that are asked for
    found: bool  # whether anything was seen
    # ends, between which entries are clipped, and released number, sum and sum of squares of the
    # entries, mapped from the ends to [-1, 1], shape (3,), with the covariance of their noise
    bounds: np.ndarray | None = None
    moments: np.ndarray | None = None
    covariance: np.ndarray | None = None
    tail: bool = False  # whether rows show beyond the bounds
    loose: bool = False  # whether rows show that may be beyond
    by_ranks: RankMoments | None = None  # of many columns, in place of all of these
    alone: bool = False  # whether one number hides others that are rarer than the noise
    calendar: object = None  # of dates and durations

    @classmethod
    def of_ranks(cls, q, found, j, asked):
        """Return the column of number j of :class:`skdp.columns._ranks_search.Quantiles`."""
        curves = RankCurves(q, [found.points[j]], [found.excess[j]], [found.sd[j]])
        return cls(q, found.location[:, j], curves, asked, bool(found.found[j]))

    @property
    def kind(self):
        """What it holds: "numbers", "dates" or "durations"."""
        return NUMBER if self.calendar is None else f"{self.calendar.kind}s"

    def entries(self, n, n_sd):
        """Return the number of entries, and the standard deviation of its noise."""
        if not self.found:
            return 0.0, math.inf
        if self.by_ranks is not None:
            return self.by_ranks.n, self.by_ranks.n_sd
        return float(self.moments[0]), math.sqrt(self.covariance[0, 0])

    def lines(self, n, n_sd, confidence, sampling):
        """Return the Lines of the column."""
        z, (own, sd) = two_sided(confidence, LAW), self.entries(n, n_sd)
        names = [f"{100 * q:.12g}%" for q in self.q]
        if not self.found:
            names = [f"{100 * q:.12g}%" for q in self.asked]
            names = ["entries", "gaps", "mean", "std", *names]
            return [Line(name, math.nan, *_widest(name), NOTHING) for name in names]
        noise = math.hypot(sd, own / n * n_sd) / n
        lines = [_entries(own, sd, z), _shared("gaps", 1 - own / n, noise, z)]
        lines += self._moment_lines(confidence, sampling)
        value = self.location[:, None]
        low, high = (e[:, 0] for e in self.curves.interval(value, confidence, LAW, sampling))
        told = self.curves.told(value, LAW)[:, 0]
        reasons = np.where(told & np.isfinite(low) & np.isfinite(high), "", UNTOLD).tolist()
        cells = names, self.location.tolist(), low.tolist(), high.tolist(), reasons
        quantiles = [Line(*line) for line in zip(*cells, strict=True)]
        return lines + [quantiles[i] for i in np.flatnonzero(np.isin(self.q, self.asked))]

    def _moment_lines(self, confidence, sampling):
        if self.by_ranks is not None:
            return self._rank_lines(confidence, sampling)
        columns = BoundedColumns(self.bounds[:, None], self.moments[:, None], self.covariance, LAW)
        (mean,), (spread,) = columns.mean()[0], columns.deviation()[0]
        judged, _ = self._intervals(columns, JUDGED, False)
        _, beside = self._intervals(columns, SURE, False)
        _, judged_std = self._intervals(columns, CLEAR, False)
        shown, shown_std = self._intervals(columns, confidence, sampling)
        few, tail = bool(columns.few[0]), self.tail
        reach = max(judged[1] - mean, mean - judged[0])
        near = PART * max(judged[0], -judged[1], 0.0)
        least = max(beside[0], float(self.curves.spread(LAW)[0]))  # what moments and ranks prove
        short = max(least / 2, near)
        reason = NOISE if few or reach > short else TAIL if tail else ""
        reason = reason or (ALONE if self.alone else "")
        reach = max(judged_std[1] - spread, spread - judged_std[0])
        unsure = NOISE if few or (reach > judged_std[0] and reach > 0) else ""
        unsure = unsure or (TAIL if tail else MAYBE if self.loose else ALONE if self.alone else "")
        return [
            Line("mean", float(mean), *shown, reason),
            Line("std", float(spread), *shown_std, unsure),
        ]

    def _rank_lines(self, confidence, sampling):
        told, spread = self.by_ranks, float(self.curves.spread(LAW)[0])
        names, lines = ("mean", "std"), []
        for name, of in zip(names, (told.mean, told.deviation), strict=True):
            value, low, high = of(two_sided(JUDGED, LAW), JUDGED)
            near = PART * max(low, -high, 0.0)
            short = max(spread / 2, near) if name == "mean" else low
            noise = not max(high - value, value - low) <= short
            _, low, high = of(two_sided(confidence, LAW), confidence, sampling)
            if self.alone:
                low, high = -math.inf if name == "mean" else 0.0, math.inf
            reason = ALONE if self.alone else NOISE if noise else ""
            lines.append(Line(name, value, low, high, reason))
        return lines

    def _intervals(self, columns, confidence, sampling):
        mean = columns.mean_interval(confidence, sampling=sampling)
        variance = columns.variance_interval(confidence, sampling=sampling)
        return [float(end[0]) for end in mean], [float(math.sqrt(end[0])) for end in variance]

    def bars(self, n, n_sd):
        """Return a few heights, for a picture: parts of the entries between outer quantiles."""
        if not self.found:
            return np.zeros(0)
        if not self.location[0] < self.location[-1]:
            return np.ones(1)
        location = self.location / np.abs(self.location).max()  # no difference overflows
        edges = np.linspace(location[0], location[-1], BARS + 1)
        x, first = np.unique(location[::-1], return_index=True)  # the last of equal ones
        upto = np.interp(edges, x, self.q[::-1][first])
        upto[0], upto[-1] = 0.0, 1.0
        return np.diff(upto)


def _widest(name):
    least = {"entries": 0.0, "gaps": 0.0, "std": 0.0}.get(name, -math.inf)
    return least, 1.0 if name == "gaps" else math.inf
