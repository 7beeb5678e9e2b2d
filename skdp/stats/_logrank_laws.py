"""The log-rank test from two releases: laws that know the noise. No rows, no noise drawn."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, ndtri

from skdp.kernel.applied._scores import GAIN
from skdp.stats._laws import CLEAR, PARTS
from skdp.stats._survival_input import cells_of_times
from skdp.stats._survival_laws import SurvivalCurve

BLOCKS = 8  # of bins, in which shares at risk are taken to be constant
INCREMENTS = 0.25  # weight of the squares of residuals by block, beside those of their sum
FEWEST = 0.5  # events, of which a variance is made at least
FARTHEST = 20.0  # of the logarithm of a hazard ratio


@dataclass(frozen=True)
class Residuals:
    """Groups' released events: the pooled hazard, shares at risk, and what is asked next.

    The residual of a row is its event less the pooled hazard until its time, both until that
    hazard is 1, or the rows at risk of a group are lost in noise: the released shares at risk of
    later bins say nothing. ``counts``: :class:`skdp.stats._survival_input.Counts` of k groups.
    """

    counts: object

    @cached_property
    def _curves(self):
        return [SurvivalCurve.of(self.counts, g) for g in range(len(self.counts.events))]

    @cached_property
    def hazard(self):
        """The pooled sum of hazards at edges, at most 1: (L + 1,)."""
        d, at_risk = self._pooled
        return np.append(0.0, np.minimum(np.cumsum(self.compared * d / at_risk), 1.0))

    @cached_property
    def compared(self):
        """In which bins the rows at risk of every group are clear of noise, (L,) of bool."""
        noise = zip(
            self._curves[0]._at_risk_slopes,
            (self.counts.event_noise, self.counts.other_noise),
            strict=True,
        )
        sd = np.sqrt(sum(np.square(slopes @ factor).sum(axis=1) for slopes, factor in noise))
        at_risk = np.array([curve.at_risk for curve in self._curves])
        return np.logical_and.accumulate((at_risk > CLEAR * sd).all(axis=0))

    @cached_property
    def _pooled(self):
        d, at_risk = (sum(curve._bins[i] for curve in self._curves) for i in range(2))
        return d, np.maximum(at_risk, d + 0.5)

    @cached_property
    def shares(self):
        """The groups' shares of those at risk, by bin: (k, L)."""
        at_risk = np.array([curve.at_risk for curve in self._curves])
        p = np.clip(at_risk / at_risk.sum(axis=0), PARTS, 1 - PARTS)
        return p / p.sum(axis=0)

    @cached_property
    def events(self):
        """Events of all groups by bin, until the pooled hazard is 1."""
        return np.diff(self.hazard) * self._pooled[1]

    @cached_property
    def _blocks(self):
        """Return which bins are in which block, (J, L)."""
        bins = len(self.events)
        at = np.arange(bins) * min(BLOCKS, bins) // bins
        return (at == np.arange(at[-1] + 1)[:, None]).astype(float)

    @cached_property
    def _means(self):
        """Return what makes means over blocks, weighed by events, of numbers by bin: (J, L)."""
        weights = self._blocks * (self.events + 1e-9)
        return weights / weights.sum(axis=1, keepdims=True)

    def question(self, n_columns):
        """Return the :class:`ScoreCells` of residuals: their sum, and their parts by block.

        A row adds (a, x_1, ..., x_J) with the weights sqrt(1 - w) and sqrt(w), w = INCREMENTS: a
        is its residual, x_j the part of block j. Of an event at hazard l, of which its own block
        has x, the square is (1 - w) (1 - l)^2 + w ((1 - x)^2 + those of the blocks before), which
        is convex, and at most 1; of another row at most l^2. The kernel computes it anew.
        """
        l_at, J = self.hazard, len(self._blocks)
        first = np.argmax(self._blocks > 0, axis=1)
        starts = l_at[first]
        lengths = np.diff(np.append(starts, l_at[-1]))

        def other(at):
            parts = np.clip(at - starts[:, None], 0.0, lengths[:, None])
            return -np.vstack([at, parts])

        counted = self.compared & (l_at[:-1] < 1)
        counted = counted * np.vstack([np.ones(len(self.events)), self._blocks])
        weights = GAIN * np.sqrt(np.append(1 - INCREMENTS, np.full(J, INCREMENTS)))[:, None]

        def integers(x):
            return np.trunc(weights * x).astype(np.int64)

        sides = [other(side) for side in (l_at[:-1], l_at[1:])]
        events = [integers(counted + side) for side in sides]
        others = [integers(side) for side in sides]
        return cells_of_times(self.counts.edges, events, others, others[1][:, -1], n_columns)

    def scaled(self, y, sd):
        """Return sums by group, (2, 1 + J), and the noise in the first and in the others."""
        J = len(self._blocks)
        weights = GAIN * np.sqrt(np.append(1 - INCREMENTS, np.full(J, INCREMENTS)))
        return y[:, : J + 1] / weights, sd / weights[0], sd / weights[-1]

    def test(self, sums, sd, block_sd):
        """Return the :class:`HazardRatio` that both releases tell, or :class:`Hazards` of k > 2.

        Let p_j be a group's share of those at risk in block j, S its residuals, and T_j those of
        all. ``S - sum p_j T_j`` is the events of the group less those that are expected, whatever
        the pooled hazard: log-rank. In place of p_j T_j the sum p T with one share p has little
        noise, and blocks bring the difference.
        """
        pooled, k = sums.sum(axis=0), len(sums)
        p_block = self.shares @ self._means.T
        weights = self._blocks @ (self.events + 1e-9)
        p = p_block @ weights / weights.sum()
        apart = p_block - p[:, None]
        bias, second = self._products()
        d = sums[:, 0] - p * pooled[0] - apart @ pooled[1:] + bias
        J = np.eye(k) - p[:, None]
        noise = sd**2 * J @ J.T + k * block_sd**2 * apart @ apart.T + second
        moved = self.shares - p_block @ self._blocks
        n = sum(curve.n_rows for curve in self._curves)
        ends = (one.sum(axis=0) for one in (self.counts.event_noise, self.counts.other_noise))
        n_sd = math.sqrt(k) * float(np.hypot(*map(np.linalg.norm, ends)))
        told = all(curve.n_rows > 0 for curve in self._curves) and n > CLEAR * n_sd
        law = noise, (self.events * moved) @ moved.T, self.events, self.shares, told
        if k > 2:
            return Hazards(d, *law)
        (noise, *_), (inside, *_) = (one.ravel() for one in law[:2])
        return HazardRatio(float(d[0]), float(noise), float(inside), law[2], law[3][0], told)

    def _products(self):
        """Return means and covariance of ``sum (error of p_j) T_j``, by the noise of the counts.

        Both are linear in it. With e_g the error of those at risk in group g, its share p of all is
        off by (e_g - p e) / Y, e the sum of all, and T by -f + h e, f the sum of errors of events.
        All groups have noise of one law: ``own`` is that of e_g / Y, ``part`` of p e_g / Y, and
        ``rest`` of T.
        """
        p, (d, at_risk) = self.shares, self._pooled
        k, h = len(p), np.where(self.compared & (self.hazard[1:] < 1), d / at_risk, 0.0)
        counted = (self.compared & (self.hazard[:-1] < 1))[:, None]
        risk = self._curves[0]._at_risk_slopes
        noise = self.counts.event_noise, self.counts.other_noise
        events, others = np.eye(len(d)), np.zeros((len(d), len(d) + 1))
        own, part, rest = [], [], []
        for by_risk, by_event, factor in zip(risk, (events, others), noise, strict=True):
            error = by_risk @ factor / at_risk[:, None]
            own.append(self._means @ error)
            part.append(self._means @ (p[:, :, None] * error))
            rest.append(self._blocks @ (counted * (h[:, None] * by_risk - by_event) @ factor))
        own, part, rest = (np.concatenate(one, axis=-1) for one in (own, part, rest))
        square = np.square(own - part).sum(axis=2) + (k - 1) * np.square(part).sum(axis=2)
        long = np.maximum(np.sqrt(square) / 0.5, 1.0)[:, :, None]  # no share is farther off
        own, part = own / long, part / long
        cross, of_rest = (own - k * part) @ rest.T, k * rest @ rest.T
        own_part, part_part = (np.einsum("gjd,hjd->gh", one, of_rest @ part) for one in (own, part))
        var = np.diag(np.einsum("gjd,gjd->g", own, of_rest @ own)) + k * part_part
        var += np.einsum("gjl,hlj->gh", cross, cross) - own_part - own_part.T
        return np.einsum("gjj->g", cross), var


