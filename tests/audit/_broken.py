"""Means of a public ball, written against the public names: a sound one, and broken ones."""

import logging

import numpy as np

from skdp.accounting import PrivacyLedger
from skdp.base import Budget, Plan, PrivateEstimator, Step, ball_rows, ball_sum, count_rows
from skdp.mechanisms import make_entropy

BITS = 20
FAR = 1e6


class SoundMean(PrivateEstimator):
    """Mean of the rows, every row clipped to a public ball around zero."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, radius=1000.0, random_state=None, ledger=None):
        self.epsilon = epsilon
        self.delta = delta
        self.radius = radius
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("count", at_most=0.2), Step("sum")))

    def _release(self, rows, curator):
        count = curator.gaussian([self.count(rows)], sensitivity=1, share=0.1, label="count")
        n = max(float(count.value[0]), 1.0)
        total = self.total(table(rows), rows)
        share = curator.remaining
        release = curator.gaussian(total, sensitivity=2**BITS, share=share, label="sum")
        return {"location_": release.value * (self.radius / 2**BITS) / n}

    def count(self, rows):
        return count_rows(rows)

    def total(self, X, rows):
        return ball_sum(X, center=0.0, radius=self.radius, bits=BITS)[0]


def table(rows):
    return rows.take(np.arange(len(rows)))


# What is seen depends on rows: found by non-interference.


class KeepsCount(SoundMean):
    """The exact number of rows as an attribute."""

    def _release(self, rows, curator):
        return super()._release(rows, curator) | {"n_rows_": len(rows)}


class KeepsRows(SoundMean):
    """The rows themselves, under a name that does not look like it."""

    def _release(self, rows, curator):
        return super()._release(rows, curator) | {"_cache": table(rows)}


class BoundsFromData(SoundMean):
    """A radius taken from the rows: the sum stays in its ball, its unit tells."""

    def _release(self, rows, curator):
        X = table(rows)
        radius = float(np.nanmax(np.abs(X), initial=1.0, where=np.isfinite(X)))
        total = ball_sum(X, center=0.0, radius=radius, bits=BITS)[0]
        release = curator.gaussian(total, sensitivity=2**BITS, share=1, label="sum")
        return {"location_": release.value * (radius / 2**BITS)}


class StopsEarly(SoundMean):
    """One release less if there are far rows."""

    def _release(self, rows, curator):
        if np.any(np.abs(table(rows)) > FAR):
            return {"location_": np.zeros(rows.n_features)}
        return super()._release(rows, curator)


class Complains(SoundMean):
    """An exception if there are far rows."""

    def total(self, X, rows):
        if np.any(np.abs(X) > FAR):
            raise ValueError("far rows")
        return super().total(X, rows)


class Prints(SoundMean):
    """A line on standard output."""

    def total(self, X, rows):
        print(len(X), "rows")
        return super().total(X, rows)


class Logs(SoundMean):
    """A line in the log."""

    def total(self, X, rows):
        logging.getLogger("skdp").debug("%d rows", len(X))
        return super().total(X, rows)


# Values move too far: found by conditional sensitivity.


class NoClip(SoundMean):
    """Rows of any length."""

    def total(self, X, rows):
        units = np.nan_to_num(X / self.radius, posinf=0, neginf=0) * 2.0**BITS
        return np.clip(units.sum(axis=0), -(2.0**60), 2.0**60).astype(np.int64)


class ExactCentre(SoundMean):
    """Rows are centred by their exact mean before the sum."""

    def total(self, X, rows):
        X = X[np.isfinite(X).all(axis=1) & (np.abs(X) < 1e6).all(axis=1)]
        centre = X.mean(axis=0) if len(X) else np.zeros(rows.n_features)
        units = ball_rows(X, center=centre, radius=self.radius, bits=BITS)
        return units.sum(axis=0).astype(np.int64) + (2**BITS * centre / self.radius).astype(int)


class BoxForBall(SoundMean):
    """Columns clipped one by one, the sensitivity of the ball declared."""

    def total(self, X, rows):
        X = X[np.isfinite(X).all(axis=1)]
        return np.trunc(np.clip(X / self.radius, -1, 1) * 2**BITS).sum(axis=0).astype(np.int64)


class CountsInvalidRows(SoundMean):
    """A row with NaN counts twice in the number of rows."""

    def count(self, rows):
        return 2 * len(rows) - count_rows(rows)


# Found by other checks.


class FixedNoise(SoundMean):
    """The same noise in every fit."""

    def _release(self, rows, curator):
        curator._entropy = make_entropy(0)
        return super()._release(rows, curator)


class ChargesAfterwards(SoundMean):
    """The ledger is asked when the release has been made."""

    def fit(self, X, y=None):
        ledger, self.ledger = self.ledger, None
        try:
            super().fit(X, y)
        finally:
            self.ledger = ledger
        if isinstance(ledger, PrivacyLedger):
            ledger.charge(self.plan().budget, "late")
        return self


class TakesWeights(SoundMean):
    """Weights of rows are accepted."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y)


NON_INTERFERENCE = "check_non_interference"
SENSITIVITY = "check_conditional_sensitivity"

# Estimator -> the check that must find it.
BROKEN = {
    KeepsCount: NON_INTERFERENCE,
    KeepsRows: NON_INTERFERENCE,
    BoundsFromData: NON_INTERFERENCE,
    StopsEarly: NON_INTERFERENCE,
    Complains: NON_INTERFERENCE,
    Prints: NON_INTERFERENCE,
    Logs: NON_INTERFERENCE,
    NoClip: SENSITIVITY,
    ExactCentre: SENSITIVITY,
    BoxForBall: SENSITIVITY,
    CountsInvalidRows: SENSITIVITY,
    FixedNoise: "check_fresh_noise",
    ChargesAfterwards: "check_over_budget_refused_first",
    TakesWeights: "check_weights_refused",
}
