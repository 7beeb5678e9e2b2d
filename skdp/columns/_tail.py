"""A released histogram of distances: how far rows go, their squares, and the loss by clipping."""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import ndtri

from skdp.scales._column_noise import COLUMN_TOP

DEAR = 8.0  # octaves above the bulk from which on a false top is so rare as not to count
POWERS = np.concatenate([np.linspace(0.8, 4, 33), np.geomspace(4.2, 60, 24)])
AMOUNTS = np.array([-1.5, -0.75, 0.0, 0.75, 1.5])  # of the noise, in the number of rows
FREE = 3.0  # nats: price of a count that the law leaves free
EVEN = np.gradient(np.log(POWERS))
# By the power of distances that is summed: far rows are what a variance is made of.
PRIOR = {1: np.minimum(1.0, (POWERS / 3) ** 3) * EVEN, 2: np.minimum(1.0, POWERS / 3) * EVEN}
STARTS = 12  # of the law, at most
GAP = 3  # octaves without rows: what lies beyond has a law of its own
BEYOND = np.exp2(np.arange(1, 9) / 4)  # candidates beyond the top
MANY = 200  # rows, in noise of a count, from which on the law is trusted for two octaves, not one
DOUBT, MOST = 0.7, 0.985  # noise in a bias that is weighed, and quantile of one that is bounded
KNOWN, HIDDEN, TOLD = 2.0, 1.4, 1.0
# Posterior probability of a tail without a variance that is told of, by a mean and by a variance.
NO_SURPRISE = {1: 0.2, 2: 0.1}
SPREAD = 1.5  # standard deviations of what rows of one law have beyond a cut
OTHER = 2  # octaves above the bulk that an entry of another size counts for, if all seem equal
FARTHEST = 3  # octaves beyond the top in which rows may show
# From which noise on, of a column by itself and of several: chance makes one octave of 8 and of 44.
ALONE, SEVERAL = 1.15, 2.0
UNSEEN = 4.5  # rows at the distance of zero that may not stand out, in noise of a count


@dataclass(frozen=True)
class Tail:
    """What clipping one side of a column takes from its sum, by what was released."""

    top: float  # distance of the last edge below which rows were seen
    cuts: np.ndarray  # shape (k,): distances, increasing; the first is 0
    # expected, likely, most: shape (k,): number of rows times length that lies beyond each cut: as
    # the counts tell, with the weight of what they do not tell, and an upper bound that holds as a
    # rule
    expected: np.ndarray
    likely: np.ndarray
    most: np.ndarray
    faint: np.ndarray  # the same of octaves beyond the top whose counts chance hardly makes
    heavy: bool  # whether what is seen may well be a tail without a variance

    def at(self, what, distances):
        """Return one of the attributes at distances; negative ones reach into the other side."""
        t = np.asarray(distances)
        return np.interp(t, self.cuts, getattr(self, what))


