"""Ranks of cuts of a column by least squares from noisy counts between cuts, and how to count."""

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import eigh

from skdp.columns._smooth_ranks import Axis, expected_rows, most_likely

POWERS = 9  # of ten, below the span of the ranks
SURE = 4.0  # twice the log likelihood that empty cells need over those of a smooth density
WRONG, SHOWS = 4.0, 3.0  # noises: of one cell that cannot be empty, and of one that is not
STRANGE = 4.0  # standard deviations of the sum of squares of empty cells
LEAST, MOST, EXACT = 2, 300, 2.0**52  # cells, powers, numbers of multiples

ALONE = 2.0  # noises: fewer rows in the cell of one single value count as none
FAINT, HOLDS = 1e-4, 0.02  # parts of all rows: of a cell, to start with; of a value, by itself
OPEN = 0.5  # units: beyond the outermost cut, the middle of what has no end

ROUNDS, GAP = 30, 0.02  # of the search; relative, of the mean squared error
LIGHTEST = 1e-9  # weight of a cell, beside their mean
GAIN = 2**10  # length of the longest column of integers


def multiples(x, power):
    """Return the numbers of the largest multiples of a power of ten at or below numbers."""
    with np.errstate(over="ignore"):
        k = np.rint(x / 10.0**power)
    return k - (_number(k, power) > x)


def multiple_in(low, high, value, power):
    """Return a multiple in (low, high], the first from a value on or the last; None without any."""
    first, last = multiples(np.array([low, high]), power)
    if first == last:
        return None
    k = multiples(np.array([value]), power)[0]
    k += _number(k, power) < value
    return float(_number(min(max(k, first + 1), last), power))


def between(k, power):
    """Return the numbers in the middle between multiples and those that follow them."""
    return _number(k + 0.5, power)


def _number(k, power):
    """Return the floats nearest to k times a power of ten."""
    return k * 10.0**power if power >= 0 else k / 10.0**-power


def grid_of(cuts, rank, raw, c):
    """Return the power of ten whose multiples hold all rows, None if none does.

    Shapes: cuts, rank, which rises, and raw, the least squares of ranks, (m,); their covariance c,
    (m, m).

    Notes
    -----
    Cells between cuts that hold no multiple must be as empty as their noise is small, and be more
    likely empty than filled as evenly as the places around them. The coarsest grid is taken. No
    interval knows of it: a wrong one costs accuracy where it moves estimates to a multiple.
    """
    if len(cuts) < LEAST:
        return None
    mass, noise = np.diff(raw), c[1:, 1:] + c[:-1, :-1] - c[1:, :-1] - c[:-1, 1:]
    sd = np.sqrt(np.maximum(np.diag(noise), 1e-9))
    top = math.floor(math.log10(max(cuts[-1] / 2 - cuts[0] / 2, 1e-300)))
    for power in range(min(top, MOST), max(top - POWERS, -MOST), -1):
        numbers = multiples(cuts, power)
        if not np.abs(numbers).max() <= EXACT:
            return None
        empty = np.diff(numbers) == 0
        seen = np.count_nonzero(mass[~empty] > SHOWS * sd[~empty])
        if empty.sum() < LEAST or seen < LEAST or (mass[empty] > WRONG * sd[empty]).any():
            continue
        first, length = numbers[:-1][empty], np.diff(cuts)[empty] / 10.0**power
        low, high = (np.interp(_number(first + step, power), cuts, rank) for step in (-1, 2))
        smooth = (high - low) / 3 * length
        of_empty = noise[np.ix_(empty, empty)] + np.diag(0.25 + 1e-9 * sd[empty] ** 2)
        of_smooth, of_mass = np.linalg.solve(of_empty, np.stack([smooth, mass[empty]], axis=1)).T
        n, strange = empty.sum(), mass[empty] @ of_mass
        likely = smooth @ of_smooth - 2 * smooth @ of_mass
        if strange <= n + STRANGE * math.sqrt(2 * n) and likely > SURE:
            return power
    return None


@np.errstate(all="ignore")  # below zero there is a subnormal number
def previous_float(cuts):
    """Return the largest floats below finite ones."""
    return np.nextafter(cuts, -math.inf)


