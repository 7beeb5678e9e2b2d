"""Laws of statistics of numbers and of tables with noise: p-values that account for it."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, chndtr, fdtrc, ndtri

from skdp.utils._numbers import public_words

PARTS = 0.02  # the least share of a group
RANK_SPREAD = 0.2  # least variance of rank scores; 1 / 3 without ties
# Of columns with a t law of 3 degrees of freedom together n times the variance of a correlation of
# ranks is (1 - r^2)^2 times 1.24, 1.19, 1.34, 2.21 at r = 0, .27, .56, .88; of normal ones 1 to 1.3
RANKS = 0.2, 1.7
MOST_DF = 1e7
DRAWS = 20_000  # of the law of a largest distance: of .05 the error is .0015
CLEAR = 3.0  # noises that rows are told by


@dataclass(frozen=True)
class GroupSums:
    """Released sums of scores by group, of one column: k groups, all independent."""

    first: np.ndarray  # (k,): sums of t
    short: np.ndarray  # (k,): sums of 1 - t^2
    n: np.ndarray  # (k,): numbers of rows
    sd: float  # of the noise in `first` and `short`
    n_sd: float  # of the noise in `n`
    whole: tuple = (0.0, math.inf)  # another release of the number of all rows, and its deviation

    @property
    def told(self):
        """Whether the number of all rows stands clear of its noise, and no group seems empty."""
        enough = self.n.sum() > CLEAR * math.sqrt(len(self.n)) * self.n_sd
        return bool(enough and (self.n > 0).all())

    @property
    def rows(self):
        """The number of all rows, and the shares of groups."""
        k, (n0, sd0) = len(self.n), self.whole
        weight = k * self.n_sd**2 / (k * self.n_sd**2 + sd0**2)
        gain = weight * (n0 - self.n.sum())
        n = max(self.n.sum() + gain, 2.0)
        p = np.clip((self.n + gain / k) / n, PARTS, 1)
        return n, p / p.sum()

    def _spread(self, n):
        """Return n times the variance of all rank scores."""
        spread = n - self.short.sum() - self.first.sum() ** 2 / n
        return float(np.clip(spread, RANK_SPREAD * n, n))


def rank_difference(sums):
    """Return (z, share of noise) of two groups whose rows are exchangeable.

    Given pooled rows and scores, labels are a uniform arrangement: (1 - p) S1 - p S2 has the mean
    0, whatever the scores.
    """
    n, (p, _) = sums.rows
    total = sums.first.sum()
    d = (1 - p) * sums.first[0] - p * sums.first[1]
    noise = sums.sd**2 * ((1 - p) ** 2 + p**2) + total**2 * sums.n_sd**2 / (2 * n**2)
    var = sums._spread(n) * p * (1 - p) * n / max(n - 1, 1) + noise
    return float(d / math.sqrt(var)), float(noise / var)


def ranks_of_groups(sums):
    """Return (statistic, degrees of freedom, pvalue, share of noise) of k exchangeable groups."""
    n, p = sums.rows
    k, total = len(p), sums.first.sum()
    d = sums.first - p * total
    J = np.eye(k) - np.outer(p, np.ones(k))
    noise = sums.sd**2 * J @ J.T + total**2 * sums.n_sd**2 / n**2 * np.eye(k)
    cov = sums._spread(n) * (np.diag(p) - np.outer(p, p)) + noise
    q = float(d[:-1] @ np.linalg.solve(cov[:-1, :-1], d[:-1]))
    part = float(np.trace(noise[:-1, :-1]) / np.trace(cov[:-1, :-1]))
    return q, k - 1, float(chdtrc(k - 1, q)), part


@dataclass(frozen=True)
class Means:
    """Means of scores by group, the variances that sampling and noise give them, and laws."""

    mean: np.ndarray
    spread: np.ndarray  # variances of scores
    sampling: np.ndarray
    noise: np.ndarray
    of_variance: np.ndarray  # variances of `sampling`, of drawing and of noise

    @property
    def var(self):
        """The variances of the means."""
        return self.sampling + self.noise

    @property
    def df(self):
        """The degrees of freedom of the sum of all variances (Satterthwaite)."""
        return float(np.clip(2 * self.var.sum() ** 2 / self.of_variance.sum(), 2, MOST_DF))

    @property
    def noise_share(self):
        """The part of the variances that is noise."""
        return float(self.noise.sum() / self.var.sum())


def means(sums, null=None):
    """Return the :class:`Means` of groups, with the noise of the mean ``null`` of all, if given.

    At its own mean a group with too large a released number of rows would have too little noise.
    """
    n = np.maximum(sums.n, 2.0)
    T = np.clip(sums.first / n, -1, 1)
    at = T if null is None else np.clip(null, -1, 1)
    V = np.clip(1 - sums.short / n - T * T, 0, 1)
    sd = np.sqrt(sums.sd**2 * (1 + 4 * T * T) + (1 - V + T * T) ** 2 * sums.n_sd**2) / n
    V = np.maximum(V, sd / 4)
    noise = (sums.sd**2 + at * at * sums.n_sd**2) / n**2
    return Means(T, V, V / n, noise, 2 * (V / n) ** 2 / n + (sd / n) ** 2)


def f_of_means(of):
    """Return (F, (df1, df2), pvalue) of k equal means: Welch's test of one way, with the noise."""
    k, w = len(of.mean), 1 / of.var
    centre = w @ of.mean / w.sum()
    # in the place of Welch's 1 / (n - 1): half of the squared error of a variance, in itself
    unsure = of.of_variance / of.var**2 / 2
    lost = float((1 - w / w.sum()) ** 2 @ unsure)
    F = float(w @ (of.mean - centre) ** 2) / (k - 1)
    F /= 1 + 2 * (k - 2) / (k * k - 1) * lost
    df = k - 1, float(np.clip((k * k - 1) / (3 * max(lost, 1e-9)), 2, MOST_DF))
    return F, df, float(fdtrc(*df, max(F, 0.0)))


