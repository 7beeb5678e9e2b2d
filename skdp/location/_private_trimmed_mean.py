"""PrivateTrimmedMean, the estimator."""

from numbers import Real

from skdp.location._location import SLACK, Location
from skdp.sensitivity import TrimmedMean
from skdp.utils._compat import Interval
from skdp.utils._numbers import stores_parameters


class PrivateTrimmedMean(Location):
    """Trimmed means of the columns under differential privacy, without bounds on the data.

    Of every column the ``floor(alpha n)`` smallest and as many largest entries are left out. With
    ``alpha=0`` it is the mean, a bounded one: with a public ``sensitivity`` and ``center`` it needs
    neither the number of rows nor a range, and it offers pure differential privacy. It takes no
    ``bounds``: what lies far out is left out anyway; where bounds are known, the mean between them,
    :class:`PrivateMean` with ``bounds``, has less noise.

    Parameters
    ----------
    alpha : float, default=0.1
        Part of the rows that is left out at either end, in [0, 1/2).
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the statistic of a column by. The range of the rows over their
        number is good; the result lies at most the number of rows times the sensitivity away from
        ``center``. None finds one privately. Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the rows. With ``sensitivity``, saves the search for both; alone, starts
        it. Must not be computed from X.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released means by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Not used: with ``groups`` the trimmed mean is that of the means of the groups, which all
        count alike.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The released trimmed means. Always finite.
    noisy_location_ : ndarray of shape (n_features,)
        The trimmed means before a ``denoiser``; equal to ``location_`` without one.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``noisy_location_``; infinite where the rows
        were too few to find anything.
    rows_per_group_ : int
        With ``groups`` only: as how many rows a group counts at most; 1 if all groups count alike.
    sampling_noise_scale_ : ndarray of shape (n_features,)
        Upper estimate of the standard deviation of the noise and of the sampling error together, if
        the rows are drawn from a population; infinite if ``sensitivity`` and ``center``
        were given, as no number of rows is released then.
    n_rows_ : float
        That number.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.PrivateMean : Mean of a table with many columns; better there, with delta > 0.

    Notes
    -----
    **Privacy**: as for :class:`PrivateMedian`; what a row is worth is found from a noisy histogram
    of the distances from the median.

    Not private: ``transform`` of the training rows, and parameters that were chosen by looking at
    the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateTrimmedMean
    >>> X = np.random.default_rng(0).normal(loc=50.0, size=(5000, 2))
    >>> X[:100] = 1e9
    >>> mean = PrivateTrimmedMean(0.1).fit(X)
    >>> bool(abs(mean.location_ - 50).max() < 0.5)
    True
    """

    _parameter_constraints: dict = {
        **Location._parameter_constraints,
        "alpha": [Interval(Real, 0, 0.5, closed="left")],
    }

    @stores_parameters
    def __init__(
        self,
        alpha=0.1,
        *,
        epsilon=1.0,
        delta=1e-6,
        sensitivity=None,
        center=None,
        denoiser=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _made_of_groups(self):
        return "means"

    def _statistics(self):
        return [TrimmedMean(self.alpha) if self.alpha else "mean"]

    def _search(self, searcher):
        alpha = float(self.alpha)
        return searcher.trimmed_mean(alpha, SLACK) if alpha else searcher.means()