@dataclass
class Fit:
    """Estimated ranks of the cuts of a column, and of both ends of the line."""

    # shape (m,): the lower end, where the rank is 0, the cuts, and the upper end, where it is `n`
    x: np.ndarray
    rank: np.ndarray  # shape (m,): estimated number of rows at or below; never falls
    raw: np.ndarray  # shape (m,): the same before it was made to rise
    covariance: np.ndarray  # shape (m, m)
    # of columns that are measured by cells with weights: ranks that smooth densities tell, shape
    # (m,), and the axis they are smooth on
    smooth: np.ndarray | None = None
    axis: Axis | None = None
    power: int | None = None  # of ten, whose multiples hold all rows, as far as ranks tell
    # by quantile: what `excess` and `deviations` return
    _excess: dict = field(default_factory=dict, init=False, repr=False)
    _sd: dict = field(default_factory=dict, init=False, repr=False)

    @property
    def n(self):
        """Estimated number of rows."""
        return self.rank[-1]

    def excess(self, q):
        """Return how many ranks every point is above the quantile q, and the standard deviation."""
        sd = self.deviations(q)
        if q not in self._excess:
            self._excess[q] = _rising(self.raw - q * self.raw[-1], 1 / sd**2)
        return self._excess[q], sd

    def deviations(self, q):
        """Return the standard deviation of how many ranks every point is above the quantile q."""
        if q not in self._sd:
            c = self.covariance
            variance = np.diag(c) - 2 * q * c[-1] + q * q * c[-1, -1]
            self._sd[q] = np.sqrt(np.maximum(variance, 0.25))  # ranks are whole numbers
        return self._sd[q]


