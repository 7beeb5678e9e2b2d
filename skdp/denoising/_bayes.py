"""Posterior means under a normal prior or one that is estimated, as a transformer."""

from numbers import Integral, Real

import numpy as np

from skdp.denoising._base import Denoiser
from skdp.denoising._npmle import npmle_rule
from skdp.denoising._rules import Rule
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters

__all__ = ["BayesDenoiser", "normal_prior"]


GRID = 100


class BayesDenoiser(Denoiser):
    """Replace every coordinate by its posterior mean under one prior for all of them.

    Parameters
    ----------
    noise_scale : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise, or scale b of Laplace noise. None needs a Release.
    prior : {"npmle", "normal"}, default="npmle"
        ``"npmle"`` fits any distribution to the released coordinates by maximum likelihood;
        ``"normal"`` is a normal distribution around ``center``.
    prior_scale : float, default=None
        Standard deviation of the normal prior; None takes the one with the least estimated risk.
    center : float or "mean", default=0.0
        Mean of the normal prior; ``"mean"`` is the mean of the released coordinates.
    support : {"nonnegative"} or None, default=None
        Where the fitted prior lives: ``"nonnegative"`` for counts.
    n_atoms : int, default=300
        Points of the fitted prior that are fitted together, at most. They lie within a quarter of
        the noise of every coordinate; where that takes more, coordinates are fitted in stretches.
    noise_distribution : {"gaussian", "laplace"}, default="gaussian"

    Attributes
    ----------
    risk_estimate_ : ndarray of shape (n_releases,)
        Estimate of the summed squared error of every row that was fitted. It counts what the
        choice of the prior costs, to first order.
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
    Assumes that coordinates are alike: that a common distribution, whatever it is, describes how
    their true values spread. No coordinate need be random. The normal prior with a scale
    chosen by risk never does much worse than the released vector whatever the truth [1]_, also for
    unequal noise and for Laplace noise, where it is the best linear rule; the fitted prior comes
    close to the best rule that treats coordinates alike [2]_ as their number grows.

    **Privacy**: post-processing of releases; free.

    References
    ----------
    .. [1] Xie, Kou, Brown. "SURE estimates for a heteroscedastic hierarchical model". JASA 2012.
    .. [2] Jiang, Zhang. "General maximum likelihood empirical Bayes estimation of normal means".
       Annals of Statistics 2009.
    .. [3] Balle, Wang. "Improving the Gaussian mechanism for differential privacy: analytical
       calibration and optimal denoising". ICML 2018, Theorem 10.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import BayesDenoiser
    >>> truth = np.repeat([0.0, 30.0], 100)
    >>> noisy = truth + np.random.default_rng(0).normal(scale=5.0, size=200)
    >>> better = BayesDenoiser(noise_scale=5.0).fit_transform(noisy[None])[0]
    >>> bool(np.abs(better - truth).mean() < 0.3 * np.abs(noisy - truth).mean())
    True
    """

    assumes = "one distribution describes how the true coordinates spread"

    _parameter_constraints: dict = {
        **Denoiser._parameter_constraints,
        "prior": [StrOptions({"npmle", "normal"})],
        "prior_scale": [Interval(Real, 0, None, closed="left"), None],
        "center": [Real, StrOptions({"mean"})],
        "support": [StrOptions({"nonnegative"}), None],
        "n_atoms": [Interval(Integral, 10, None, closed="left")],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        noise_scale=None,
        prior="npmle",
        prior_scale=None,
        center=0.0,
        support=None,
        n_atoms=300,
        noise_distribution="gaussian",
    ): ...

    def _rule(self, y, noise):
        if self.prior == "npmle":
            return npmle_rule(y, noise, support=self.support, n_atoms=self.n_atoms)
        if self.center == "mean":
            return normal_prior(y, noise, prior_scale=self.prior_scale, to_mean=True)
        rule = normal_prior(y - self.center, noise, prior_scale=self.prior_scale)
        return rule.moved(self.center)


def normal_prior(y, noise, *, prior_scale=None, to_mean=False):
    """Return ``m + (w^2 / (w^2 + v_i)) (y_i - m)``.

    Notes
    -----
    With w known and a normal prior it is the posterior mean (Balle & Wang 2018, Theorem 10). With
    w^2 chosen by SURE it is, as d grows, as good as the best w^2 for this theta, whatever theta
    (Xie, Kou, Brown 2012). The rule is linear, so its risk depends on the variances of the noise
    alone and everything holds for Laplace noise.

    With ``B_i = v_i / (w^2 + v_i)`` and ``r = y - m``, ``S = sum B_i^2 r_i^2 - 2 v_i B_i (1 - h)``,
    h = 1/d or 0, is SURE up to a constant. At its minimum w^2 moves with y by ``-(D_i S') / S'' =
    -4 B_i B_i' r_i / S''``, which adds ``4 B_i (B_i' r_i)^2 / S''`` to the slope.
    """
    d, v = y.size, noise.variance
    m, h = (y.mean(), 1 / d) if to_mean else (0.0, 0.0)
    r = y - m

    def rise(w2):
        B, slope = v / (w2 + v), -v / np.square(w2 + v)
        return float(np.sum(2 * slope * (B * np.square(r) - v * (1 - h))))

    def risk(w2):
        B = v / (w2 + v)
        return float(np.sum(np.square(B * r) - 2 * v * B * (1 - h)))

    correction = 0.0
    if prior_scale is None:
        w2, inside = _least(risk, rise, v, r)
        if inside:
            B, slope = v / (w2 + v), -v / np.square(w2 + v)
            bend = -2 * slope / (w2 + v)
            S2 = np.sum(2 * np.square(r) * (slope**2 + B * bend) - 2 * v * bend * (1 - h))
            correction = 4 * B * np.square(slope * r) / S2 if S2 > 0 else 0.0
    else:
        w2 = prior_scale**2
    kept = w2 / (w2 + v)
    slope = kept + (1 - kept) * h + correction
    return Rule(m + kept * r, slope, lambda z: m + kept * r + slope * z, "normal prior")


def _least(risk, rise, v, r):
    """Return the prior variance of least risk, and whether it lies inside the grid."""
    low, high = 1e-6 * v.min(), 100 * (np.square(r).max() + v.max())
    grid = np.append(0.0, np.geomspace(low, high, GRID))
    k = int(np.argmin([risk(w2) for w2 in grid]))
    if k in (0, GRID):
        return grid[k], False
    left, right = grid[k - 1], grid[k + 1]
    for _ in range(60):
        middle = (left + right) / 2
        left, right = (left, middle) if rise(middle) > 0 else (middle, right)
    return middle, True
