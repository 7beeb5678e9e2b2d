"""Logistic regression of private rows: scikit-learn's manners around the engine."""

from dataclasses import replace
from fractions import Fraction
from numbers import Real

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Budget
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import WeightsMixin
from skdp.estimator._results import ResultsMixin
from skdp.linear._base import rule_of_slopes
from skdp.linear._logit import logit_plan, private_logit
from skdp.linear._newton import ends, named
from skdp.scales._column_noise import check_confidence, check_sampling, noise_quantile
from skdp.table._batched import AccuracyMixin, apply_batched
from skdp.table._levels import Selection, coded_classes
from skdp.table._schema import numbers_of_dates
from skdp.utils._compat import Interval
from skdp.utils._numbers import known_ranges, stores_parameters
from skdp.utils._renamed import Renamed

CLASSES = 0.05  # share of the search for classes
FAILING = Fraction(1, 4)  # of the failure probability
NO_CLASSES = (
    "no class was found, so there is none to predict. Pass classes=, if the labels are public, or "
    "spend more on more rows."
)
SHRUNK = "slopes are shrunk as the law of their noise suggests: free post-processing"


class PrivateLogisticRegression(
    WeightsMixin, ResultsMixin, AccuracyMixin, ClassifierMixin, PrivateEstimator
):
    """Logistic regression under differential privacy, without bounds on the data.

    Of two classes or of any number (multinomial). Columns may have any units: their places,
    scales and visible ranges are found first, then coordinates in which the rows are about
    spherical. One noisy Gram matrix of these serves a few Newton steps along noisy sums of rows
    times residuals. Where those are too few for the number of columns, every row has the
    probabilities of the classes in all, and the fit warns.

    Categories of many levels, and columns of which the logit is no linear function, belong to
    :class:`skdp.PrivateAdditiveClassifier`.

    Parameters
    ----------
    classes : array-like, default=None
        All labels that y may have, if they are public. None: those that are frequent enough are
        found privately (with epsilon=1 and delta=1e-6, about 110 rows); rows of others count as
        absent.
    C : float, default=1.0
        Inverse strength of the L2 penalty, as in
        :class:`~sklearn.linear_model.LogisticRegression`.
    fit_intercept : bool, default=True
        If not, columns are taken to vary around 0, and scores have no constant.
    feature_range : (low, high), default=None
        Public range of the columns, each end a number or array-like of shape (n_features,).
        Entries beyond are moved to it. Nothing is spent on places and scales then, which for a few
        hundred rows is most of the budget.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
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
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted: those given, or those found.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients: one row for two classes or fewer.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    noisy_coef_ : ndarray of the shape of ``coef_``
        ``coef_`` before it was shrunk by the law of its noise; about the same if privacy noise is
        small beside what the coefficients tell.
    noise_scale_ : ndarray of the shape of ``coef_``
        Standard deviation of the privacy noise of ``noisy_coef_``, and of what the steps leave
        to go. Infinite if ``n_iter_`` is 0, for columns of which nothing but one number is seen,
        and where the classes are told apart very well, of more than two fairly well: steps then end
        before the maximum, by what nothing tells.
    error_scale_ : ndarray of the shape of ``coef_``
        The same of privacy noise, the choice of rows and the penalty, if the logit is linear.
    likelihood_shift_, likelihood_noise_scale_, likelihood_excess_ : ndarrays of that shape
        About how far the coefficients of the greatest likelihood, with the penalty, are from
        ``noisy_coef_``, the standard deviation of the privacy noise of that, and what rows that
        are clipped or not seen may add. Infinite where nothing is told.
    likelihood_scale_ : ndarray of the shape of ``coef_``
        The standard deviation of that noise and of the choice of rows, at most.
    feature_range_ : tuple of two ndarrays of shape (n_features,)
        Rows are clipped to it, in the fit and in ``predict``: as given, or what is visible.
    n_rows_ : float
        Released number of rows.
    n_rows_noise_scale_ : float
        Standard deviation of its noise.
    n_iter_ : int
        Number of Newton steps, by released numbers; 0 if only the classes were counted.
    rows_per_group_ : int
        Of a fit with groups: the number of rows as which a group counts at most.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.PrivateLinearRegression : Of numbers.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row (x, y); the
    number of rows, and labels that nobody has named, are private. All releases are Gaussian. Given
    those before it, each is a sum of integers, to which a row adds a vector of bounded length that
    is a function of that row alone: a cell of a histogram, q q^T of the Gram matrix, q f^T of a
    gradient, where q is the row in released coordinates, clipped, and f its residual. Not private:
    ``score`` of private rows, and parameters that were chosen by looking at the data.

    Far rows weigh less: their weight is (R / distance)^2 beyond a released radius R, in the Gram
    matrix and in the gradients alike, so that a model which is right stays so.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) * [1.0, 1e6]
    >>> y = np.where(rng.logistic(size=20000) < X @ [2.0, 1e-6], "yes", "no")
    >>> model = PrivateLogisticRegression(classes=["no", "yes"], epsilon=1.0).fit(X, y)
    >>> model.predict([[3.0, 0.0], [-3.0, 0.0]]).tolist()
    ['yes', 'no']
    """

    _target = "class"
    _weighs_groups = True

    unshrunk_coef_ = Renamed("noisy_coef_")
    n_steps_ = Renamed("n_iter_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "classes": ["array-like", None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "feature_range": ["array-like", tuple, None],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        classes=None,
        C=1.0,
        fit_intercept=True,
        feature_range=None,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True
        return tags

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        classes = Selection("classes", given=self.classes is not None)
        rest = budget if self.classes is not None else _with_less_failure(budget)
        plan = logit_plan(rest, fit_intercept=self.fit_intercept)
        return replace(
            plan,
            budget=budget,
            steps=(*classes.steps(), *plan.steps),
            failure_events=(*classes.events(budget, FAILING), *plan.failure_events),
            assumptions=(*plan.assumptions, SHRUNK),
        )

    def _doubt_numbers(self, curator):
        """Doubt no more: the release has named the slopes that are not reliable."""

    def _axes(self):
        return {"class": self.classes_[-len(self.coef_) :]}

    def _group_rule(self, n_features):
        return rule_of_slopes(n_features)

    def _check_public(self, n_features):
        known_ranges(self.feature_range, None, n_features)

    def _release(self, table):
        classes, table = coded_classes(table, self.classes, share=CLASSES)
        release = private_logit(
            table,
            n_classes=max(len(classes), 2),
            known=known_ranges(self.feature_range, None, table.n_features - 1),
            C=self.C,
            fit_intercept=self.fit_intercept,
        )
        return {
            "classes_": classes,
            "coef_": release.slopes(release.B),
            "intercept_": release.intercepts,
            "noisy_coef_": release.slopes(release.unshrunk),
            "noise_scale_": release.scales(release.noise),
            "error_scale_": release.scales(release.noise + release.sampling),
            **named(release.from_likelihood(), "likelihood"),
            "feature_range_": tuple(release.design.edges),
            "n_rows_": release.count.told,
            "n_rows_noise_scale_": release.count.sd,
            "n_iter_": release.n_steps,
        }

    @apply_batched
    def decision_function(self, X):
        """Return the scores of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, the logit of ``classes_[1]``. Local: as private as X.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @apply_batched
    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``. Local: as private as X.
        """
        return self._log_proba(X)

    @apply_batched
    def predict_proba(self, X):
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``. Local: as private as X.
        """
        return np.exp(self._log_proba(X))

    @apply_batched
    def predict(self, X):
        """Return the likeliest class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Local: as private as X.

        Raises
        ------
        ValueError
            If no class was found.
        """
        best = np.argmax(self._log_proba(X), axis=1)
        return self.classes_[best]

    def interval(self, confidence=0.95, *, sampling=False):
        """Return intervals of the coefficients of the greatest likelihood, with the penalty.

        Parameters
        ----------
        confidence : float, default=0.95
            Of each coefficient by itself.
        sampling : bool, default=False
            Whether they are to cover the coefficients of the law that the rows were drawn from, if
            its logit is linear, instead of those of these rows.

        Returns
        -------
        low, high : ndarrays of the shape of ``coef_``
            They reach from ``noisy_coef_`` to ``likelihood_shift_`` beside them, and further by
            ``likelihood_noise_scale_`` and 0.3 times ``likelihood_excess_``; with ``sampling`` as
            much further, either way, as ``error_scale_`` demands. Infinite where nothing is told,
            as with more than two classes.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        z = noise_quantile(confidence, "gaussian")
        low, high = ends(
            z, self.likelihood_shift_, self.likelihood_noise_scale_, self.likelihood_excess_
        )
        more = z * self.error_scale_ if sampling else 0.0
        return self.noisy_coef_ + low - more, self.noisy_coef_ + high + more

    def noise_interval(self, confidence=0.95, *, sampling=False):
        """Return intervals of what the fit would be without noise, narrower than ``interval``.

        Parameters
        ----------
        confidence : float, default=0.95
            Of each coefficient by itself.
        sampling : bool, default=False
            Whether they hold the choice of rows, too, if the logit is linear.

        Returns
        -------
        low, high : ndarrays of the shape of ``coef_``
            Infinite if only the classes were counted, and where these are told apart too well, see
            ``noise_scale_``. What clipping of residuals and the weights of far rows do to
            coefficients is not in them.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        scale = self.error_scale_ if sampling else self.noise_scale_
        half = noise_quantile(confidence, "gaussian") * scale
        return self.noisy_coef_ - half, self.noisy_coef_ + half

    def _scores(self, X):
        check_is_fitted(self)
        X = validate_data(self, numbers_of_dates(X), reset=False, dtype=np.float64)
        low, high = self.feature_range_
        return np.clip(X, low, high) @ self.coef_.T + self.intercept_

    def _log_proba(self, X):
        scores = self._scores(X)
        n_classes = len(self.classes_)
        if not n_classes:
            raise ValueError(NO_CLASSES)
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])[:, :n_classes]
        return log_softmax(scores, axis=1)


def _with_less_failure(budget):
    return budget.with_failure((1 - FAILING) * budget.failure)
