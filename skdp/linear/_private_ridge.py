"""PrivateLinearRegression and PrivateRidge, the estimators."""

from numbers import Real

from skdp.linear._base import LinearModel
from skdp.utils._compat import Interval
from skdp.utils._numbers import stores_parameters


class PrivateLinearRegression(LinearModel):
    """Linear regression under differential privacy, without bounds on the data.

    Columns may have any units and any correlations, and rows may lie far from the others. With too
    few rows for slopes the line is flat: the private mean of y.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    fit_intercept : bool, default=True
        Whether the line has an intercept. If not, everything varies around 0.
    extrapolate : bool, default=False
        Go on beyond what is seen. By default features are clipped, row by row, to the ranges in
        which rows are seen, in ``fit`` and in ``predict``, and predictions to the range of the
        target that is seen: a few rows far beyond the others, as typing errors are, ruin a line
        that is not bounded. True: a bare line, for tables whose tails tell as much as their bulk.
    target_range : (low, high), default=None
        Public bounds of y: targets beyond are moved to them. They save the search for its place,
        much of the budget if rows are few. Must not be computed from y.
    feature_range : (low, high), default=None
        Public bounds of the features, each a number or array-like of shape (n_features,): entries
        beyond are moved to them. Must not be computed from X.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Of ``fit(..., groups=)``: a group with more rows counts as so many, each of them with less
        weight. "auto": found privately. 1: all groups count alike.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The released slopes; all 0 if the rows are too few for slopes.
    intercept_ : float
        The released intercept. Of a flat line: the private mean of y, which had the whole budget.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of what privacy has done to every slope: noise, and what noise made
        shrink. Infinite if the line is flat.
    intercept_noise_scale_ : float
        The same of the intercept.
    sampling_noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the same and of the choice of rows, if residuals vary alike
        everywhere.
    intercept_sampling_noise_scale_ : float
        The same of the intercept.
    least_squares_shift_, least_squares_noise_scale_ : ndarrays of shape (n_features + 1,)
        About how far plain least squares of these rows are from the coefficients, the intercept
        last, and the standard deviation of the privacy noise of that. Infinite scales where nothing
        is told.
    least_squares_scale_, least_squares_excess_ : ndarrays of shape (n_features + 1,)
        The standard deviation with the choice of rows, at most, and what rows that are clipped or
        not seen may add; infinite likewise.
    n_rows_ : float
        Released number of rows.
    n_iter_ : int
        Steps that were taken; 0 tells that the line is flat.
    target_range_ : tuple of float
        What predictions are clipped to: public, released, or all floats.
    feature_range_ : ndarray of shape (2, n_features)
        What features are clipped to: public, released, or all floats.
    rows_per_group_ : int
        Of a fit with groups: the number of rows as which a group counts at most.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateRidge : The same with a penalty on the slopes.
    skdp.PrivateCovariance : How the columns vary together.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row (x, y); y is
    as private as x, and so is the number of rows. Every release is Gaussian. A row adds to a step
    w v (y - b.v), a function of the row and of releases, as an integer vector whose length is
    checked, and v (y - b.v), the same way, to one step more. Not private: ``predict`` and ``score``
    of private rows, and parameters that were chosen by looking at the data.

    **How**: places and scales of the columns are found as in :class:`skdp.PrivateCovariance`, small
    Gram matrices whiten the features, and one Gram matrix of rows, far ones with less weight, tells
    how four steps along gradients of the same weighted squares are to be taken. Its noise slows
    them, and does not move where they lead: unlike a regression from released moments [1]_ nothing
    is attenuated. The gain of every step is that of a Kalman filter, which knows how noisy gradient
    and matrix are; slopes shrink towards 0 where the noise drowns them. A fifth of what the steps
    have goes to one more gradient, without weights and clipped far out, that tells how far plain
    least squares are: ``interval`` is for these.

    Linear alternatives with public bounds: AdaSSP [1]_.

    References
    ----------
    .. [1] Wang. "Revisiting differentially private linear regression: optimal and adaptive
       prediction & estimation in unbounded domain". UAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) * [1.0, 1e6] + [5.0, -1e8]
    >>> y = X @ [3.0, 2e-6] + rng.normal(size=20000)
    >>> model = PrivateLinearRegression(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> bool(np.allclose(model.coef_, [3.0, 2e-6], rtol=0.05))
    True
    """

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        fit_intercept=True,
        extrapolate=False,
        target_range=None,
        feature_range=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...


