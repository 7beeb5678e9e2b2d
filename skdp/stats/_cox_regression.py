"""PrivateCoxRegression: hazard ratios of several columns, with intervals that know the noise."""

from numbers import Integral, Real

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._results import long_format
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._table import Table
from skdp.scales._column_noise import check_confidence, check_sampling
from skdp.stats._cox import BINS, cox_plan, private_cox
from skdp.stats._search import as_array, search_steps
from skdp.stats._survival_input import NO_NUMBERS, events_named
from skdp.stats._tests import DROWNED, MOSTLY_NOISE
from skdp.table._levels import coded_classes
from skdp.utils._compat import Interval
from skdp.utils._numbers import known_ranges, stores_parameters

DURATIONS = (
    "durations are needed: pass fit(X, event_observed, durations), or duration_col='column of X'."
)
NAMED = (
    "duration_col must be the name or the number of a column of X. Pass durations to fit otherwise."
)
TABLE = (
    "X must be an array or a frame of numbers where durations are passed beside it. Name the "
    "column of X that has them, as duration_col=, for other tables and sources."
)
UNSEEN = (
    "the column is not seen to vary, so it has no coefficient. Leave it out, use a larger epsilon "
    "or more rows"
)
NO_FEATURES = "X must have a column beside the durations. Pass X[['age', 'dose']]."
TITLES = "variable", "value", "low", "high", "hazard ratio", "n", "reliable"
NAME = "duration"


