"""How far the rows are from the centre of a frame: released histograms and what they tell."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.columns._magnitude_histogram import is_significant
from skdp.kernel._friends import RingColumns, RingEntries, SparseRing
from skdp.kernel._sums import Distances as DistanceCells
from skdp.kernel._sums import LengthsNear
from skdp.kernel._totals import RING_SQUARED
from skdp.location._clip import Clip, Distances, Tail, joined
from skdp.scales import LogBins, top_scale

BINS = LogBins(1)
TYPICAL = 2.5  # upper edge of nine tenths of the differences, in standard deviations
EVEN = 7 / 12  # mean square of what is spread evenly over an octave, the upper edge is 1
MANY = 0.2  # part of the differences that are zero
FAR = 5  # octaves above the bulk of a column: what lies beyond are outliers
CROWDED = 0.05  # part of the differences that may have more entries than are counted
COLUMN_SCALES = Step("column scales", at_most=0.1, of=(RingColumns,))
SPARSE_ROWS = Step("sparse rows", at_most=0.002, of=(RingEntries,))
SPARSE_SCALES = Step("sparse scales", at_most=0.05, of=(SparseRing,))
LEAST = 0.002  # share of the look at sparse columns


def column_units(sample, step, *, share):
    """Release a scale for every column, near its standard deviation.

    Where the bulk of the differences of a column varies, its scale is that of the bulk or the root
    mean square of everything that is seen up to five octaves above it, the larger one. A column
    most of whose differences are zero is sparse, or constant: :func:`sparse_squares` looks at these
    more closely. One in which nothing is seen but a point takes the smallest scale of the sparse
    columns, or of all: its entries, if it has others, are fewer than can be seen, and clipped with
    their rows. A column that shows nothing takes the largest: dividing by a scale that is too small
    would let it drown all others.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._friends.RingColumns`.
    """
    release = sample.ask(RingColumns(BINS, sample.n_features), step, share=share)
    tops = [_top(row.astype(float), release.scale, sample.n) for row in release.value]
    points = np.array([top == 0 for top in tops])
    units = np.zeros(len(tops))
    for j in np.flatnonzero(~points):
        units[j] = math.nan if tops[j] is None else _unit(release, j, tops[j], sample.n)
    if points.any():
        squares = sparse_squares(sample, points)
        units[points] = np.sqrt(squares)
    found = units[units > 0]
    if not found.size:
        return None
    sparse = units[points & (units > 0)]
    units[np.isnan(units)] = found.max()
    units[units == 0] = (sparse if sparse.size else found).min()
    return np.maximum(units, BINS.upper_edge(1))


def _top(row, sd, n):
    """Return the scale of the bulk, 0 where most differences are zeros, None for nothing.

    Beside many zeros a scale is one only if something stands out there: what is summed up above
    them is noise else, now and then enough of it, in bins of 2^-1000.
    """
    top = top_scale(row, sd, n, BINS)
    if top and row[0] > max(MANY * n, 3 * sd):
        at = int(BINS.index(np.array([top]))[0])
        if not _standing(row, sd)[max(at - FAR, 1) : at + 2].any():
            return 0.0
    return top


def _unit(release, j, top, n):
    """Return the scale of a column from the top of the bulk of its differences and all it shows."""
    row = release.value[j].astype(float)
    near = int(BINS.index(np.array([top]))[0]) + FAR
    square = significant_mean_square(row[:near], release.scale, n) / 2
    return max(top / TYPICAL, math.sqrt(square))


def sparse_squares(sample, points):
    """Release half the mean squared difference of columns most of whose differences are zero.

    A difference of two rows has few entries other than zero in such columns. Those with more than
    a released number L of them are left out.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._friends.RingEntries` and ``SparseRing``; ``points``, L are
    released.
    """
    columns = tuple(np.flatnonzero(points).tolist())
    numbers = sample.ask(RingEntries(columns), SPARSE_ROWS)
    L = _most_entries(numbers.value, numbers.scale, sample.n)
    wanted = 450 * math.sqrt(RING_SQUARED * L) / (sample.n * sample.budget.mu)
    share = float(np.clip(wanted**2, LEAST, SPARSE_SCALES.at_most))
    release = sample.ask(SparseRing(columns, L, BINS), SPARSE_SCALES, share=share)
    return np.array(
        [
            significant_mean_square(row.astype(float), release.scale, sample.n) / 2
            for row in release.value
        ]
    )


def _most_entries(numbers, sd, n):
    """Return a number >= 1 of entries that few of the differences exceed."""
    above = np.cumsum(numbers[::-1])[::-1]
    clear = np.maximum(CROWDED * n, 2 * sd * np.sqrt(np.arange(len(numbers), 0, -1)))
    crowded = np.flatnonzero(above > clear)
    return max(int(crowded[-1]) if crowded.size else 0, 1)


def significant_cells(counts, sd):
    """Return the numbers of the bins that hold rows, by released counts.

    The highest is one with three standard deviations of its own: of a wide window that stands out
    the outer bins hold noise, which squares of lengths would make much of.
    """
    at = np.flatnonzero(_standing(counts, sd))
    full = np.flatnonzero(counts[at] > 3 * sd)
    return at[: full[-1] + 1] if full.size else at[:0]


def _standing(counts, sd):
    octave = BINS.low + np.arange(len(counts))
    octave[0] = 0
    return is_significant(counts, octave, sd)


def significant_mean_square(counts, sd, n):
    """Return the mean square of all that stands out of the noise in released bins."""
    at = significant_cells(counts, sd)
    at = at[at > 0]
    parts = np.clip(counts[at] / n, 0.0, 1.0)
    roots = np.array([BINS.upper_edge(i) for i in at])
    top = float(roots.max(initial=0.0))
    if top == 0:
        return 0.0
    return float(min(top * top, 1e300) * EVEN * (parts @ np.square(roots / top)))


BELOW, FINE, ABOVE = 6, 1, 13  # octaves around the square root of the number of coordinates
GUESS = 0.7  # standard deviations of what noise hides, to choose a radius
NEAR = 8.0  # root mean square of the coordinates of a row beyond which it is an outlier
FARTHEST = 2.5  # a radius that many times the distance that a twentieth exceed is always looked at

# of what clipping takes from the trace of a covariance matrix
RARE = 0.02  # probability that a row lies farther than what is reckoned with
STEEP, HEAVIEST = 8.0, 1.0  # rows at the start of a slope for one at its end; least power
PART, FEW = 0.01, 10.0  # rows in the tail: that part of all, or that many standard deviations
NEXT = 8.0  # times an edge: how far rows beyond it are looked for


class DistanceHistogram(Tail):
    """A released histogram of distances, read as the law of the distance.

    Notes
    -----
    Nothing here is more than post-processing. The histogram ends at the highest cells that stand
    out of the noise. ``beyond`` is the released number of rows beyond all cells.
    """

    def __init__(self, distances, n_rows, beyond=0.0):
        super().__init__(distances, n_rows)
        self._sd, self._raw = distances.sd, distances.counts
        self.distances, self.beyond = distances, beyond

    def quantile(self, part):
        """Return a distance that about ``part`` of the rows exceed."""
        top = len(self._edges) - 1
        mass = np.cumsum(self._raw[top::-1])
        cells = np.arange(1, len(mass) + 1)
        enough = mass > np.maximum(part * self._n, 3.5 * self._sd * np.sqrt(cells))
        return float(self._edges[top - int(np.argmax(enough))]) if enough.any() else self._edges[0]

    def mean_square(self, radii):
        """Return the mean of the squared distance clipped to each of ``radii``."""
        reach = np.minimum(self._edges, np.atleast_1d(radii)[:, None])
        low = np.minimum(self._lower, reach)
        return (reach * reach + low * low) / 2 @ self._counts / self._n

    def best_radius(self, noise, alignment, most):
        """Return the Clip whose noise and bias balance, its excess that of the squared lengths.

        ``noise`` is the Frobenius norm of the noise of the covariance per squared radius. Clipping
        takes the excess from its trace: ``alignment`` times that from its Frobenius norm as a rule.
        With a radius beyond ``most`` the noise would drown the bulk: rows beyond are outliers, left
        out of the balance, unless a twentieth of all rows are not much nearer.
        """
        d = self.distances
        most = max(FARTHEST * self.quantile(0.05), most)
        cells = max(int(np.searchsorted(d.edges, most, side="right")), 2)
        near = Distances(d.counts[:cells], d.edges[:cells], d.sd, min(d.fine, cells))
        tail = Tail(near, self._n)
        if tail.empty:
            return Clip(most, math.inf)
        radii = tail.candidates()
        radii = radii[radii <= most]
        squared = Tail(Distances(near.counts, near.edges**2, near.sd, near.fine), self._n)
        excess = np.minimum(
            TailLoss(near, self._n, len(tail._edges), sure=GUESS)(radii),
            squared.excess(np.square(radii)),
        )
        loss = np.square(noise * np.square(radii)) + np.square(alignment * excess)
        best = int(np.argmin(np.nan_to_num(loss, nan=math.inf, posinf=math.inf)))
        return Clip(float(radii[best]), float(excess[best]))

    def largest_loss(self, radius):
        """Return what clipping to a radius takes from the mean squared distance at most.

        Infinite where rows are seen beyond all cells, or where the tail may hold anything.
        """
        if self.beyond > 4 * self._sd:
            return math.inf
        loss = TailLoss(self.distances, self._n, len(self._edges), sure=2.0)
        return float(loss(np.array([radius]))[0])

    def reaches(self, radius):
        """Return whether rows are seen beyond a radius, each cell at four standard deviations."""
        far = self.distances.counts[self.distances.edges > 2 * radius]
        return bool(max(self.beyond, far.max(initial=0.0)) > 4 * self._sd)


def release_distance_histogram(rows, frame, *, per_octave, share, step):
    """Release how many rows lie at which distance from the centre of a frame.

    Notes
    -----
    **Privacy** (add or remove one row): one row falls into at most one cell: sensitivity 1.
    """
    bins = LogBins.around(
        math.sqrt(frame.dims), per_octave=per_octave, below=BELOW, above=FINE + ABOVE
    )
    fine = 1 + per_octave * (BELOW + FINE)
    starts, edges = joined(bins, fine, per_octave // 2)

    view = rows.table.map(frame)
    asked = DistanceCells(np.zeros(frame.dims), bins, starts=starts)
    told = view.ask(asked, step, share=share)
    *counts, beyond = told.value.astype(float)
    return DistanceHistogram(Distances(np.array(counts), edges, told.scale, fine), rows.n, beyond)


def release_size(rows, frame, *, among, share, step):
    """Release the root mean square length of some coordinates of the rows, over all floats.

    Of everything that stands out of the noise; of rows that lie near the others in the other
    coordinates. 0.0 if only zeros are seen, None if nothing is.

    Notes
    -----
    **Privacy** (add or remove one row): one row falls into at most one bin: sensitivity 1.
    """
    view = rows.table.map(frame)
    most = NEAR * math.sqrt(frame.dims - len(among))
    release = view.ask(LengthsNear(among, most, BINS), step, share=share)
    at = significant_cells(release.value, release.scale)
    tops = np.array([BINS.upper_edge(i) for i in at])
    top = float(tops.max(initial=0.0))
    if top == 0:
        return 0.0 if at.size else None
    parts = np.clip(release.value[at] / rows.n, 0.0, 1.0)
    mean_square = EVEN * (parts @ np.square(tops / top))
    return top * math.sqrt(float(np.clip(mean_square, 1e-12, 1.0)))


class TailLoss:
    """What clipping to a radius takes from the mean squared distance, by released counts.

    Notes
    -----
    Post-processing. For an edge t: up to t, the rows in the released cells and so many standard
    deviations of their noise, all at the far ends of their cells. Beyond t, U rows, those that are
    counted up to 8 t and to the last cell that stands out, and so many standard deviations of that
    noise. These are assumed to thin out as a power law at least as steep as before,
    P(> x t) <= P(> t) x^-a, with the least slope a that the counts allow from an edge on beyond
    which at least eight times as many rows lie.
    None of U such rows is beyond X t, X^a = U / RARE, but with probability RARE. Up to there
    x^2 - 1 has the mean 2 (X^(2 - a) - 1) / (2 - a); X^2 - 1 more, times ``sure`` / 2, for how much
    a sum of U terms varies. The answer is the least over all t in the
    tail, and no less than the cells tell up to the last one that stands out.
    """

    def __init__(self, distances, n, top, *, sure):
        self._edges, self._counts, self._sd = distances.edges, distances.counts, distances.sd
        self._n, self._top, self._sure = n, top, sure
        usable = []
        for i, t in enumerate(self._edges):
            stop = max(int(np.searchsorted(self._edges, NEXT * t, side="right")), top)
            power, rows = self._slope(i, stop)
            if power > HEAVIEST and rows <= max(PART * n, FEW * self._sd):
                usable.append((i, power, rows))
        self._usable = usable

    def __call__(self, radii):
        """Return the loss for every radius, infinite where the tail may hold anything."""
        radii = np.asarray(radii, dtype=np.float64)
        least = np.full(radii.shape, math.inf)
        if not self._usable:
            return least
        gains = np.maximum(np.square(self._edges)[:, None] - np.square(radii), 0.0)
        seen = np.cumsum(self._counts[:, None] * gains, axis=0)
        told = seen[self._top - 1].copy()
        seen += self._sure * self._sd * np.sqrt(np.cumsum(np.square(gains), axis=0))
        for i, power, rows in self._usable:
            start = np.maximum(self._edges[i], radii)
            left = np.maximum(rows * (self._edges[i] / start) ** power, RARE)
            far = self._excess(power, left) * np.square(start) + rows * gains[i]
            least = np.minimum(least, np.maximum(seen[i], 0.0) + far)
        return np.maximum(least, told) / self._n

    def _slope(self, i, stop):
        """Return the least power of the tail before edge i, and the most rows beyond it."""
        beyond = self._counts[i + 1 : stop]
        noise = self._sure * self._sd
        most = max(float(beyond.sum()), 0.0) + noise * math.sqrt(max(len(beyond), 1))
        mass = np.cumsum(self._counts[: i + 1][::-1])  # in the cells down from edge i
        rows = most + mass - noise * np.sqrt(np.arange(1, i + 2))
        enough = np.flatnonzero(rows[:-1] >= STEEP * most)  # the lowest cell has no lower edge
        if not enough.size:
            return 0.0, most
        j = int(enough[0])
        octaves = math.log(self._edges[i] / self._edges[i - j - 1])
        return math.log(rows[j] / most) / octaves, most

    def _excess(self, power, rows):
        """Return what ``rows`` of a power law beyond 1 have in squares beyond 1, as a rule."""
        far = np.log(rows / RARE) / power
        gap = np.minimum((2 - power) * far, 600.0)
        mean = 2 * far if abs(power - 2) < 1e-9 else 2 * np.expm1(gap) / (2 - power)
        return rows * mean + self._sure / 2 * np.expm1(np.minimum(2 * far, 600.0))