def distance_of_groups(counts, sd):
    """Return (distance, pvalue, numbers of rows) of two groups: Kolmogorov and Smirnov's.

    ``counts``: released (cells, 2), each with noise of a deviation. The law of the largest distance
    is drawn, by public random numbers: a walk over the pooled cells, tied down at its end, whose
    steps have the variances of a bridge and of the noise of both. Labels are an arrangement, so a
    bridge has n / (n - 1) of its usual variance.
    """
    counts = np.asarray(counts, dtype=np.float64)
    m, n = len(counts), np.maximum(counts.sum(axis=0), 2.0)
    F = np.cumsum(counts, axis=0) / n
    distance = float(np.abs(F[:-1, 0] - F[:-1, 1]).max(initial=0.0))
    pooled = np.maximum.accumulate(np.clip((F @ n) / n.sum(), 0, 1))
    mass = np.diff(pooled, prepend=0.0)
    bridge = mass * n.sum() ** 2 / (n.sum() - 1) / n.prod()
    path = np.cumsum(np.sqrt(bridge + sd**2 * np.square(1 / n).sum()) * _draws(m), axis=1)
    largest = np.abs(path - pooled * path[:, -1:])[:, :-1].max(axis=1, initial=0.0)
    return distance, float((1 + np.sum(largest >= distance)) / (DRAWS + 1)), n


@lru_cache(maxsize=1)
def _draws(m):
    return normals(DRAWS * m, "distance", m).reshape(DRAWS, m)


def normals(n, *key):
    """Return n public normal numbers, a function of the key."""
    return ndtri(((public_words(n, *key) >> np.uint64(11)) + 0.5) * 2.0**-53)