class PrivateCoxRegression(PrivateEstimator):
    """Proportional hazards of Cox: how each column of numbers multiplies the hazard of an event.

    Places and scales of the columns are found first, then three Newton steps are taken on the
    Poisson form of Cox's likelihood, each a noisy gradient with its second derivatives. Histograms
    of the scores tell how the hazard of a row follows from the curve of all rows.

    Parameters
    ----------
    duration_col : str or int, default=None
        Name or number of the column of X that has the durations, where they are not passed to
        ``fit``.
    horizon : float, default=None
        Public, > 0: the last time that counts, in the unit of the durations. None finds one, for
        15 % of the budget.
    feature_range : (low, high), default=None
        Public ranges of the columns beside the durations: each a number, or one per column; entries
        are clipped. None finds them. Must not be computed from X.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    coef_ : ndarray of shape (n_coefficients,)
        Logarithms of hazard ratios, for one unit of each column beside the durations; 0 where too
        few rows tell them, with an infinite ``error_scale_``.
    hazard_ratios_ : ndarray of shape (n_coefficients,)
        Their exponentials; NaN where too few rows tell them.
    noise_scale_, error_scale_ : ndarray of shape (n_coefficients,)
        Standard deviations of the privacy noise in ``coef_``, and of noise and sampling together;
        infinite where nothing is told.
    center_ : ndarray of shape (n_coefficients,)
        Released places of the columns.
    times_ : ndarray of shape (n_times,)
        0, and the ends of bins of time.
    baseline_cumulative_hazard_ : ndarray of shape (n_times,)
        Of a row at ``center_``.
    variables_ : list of str
        Names of the columns beside the durations.
    n_rows_, n_events_ : float
        Released numbers of rows, and of events until the last of ``times_``, with noise.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns, that of durations among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    private_logrank_test, PrivateSurvival, skdp.PrivateLogisticRegression

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, its
    duration, event and columns; the number of rows is private. What is released of a row is bounded
    whatever it holds: see the user guide "Comparing groups: proofs". Rows far from the others have
    less weight. Rows with NaN are refused, or left out under
    ``skdp.config_context(invalid_rows="ignore")``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import PrivateCoxRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2))
    >>> life, left = rng.exponential(np.exp(-0.5 * X[:, 0])), rng.uniform(0, 2, size=20000)
    >>> model = PrivateCoxRegression(horizon=1.5).fit(X, life <= left, np.minimum(life, left))
    >>> bool(abs(model.coef_[0] - 0.5) < 0.1)
    True
    """

    _target = "class"
    classes = (0, 1)

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "duration_col": [str, Interval(Integral, 0, None, closed="left"), None],
        "horizon": [Interval(Real, 0, None, closed="neither"), None],
        "feature_range": ["array-like", tuple, None],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        duration_col=None,
        horizon=None,
        feature_range=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def fit(self, X, event_observed=None, durations=None, *, groups=None):
        """Fit on private rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Columns of numbers: a table in memory, or a source that has the durations too.
        event_observed : array-like of shape (n_samples,) or str, default=None
            1 or True for an event, 0 or False for a row that left before; or the name of a column
            of X. If every row has had it, pass ones.
        durations : array-like of shape (n_samples,), default=None
            Times, >= 0, to the event or to the last observation. None: ``duration_col`` of X.
        groups : array-like of shape (n_samples,), default=None
            Privacy IDs: one row of each person, drawn at random, is read.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            For a table of the wrong shape or type, before anything is charged.
        BudgetExceeded
            If the ledger cannot grant the whole plan.
        """
        if isinstance(X, Table):
            return super().fit(X)
        if durations is None and self.duration_col is None:
            raise ValueError(DURATIONS)
        if durations is not None:
            if self.duration_col is not None:
                raise ValueError(NAMED)
            X = _beside(X, durations)
        return super().fit(X, event_observed, groups=groups)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        steps = search_steps(budget, bounded=False)[1:] if self.horizon is None else ()
        return cox_plan(budget, steps)

    def _read(self, X, y):
        with events_named():
            return super()._read(X, y)

    def _check_public(self, n_features):
        if n_features < 2:
            raise ValueError(NO_FEATURES)
        known_ranges(self.feature_range, None, n_features - 1)
        self._place()

    def _place(self):
        """Return the number of the column of durations."""
        names = list(getattr(self, "feature_names_in_", ()))
        if self.duration_col is None:
            return self.n_features_in_ - 1
        if not isinstance(self.duration_col, str) and self.duration_col < self.n_features_in_:
            return int(self.duration_col)
        if self.duration_col not in names:
            raise ValueError(NAMED)
        return names.index(self.duration_col)

    def _release(self, table):
        _, table = coded_classes(table, list(self.classes))
        n, at = table.n_features, self._place()
        others = [j for j in range(n - 1) if j != at]
        known = known_ranges(self.feature_range, None, len(others))
        edges = None if self.horizon is None else np.linspace(0.0, float(self.horizon), BINS + 1)
        table = table.map(SomeColumns(np.array([*others, at, n - 1])))
        n_rows, told = private_cox(table, known, edges)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(n - 1)])
        fitted = {"variables_": [str(names[j]) for j in others], "n_rows_": n_rows}
        if told is None:
            return fitted | _nothing(len(others))
        coef, noise, error = told.in_units()
        unseen = np.isinf(error)
        table.doubt(UNSEEN, columns=np.append(unseen, False))
        with np.errstate(invalid="ignore"):
            drowned = ~unseen & (noise**2 > DROWNED * error**2)
        table.doubt(MOSTLY_NOISE, columns=np.append(drowned, False))
        return fitted | {
            "coef_": np.nan_to_num(coef),
            "hazard_ratios_": _exp(coef),
            "noise_scale_": noise,
            "error_scale_": error,
            "center_": np.array(told.design.frame.center),
            "times_": told.edges,
            "baseline_cumulative_hazard_": told.hazard,
            "n_events_": told.n_events,
        }

    def interval(self, confidence=0.95, *, sampling=True):
        """Return intervals of ``coef_``; their exponentials are those of hazard ratios.

        Parameters
        ----------
        confidence : float, default=0.95
        sampling : bool, default=True
            Whether they are for the population; else for the coefficients without noise.

        Returns
        -------
        low, high : ndarray of shape (n_coefficients,)
            Infinite where nothing is told.

        Raises
        ------
        ValueError
            For a confidence that is not between 0 and 1.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        half = ndtri(0.5 + confidence / 2) * (self.error_scale_ if sampling else self.noise_scale_)
        return self.coef_ - half, self.coef_ + half

    def results(self, confidence=0.95):
        """Return the coefficients as one table.

        Parameters
        ----------
        confidence : float, default=0.95

        Returns
        -------
        frame : DataFrame
            A row for each column: ``variable``, ``value``, the coefficient, ``low`` and ``high``
            for the population, ``hazard ratio``, ``n``, the released number of rows, and
            ``reliable``: whether anything is told. A dict of arrays where pandas is not installed.
        """
        ends = self.interval(confidence)
        rows = [
            {
                "variable": name,
                "value": float(value) if np.isfinite(ratio) else np.nan,
                "low": float(low),
                "high": float(high),
                "hazard ratio": float(ratio),
                "n": float(self.n_rows_),
                "reliable": bool(np.isfinite(high - low)),
            }
            for name, value, ratio, low, high in zip(
                self.variables_, self.coef_, self.hazard_ratios_, *ends, strict=True
            )
        ]
        return long_format(rows, TITLES)

    def predict_log_partial_hazard(self, X):
        """Return the logarithm of the hazard of rows, beside that of a row at ``center_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_coefficients)
            The columns beside the durations, in their order.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Local: as private as X.
        """
        check_is_fitted(self)
        return (np.asarray(X, dtype=np.float64) - self.center_) @ self.coef_

    def predict_survival_function(self, X):
        """Return the parts of rows like these that have had no event until ``times_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_coefficients)
            The columns beside the durations, in their order.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            Local: as private as X.
        """
        with np.errstate(over="ignore"):
            ratio = np.exp(self.predict_log_partial_hazard(X))
        return np.exp(-np.outer(ratio, self.baseline_cumulative_hazard_))


def _beside(X, durations):
    """Return a table with the durations as its last column."""
    durations = as_array(durations).reshape(-1)
    if durations.dtype.kind in "mM":
        raise ValueError(NO_NUMBERS)
    if hasattr(X, "iloc"):
        name = NAME
        while name in X.columns:
            name += "_"
        return X.assign(**{name: durations})
    if type(X).__module__.partition(".")[0] not in ("numpy", "builtins"):
        raise ValueError(TABLE)
    X = np.asarray(X)
    if X.ndim != 2 or len(X) != len(durations):
        raise ValueError("X must have two dimensions, and a row for each duration.")
    return np.column_stack([X, durations])


def _exp(x):
    with np.errstate(over="ignore"):
        return np.exp(x)


def _nothing(d):
    """Return the attributes of a model of which nothing is told."""
    infinite = np.full(d, np.inf)
    return {
        "coef_": np.zeros(d),
        "hazard_ratios_": np.full(d, np.nan),
        "noise_scale_": infinite,
        "error_scale_": infinite.copy(),
        "center_": np.zeros(d),
        "times_": np.zeros(1),
        "baseline_cumulative_hazard_": np.zeros(1),
        "n_events_": np.nan,
    }