class PrivateRidge(LinearModel):
    """Ridge regression under differential privacy, without bounds on the data.

    :class:`PrivateLinearRegression` with a penalty of ``alpha`` times the sum of the squared slopes
    on the sum of squared residuals. The penalty costs no budget. What noise demands of shrinkage
    is done without it.

    Parameters
    ----------
    alpha : float, default=1.0
        Of the penalty, >= 0, in the units of the table as in :class:`sklearn.linear_model.Ridge`.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    fit_intercept : bool, default=True
        Whether the line has an intercept. If not, everything varies around 0.
    extrapolate : bool, default=False
        Go on beyond what is seen. By default features are clipped, row by row, to the ranges in
        which rows are seen, in ``fit`` and in ``predict``, and predictions to the range of the
        target that is seen: a few rows far beyond the others, as typing errors are, ruin a line
        that is not bounded. True: a bare line, for tables whose tails tell as much as their bulk.
    target_range : (low, high), default=None
        Public bounds of y: targets beyond are moved to them. They save the search for its place,
        much of the budget if rows are few. Must not be computed from y.
    feature_range : (low, high), default=None
        Public bounds of the features, each a number or array-like of shape (n_features,): entries
        beyond are moved to them. Must not be computed from X.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Of ``fit(..., groups=)``: a group with more rows counts as so many, each of them with less
        weight. "auto": found privately. 1: all groups count alike.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The released slopes; all 0 if the rows are too few for slopes.
    intercept_ : float
        The released intercept. Of a flat line: the private mean of y, which had the whole budget.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of what privacy has done to every slope: noise, and what noise made
        shrink. Infinite if the line is flat.
    intercept_noise_scale_ : float
        The same of the intercept.
    sampling_noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the same and of the choice of rows, if residuals vary alike
        everywhere.
    intercept_sampling_noise_scale_ : float
        The same of the intercept.
    least_squares_shift_, least_squares_noise_scale_ : ndarrays of shape (n_features + 1,)
        About how far plain least squares of these rows are from the coefficients, the intercept
        last, and the standard deviation of the privacy noise of that. Infinite scales where nothing
        is told.
    least_squares_scale_, least_squares_excess_ : ndarrays of shape (n_features + 1,)
        The standard deviation with the choice of rows, at most, and what rows that are clipped or
        not seen may add; infinite likewise.
    n_rows_ : float
        Released number of rows.
    n_iter_ : int
        Steps that were taken; 0 tells that the line is flat.
    target_range_ : tuple of float
        What predictions are clipped to: public, released, or all floats.
    feature_range_ : ndarray of shape (2, n_features)
        What features are clipped to: public, released, or all floats.
    rows_per_group_ : int
        Of a fit with groups: the number of rows as which a group counts at most.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateLinearRegression : The same without a penalty.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row (x, y); y is
    as private as x, and so is the number of rows. Every release is Gaussian. A row adds to a step
    w v (y - b.v), a function of the row and of releases, as an integer vector whose length is
    checked, and v (y - b.v), the same way, to one step more. Not private: ``predict`` and ``score``
    of private rows, and parameters that were chosen by looking at the data.

    **How**: places and scales of the columns are found as in :class:`skdp.PrivateCovariance`, small
    Gram matrices whiten the features, and one Gram matrix of rows, far ones with less weight, tells
    how four steps along gradients of the same weighted squares are to be taken. Its noise slows
    them, and does not move where they lead: unlike a regression from released moments [1]_ nothing
    is attenuated. The gain of every step is that of a Kalman filter, which knows how noisy gradient
    and matrix are; slopes shrink towards 0 where the noise drowns them. A fifth of what the steps
    have goes to one more gradient, without weights and clipped far out, that tells how far plain
    least squares are: ``interval`` is for these.

    Linear alternatives with public bounds: AdaSSP [1]_.

    References
    ----------
    .. [1] Wang. "Revisiting differentially private linear regression: optimal and adaptive
       prediction & estimation in unbounded domain". UAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) * [1.0, 1e6] + [5.0, -1e8]
    >>> y = X @ [3.0, 2e-6] + rng.normal(size=20000)
    >>> model = PrivateRidge(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> bool(np.allclose(model.coef_, [3.0, 2e-6], rtol=0.05))
    True
    """

    _parameter_constraints: dict = {
        **LinearModel._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        alpha=1.0,
        epsilon=1.0,
        delta=1e-6,
        fit_intercept=True,
        extrapolate=False,
        target_range=None,
        feature_range=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...