@dataclass(frozen=True)
class PairSums:
    """Released sums of two scores of a row, and what they tell of their correlation."""

    product: float
    first: np.ndarray  # (2,)
    short: np.ndarray  # (2,): sums of 1 - t^2
    n: float
    sd: np.ndarray  # (4,): of the noise in a product, in `first`, in `short` and in the count
    whole: tuple
    least: float  # the least variance of scores
    curved: bool  # whether scores are ranks, of which a variance is more than (1 - r^2)^2 / n
    low, high = -1.0, 1.0  # what is possible

    @property
    def rows(self):
        """The number of rows, and the variance of its noise."""
        weight = self.sd[3] ** 2 / (self.sd[3] ** 2 + self.whole[1] ** 2)
        return max(self.n + weight * (self.whole[0] - self.n), 2.0), self.sd[3] ** 2 * (1 - weight)

    def correlation(self):
        """Return (r, z, share of noise, told), and keep what intervals need."""
        n, _ = self.rows
        V = self._spreads()
        den, noise = math.sqrt(V[0] * V[1]), self._noise()
        z = self._covariance() / math.sqrt(V[0] * V[1] / n + noise)
        told = n > CLEAR * self.sd[3] and den > 2 * math.sqrt(noise)
        share = noise / (V[0] * V[1] / n + noise)
        return float(np.clip(self._covariance() / den, -1, 1)), z, share, bool(told)

    def at(self, level):
        """Return the correlations that the release allows: r - rho against its law at rho."""
        n, n_var = self.rows
        V, z = self._spreads(), ndtri(0.5 + level / 2)
        den = math.sqrt(V[0] * V[1])
        of_spreads = (np.sum(1 / V**2) * self.sd[2] ** 2 + n_var * np.sum(1 / V) ** 2) / 4
        rho = np.linspace(-0.9995, 0.9995, 3999)
        more = self.curved * (RANKS[0] + RANKS[1] * rho**4)
        drawn = (1 - rho**2) ** 2 * (1 + more) / max(n - 3, 1)
        var = drawn + self._noise() / den**2 + rho**2 * of_spreads
        inside = np.flatnonzero((self._covariance() / den - rho) ** 2 <= z * z * var)
        if not len(inside):
            r = float(np.clip(self._covariance() / den, -1, 1))
            return min(r, 0.9995), max(r, -0.9995)
        low, high = rho[inside[0]], rho[inside[-1]]
        return (-1.0 if inside[0] == 0 else low), (1.0 if inside[-1] == len(rho) - 1 else high)

    def _covariance(self):
        return self.product - self.first[0] * self.first[1] / self.rows[0]

    def _spreads(self):
        n = self.rows[0]
        return np.clip(n - self.short - self.first**2 / n, self.least * n, n)

    def _noise(self):
        (n, n_var), a = self.rows, self.sd[1] ** 2
        of_count = np.prod(self.first**2) * n_var / n**4
        return self.sd[0] ** 2 + (np.sum(self.first**2) + a) * a / n**2 + of_count


FLOOR = 0.5  # noises of a margin that its part is at least
DROWNED = 8.0  # noises of all cells that rows need, for an interval of Cramer's V
SPARSE = 2.0  # noises of a cell that are expected in it
MOST_SPARSE = 0.2  # part of the cells


class _Independent:
    """A released table beside independence: margins, differences, and their covariance."""

    def __init__(self, counts, sd):
        counts = np.asarray(counts, dtype=np.float64)
        r, c = counts.shape
        self.n, self.sd, self.shape = max(counts.sum(), 1.0), sd, (r, c)
        floor = FLOOR * sd * math.sqrt(max(r, c)) / self.n
        p, q = (np.maximum(counts.sum(axis=i) / self.n, floor) for i in (1, 0))
        self.p, self.q = p / p.sum(), q / q.sum()
        A, B = (np.eye(len(m)) - np.outer(m, np.ones(len(m))) for m in (self.p, self.q))
        self.difference = (A @ counts @ B.T)[:-1, :-1].ravel()
        P, Q = (np.diag(m) - np.outer(m, m) for m in (self.p, self.q))
        self.drawn = self.n * np.kron(P[:-1, :-1], Q[:-1, :-1])
        self.noise = sd**2 * np.kron((A @ A.T)[:-1, :-1], (B @ B.T)[:-1, :-1])

    def length(self, cov):
        return float(self.difference @ np.linalg.solve(cov, self.difference))


def chi_squared(counts, sd):
    """Return (statistic, degrees of freedom, pvalue, share of noise) of independence."""
    table = _Independent(counts, sd)
    df = (table.shape[0] - 1) * (table.shape[1] - 1)
    cov = table.drawn + table.noise
    statistic = table.length(cov)
    share = float(np.trace(table.noise) / np.trace(cov))
    return statistic, df, float(chdtrc(df, statistic)), share


def sparse(counts, sd):
    """Return whether too many cells are expected to hold less than the noise."""
    table = _Independent(counts, sd)
    expected = table.n * np.outer(table.p, table.q)
    return bool(np.mean(expected < SPARSE * sd) > MOST_SPARSE)


def cramers_v(counts, sd, level=0.95):
    """Return Cramer's V and its interval; 0 to 1 where the rows drown.

    The quadratic form is chi-squared about its mean, with a parameter that the table's departure
    from independence makes; it is inverted, and taken in the unit without noise.
    """
    table = _Independent(counts, sd)
    r, c = table.shape
    df, cov = (r - 1) * (c - 1), table.drawn + table.noise
    q, plain = table.length(cov), table.length(table.drawn)
    unit = plain / max(q, 1e-12) / table.n / (min(r, c) - 1)
    value = math.sqrt(min(max(q - df, 0.0) * unit, 1.0))
    if np.sum(counts) < DROWNED * sd * math.sqrt(r * c):
        return value, 0.0, 1.0
    ends = [_noncentral(q, df, tail) for tail in (0.5 + level / 2, 0.5 - level / 2)]
    low, high = (math.sqrt(min(end * unit, 1.0)) for end in ends)
    return value, low, high


