"""The denoiser that chooses a denoiser, and the hook that estimators call."""

import numpy as np
from sklearn.base import clone

from skdp._compat import StrOptions
from skdp.denoising._base import Denoiser
from skdp.denoising._james_stein import james_stein
from skdp.denoising._normal_prior import normal_prior
from skdp.denoising._npmle import npmle_rule
from skdp.denoising._rules import nonnegative, raw, slope_of, unbiased_risk
from skdp.denoising._soft_threshold import shrunk

__all__ = ["AutoDenoiser", "denoised", "resolve_denoiser"]

FEWEST = 20  # coordinates below which risks are too noisy to choose by


class AutoDenoiser(Denoiser):
    """Denoise by the rule with the least estimated risk.

    Candidates: James-Stein shrinkage to zero and to the mean, normal priors around both, the
    soft threshold, the fitted prior, and the released vector itself. They are gone through in this
    order, and a later one has to be better by more than one standard error of the difference.

    Parameters
    ----------
    noise_scale : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise, or scale b of Laplace noise. None needs a Release.
    support : {"nonnegative"} or None, default=None
        ``"nonnegative"`` for counts: no candidate goes below zero.
    law : {"gaussian", "laplace"}, default="gaussian"

    Attributes
    ----------
    sure_ : ndarray of shape (n_releases,)
        Estimated summed squared error of every row that was fitted. A little optimistic, as the
        least of several estimates: no error bar.
    chosen_ : list of str
        What was chosen for every row that was fitted.
    noise_scale_ : float or ndarray of shape (n_features,)
    law_ : str
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    Notes
    -----
    Assumes nothing: where nothing helps, the released vector hardly changes. Two candidates g, h
    have estimates whose difference deviates from that of their losses by ``2 (v . (slope_g -
    slope_h) - (g - h) . z)``, of a variance estimated [1]_ by ::

        4 sum v_i (g_i - h_i)^2 + v_i^2 (slope_g,i - slope_h,i)^2

    This is the noise of the choice: of the order of the square root of the number of coordinates,
    where the gain is of the order of that number. The first candidate is never worse than the
    released vector, so the loss exceeds that of the released vector by the noise of the choice
    alone. With fewer than 20 coordinates there are no others.

    **Privacy**: post-processing of releases; free.

    References
    ----------
    .. [1] Bellec, Zhang. "Second-order Stein: SURE for SURE and other applications in
       high-dimensional inference". Annals of Statistics 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import AutoDenoiser
    >>> noisy = np.random.default_rng(0).normal(size=(1, 200))
    >>> auto = AutoDenoiser(noise_scale=1.0).fit(noisy)
    >>> bool(auto.sure_[0] < 20)
    True
    """

    assumes = "nothing: without gain the released vector stays"

    _parameter_constraints: dict = {
        **Denoiser._parameter_constraints,
        "support": [StrOptions({"nonnegative"}), None],
    }

    def __init__(self, *, noise_scale=None, support=None, law="gaussian"):
        self.noise_scale = noise_scale
        self.support = support
        self.law = law

    def _rule(self, y, noise):
        rules = list(_candidates(y, noise, self.support))
        if self.support == "nonnegative":
            rules = [nonnegative(rule) for rule in rules]
        v, slopes = noise.variance, [slope_of(noise, rule) for rule in rules]
        risks = [unbiased_risk(y, noise, rule) for rule in rules]
        best = 0
        for k in range(1, len(rules)):
            apart = np.square(rules[k].value - rules[best].value)
            bend = v * np.square(slopes[k] - slopes[best])
            if risks[k] < risks[best] - 2 * np.sqrt(v @ (apart + bend)):
                best = k
        return rules[best]

    def _more(self, rules):
        return {"chosen_": [rule.name for rule in rules]}


def _candidates(y, noise, support):
    """Yield rules, the safest first."""
    yield james_stein(y, noise)
    if y.size >= FEWEST:
        yield normal_prior(y, noise)
        yield james_stein(y, noise, basis=np.ones((y.size, 1)))
        yield normal_prior(y, noise, to_mean=True)
        yield shrunk(y, noise)
        yield npmle_rule(y, noise, support=support)
        yield raw(y)


def resolve_denoiser(denoiser, *, support=None):
    """Return what a ``denoiser`` parameter stands for: a Denoiser or None; ``"auto"`` chooses."""
    if isinstance(denoiser, str):
        return AutoDenoiser(support=support)
    return denoiser


def denoised(value, noise_scale, denoiser, *, law="gaussian", support=None):
    """Denoise one released vector or array: what estimators do with their ``denoiser`` parameter.

    Parameters
    ----------
    value : ndarray
        Released values, of any shape.
    noise_scale : float or ndarray of the shape of ``value``
        Standard deviations of the noise, or scales b of Laplace noise.
    denoiser : Denoiser, "auto" or None
        Its own ``noise_scale`` and ``law`` are replaced.
    law : {"gaussian", "laplace"}, default="gaussian"
    support : {"nonnegative"} or None, default=None
        What ``"auto"`` may know of the truth.

    Returns
    -------
    value : ndarray
        Of the shape of ``value``.
    risk : float
        Estimated summed squared error; without a denoiser the known one. Infinite noise leaves the
        value as it is.
    """
    value = np.asarray(value, dtype=np.float64)
    scale = np.broadcast_to(np.asarray(noise_scale, dtype=np.float64), value.shape).reshape(-1)
    denoiser = resolve_denoiser(denoiser, support=support)
    if denoiser is None or not np.isfinite(scale).all():
        return value, float(np.sum(np.square(scale)) * (1 if law == "gaussian" else 2))
    worker = clone(denoiser).set_params(noise_scale=scale, law=law)
    row = worker.fit_transform(value.reshape(1, -1))[0]
    return row.reshape(value.shape), float(worker.sure_[0])
