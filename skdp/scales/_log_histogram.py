"""Without bounds: counts, clipped sums, medians, and scales by histograms on a logarithmic axis."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from skdp.kernel._ranks import Balance
from skdp.kernel._sums import BallSum
from skdp.kernel._totals import ring_blocks, ring_order
from skdp.mechanisms import finite_rows
from skdp.readers import weighed_sum
from skdp.scales._column_noise import SCALE, last_window, noise_level, rounded_level, window_sums

LEVELS = 46
_SIGN = np.uint64(1 << 63)


def private_median(table, *, share, label):
    """Release a median of every column to a relative precision of about 2^-34.

    Parameters
    ----------
    table : Table
        Of finite rows, of nobody or one of each person.
    share : float
        Share of the budget for all of them.
    label : str

    Returns
    -------
    median : ndarray of shape (d,)

    See Also
    --------
    skdp.PrivateMedian, skdp.columns.find_quantiles

    Notes
    -----
    **Privacy**: the thresholds t are made of what was released before. The sign of
    ``2 #{i: Z_ij <= t_j} - n`` tells on which side of t_j the median lies; n itself is not needed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step, Table
    >>> from skdp.scales import private_median
    >>> plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("median", times=46),))
    >>> table = Table(ArrayRows(np.array([[1.0], [2.0], [3.0]])), CannedCurator(plan))
    >>> private_median(table, share=1, label="median").round(6).tolist()
    [2.0]
    """
    d = table.n_features
    low, high = np.zeros(d, np.uint64), np.full(d, 2**64 - 1, np.uint64)
    for _ in range(LEVELS):
        middle = low + (high - low) // np.uint64(2)
        balance = table.ask(Balance(middle), share=share / LEVELS, label=label)
        left = balance.value > 0
        high = np.where(left, middle, high)
        low = np.where(left, low, middle)
    return float_of_order(low + (high - low) // np.uint64(2))


def float_of_order(order):
    """Undo :func:`order_of_floats`; what is no finite float becomes the nearest one."""
    bits = np.where(order & _SIGN, order ^ _SIGN, ~order)
    return np.nan_to_num(bits.view(np.float64), nan=0.0)


def count_rows(rows):
    """Return the exact number of rows without NaN or infinity. Not for release.

    Parameters
    ----------
    rows : ArrayRows

    Returns
    -------
    n : int

    See Also
    --------
    finite_rows, skdp.PrivateCount

    Notes
    -----
    **Privacy**: exact and private. One row moves it by at most 1: release it through a Curator.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows, count_rows
    >>> count_rows(ArrayRows(np.array([[1.0], [np.nan], [2.0]])))
    2
    """

    def finite(start, block):
        return int(np.count_nonzero(finite_rows(block)))

    return weighed_sum(rows, finite)


def clipped_sum(table, *, center, radius, share, label, scale=None, drop=None):
    """Release the sum of ``(x - center) / scale`` over all rows, every row clipped to a ball.

    Parameters
    ----------
    table : Table
    center : ndarray of shape (d,)
        Public or released.
    radius : float
        Radius of the ball, public or released.
    share : float or Fraction
    label : str
    scale : ndarray of shape (d,), default=None
        Public or released scales of the columns.
    drop : float, default=None
        Rows beyond ``drop * radius`` contribute nothing at all.

    Returns
    -------
    total : ndarray of shape (d,)
        In units of ``scale``.
    sd : float
        Standard deviation of the noise per coordinate.

    See Also
    --------
    ball_sum, ball_rows

    Notes
    -----
    **Privacy** (add or remove one row): every row becomes an integer vector of length at most
    2^bits, checked in integers, as a function of that row and of released values; the l2
    sensitivity of the integer sum is 2^bits exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step, Table, clipped_sum
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("sum"),)))
    >>> public = {"center": np.zeros(2), "radius": 5.0, "share": 1, "label": "sum"}
    >>> total, sd = clipped_sum(Table(ArrayRows(np.ones((10, 2))), curator), **public)
    >>> total.round(2).tolist(), sd > 0
    ([10.0, 10.0], True)
    """
    center = np.broadcast_to(np.asarray(center, dtype=np.float64), table.n_features)
    told = table.ask(BallSum(center, radius, scale, drop), share=share, label=label)
    return told.real, told.sd


# --- histograms of positive floats on a logarithmic axis, a scale read off one, and rings


class Reading(NamedTuple):
    """What a released histogram of lengths tells: nothing, that they are zeros, or a scale.

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.
    """

    seen: bool  # whether anything stands out of the noise
    scale: float = 0.0  # below which all but a tail of the lengths lie; 0.0 if there is none
    bulk: float = 0.0  # the same, but 0.0 where most are zeros

    @property
    def nothing(self):
        """Whether nothing stands out of the noise."""
        return not self.seen

    @property
    def zeros(self):
        """Whether zeros stand out, and nothing else."""
        return self.seen and self.scale == 0


def read_scale(counts, scale, n_rows, bins, *, tail=0.1, law="gaussian"):
    """Read off a noisy log histogram the scale below which all but a tail of the values lie.

    The anchor is the highest window of 1, 2, 4... bins that holds a good part of the rows, or, if
    there is none, the highest that stands clear of the noise. From two bins above the anchor the
    mass is summed downwards until it exceeds the tail and the noise of the sum. Where that ends
    among zeros, most values are alike; the scale then is that of the highest window that stands
    clear, and zero only if there is none but theirs.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Released counts.
    scale : float
        Of their noise: the standard deviation, or b of Laplace noise.
    n_rows : float
        Released number of values.
    bins : LogBins
    tail : float, default=0.1
        Part of the values that may lie above the answer.
    law : {"gaussian", "laplace"}, default="gaussian"
        Of the noise.

    Returns
    -------
    reading : Reading
        Nothing is seen where there are no values, and no scale where all of them are zeros, with a
        probability of at least 1 - 2e-4, whatever the law.

    See Also
    --------
    LogBins, top_scale

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins, read_scale
    >>> bins = LogBins(1, low=-8, high=8)
    >>> counts = bins.counts(np.random.default_rng(0).uniform(0, 20, size=1000))
    >>> read_scale(counts, 1.0, 1000, bins).scale
    32.0
    """
    counts = np.asarray(counts, dtype=np.float64)
    widths = [2**i for i in range(3 if bins.per_octave < 4 else bins.per_octave.bit_length() + 1)]
    sd = scale * (math.sqrt(2) if law == "laplace" else 1)
    heavy = seen = beside = -1
    for width, level in zip(widths, _levels(bins, tuple(widths), law), strict=True):
        clear = rounded_level(level * scale, width)  # what noise alone rarely exceeds
        sums = window_sums(counts, width)
        above = sums > clear[: sums.size]
        heavy = max(heavy, last_window(counts, width, above & (sums > 0.3 * n_rows)))
        seen = max(seen, last_window(counts, width, above))
        beside = max(beside, last_window(counts[1:], width, above[1:]))
    anchor = heavy if heavy >= 0 else seen
    if anchor < 0:
        return Reading(False)
    start = min(anchor + max(2, bins.per_octave // 2), counts.size - 1)
    mass = np.cumsum(counts[start::-1])
    enough = mass > np.maximum(tail * n_rows, 2.5 * sd * np.sqrt(np.arange(1, mass.size + 1)))
    stop = int(np.argmax(enough)) if enough.any() else start - anchor
    top = start - stop
    others = beside + 1 if top == 0 and beside >= 0 else top
    return Reading(True, bins.upper_edge(others), bins.upper_edge(top))


def top_scale(counts, scale, n_rows, bins, **options):
    """Return the scale of the bulk, as :func:`read_scale` tells it, or None for nothing.

    Parameters
    ----------
    counts, scale, n_rows, bins
        As for :func:`read_scale`.
    **options
        Its ``tail`` and ``law``.

    Returns
    -------
    scale : float or None

    See Also
    --------
    read_scale

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins, top_scale
    >>> bins = LogBins(1, low=-8, high=8)
    >>> top_scale(bins.counts(np.full(1000, 3.0)), 1.0, 1000, bins)
    4.0
    """
    told = read_scale(counts, scale, n_rows, bins, **options)
    return None if told.nothing else told.bulk


@lru_cache(maxsize=64)
def _levels(bins, widths, law):
    """Return for every width, per bin, the level that noise alone in a window rarely exceeds.

    In units of the scale of the noise. The probability falls as 1/octave^2: scales near 1 are
    likelier than 2^900, a public prior. Over all bins and widths the probabilities sum to less than
    SCALE, and beyond 2^+-60 to less than a fiftieth of it: with p bins per octave the sum of
    1/(1 + |octave|)^2 is at most 2 p + 2.
    """
    octave = bins.low + np.maximum(np.arange(bins.n_bins) - 1, 0) / bins.per_octave
    octave[0] = 0.0
    share = 1 / (np.square(1 + np.abs(octave)) * (4.3 * bins.per_octave * len(widths)))
    share *= SCALE
    return [noise_level(share, width, law=law) for width in widths]


def ring_differences(Z, keys):
    """Return the differences of consecutive rows in the cyclic order of their keys.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Finite rows.
    keys : ndarray of uint64 of shape (n,)
        Secret keys, one per row, independent of the data and of one another.

    Returns
    -------
    differences : ndarray of shape (n, d), or (0, d) if n < 2

    See Also
    --------
    LogBins, skdp.mechanisms.RowKeys

    Notes
    -----
    **Privacy** (add or remove one row): let h count the differences by the bin of any function of
    them. Couple the keys so that common rows share theirs. Then the new row comes between two
    neighbours of the old order: one difference goes and two come, ``h' - h = e_a + e_b - e_c``. Its
    squared length is ``3 + 2 [a = b] - 2 [a = c] - 2 [b = c]``, at most 5 (a = b, other than c).
    From one row to two, two differences come, which is at most 4; functions that leave a
    difference out only drop unit vectors from the sum. So the l2 sensitivity of one histogram is
    sqrt(5), of d of them side by side sqrt(5 d).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import ring_differences
    >>> Z, keys = np.array([[1.0], [4.0], [9.0]]), np.array([5, 7, 6], dtype=np.uint64)
    >>> ring_differences(Z, keys).tolist()
    [[-3.0], [8.0], [-5.0]]
    """
    blocks = [block() for block in ring_blocks(Z, ring_order(keys), np.asarray)]
    return np.concatenate(blocks) if blocks else np.empty((0, Z.shape[1]))
