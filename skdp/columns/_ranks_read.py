"""What released ranks tell of quantiles: an estimate, its uncertainty, an interval."""

import math
import sys
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
