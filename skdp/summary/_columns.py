"""The columns of a summary: what a fit told of each, as numbers, text and HTML."""

import math
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from skdp.columns._ranks_read import RankMoments, two_sided
from skdp.location._bounded_moments import BoundedColumns
from skdp.location._rank_release import RankCurves
from skdp.show._display import columns as aligned
from skdp.show._display import data_frame

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


BLOCKS = "▁▂▃▄▅▆▇█"
TOP = 3  # texts that are named
TINY = 1e-300  # an interval so short is a point
WIDE = 24  # letters of a text that are shown
LENGTHS = ("std",)  # statistics that are differences


def cell_of(line, number, calendar):
    """Return a number of a Line in the type of its column: a date, a duration or a float."""
    if calendar is None or line.statistic in ("entries", "gaps"):
        return number
    return calendar.scalar(number, length=line.statistic in LENGTHS)


def frame_of(named, lines):
    """Return a frame like that of ``describe``: a column for each column, rows are statistics."""
    titles = [one.statistic for own in lines for one in own if one.statistic != "share"]
    titles = list(dict.fromkeys("mean" if title == "rate" else title for title in titles))
    cells = {}
    for (name, column), own in zip(named, lines, strict=True):
        found = {one.statistic: cell_of(one, one.known().value, column.calendar) for one in own}
        top, share = _top(column, [one.known() for one in own if one.label is not None])
        if column.kind == BOOL:
            found["mean"] = share if top is True else 1 - share
        cells[name] = [column.kind, *(found.get(title, np.nan) for title in titles), top, share]
    objects = {name: np.array(own, dtype=object) for name, own in cells.items()}
    return data_frame(objects, "results()", index=["kind", *titles, "top", "share"])


def _top(column, shares):
    """Return the most frequent text or truth value, and its share; NaN for what is not known."""
    if not shares or (column.kind == BOOL and math.isnan(shares[0].value)):
        return math.nan, math.nan
    if column.kind == BOOL and shares[0].value < 0.5:
        return False, 1 - shares[0].value
    return shares[0].label, shares[0].value


def joined_frames(frames):
    """Return frames as one, each under its key; a dict of them by key, maybe of none."""
    import pandas as pd

    return pd.concat(frames) if frames else pd.DataFrame()


def text_of(title, named, lines, n, n_sd):
    """Return the lines of a text: one for each column."""
    rows = [("column", "kind", "entries", "gaps", "", "")]
    for (name, column), own in zip(named, lines, strict=True):
        found = {one.statistic: one for one in own}
        rows.append(
            (
                _short(name),
                column.kind,
                _number(found["entries"]),
                _percent(found["gaps"]),
                "".join(map(_block, _heights(column.bars(n, n_sd)))),
                _told(column, own),
            )
        )
    return "\n".join([title, *(line.rstrip() for line in aligned(rows, left=(0, 1, 4, 5)))])


def html_of(title, named, lines, n, n_sd):
    """Return a table of HTML: one row for each column, with a histogram."""
    head = "<tr><th>column<th>kind<th>entries<th>gaps<th><th></tr>"
    rows = []
    for (name, column), own in zip(named, lines, strict=True):
        found = {one.statistic: one for one in own}
        cells = [str(name), column.kind, _number(found["entries"]), _percent(found["gaps"])]
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        picture = _svg(_heights(column.bars(n, n_sd)))
        rows.append(f"<tr>{body}<td>{picture}</td><td>{escape(_told(column, own))}</td></tr>")
    return f"<p>{escape(title)}</p><table>{head}{''.join(rows)}</table>"


def _heights(parts):
    return parts / parts.max() if parts.size and parts.max() > 0 else parts


def _block(height):
    return BLOCKS[min(int(height * len(BLOCKS)), len(BLOCKS) - 1)]


def _svg(heights):
    bars = "".join(
        f'<rect x="{8 * i}" y="{24 - 24 * h:.1f}" width="7" height="{24 * h:.1f}"/>'
        for i, h in enumerate(heights)
    )
    return f'<svg width="{8 * len(heights)}" height="24" fill="#4477aa">{bars}</svg>'


def _told(column, lines):
    """Return the statistics of a column in words."""
    if any(one.label is not None for one in lines):
        shares = [one for one in lines if one.label is not None]
        more = len(shares) - TOP
        told = [f"{_short(one.label)} {_percent(one)}" for one in shares[:TOP]]
        return ", ".join(told) + (f" and {more} more" if more > 0 else "")
    if column.kind in ("text", "truth values"):
        return "no text is frequent enough to show"
    found = {one.statistic: one for one in lines}
    middle = [one for one in lines if one.statistic.endswith("%")]
    told = [f"mean {_value(found['mean'], column)}", f"sd {_value(found['std'], column)}"]
    told += [f"{one.statistic} {_value(one, column)}" for one in (middle[0], middle[-1])]
    return ", ".join(told)


def _value(line, column):
    if not line.reliable:
        return "?"
    if column.calendar is not None:
        return column.calendar.text(line.value, length=line.statistic in LENGTHS)
    return _rounded(line.value, line.high - line.low)


def _rounded(value, width):
    """Return a number with the digits that an interval so wide leaves: two of its half."""
    if not (TINY < width < math.inf and math.isfinite(value)):
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(width / 2))
    if abs(value) >= 1e15 or digits > 12:
        return f"{value:.6g}"
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def _number(line):
    return f"{line.value:,.0f}" if line.reliable else "?"


def _percent(line):
    return f"{100 * line.value:.3g} %" if line.reliable else "?"


def _short(name):
    text = str(name)
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"
