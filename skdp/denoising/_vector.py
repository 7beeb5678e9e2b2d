"""Estimators whose release is one vector: what a denoiser after them takes."""

import math

from sklearn.utils.validation import check_is_fitted

from skdp.accounting._plan import release_mechanism
from skdp.contracts._contract import Contract
from skdp.contracts._kinds import Released, Rows
from skdp.denoising._parameter import denoised
from skdp.estimator._results import ResultsMixin
from skdp.scales._noise_level import check_sampling, noise_quantile
from skdp.utils._renamed import Renamed

__all__ = ["VectorMixin", "fitted_law"]


def fitted_law(estimator):
    """Return the law of the noise that a fit has drawn, "gaussian" or "laplace".

    It is told by the bill, since parameters may have been set anew after the fit.
    """
    return release_mechanism(estimator.privacy_report_.budget)


class VectorMixin(ResultsMixin):
    """Mixin of estimators that release one vector with independent noise of known scale.

    A subclass may have another ``_law()`` than Laplace for ``delta=0`` and Gaussian else, and
    another ``_vector``, the name of the attribute with the vector as released.
    """

    sure_ = Renamed("risk_estimate_")
    _vector = "noisy_location_"
    _consumes = (Rows,)

    def released_vector(self):
        """Return the released vector and its noise, for a denoiser.

        Returns
        -------
        value : ndarray
            Before any denoiser.
        scale : ndarray or float
            Standard deviations of Gaussian noise, or scales b of Laplace noise.
        law : {"gaussian", "laplace"}

        Raises
        ------
        ValueError
            If the noise has no known law.
        """
        check_is_fitted(self)
        self._check_vector()
        law = fitted_law(self)
        return getattr(self, self._vector), self._law_scale(law), law

    def _check_vector(self):
        """Raise ValueError if the noise of this fit has no known law."""

    def _law(self):
        return "laplace" if self.delta == 0 else "gaussian"

    def _denoised(self, value, sd, support=None):
        """Return a released vector after the denoiser, and its estimated squared error."""
        law = self._law()
        scale = sd if law == "gaussian" else sd / math.sqrt(2)
        return denoised(value, scale, self.denoiser, law=law, support=support)

    def _half_width(self, confidence, simultaneous, sampling=False):
        """Return half the length of intervals around the vector, for noise, and sampling if asked.

        The sum of Laplace noise and a Gaussian error lies between either of them alone.
        """
        check_is_fitted(self)
        check_sampling(sampling)
        columns, law = self.noise_scale_.size if simultaneous else 1, fitted_law(self)
        z = noise_quantile(confidence, law, columns)
        if not sampling:
            return self.noise_scale_ * z
        return self.sampling_noise_scale_ * max(z, noise_quantile(confidence, "gaussian", columns))

    def _law_scale(self, law):
        return self.noise_scale_ if law == "gaussian" else self.noise_scale_ / math.sqrt(2)

    def _is_vector(self):
        """Whether the noise of the release is independent and known."""
        return True

    def __skdp_contract__(self):
        """Return what this step reads and yields: a released vector."""
        released = Released(self._law(), vector=self._is_vector())
        return Contract(self._consumes, yields=lambda kind: released, spends=True)
