"""James-Stein shrinkage and soft thresholds as transformers."""

import math
from numbers import Real

import numpy as np

from skdp.denoising._base import Denoiser, Rule
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters

CANDIDATES = 100  # thresholds tried for Laplace noise


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


def james_stein(y, noise, *, basis=None, positive_part=True, constant=None):
    """Shrink y towards the span of ``basis``, or towards zero.

    Shapes: basis (d, q).

    Notes
    -----
    With V the diagonal of the variances, P the projection in the metric of V^-1, ``r = y - P y``,
    ``Q = r' V^-1 r`` and ``T = sum v_i (1 - P_ii)``, the rule is ``P y + (1 - c / Q) r``. As
    ``D_i Q = 2 r_i / v_i``, Stein's identity gives the change of risk against y::

        E (c^2 + 4 c) |r|^2 / Q^2 - 2 c T / Q  <=  (c / Q) ((c + 4) max v - 2 T)

    by ``|r|^2 <= max v Q``. It is negative for ``0 < c < 2 (T / max v - 2)``; here
    ``c = T / max v - 2``, which for equal variances is d - q - 2, James and Stein's choice (Bock
    1975 for unequal ones). For ``c <= 0`` the rule is y. The positive part is better still.
    """
    v = noise.variance
    fitted, leverage = _project(y, v, basis)
    r, free = y - fitted, 1 - leverage
    c = max(float(v @ free) / v.max() - 2, 0.0) if constant is None else constant
    Q = float(np.square(r) @ (1 / v))

    def factor(q):
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.where(q > 0, 1 - c / q, 0.0 if c > 0 else 1.0)
        return np.maximum(kept, 0.0) if positive_part else kept

    def along(z):
        moved = factor(Q + (2 * z * r + z * z * free) / v)
        return fitted + leverage * z + moved * (r + z * free)

    B = factor(np.float64(Q))
    moving = 2 * c * np.square(r / Q) / v if Q > 0 and (B > 0 or not positive_part) else 0.0
    return Rule(fitted + B * r, leverage + B * free + moving, along, "James-Stein")


def _project(y, v, basis):
    """Return P y and the diagonal of P, in the metric of the inverse variances."""
    if basis is None:
        return np.zeros_like(y), np.zeros_like(y)
    sd = np.sqrt(v)
    left, singular, _ = np.linalg.svd(basis / sd[:, None], full_matrices=False)
    left = left[:, singular > 1e-12 * singular.max(initial=0.0)]
    return sd * (left @ (left.T @ (y / sd))), np.square(left).sum(axis=1)


def soft_threshold(y, threshold):
    """Return ``sign(y) max(|y| - threshold, 0)``."""
    return np.sign(y) * np.maximum(np.abs(y) - threshold, 0.0)


def threshold_rule(y, noise, level):
    """Soft threshold every coordinate at ``level`` times its noise scale."""
    t = level * noise.scale
    kept = (np.abs(y) > t).astype(float)
    return Rule(soft_threshold(y, t), kept, lambda z: soft_threshold(y + z, t), "soft threshold")


def universal_threshold(d, law="gaussian"):
    """Return the level that noise alone hardly ever exceeds: the size of the largest of d draws.

    Notes
    -----
    For Gaussian noise of unit variance (Balle & Wang 2018, Theorem 12) at ``t = sqrt(2 log d)``:
    ``E |g - theta|^2 <= (2 log d + 1) (1 + sum min(theta_i^2, 1))``. For Laplace noise
    the largest of d draws is about ``log d`` scales.
    """
    return math.sqrt(2 * math.log(d)) if law == "gaussian" else math.log(d)


def sure_threshold(y, noise):
    """Return the level with the least unbiased risk, unless y is too sparse to tell.

    Notes
    -----
    SureShrink (Donoho & Johnstone 1995). For Gaussian noise, with ``u = |y| / sigma`` sorted, the
    risk at level ``u_k`` is ``sum v + sum_{j <= k} v_j (u_j^2 - 2) + u_k^2 sum_{j > k} v_j``, and
    it increases between the u. If ``mean y^2 / v - 1`` is below ``log2(d)^1.5 / sqrt(d)`` (in
    units of what squared noise varies), the risk is too noisy a guide and the level is universal.
    """
    d, v, most = y.size, noise.variance, universal_threshold(y.size, noise.law)
    unit = 1.0 if noise.gaussian else math.sqrt(5 / 2)  # of the standard deviation of z^2 / v
    if np.mean(np.square(y) / v) - 1 <= unit * math.log2(max(d, 2)) ** 1.5 / math.sqrt(d):
        return most
    if not noise.gaussian:
        levels = np.linspace(0, most, CANDIDATES)
        return float(levels[np.argmin([_laplace_risk(y, noise, level) for level in levels])])
    u = np.abs(y) / noise.scale
    order = np.argsort(u)
    u, v = np.append(0.0, u[order]), np.append(0.0, v[order])
    below = np.cumsum(v * (np.square(u) - 2))
    risk = below + np.square(u) * (v.sum() - np.cumsum(v))
    return float(u[np.argmin(np.where(u <= most, risk, np.inf))])


def _laplace_risk(y, noise, level):
    """SURE with P(|y + z'| > t), the smoothed slope, in closed form; up to a constant."""
    b, t = noise.scale, level * noise.scale
    beyond = 1 - _laplace_cdf((t - y) / b) + _laplace_cdf((-t - y) / b)
    return float(np.sum(np.minimum(np.square(y), t * t) + 2 * noise.variance * beyond))


def _laplace_cdf(x):
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def shrunk(y, noise, level="sure"):
    """Threshold at ``"sure"``, ``"universal"`` or a number of noise scales."""
    if level == "sure":
        level = sure_threshold(y, noise)
    elif level == "universal":
        level = universal_threshold(y.size, noise.law)
    return threshold_rule(y, noise, level)
