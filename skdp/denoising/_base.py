"""The transformer that all denoisers are, and an unbiased estimate of the risk of their rules.

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
from numbers import Real

import numpy as np
from numpy.polynomial.laguerre import laggauss
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.contracts import Contract, Released
from skdp.gate._curator import Release
from skdp.utils._compat import Interval, StrOptions, fit_context
from skdp.utils._numbers import PlainNumbers
from skdp.utils._renamed import Renamed

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


PLACES = ("target", "center", "prior_scale", "threshold", "penalty")  # parameters that are squared
LARGEST = 1e75
TOO_LARGE = (
    "target, center, prior_scale, threshold and penalty of a denoiser must be finite and of size "
    "at most 1e75: squares beyond are no numbers."
)


class Denoiser(PlainNumbers, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of the denoisers: post-processing of released vectors whose noise is known.

    A subclass has the parameters ``noise_scale`` and ``noise_distribution`` and writes
    ``_rule(y, noise)``, which returns the :class:`skdp.denoising.Rule` of one released vector;
    ``assumes`` says in a sentence when it helps, ``laws`` which laws of noise it can treat.

    See Also
    --------
    Rule, skdp.AutoDenoiser

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import JamesSteinDenoiser
    >>> denoiser = JamesSteinDenoiser(noise_scale=1.0)
    >>> denoiser.fit_transform([[3.0, 2.0, 4.0, 3.0, 2.5]]).round(2)
    array([[2.8 , 1.86, 3.73, 2.8 , 2.33]])
    >>> denoiser.laws
    ('gaussian', 'laplace')
    """

    assumes = ""
    laws = LAWS

    law = Renamed("noise_distribution")
    law_ = Renamed("noise_distribution_")
    sure_ = Renamed("risk_estimate_")
    _parameter_constraints: dict = {
        "noise_scale": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "noise_distribution": [StrOptions(set(LAWS))],
    }

    def fit(self, X, y=None):
        """Estimate the risk of denoising the rows of X.

        Nothing is carried from one row to another: a row is denoised by itself.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features), or Release
            Released vectors, one per row. A :class:`skdp.base.Release` is one row, of any shape,
            that brings its noise along.
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted denoiser.
        """
        self._fitted(X)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and return the denoised rows.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features), or Release
        y : Ignored

        Returns
        -------
        X_denoised : ndarray of shape (n_releases, n_features)
        """
        return np.array([rule.value for rule in self._fitted(X)])

    def transform(self, X):
        """Denoise every row.

        Parameters
        ----------
        X : array-like of shape (n_releases, n_features), or Release
            With the noise of the rows that the denoiser was fitted on, if it is no Release.

        Returns
        -------
        X_denoised : ndarray of shape (n_releases, n_features)
        """
        check_is_fitted(self)
        rows, scale, law = _released(X, self.noise_scale_, self.noise_distribution_)
        rows = validate_data(self, rows, dtype=np.float64, reset=False)
        self.check(rows.shape[1], law)
        noise = self._noise(scale, law, rows.shape[1])
        return np.array([rule.value for rule in self._rules(rows, noise)])

    @fit_context(prefer_skip_nested_validation=True)
    def _fitted(self, X):
        """Set the fitted attributes; return the rules of the rows."""
        rows, scale, law = _released(X, self.noise_scale, self.noise_distribution)
        rows = validate_data(self, rows, dtype=np.float64)
        self.check(rows.shape[1], law)
        noise = self._noise(scale, law, rows.shape[1])
        rules = self._rules(rows, noise)
        pairs = zip(rows, rules, strict=True)
        risks = np.array([unbiased_risk(row, noise, rule) for row, rule in pairs])
        fitted = {
            "noise_scale_": scale,
            "noise_distribution_": law,
            "risk_estimate_": risks,
            **self._more(rules),
        }
        for name, value in fitted.items():
            setattr(self, name, value)
        return rules

    def _rules(self, rows, noise):
        prepared = self._prepare(rows.shape[1])
        return [self._rule(row, noise, *prepared) for row in rows]

    def _prepare(self, n_features):
        """Return, as a tuple, what ``_rule`` takes besides and all rows share."""
        return ()

    def _check_public(self, n_features):
        """Raise ValueError for parameters that do not fit the number of columns."""

    def _more(self, rules):
        """Return further fitted attributes."""
        return {}

    def check(self, n_features, law):
        """Raise ValueError unless vectors of this length and law can be denoised.

        Parameters
        ----------
        n_features : int
        law : {"gaussian", "laplace"}
        """
        if law not in self.laws:
            raise ValueError(
                f"{type(self).__name__} needs Gaussian noise: it mixes the coordinates, and mixed "
                f"Laplace noise has no simple law. Got noise_distribution={law!r}. Release with "
                "Gaussian noise, or take JamesSteinDenoiser, SoftThresholdDenoiser or "
                "BayesDenoiser."
            )
        self._check_public(n_features)
        for name in PLACES:
            value = getattr(self, name, None)
            if isinstance(value, Real | np.ndarray | list | tuple) and not _ordinary(value):
                raise ValueError(TOO_LARGE)

    def _noise(self, scale, law, n_features):
        if scale is None:
            raise ValueError(
                "noise_scale=None needs a Release, which knows its noise. Pass noise_scale, the "
                "standard deviation of the noise, for instance the noise_scale_ of an estimator."
            )
        return known_noise(scale, law, n_features)

    def __skdp_contract__(self):
        """Return what this step reads and yields: it is free."""
        return Contract((Released,), yields=lambda kind: Released("mixed"), problem=self._no_vector)

    def _no_vector(self, kind):
        if not kind.vector:
            return (
                "needs a released vector whose noise is independent and known, and the step before "
                "it hands none on. Put it after PrivateMean, PrivateMedian, PrivateHistogram or a "
                "mechanism without a denoiser of their own."
            )
        if kind.law not in self.laws:
            return (
                "needs Gaussian noise, and the step before it adds Laplace noise. Use delta > 0 or "
                'noise="gaussian" there, or JamesSteinDenoiser here.'
            )
        return None


def _ordinary(value):
    """Return whether the squares of public numbers are ordinary floats."""
    return bool(np.all(np.abs(np.asarray(value, dtype=np.float64)) <= LARGEST))


def known_noise(scale, law, n_features):
    """Return the Noise of a vector, after checking its scale."""
    scale = np.asarray(scale, dtype=np.float64)
    fits = scale.shape in ((), (n_features,))
    if law not in LAWS or not fits or not np.all((scale > 0) & np.isfinite(scale)):
        raise ValueError(
            f"noise needs a law in {LAWS} and a scale that is positive and finite, one number or "
            f"of shape ({n_features},). Got law={law!r} and a scale of shape {scale.shape}."
        )
    return Noise(np.broadcast_to(scale, (n_features,)), law)


def _released(X, scale, law):
    """Return rows, noise scale and law of an array or a Release."""
    if isinstance(X, Release):
        return np.asarray(X.value, dtype=np.float64).reshape(1, -1), X.scale, X.law
    return X, scale, law