class Ranks:
    """The released histograms of one column.

    Notes
    -----
    The unknowns are the ranks of all cuts, and the number of rows. A cell is the difference of two
    of them, and its noise is independent of all others: weighted least squares are the best linear
    estimate, and know the covariance. A cell that holds a single value and shows fewer rows than
    two standard deviations is taken for empty, so that looking for values that many rows share
    costs no accuracy where there are none.
    """

    def __init__(self, ends=(-math.inf, math.inf)):
        self.ends, self._histograms, self._weighed = ends, [], []

    def add(self, cuts, counts, sd):
        """Add a released histogram: rising cuts, counts of one cell more, the noise in each."""
        counts = np.asarray(counts, dtype=np.float64).copy()
        variance = np.full(len(counts), float(sd) ** 2)
        alone = np.flatnonzero(previous_float(cuts[1:]) == cuts[:-1]) + 1
        empty = alone[counts[alone] < ALONE * sd]
        counts[empty], variance[empty] = 0.0, min(1.0, sd**2)
        self._histograms.append((np.asarray(cuts, dtype=np.float64), counts, variance))

    def add_weighed(self, cuts, matrix, answers, sd):
        """Add a matrix times the counts of cells between rising cuts, and the noise in each."""
        ranks, answers = matrix / sd, answers / sd
        ranks[:, :-1] -= matrix[:, 1:] / sd
        self._weighed.append((cuts, ranks.T @ ranks, ranks.T @ answers))

    def fit(self):
        """Return the :class:`Fit` of everything released."""
        released = self._histograms + self._weighed
        cuts = np.unique(np.concatenate([cuts for cuts, _, _ in released]))
        m = len(cuts)
        normal, right = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
        for of_one, counts, variance in self._histograms:
            at, weight = np.append(np.searchsorted(cuts, of_one), m), 1 / variance
            low, high = at[:-1], at[1:]
            normal[at, at] += weight
            normal[low, low] += weight[1:]
            normal[low, high] -= weight[1:]
            normal[high, low] -= weight[1:]
            right[at] += weight * counts
            right[low] -= (weight * counts)[1:]
        for of_one, gram, answers in self._weighed:
            at = np.append(np.searchsorted(cuts, of_one), m)
            normal[at[:, None], at] += gram
            right[at] += answers
        plain, inverse = normal.copy(), np.linalg.inv(normal)
        known, empty = inverse, None
        if self._weighed:
            empty = self._empty(cuts, normal, right, inverse)
            known = np.linalg.inv(normal) if empty.size else inverse
        covariance = np.zeros((m + 2, m + 2))
        covariance[1:, 1:] = known
        raw = covariance[:, 1:] @ right
        weight = 1 / np.maximum(np.diag(covariance), 1e-6 * covariance[-1, -1])
        rank = np.clip(_rising(raw, weight), 0.0, max(raw[-1], 1.0))
        rank[0], rank[-1] = 0.0, max(raw[-1], 1.0)
        fit = Fit(np.concatenate([self.ends[:1], cuts, self.ends[1:]]), rank, raw, covariance)
        return self._smoothed(fit, plain, right, inverse, empty) if self._weighed else fit

    def _empty(self, cuts, normal, right, inverse):
        """Take cells of one value for empty that show no rows; return the cuts below them."""
        raw, variance = inverse @ right, np.diag(inverse)
        below = [of[:-1][previous_float(of[1:]) == of[:-1]] for of, _, _ in self._weighed]
        low = np.searchsorted(cuts, np.unique(np.concatenate(below)))
        variance = variance[low + 1] + variance[low] - 2 * inverse[low, low + 1]
        few = raw[low + 1] - raw[low] < ALONE * np.sqrt(np.maximum(variance, 0.0))
        weight = np.maximum(1.0, 1 / np.maximum(variance[few], 1e-300))
        _without_rows(normal, low[few], weight)
        return low[few]

    def _smoothed(self, fit, normal, right, inverse, empty):
        """Return a Fit with smooth ranks: the most likely ones of normal noise and densities."""
        cuts, rank = fit.x[1:-1], fit.rank
        if not len(cuts):
            return replace(fit, smooth=rank, axis=Axis.of(fit.x, rank))
        holds, alone = np.ones(len(cuts) + 1, dtype=bool), np.zeros(len(cuts) + 1, dtype=bool)
        power, places = grid_of(cuts, rank[1:-1], (inverse @ right)[:-1], inverse[:-1, :-1]), cuts
        if power is None:
            alone[1:-1], holds[empty + 1] = previous_float(cuts[1:]) == cuts[:-1], False
        else:
            numbers = multiples(cuts, power)
            places, holds[1:-1] = between(numbers, power), np.diff(numbers) > 0
        of_cells = normal[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
        of_cells, right = of_cells[np.ix_(holds, holds)], right[::-1].cumsum()[::-1][holds]
        t = Axis.of(fit.x, rank).of_numbers(places)
        expected = expected_rows(t, fit.n)
        middle = np.concatenate([[t[0] - OPEN], (t[1:] + t[:-1]) / 2, [t[-1] + OPEN]])
        start, rows = np.maximum(np.diff(rank), FAINT * fit.n), np.zeros(len(holds))
        expected[alone] = HOLDS * fit.n
        of_holding = (of[holds] for of in (expected, middle, alone, start))
        rows[holds] = most_likely(of_cells, right, *of_holding)
        rank = np.concatenate([[0.0], rows.cumsum()])
        rank[-1] = max(rank[-1], 1.0)
        return replace(fit, smooth=rank, axis=Axis.of(fit.x, rank), power=power)


def _without_rows(normal, low, weight):
    """Add to normal equations that cells above some cuts hold no rows."""
    normal[low, low] += weight
    normal[low + 1, low + 1] += weight
    normal[low, low + 1] -= weight
    normal[low + 1, low] -= weight


def _rising(y, weight):
    """Return the weighted least-squares fit of y that never falls: pools of adjacent violators."""
    pools = []  # of mean, weight, length
    for mean, w in zip(y.tolist(), weight.tolist(), strict=True):
        length = 1
        while pools and pools[-1][0] >= mean:
            before_mean, before_w, before_length = pools.pop()
            total = w + before_w
            mean = (mean * w + before_mean * before_w) / total
            w, length = total, length + before_length
        pools.append((mean, w, length))
    return np.repeat([mean for mean, _, _ in pools], [length for _, _, length in pools])


# --- linear measurements of disjoint cells from which public combinations of them are least off


def least_error_strategy(gram, gain):
    """Return the integer matrix C, to which a row of cell b adds column b, at most ``gain`` long.

    Notes
    -----
    For ``X = C^T C`` the squared error of combinations of cells, whose Gram matrix is G, is
    ``tr G X^-1``, for columns of squared length ``X_bb`` at most 1. For any weights v of cells,
    with ``B = diag(v)^(1/2)`` and ``S = (B G B)^(1/2)``,

        tr G X^-1 + sum of v_b X_bb >= 2 tr S,  with equality for X = B^-1 S B^-1,

    so ``(tr S)^2 / sum v <= least error <= tr S max X_bb``: weights of long columns grow until both
    ends meet, as in :func:`skdp.marginals._residuals.range_strategy`, which measures the number of
    rows by itself. Public numbers only.
    """
    v, best = np.ones(len(gram)), None
    for _ in range(ROUNDS):
        root = np.sqrt(v)
        squares, vectors = eigh(root[:, None] * gram * root)
        s = np.sqrt(np.maximum(squares, 0.0))
        C = np.sqrt(s)[:, None] * vectors.T / root
        lengths = np.square(C).sum(axis=0)
        error, least = s.sum() * lengths.max(), s.sum() ** 2 / v.sum()
        if best is None or error < best[0]:
            best = error, C / np.sqrt(lengths.max())
        if error <= (1 + GAP) * least:
            break
        v = v * np.square(lengths)
        v = np.maximum(v / v.mean(), LIGHTEST)
    return np.rint(gain * best[1]).astype(np.int64)


@lru_cache(maxsize=512)
def excess_strategy(parts):
    """Return the matrix that measures best by how much ranks exceed parts of all rows.

    The ranks are those of the ends of all cells but the last; parts are in (0, 1).
    """
    if not parts:
        return np.full((1, 1), GAIN)
    part, cell = np.array(parts)[:, None], np.arange(len(parts) + 1)
    excess = (cell <= cell[:-1, None]) - part
    C = least_error_strategy(excess.T @ excess, GAIN)
    return C[C.any(axis=1)]