def _noncentral(q, df, probability):
    """Return the parameter for which a chi-squared is at most q with a probability."""
    if chdtr(df, q) <= probability:
        return 0.0
    most = q + 10 * math.sqrt(q) + 50
    return brentq(lambda x: chndtr(q, df, x) - probability, 1e-9, most)


class Rates:
    """Rates of two arms of (success, failure) counts, and intervals for how they differ."""

    def __init__(self, counts, sd, scale="difference"):
        self.counts, self.sd, self.scale = np.asarray(counts, dtype=np.float64), sd, scale

    @property
    def low(self):
        """What is possible, from below."""
        return -1.0 if self.scale == "difference" else 0.0

    @property
    def high(self):
        """What is possible, from above."""
        return 1.0 if self.scale == "difference" else math.inf

    @property
    def value(self):
        """The difference, the ratio or the odds ratio of the first arm to the second."""
        (p, *_), (q, *_) = self.arms(0.95)
        with np.errstate(all="ignore"):
            d = _scaled(p, self.scale) - _scaled(q, self.scale)
        return float(d if self.scale == "difference" else np.exp(np.nan_to_num(d)))

    def arms(self, level):
        """Return (rate, low, high) of both arms: Wilson's intervals with the noise in them."""
        z = ndtri(0.5 + level / 2)
        return [_arm(*row, self.sd, z) for row in self.counts]

    def at(self, level):
        """Return the interval of the method of variance estimates recovery (Newcombe)."""
        (p, pl, pu), (q, ql, qu) = self.arms(level)
        t = [_scaled(x, self.scale) for x in (p, pl, pu, q, ql, qu)]
        with np.errstate(all="ignore"):
            d = t[0] - t[3]
            low = d - math.hypot(t[0] - t[1], t[5] - t[3])
            high = d + math.hypot(t[2] - t[0], t[3] - t[4])
        low = low if np.isfinite(low) else -math.inf
        high = high if np.isfinite(high) else math.inf
        if self.scale == "difference":
            return max(low, -1.0), min(high, 1.0)
        with np.errstate(over="ignore"):
            return float(np.exp(low)), float(np.exp(high))


def _scaled(p, scale):
    with np.errstate(all="ignore"):
        return {"difference": p, "ratio": np.log(p), "odds": np.log(p) - np.log1p(-p)}[scale]


def share_of_arm(count, n, cells, sd):
    """Return the part of one of several cells, and its interval of 95 %."""
    return tuple(map(float, _arm(count, n - count, sd, ndtri(0.5 + 0.95 / 2), cells - 1)))


def _arm(successes, failures, sd, z, others=1):
    """Return a rate and all rates p with (S - p n)^2 <= z^2 (n p (1 - p) + noise).

    The noise is that of one cell and of ``others``: (1 - p)^2 + others p^2 times its variance.
    """
    n = successes + failures
    m = max(n, 2 * sd)
    a = n * n + z * z * (m - (1 + others) * sd**2)
    b = n * successes + z * z * (m / 2 - sd**2)
    c = successes**2 - z * z * sd**2
    if not (n > 0 and a > 0):
        return np.float64(0.5), np.float64(0.0), np.float64(1.0)
    root = math.sqrt(max(b * b - a * c, 0.0))
    low, high = np.clip((b - root) / a, 0, 1), np.clip((b + root) / a, 0, 1)
    return np.clip(np.clip(successes / max(n, 1.0), 0, 1), low, high), low, high


def adjusted(p, adjust):
    """Return p-values that account for their number."""
    m, order = len(p), np.argsort(p, kind="stable")
    if adjust is None or not m:
        return p
    ranked = p[order]
    if adjust == "holm":
        ranked = np.maximum.accumulate(ranked * (m - np.arange(m)))
    else:
        ranked = np.minimum.accumulate((ranked * m / np.arange(1, m + 1))[::-1])[::-1]
    out = np.empty(m)
    out[order] = np.minimum(ranked, 1.0)
    return out
