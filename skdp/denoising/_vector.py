"""Estimators whose release is one vector: intervals, plots, and a denoiser after them.

All intervals lie around the **raw** release. Shrunk coordinates have none, balls excepted: an
outlying coordinate is moved towards the others by more than its noise.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri
from sklearn.utils.validation import check_is_fitted

from skdp.accounting._plan import release_mechanism
from skdp.contracts import Contract, Released, Rows
from skdp.denoising._auto import denoised
from skdp.denoising._base import known_noise
from skdp.denoising._shrinkers import james_stein
from skdp.estimator._results import ResultsMixin
from skdp.scales._column_noise import check_confidence, check_sampling, noise_quantile
from skdp.show._display import Display
from skdp.utils._renamed import Renamed


def fitted_law(estimator):
    """Return the law of the noise of a fit, of its bill: parameters may have been set anew."""
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
        edges = [own / np.timedelta64(1, "D") if own.dtype.kind == "m" else own for own in edges]
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


def coordinate_interval(value, noise_scale, confidence=0.95, *, law="gaussian", simultaneous=False):
    """Return an interval for every coordinate of a released array.

    Parameters
    ----------
    value : array-like
        Released values of any shape, before any denoising.
    noise_scale : float or array-like that broadcasts to ``value``
        Standard deviations of the noise, or scales b of Laplace noise.
    confidence : float, default=0.95
        Probability with which an interval covers the exact value.
    law : {"gaussian", "laplace"}, default="gaussian"
    simultaneous : bool, default=False
        Whether all intervals together shall cover with this probability.

    Returns
    -------
    lower, upper : ndarrays of the shape of ``value``

    See Also
    --------
    linear_interval, confidence_ball

    Notes
    -----
    They cover the exact statistic of the table, not of a population behind it. Coordinates are
    independent, so d intervals of level ``confidence^(1/d)`` cover together with ``confidence``.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.denoising import coordinate_interval
    >>> low, high = coordinate_interval([10.0, 20.0], noise_scale=1.0)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([8.04, 18.04], [11.96, 21.96])
    """
    value = np.asarray(value, dtype=np.float64)
    miss = _miss(confidence)
    if simultaneous:
        miss = -math.expm1(math.log1p(-miss) / max(value.size, 1))
    z = -ndtri(miss / 2) if law == "gaussian" else -math.log(miss)
    half = z * np.asarray(noise_scale, dtype=np.float64)
    return value - half, value + half


def count_interval(value, noise_scale, confidence, *, law, simultaneous, nonnegative, integer):
    """Return intervals for counts that were released on a grid, as :func:`coordinate_interval`.

    The grid's half unit, which rounding may have added, is at most 2^-10 of the noise or 2^-21.
    Exact counts are integers, and not negative: the same maps on both ends keep them covered.
    """
    lower, upper = coordinate_interval(
        value, noise_scale, confidence, law=law, simultaneous=simultaneous
    )
    rounding = 2.0**-10 * noise_scale + 2.0**-21
    lower, upper = lower - rounding, upper + rounding
    if nonnegative:
        lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    if integer:
        lower, upper = np.ceil(lower), np.maximum(np.floor(upper), np.ceil(lower))
    return lower, upper


def linear_interval(value, noise_scale, coefficients, confidence=0.95, *, law="gaussian"):
    """Return an interval for a linear form ``c' theta`` of the exact values.

    Parameters
    ----------
    value : array-like of shape (d,)
        Released values, before any denoising.
    noise_scale : float or array-like of shape (d,)
        Standard deviations of the noise, or scales b of Laplace noise.
    coefficients : array-like of shape (d,)
        The vector c: public, or chosen before looking at ``value``.
    confidence : float, default=0.95
    law : {"gaussian", "laplace"}, default="gaussian"
        For Laplace noise the interval is a little too wide.

    Returns
    -------
    lower, upper : float

    See Also
    --------
    coordinate_interval, confidence_ball

    Notes
    -----
    Gaussian: ``c' y`` is normal with the variance ``sum c_i^2 v_i``. Laplace: with ``a_i = c_i
    b_i``, ``P(|sum a_i L_i| > t) <= 2 e^(-s t) prod 1 / (1 - s^2 a_i^2)`` for ``0 < s < 1 / max
    |a_i|`` (Chernoff), solved for t and minimised over a grid of s.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.denoising import linear_interval
    >>> low, high = linear_interval([10.0, 20.0], [3.0, 4.0], [1.0, 1.0])  # of the sum
    >>> round(float(low), 1), round(float(high), 1)
    (20.2, 39.8)
    """
    value, c = np.asarray(value, dtype=np.float64), np.asarray(coefficients, dtype=np.float64)
    if value.ndim != 1 or c.shape != value.shape:
        raise ValueError(
            "value and coefficients must have the same shape (d,). Got "
            f"{value.shape} and {c.shape}."
        )
    noise = known_noise(noise_scale, law, value.size)
    miss, centre = _miss(confidence), float(c @ value)
    if noise.gaussian:
        half = float(-ndtri(miss / 2) * np.sqrt(np.square(c) @ noise.variance))
    else:
        a = np.abs(c * noise.scale)
        x = np.linspace(0, 1, 1001)[1:-1, None]  # s max a
        spread = -np.log1p(-np.square(x * a / max(a.max(), 1e-300))).sum(axis=1)
        half = float(np.min((spread - math.log(miss / 2)) / x[:, 0]) * a.max())
    return centre - half, centre + half


def confidence_ball(value, noise_scale, confidence=0.95, *, recentred=True):
    """Return a ball that holds the vector of exact values.

    Parameters
    ----------
    value : array-like of shape (d,)
        Released values with equal Gaussian noise.
    noise_scale : float
        Standard deviation of the noise.
    confidence : float, default=0.95
    recentred : bool, default=True
        Centre the ball at a James-Stein estimate if d >= 4: the same radius, and more coverage.

    Returns
    -------
    center : ndarray of shape (d,)
    radius : float

    See Also
    --------
    coordinate_interval, skdp.JamesSteinDenoiser

    Notes
    -----
    ``|y - theta|^2 / sigma^2`` is chi-square, which gives the radius c. Hwang and Casella (1982)
    prove that the ball around ``(1 - a sigma^2 / |y|^2)_+ y`` covers with at least the same
    probability, whatever theta, for ``0 < a <= a_0``, the root of
    ``((c + sqrt(c^2 + a)) / sqrt(a))^(d - 2) e^(-c sqrt(a)) = 1``; a is the smaller of a_0 and
    d - 2.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.denoising import confidence_ball
    >>> center, radius = confidence_ball([3.0, 2.0, 4.0, 3.0], noise_scale=1.0)
    >>> center.shape, round(float(radius), 2)
    ((4,), 3.08)
    """
    y = np.asarray(value, dtype=np.float64)
    if y.ndim != 1 or np.ndim(noise_scale) > 0:
        raise ValueError(
            "a ball needs a vector and one noise scale for all its coordinates. Got shapes "
            f"{y.shape} and {np.shape(noise_scale)}."
        )
    noise = known_noise(noise_scale, "gaussian", y.size)
    c = math.sqrt(chdtri(y.size, _miss(confidence)))
    centre = y
    if recentred and y.size >= 4:
        centre = james_stein(y, noise, constant=_ball_constant(y.size, c)).value
    return centre, c * float(noise_scale)


def _ball_constant(d, c):
    """Return min(a_0, d - 2) of the theorem of Hwang and Casella, by bisection."""

    def excess(a):
        return (d - 2) * math.log((c + math.sqrt(c * c + a)) / math.sqrt(a)) - c * math.sqrt(a)

    low, high = 0.0, float(d - 2)
    if excess(high) >= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) >= 0 else (low, middle)
    return low


def _miss(confidence):
    check_confidence(confidence)
    return 1 - confidence