@dataclass(frozen=True)
class Hazards:
    """The events of k groups less those expected, and their law at equal hazards."""

    d: np.ndarray
    noise: np.ndarray  # covariance
    inside: np.ndarray
    events: np.ndarray  # by bin
    shares: np.ndarray  # (k, L)
    told: bool

    @cached_property
    def _drawn(self):
        """The covariance of sampling, of ``FEWEST`` events at least."""
        p = self.shares
        cov = np.diag(p @ self.events) - (self.events * p) @ p.T
        return cov * max(1.0, 2 * FEWEST / max(np.trace(cov), 1e-9)) + self.inside

    @property
    def df(self):
        """The degrees of freedom of the statistic: the last group follows from the others."""
        return len(self.d) - 1

    @cached_property
    def q(self):
        """The statistic: chi-squared where all groups have one hazard."""
        cov = (self._drawn + self.noise)[:-1, :-1]
        return float(self.d[:-1] @ np.linalg.solve(cov, self.d[:-1]))

    @property
    def pvalue(self):
        """The chance of a larger one."""
        return float(chdtrc(self.df, self.q))

    @property
    def noise_share(self):
        """The part of the variance that is noise."""
        return float(np.trace(self.noise) / np.trace(self._drawn + self.noise))

    @property
    def value(self):
        """What the statistic has beyond its mean, for each event."""
        return float(np.clip((self.q - self.df) / max(self.events.sum(), 1.0), 0, 1))


