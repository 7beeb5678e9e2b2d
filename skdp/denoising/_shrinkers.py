"""James-Stein shrinkage and soft thresholds as transformers."""

from numbers import Real

import numpy as np

from skdp.denoising._base import Denoiser
from skdp.denoising._james_stein import james_stein
from skdp.denoising._soft_threshold import shrunk
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters

__all__ = ["JamesSteinDenoiser", "SoftThresholdDenoiser"]


class JamesSteinDenoiser(Denoiser):
    """Shrink released vectors towards a point or a subspace, never worse than not to.

    Parameters
    ----------
    noise_scale : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise, or scale b of Laplace noise. None needs a Release.
    target : float, "mean" or array-like, default=0.0
        Where to: a number, the mean of the coordinates, a vector of shape (n_features,), or the
        span of the columns of an array of shape (n_features, q). Public, or released before.
    positive_part : bool, default=True
        Never shrink beyond the target. False is the rule as published first, always worse.
    noise_distribution : {"gaussian", "laplace"}, default="gaussian"

    Attributes
    ----------
    risk_estimate_ : ndarray of shape (n_releases,)
        Unbiased estimate of the summed squared error of every row that was fitted.
    noise_scale_ : float or ndarray of shape (n_features,)
    noise_distribution_ : str
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    AutoDenoiser : Chooses a denoiser.

    Notes
    -----
    Assumes nothing about the truth; gains most where it lies within a few noise norms of the
    target. With Gaussian noise the mean squared error is below that of the released vector for
    every truth, if at least three coordinates are free to shrink (and where unequal noise is not
    dominated by one or two coordinates). With Laplace noise there is no such theorem for the rule,
    but ``risk_estimate_`` is unbiased all the same.

    The error of single coordinates may grow, so make intervals around the raw vector.

    **Privacy**: post-processing of releases; free.

    References
    ----------
    .. [1] James, Stein. "Estimation with quadratic loss". Berkeley Symposium 1961.
    .. [2] Bock. "Minimax estimators of the mean of a multivariate normal distribution". Annals of
       Statistics 1975.
    .. [3] Balle, Wang. "Improving the Gaussian mechanism for differential privacy: analytical
       calibration and optimal denoising". ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import JamesSteinDenoiser
    >>> noisy = np.random.default_rng(0).normal(size=(1, 100))  # all noise
    >>> better = JamesSteinDenoiser(noise_scale=1.0).fit_transform(noisy)
    >>> bool((better**2).sum() < 0.2 * (noisy**2).sum())
    True
    """

    assumes = "the truth lies within a few noise norms of the target, or else it changes little"

    _parameter_constraints: dict = {
        **Denoiser._parameter_constraints,
        "target": [Real, "array-like", StrOptions({"mean"})],
        "positive_part": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self, *, noise_scale=None, target=0.0, positive_part=True, noise_distribution="gaussian"
    ): ...

    def _check_public(self, n_features):
        self._origin_and_basis(n_features)

    def _origin_and_basis(self, d):
        """Return the point to shrink towards and the columns that span the subspace, or None."""
        if isinstance(self.target, str):
            return 0.0, np.ones((d, 1))
        target = np.asarray(self.target, dtype=np.float64)
        fits = target.shape in ((), (d,)) or (target.ndim == 2 and target.shape[0] == d)
        if not fits or not np.isfinite(target).all():
            raise ValueError(
                f"target must be a number, 'mean', or finite of shape ({d},) or ({d}, q). Got "
                f"shape {target.shape}."
            )
        return (0.0, target) if target.ndim == 2 else (target, None)

    def _rule(self, y, noise):
        origin, basis = self._origin_and_basis(y.size)
        rule = james_stein(y - origin, noise, basis=basis, positive_part=self.positive_part)
        return rule.moved(origin)


class SoftThresholdDenoiser(Denoiser):
    """Put coordinates to zero that noise explains, and bring the others nearer to zero.

    Parameters
    ----------
    noise_scale : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise, or scale b of Laplace noise. None needs a Release.
    threshold : {"sure", "universal"} or float, default="sure"
        In noise scales. ``"universal"`` is the size of the largest of n_features draws of noise;
        ``"sure"`` has the least estimated risk, or is universal where almost all is noise.
    noise_distribution : {"gaussian", "laplace"}, default="gaussian"

    Attributes
    ----------
    risk_estimate_ : ndarray of shape (n_releases,)
        Estimate of the summed squared error of every row that was fitted, at the threshold used:
        unbiased for a fixed threshold, a little optimistic for ``"sure"``, which minimises it.
    noise_scale_ : float or ndarray of shape (n_features,)
    noise_distribution_ : str
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    AutoDenoiser : Chooses a denoiser.

    Notes
    -----
    Assumes that most coordinates are zero or small. ``"universal"`` destroys dense signals:
    its mean squared error is at most ``(2 log d + 1) (v + sum min(theta_i^2, v))`` [1]_, which
    for large coordinates is a multiple of the raw error; ``"sure"`` does not.

    **Privacy**: post-processing of releases; free.

    References
    ----------
    .. [1] Donoho, Johnstone. "Ideal spatial adaptation by wavelet shrinkage". Biometrika 1994;
       Theorem 12 of Balle, Wang. "Improving the Gaussian mechanism for differential privacy". 2018.
    .. [2] Donoho, Johnstone. "Adapting to unknown smoothness via wavelet shrinkage". JASA 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import SoftThresholdDenoiser
    >>> noisy = np.random.default_rng(0).normal(size=(1, 100))
    >>> noisy[0, 0] += 100
    >>> better = SoftThresholdDenoiser(noise_scale=1.0).fit_transform(noisy)
    >>> bool(better[0, 0] > 90), int(np.count_nonzero(better)) < 20
    (True, True)
    """

    assumes = "most coordinates are zero or below the noise"

    _parameter_constraints: dict = {
        **Denoiser._parameter_constraints,
        "threshold": [Interval(Real, 0, None, closed="left"), StrOptions({"sure", "universal"})],
    }

    @stores_parameters
    def __init__(self, *, noise_scale=None, threshold="sure", noise_distribution="gaussian"): ...

    def _rule(self, y, noise):
        return shrunk(y, noise, self.threshold)
