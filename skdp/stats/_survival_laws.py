"""Survival curves from released numbers of events: laws that know the noise. No rows, no noise."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from skdp.stats._laws import CLEAR, normals

DRAWS = 2000  # of the law of the largest deviation of a curve
LEAST = 1e-12


def rising(sums):
    """Return prefix sums between their running maximum and minimum, along the last axis."""
    up = np.maximum.accumulate(sums, axis=-1)
    down = np.minimum.accumulate(sums[..., ::-1], axis=-1)[..., ::-1]
    return np.maximum((up + down) / 2, 0.0)


@dataclass(frozen=True)
class SurvivalCurve:
    """One group's curve: Kaplan and Meier's, and the sum of hazards of Nelson and Aalen.

    With d events, c others and Y rows at risk in a bin, Y = n - those before - c / 2, the first is
    the product of 1 - d / Y, the second the sum of d / (Y - d / 2), for events come one after the
    other. Noise comes by their derivatives, sampling by Greenwood's rule.
    """

    edges: np.ndarray
    events: np.ndarray  # (L,), released
    others: np.ndarray  # (L + 1,)
    event_noise: np.ndarray
    other_noise: np.ndarray

    @classmethod
    def of(cls, counts, group):
        """Return the curve of one group of :class:`skdp.stats._survival_input.Counts`."""
        noise = counts.event_noise, counts.other_noise
        return cls(counts.edges, counts.events[group], counts.others[group], *noise)

    @cached_property
    def _bins(self):
        """Return events, those at risk, and n."""
        D, K = rising(np.cumsum(self.events)), rising(np.cumsum(self.others))
        d, c = np.diff(D, prepend=0.0), np.diff(K[:-1], prepend=0.0)
        n = D[-1] + K[-1]
        at_risk = n - (D - d) - (K[:-1] - c) - c / 2
        return d, np.maximum(at_risk, d + 0.5), n

    @property
    def n_rows(self):
        """The number of rows."""
        return float(self.events.sum() + self.others.sum())

    @property
    def n_events(self):
        """The number of events until the last edge."""
        return float(self.events.sum())

    @property
    def at_risk(self):
        """The number of rows at risk in every bin."""
        return self._bins[1]

    @cached_property
    def _at_risk_slopes(self):
        """Return the derivatives of those at risk by events and others, (L, L) and (L, L + 1)."""
        bins = len(self.events)
        later = np.triu(np.ones((bins, bins + 1)))
        return later[:, :-1], later - np.eye(bins, bins + 1) / 2

    @cached_property
    def known(self):
        """Whether those at risk stand clear of their noise, in a bin and all before: (L,)."""
        by_event, by_other = self._at_risk_slopes
        var = np.square(by_event @ self.event_noise).sum(axis=1)
        var = var + np.square(by_other @ self.other_noise).sum(axis=1)
        unbiased = by_event @ self.events + by_other @ self.others
        return np.logical_and.accumulate(unbiased > CLEAR * np.sqrt(var))

    def hazard(self, product):
        """Return the sum of hazards at the ends of bins: -log of the product, or the sum."""
        d, at_risk, _ = self._bins
        h = -np.log1p(-np.minimum(d / at_risk, 1 - LEAST)) if product else d / (at_risk - d / 2)
        return np.cumsum(h)

    def covariance(self, product, sampling):
        """Return the covariance of the sums of hazards: of noise, and of sampling with it."""
        d, at_risk, _ = self._bins
        left = np.maximum(at_risk - d, 1.0)
        square = at_risk * left if product else np.square(at_risk - d / 2)
        by_d, by_risk = at_risk / square, -d / square
        upto = np.tril(np.ones((len(d), len(d))))
        by_event, by_other = (upto @ (by_risk[:, None] * one) for one in self._at_risk_slopes)
        factors = (by_event + upto * by_d) @ self.event_noise, by_other @ self.other_noise
        noise = sum(factor @ factor.T for factor in factors)
        drawn = np.cumsum(d / square)
        return noise + np.minimum.outer(drawn, drawn) * sampling

    @cached_property
    def noise_share(self):
        """The part of the variance that is noise, in the middle of what is known."""
        at = max(int(self.known.sum()) // 2 - 1, 0)
        both = (self.covariance(True, sampling)[at, at] for sampling in (False, True))
        return float(np.divide(*both))

    def ends(self, level, *, product=True, sampling=True, simultaneous=False):
        """Return both ends of the sums of hazards, (L,) each; unknown ones 0 and infinite."""
        H, cov = self.hazard(product), self.covariance(product, sampling)
        sd = np.sqrt(np.diag(cov))
        z = ndtri(0.5 + level / 2)
        if simultaneous and self.known.any():
            z = _largest(cov[np.ix_(self.known, self.known)], level)
        low, high = np.maximum(H - z * sd, 0.0), H + z * sd
        low, high = np.where(self.known, low, 0.0), np.where(self.known, high, np.inf)
        return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]

    def quantile(self, q, level):
        """Return the time at which a part q has had the event, and its interval.

        Infinite where the curve stays above; NaN where it is not known so far.
        """
        target = -math.log1p(-q)
        low, high = self.ends(level)
        H = np.where(self.known, self.hazard(True), np.nan)
        value = self._crossing(H, target)
        if math.isinf(value) and not self.known.all():
            value = math.nan
        return value, self._crossing(high, target), self._crossing(low, target)

    def _crossing(self, H, target):
        """Return where a sum of hazards reaches a number, infinity if nowhere."""
        over = np.flatnonzero(target <= H)
        if not len(over):
            return math.inf
        i = int(over[0])
        if not np.isfinite(H[i]):
            return float(self.edges[i])
        start = H[i - 1] if i else 0.0
        part = (target - start) / max(H[i] - start, LEAST)
        return float(self.edges[i] + np.clip(part, 0, 1) * (self.edges[i + 1] - self.edges[i]))

    def restricted_mean(self, t, level):
        """Return the area under the curve until t, and its interval; NaN, 0 and t if not known."""
        H = np.concatenate([[0.0], self.hazard(True)])
        S = np.exp(-H)
        upto = np.clip(t, *self.edges[[0, -1]])
        widths = np.diff(np.minimum(self.edges, upto))
        used = widths > 0
        if not self.known[used].all() or not used.any():
            return math.nan, 0.0, float(t)
        part = widths / np.diff(self.edges)
        h = np.maximum(np.diff(H) * part, LEAST)
        value = float(np.sum(widths * S[:-1] * -np.expm1(-h) / h))
        left = widths * (1 - part / 2)  # derivatives: those of straight lines between bins
        slopes = (widths * part / 2 + np.append(left[1:], 0.0)) * S[1:]
        sd = math.sqrt(max(slopes @ self.covariance(True, True) @ slopes, 0.0))
        half = float(ndtri(0.5 + level / 2)) * sd
        return value, max(value - half, 0.0), min(value + half, float(t))


def _largest(cov, level):
    """Return the quantile of the largest deviation of a normal path, in deviations of each."""
    values, V = np.linalg.eigh(cov)
    draws = normals(DRAWS * len(cov), "band", len(cov)).reshape(DRAWS, len(cov))
    paths = (draws * np.sqrt(np.maximum(values, 0.0))) @ V.T
    sd = np.sqrt(np.maximum(np.diag(cov), LEAST))
    return float(np.quantile(np.abs(paths / sd).max(axis=1), level))
