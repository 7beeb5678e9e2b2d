"""What every denoiser makes: a value for each coordinate, and an unbiased estimate of its risk.

Let ``y = theta + z`` with independent noise of known law, and g a weakly differentiable rule. Then
``|g - theta|^2 = |g - y|^2 + 2 (g - y).z + |z|^2``, and all but ``z.g`` is known or known on
average. Integration by parts gives the rest, with v the variances:

Gaussian (Stein): ``E z_i g_i(y) = v_i E D_i g_i(y)``, because ``z p(z) = -v p'(z)``.

Laplace of scale b, ``v = 2 b^2``: ``E z_i g_i(y) = v_i E D_i g_i(y + z' e_i)`` for an independent
copy z' of the noise, because ``z p(z) = -v (p * p)'(z)``: both sides have the Fourier transform
``2 i b^2 t / (1 + b^2 t^2)^2``, up to sign. The mean over z' is known, and by parts again it is
``(E g_i(y + x e_i) - E g_i(y - x e_i)) / 2b`` for an exponential x of mean b.

So ``SURE = sum (g_i - y_i)^2 - v_i + 2 v_i slope_i`` has the mean of the squared error, with
``slope_i = D_i g_i(y)`` (Gaussian) or that difference (Laplace).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.polynomial.laguerre import laggauss

__all__ = ["LAWS", "Noise", "Rule", "nonnegative", "raw", "slope_of", "unbiased_risk"]

LAWS = ("gaussian", "laplace")
_NODES, _WEIGHTS = laggauss(40)


@dataclass(frozen=True)
class Noise:
    """The known noise of a released vector: independent, of one law.

    Parameters
    ----------
    scale : ndarray of shape (d,)
        Standard deviations (Gaussian) or scales b (Laplace).
    law : {"gaussian", "laplace"}, default="gaussian"

    See Also
    --------
    Denoiser, Rule

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import Noise
    >>> Noise(np.array([1.0, 2.0]), "laplace").variance.tolist()
    [2.0, 8.0]
    """

    scale: np.ndarray
    law: str = "gaussian"

    @cached_property
    def variance(self):
        """Variances, shape (d,)."""
        return np.square(self.scale) * (1.0 if self.law == "gaussian" else 2.0)

    @cached_property
    def alike(self):
        """Whether all coordinates have the same noise."""
        return bool(np.all(self.scale == self.scale[0]))

    @property
    def gaussian(self):
        """Whether the noise is Gaussian."""
        return self.law == "gaussian"


@dataclass(frozen=True)
class Rule:
    """A denoised vector and how it moves with the vector it was made from.

    Parameters
    ----------
    value : ndarray of shape (d,)
    slope : ndarray of shape (d,) or None
        Derivatives ``D_i g_i``; None asks for the Laplace form, made from ``along``.
    along : callable
        ``along(z)`` returns ``g_i(y + z_i e_i)`` for every i, z of shape (d,).
    name : str, default=""
    mixes : bool, default=False
        Whether every coordinate depends on many others, as on a graph: then the derivative of g is
        symmetric (for equal noise) with eigenvalues in [0, 1], and ``slope`` its diagonal.

    See Also
    --------
    Denoiser, Noise

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import Rule
    >>> y = np.array([3.0, -1.0])
    >>> half = Rule(y / 2, np.full(2, 0.5), lambda z: (y + z) / 2, "half")
    >>> half.value.tolist(), half.along(np.ones(2)).tolist()
    ([1.5, -0.5], [2.0, 0.0])
    """

    value: np.ndarray
    slope: np.ndarray | None
    along: Callable | None
    name: str = ""
    mixes: bool = False

    def moved(self, origin):
        """Return the rule for ``y`` of a rule that was made for ``y - origin``."""
        return replace(self, value=self.value + origin, along=lambda z: self.along(z) + origin)


def raw(y):
    """Return the rule that changes nothing."""
    return Rule(y, np.ones_like(y), lambda z: y + z, "raw")


def nonnegative(rule):
    """Return the rule with negative values put to zero, which is never farther from a count."""
    return replace(
        rule,
        value=np.maximum(rule.value, 0.0),
        slope=None if rule.slope is None else rule.slope * (rule.value > 0),
        along=lambda z: np.maximum(rule.along(z), 0.0),
    )


def unbiased_risk(y, noise, rule):
    """Return Stein's unbiased estimate of the summed squared error of a rule."""
    slope = slope_of(noise, rule)
    return float(np.sum(np.square(rule.value - y) + noise.variance * (2 * slope - 1)))


def slope_of(noise, rule):
    """Return the slopes of a rule in the form that the law of the noise asks for."""
    return rule.slope if noise.gaussian else laplace_slope(rule.along, noise.scale)


def laplace_slope(along, scale):
    """Return ``(E g(y + x) - E g(y - x)) / 2b``, x exponential, coordinate by coordinate."""
    steps = zip(_NODES, _WEIGHTS, strict=True)
    difference = sum(w * (along(x * scale) - along(-x * scale)) for x, w in steps if w > 1e-15)
    return difference / (2 * scale)
