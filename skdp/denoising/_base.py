"""The transformer that all denoisers are."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.contracts._contract import Contract
from skdp.contracts._kinds import Released
from skdp.denoising._rules import LAWS, Noise, unbiased_risk
from skdp.gate._curator import Release
from skdp.utils._compat import Interval, StrOptions, fit_context
from skdp.utils._numbers import PlainNumbers
from skdp.utils._renamed import Renamed

__all__ = ["Denoiser", "known_noise"]

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
