"""Laws of contingency tables whose cells carry noise of one deviation."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, chndtr, ndtri

__all__ = ["Rates", "chi_squared", "cramers_v", "share_of_arm", "sparse"]

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


def share_of_arm(count, n, cells, sd, level=0.95):
    """Return the part of one of several cells, and its interval."""
    return tuple(map(float, _arm(count, n - count, sd, ndtri(0.5 + level / 2), cells - 1)))


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