def read_tail(edges, counts, sd, bulk, *, n, entry=None, power=1, shown=np.inf):
    """Return the Tail of one side; octaves beyond the top with ``shown`` noises of rows are faint.

    Shapes: edges (k + 1,), of cells of any width; counts (k,).
    """
    middle = (edges[:-1] + edges[1:]) / 2
    octave = 2.0**power
    top = _top_cell(edges, counts, sd, bulk, octave, entry)
    start = bulk if entry is None else max(bulk, entry / 8)
    near = max(min(int(np.searchsorted(edges, start / 2, side="right")) - 1, top), 0)
    first = _after_gap(edges, counts, sd, near, top, octave)
    if first > near:  # far rows are a bulk of their own
        top = max(top, _top_cell(edges, counts, sd, edges[top], octave, entry))
    T = edges[top + 1]
    candidates = BEYOND if n > MANY * sd else BEYOND[: len(BEYOND) // 2]
    cuts = np.concatenate([edges[: top + 2], T * candidates])
    law = bound = _PowerLaw(edges, counts, sd, first, top, octave)
    if power > 1:  # what is most supposes that distances, not squares, are as heavy as in columns
        bound = _PowerLaw(edges, counts, sd, first, top, octave, power)
    at = top + 1  # the law speaks of what lies beyond the top
    beyond = law.excess(cuts[at:])
    beyond = beyond if bound is law else (*beyond[:2], bound.excess(cuts[at:])[2])
    mean, size, high = (np.concatenate([[x[0]] * at, x]) for x in beyond)
    likely = 0.7 * mean + 0.3 * size
    beyond = law.rows(T)
    # below the top the counts tell, raw and unbiased; what lies beyond comes on top
    gap = np.maximum(T - cuts, 0.0)
    over = np.maximum(middle[: top + 1] - cuts[:, None], 0.0)
    seen = np.maximum(over @ counts[: top + 1], 0.0)
    noise = sd * np.sqrt(np.square(over).sum(axis=1))
    below = cuts < T
    sure = np.hypot(KNOWN * noise, HIDDEN * sd * T)
    told = np.where(below, high + 2 * beyond * gap, high)
    faint = _not_of_chance(edges, counts, sd, top, octave, cuts, shown)
    told = np.maximum(told, faint)
    told += np.where(below, seen, 0.0) + TOLD * noise
    most = np.maximum(sure, told)
    if entry is not None:
        most = np.maximum(most, UNSEEN * sd * np.maximum(entry - cuts, 0.0))
    return Tail(
        top=float(T),
        cuts=cuts,
        expected=np.where(below, seen + mean + beyond * gap, mean),
        likely=np.where(below, np.hypot(seen, DOUBT * noise) + likely + beyond * gap, likely),
        most=most,
        faint=faint,
        heavy=bound.is_heavy(),
    )


def _at(edges, lengths):
    """Return the first cell that begins at a length or beyond it."""
    return np.searchsorted(edges, np.asarray(lengths) * (1 - 1e-9))


def _top_cell(edges, counts, sd, bulk, octave, entry):
    """Return the farthest cell that stands out; a false one costs 2^j in noise, j octaves up.

    Beyond all octaves where its cost is weighed it has a probability of some 10^-5 together.
    """
    with np.errstate(divide="ignore"):
        octaves = np.maximum(np.log2(edges[1:] / bulk), 0.0)
        if entry is not None:
            octaves = np.minimum(octaves, OTHER + np.abs(np.log2(edges[1:] / entry)))
    clear = -ndtri(COLUMN_TOP * 4.0 ** -np.minimum(octaves, DEAR) / (1 + octaves))
    top = int(np.flatnonzero(counts > (clear + 0.1) * sd)[-1:].max(initial=0))
    total = np.concatenate([[0.0], np.cumsum(counts)])
    last = np.arange(len(counts))
    for width in (octave, octave**2):  # of windows
        first = np.minimum(_at(edges, edges[1:] / width), last)
        noise = sd * np.sqrt(last + 1 - first)
        hits = np.flatnonzero(total[1:] - total[first] > (clear + 0.2) * noise)
        for i in hits[hits >= first[hits].max(initial=0)]:
            top = max(top, int(first[i] + np.argmax(counts[first[i] : i + 1])))
    return top


def _not_of_chance(edges, counts, sd, top, octave, cuts, shown):
    """Return the excess of octaves beyond the top whose counts chance hardly makes.

    Rows that stand out in no cell may follow a law of their own.
    """
    excess = variance = np.zeros(len(cuts))
    ends = _at(edges, edges[top + 1] * octave ** np.arange(FARTHEST + 1))
    for here in map(slice, ends[:-1], ends[1:]):
        rows = counts[here]
        if rows.size and rows.sum() > shown * sd * np.sqrt(rows.size):
            middle = (edges[:-1][here] + edges[1:][here]) / 2
            over = np.maximum(middle - cuts[:, None], 0.0)
            excess = excess + over @ rows
            variance = variance + np.square(over).sum(axis=1)
    return excess + TOLD * sd * np.sqrt(variance)


def _after_gap(edges, counts, sd, first, top, octave):
    """Return the first cell of what lies beyond the last gap below the top, else ``first``."""
    total = np.concatenate([[0.0], np.cumsum(counts)])
    starts = np.arange(first, top + 1)
    ends = _at(edges, np.maximum(edges[starts], edges[1] / octave) * octave**GAP)
    empty = total[np.minimum(ends, len(counts))] - total[starts] < 2 * sd * np.sqrt(ends - starts)
    ends = ends[empty & (ends <= top + 1)]
    return min(int(ends[-1]), top) if ends.size else first


class _PowerLaw:
    """N (t / t0)^-a rows beyond t, for t > t0: the posterior of t0, N and a by released counts.

    Below t0 the counts are free, at the price of a factor for each of them, so that the law need
    not hold for the bulk. It ends where less than half a row is left, and so has a mean for a <= 1
    as well. Lengths are in units of t0.
    """

    def __init__(self, edges, counts, sd, first, top, octave, power=1):
        self.power, self.powers = power, POWERS / power  # of distances, or of their squares
        start = max(first, _start(counts, sd, top))
        starts = np.unique(np.linspace(start, top, STARTS).round().astype(int))
        mass = np.cumsum(counts[top::-1])[::-1][starts]
        spread = sd * np.sqrt(top + 1 - starts)
        amounts = np.maximum(mass[:, None] + spread[:, None] * AMOUNTS, sd / 2)
        self.unit = np.where(starts > 0, edges[starts], edges[1] / 2)[:, None, None]
        self.amounts = amounts[:, :, None]
        end = min(len(counts), int(_at(edges, edges[top + 1] * octave**3)))
        cells = np.arange(start, end)
        low, high = np.maximum(edges[cells], self.unit[..., None]), edges[cells + 1]
        with np.errstate(divide="ignore", over="ignore"):
            shares = (low / self.unit[..., None]) ** -self.powers[:, None]
            shares -= np.maximum(high / self.unit[..., None], 1.0) ** -self.powers[:, None]
        used = (cells >= starts[:, None])[:, None, None, :]
        misfit = (counts[cells] - self.amounts[..., None] * shares) / sd
        misfit = (np.square(misfit) * used).sum(axis=-1) + 2 * FREE * (starts - starts[0])[
            :, None, None
        ]
        weight = np.exp((misfit.min() - misfit) / 2) * PRIOR[power]
        self.weight = (weight / weight.sum()).ravel()
        self.last = np.maximum(2 * self.amounts, 1.0) ** (1 / self.powers)

    def is_heavy(self):
        """Return whether a power of distances below 2 is no surprise."""
        powers = self.weight.reshape(-1, len(POWERS)).sum(axis=0)
        return bool(powers[POWERS < 2].sum() > NO_SURPRISE[self.power])

    def _excess(self, cuts):
        """Return mean and standard deviation of the excess for cuts, starts, amounts and powers."""
        t = np.maximum(np.asarray(cuts)[:, None, None, None] / self.unit, 1.0)
        t = np.minimum(t, self.last.max(axis=1, keepdims=True))
        length = self._integral(t, self.powers)
        square = self._integral(t, self.powers - 1) - np.minimum(t, self.last) * length
        square = 2 * np.maximum(square, 0.0)
        spread = np.sqrt(self.amounts * square)  # of rows that are drawn from the law
        flat = len(cuts), -1
        return (self.amounts * self.unit * length).reshape(flat), (self.unit * spread).reshape(flat)

    def _integral(self, t, power):
        """Return the integral of s^-power from t, or from the end if t lies beyond, to the end."""
        slope = power - 1
        near = np.abs(slope) < 1e-6
        end = self.last**-slope
        start = np.where(t < self.last, t**-slope, end)  # a power for each start, not for each N
        found = (start - end) / np.where(near, 1.0, slope)
        last = self.last[..., near]
        found[..., near] = np.log(last / np.minimum(t[..., near], last))
        return found

    def excess(self, cuts):
        """Return mean, root mean square and upper quantile of the excess beyond cuts."""
        excess, spread = self._excess(cuts)
        upper = excess + SPREAD * spread
        order = np.argsort(upper, axis=1)
        part = np.cumsum(self.weight[order], axis=1)
        at = np.minimum((part < MOST).sum(axis=1), part.shape[1] - 1)
        rows = np.arange(len(cuts))
        high = upper[rows, order[rows, at]]
        return excess @ self.weight, np.sqrt(np.square(excess) @ self.weight), high

    def rows(self, t):
        """Return the mean number of rows beyond a cut."""
        left = self.amounts * np.maximum(t / self.unit, 1.0) ** -self.powers
        return float(self.weight @ left.ravel())


def _start(counts, sd, top):
    """Return the farthest cell from which on so many rows are seen that their law can be told."""
    mass = np.cumsum(counts[top::-1])
    cells = np.arange(1, mass.size + 1)
    enough = np.flatnonzero(mass > 12 * sd * np.sqrt(cells / 2 + 0.5))
    return top - int(enough[0]) if enough.size else 0


SURE = 2.0  # standard deviations of the noise, which are added


def mean_square(counts, edges, sd, n):
    """Return an upper bound of the mean of squared distances, and the part of it that is noise.

    Notes
    -----
    A row in a cell is no farther than its edge, so the exact counts would give an upper bound. The
    noise in their sum is known, and ``SURE`` of its standard deviations are added. What lies in no
    cell that is given is not in it.
    """
    weight = np.square(edges)
    noise = SURE * sd * math.sqrt(np.sum(np.square(weight))) / n
    return max(float(counts @ weight) / n, 0.0) + noise, noise


@dataclass(frozen=True)
class Squares:
    """The mean of squared distances from a point: at most ``square``, in squares of ``unit``.

    ``noise`` is what of it stands for noise. ``cells``: where they begin and end, from the point
    on, and their parts of the rows, with noise of ``sd``; shape (3, n_cells).
    """

    center: float
    unit: float
    square: float
    noise: float
    cells: np.ndarray = field(default_factory=partial(np.zeros, (3, 0)))
    sd: float = 0.0

    def deviation(self, mean, sd):
        """Return an upper bound of the standard deviation of the rows.

        Notes
        -----
        The variance is the mean square less the square of the distance of the mean, of which
        ``SURE`` standard deviations are taken off first.
        """
        offset = max(abs(mean - self.center) - SURE * sd, 0.0) / self.unit
        return math.sqrt(max(self.square - offset * offset, self.noise)) * self.unit

    def least(self, mean, sd):
        """Return a low estimate of the same, 0 where the noise hides it; parameters as there.

        Notes
        -----
        Rows of the cell that the mean is in count nothing, as they may all be there; others are
        taken for as far as their cell reaches, so the value may be too large by a factor of about
        sqrt(2): no bound, but what verdicts compare with.
        """
        at, near = (mean - self.center) / self.unit, SURE * sd / self.unit
        low, high, rows = self.cells
        low, high = low - at, high - at
        away = (low > near) | (high < -near)
        weight = np.where(away, np.square(np.maximum(-low, high)), 0.0)
        noise = SURE * self.sd * math.sqrt(np.sum(np.square(weight)))
        return math.sqrt(max(float(rows @ weight) - noise, 0.0)) * self.unit
