"""Estimators whose release is one vector: what a denoiser after them takes, and plots of it."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting._plan import release_mechanism
from skdp.contracts._contract import Contract, Released, Rows
from skdp.denoising._auto import denoised
from skdp.estimator._results import ResultsMixin
from skdp.scales._column_noise import check_sampling, noise_quantile
from skdp.show._display import Display
from skdp.utils._renamed import Renamed


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


DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, repr=False)
class HistogramDisplay(Display):
    """Plot of a histogram over one or two columns.

    Make one with :meth:`from_estimator` or ``PrivateHistogram.plot``.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,) or (n_bins_0, n_bins_1)
    edges : list of ndarray
        Edges, or categories where there are as many as counts.
    names : list of str
        Names of the columns.
    lower, upper : ndarray or None, default=None
        Ends of the intervals that are shown.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.PrivateHistogram

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateHistogram
    >>> from skdp.denoising import HistogramDisplay
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> histogram = PrivateHistogram(bins=4, range=[(0, 1)]).fit(X)
    >>> display = HistogramDisplay.from_estimator(histogram)
    >>> display.counts.shape
    (4,)
    """

    counts: np.ndarray
    edges: list
    names: list
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, confidence=None):
        """Plot a fitted PrivateHistogram.

        Parameters
        ----------
        estimator : PrivateHistogram
        ax : matplotlib Axes, default=None
        confidence : float, default=None
            Show intervals of this level (one column only).

        Returns
        -------
        display : HistogramDisplay
        """
        columns = [c for c in range(estimator.n_features_in_) if c != estimator.user]
        names = getattr(estimator, "feature_names_in_", None)
        names = [f"column {c}" if names is None else str(names[c]) for c in columns]
        lower, upper = (None, None) if confidence is None else estimator.interval(confidence)
        edges = [np.asarray(own) for own in estimator.edges_]
        names = [
            f"{name} (days)" if own.dtype.kind == "m" else name
            for name, own in zip(names, edges, strict=True)
        ]
        edges = [own / DAY if own.dtype.kind == "m" else own for own in edges]
        return cls(estimator.counts_, edges, names, lower, upper).plot(ax)

    def _size(self):
        if self.counts.ndim > 2:
            raise ValueError(
                f"histograms over one or two columns can be plotted, this one has "
                f"{self.counts.ndim}. Plot counts_.sum(axis=...) instead."
            )

    def _draw(self, ax):
        if self.counts.ndim == 1:
            self._bars(ax)
        else:
            self._map(ax)

    def _bars(self, ax):
        edges = _edges(self.edges[0], self.counts.size)
        ax.stairs(self.counts, edges, fill=True, alpha=0.6)
        if self.lower is not None:
            middle = edges[:-1] + np.diff(edges) / 2
            ax.vlines(middle, self.lower, self.upper, color="black", lw=1)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel("count")

    def _map(self, ax):
        x, y = (_edges(e, n) for e, n in zip(self.edges, self.counts.shape, strict=True))
        image = ax.pcolormesh(x, y, self.counts.T)
        ax.figure.colorbar(image, ax=ax, label="count")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])


def _edges(values, n):
    """Return edges; categories are drawn one unit apart."""
    return np.arange(n + 1) - 0.5 if len(values) == n else values
