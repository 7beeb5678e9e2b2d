"""What estimators of one location per column have in common."""

import math

import numpy as np

from skdp.denoising._parameter import DENOISER
from skdp.denoising._vector import VectorMixin
from skdp.location._centring import CentringMixin
from skdp.location._column_estimator import ColumnEstimator
from skdp.readers._dated import with_dates
from skdp.utils._renamed import Renamed

__all__ = ["SLACK", "Location"]

SLACK = 2.0  # sensitivities are so many times what even spacing asks for


class Location(VectorMixin, CentringMixin, ColumnEstimator):
    """Base of estimators of one location per column."""

    released_location_ = Renamed("noisy_location_")
    _parameter_constraints: dict = {
        **ColumnEstimator._parameter_constraints,
        "denoiser": DENOISER,
    }

    def _fitted(self, values, sd, center):
        value, risk = self._denoised(values[0], sd[0])
        return {
            "location_": value,
            "noisy_location_": values[0],
            "risk_estimate_": risk,
            "noise_scale_": sd[0],
        }

    def _without_rows(self, center):
        return [center]

    def _drawn(self, fitted, sd, place, n):
        """Return noise and sampling together, by the inequality of Efron and Stein (1981).

        A statistic of n independent rows has a variance of at most the sum over rows of its mean
        squared change when the row is left out, so of ``n sensitivity^2``.
        """
        if place is None or n is None:
            return np.full(len(sd), math.inf)
        return np.hypot(sd, math.sqrt(n) * place.sensitivity)

    @with_dates
    def interval(self, confidence=0.95, *, simultaneous=False, sampling=False):
        """Return intervals for the bounded statistic, column by column.

        They lie around ``noisy_location_``: a denoised value is no middle of an interval. They
        account for the privacy noise, whose law is known exactly. The bounded statistic is that of
        the table where no row is worth more than the sensitivity.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.
        sampling : bool, default=False
            Whether they are to cover the bounded statistic of the population that the rows were
            drawn from. The sampling error is at most sqrt(n) sensitivities (Efron and Stein), some
            3 times what it is as a rule; infinite if sensitivity and center were both given, as
            no number of rows is released then.

        Returns
        -------
        lower, upper : ndarrays of shape (n_features,)
        """
        half = self._half_width(confidence, simultaneous, sampling)
        return self.noisy_location_ - half, self.noisy_location_ + half