@dataclass(frozen=True)
class HazardRatio:
    """The events of the first group less those expected, its law, and the ratio of hazards."""

    d: float
    noise: float  # variance
    inside: float  # variance of sampling, of shares at risk that move inside of blocks
    events: np.ndarray  # by bin
    shares: np.ndarray  # the first group's part of those at risk
    told: bool
    low, high = 0.0, math.inf

    def variance(self, log_ratio=0.0):
        """Return the variance of d, by sampling and noise, at a ratio of hazards."""
        q = self._expected(log_ratio)
        return max(float(self.events @ (q * (1 - q))), FEWEST) + self.inside + self.noise

    def _expected(self, log_ratio):
        """Return the chance by bin that an event is of the first group."""
        odds = np.exp(np.clip(log_ratio, -FARTHEST, FARTHEST)) * self.shares
        return odds / (odds + 1 - self.shares)

    @property
    def z(self):
        """The statistic, in its own deviations, under equal hazards."""
        return self.d / math.sqrt(self.variance())

    @property
    def noise_share(self):
        """The part of its variance that is noise."""
        return self.noise / self.variance()

    def _ratio(self, d):
        """Return the logarithm of the ratio at which d events are expected."""

        def gap(log_ratio):
            return float(self.events @ (self._expected(log_ratio) - self.shares)) - d

        if gap(-FARTHEST) >= 0:
            return -math.inf
        return math.inf if gap(FARTHEST) <= 0 else brentq(gap, -FARTHEST, FARTHEST)

    @property
    def value(self):
        """The ratio of the hazard of the first group to that of the second."""
        return math.exp(min(self._ratio(self.d), FARTHEST))

    def at(self, level):
        """Return the interval: all ratios whose expected events are near the released ones."""
        at = float(np.clip(self._ratio(self.d), -FARTHEST, FARTHEST))
        half = float(ndtri(0.5 + level / 2)) * math.sqrt(self.variance(at))
        low, high = (self._ratio(self.d + sign * half) for sign in (-1, 1))
        return math.exp(low), math.exp(high)
