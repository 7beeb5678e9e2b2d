"""What estimators of one location per column have in common."""

import math

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp.denoising._auto import DENOISER
from skdp.denoising._vector import VectorMixin
from skdp.location._column_estimator import ColumnEstimator
from skdp.readers._calendar import Dated, with_dates
from skdp.table._batched import transforms_pieces
from skdp.table._schema import later_rows
from skdp.utils._numbers import column_vector
from skdp.utils._renamed import Renamed


@transforms_pieces
class CentringMixin(OneToOneFeatureMixin, TransformerMixin):
    """Mixin of estimators of one ``location_`` per column."""

    location_ = Dated()

    def transform(self, X):
        """Subtract the released location from every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_centred : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.

        Raises
        ------
        ValueError
            If several locations of each column were fitted.
        """
        check_is_fitted(self)
        location = vars(self)["location_"]  # numbers, of dates too
        if location.ndim > 1:
            raise ValueError(
                "transform subtracts one quantile of each column, and several were fitted. Pass a "
                "number as q."
            )
        X = later_rows(self, X)
        return X - location.astype(X.dtype, copy=False)


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


def accuracy_of(mean, n_features):
    """Return what the noise of a PrivateMean balances: a name, or weights of columns."""
    told = mean.accuracy
    if not isinstance(told, str):
        told = column_vector("accuracy", told, n_features, positive=True)
    elif told == "alike":
        return told
    known = mean.bounds, mean.center, mean.radius, mean.diameter
    searched = isinstance(mean.scale, str) and mean.scale == "auto" and not mean.trim
    if mean.method != "auto" or not searched or any(one is not None for one in known):
        raise ValueError(
            "accuracy shapes the noise by scales that are found privately, and something given "
            "saves or skips this search. Leave out bounds, center, radius, diameter, scale, trim "
            "and method, or accuracy."
        )
    return told
