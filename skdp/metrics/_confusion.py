"""Confusion matrix of predicted labels: one count for each pair of labels."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._table import Table
from skdp.kernel.applied._scores import ConfusionCells
from skdp.metrics._rates import RATES, UNKNOWN, MetricNumbers, Rate
from skdp.metrics._reports import as_entries, as_scores
from skdp.readers._labels import Known
from skdp.readers._target import column_of
from skdp.table._levels import coded_classes, public_classes
from skdp.utils._config import get_config
from skdp.utils._numbers import stores_parameters

CELLS = Step("confusion", of=(ConfusionCells,))
FEW = (
    "too few rows for this epsilon: nothing is said of the labels. Use a larger epsilon or more "
    "rows."
)
CLEAR = 3.0
TENTH = 0.1
BINARY = "accuracy", "precision", "recall", "specificity", "f1", "prevalence"


class PrivateConfusionMatrix(MetricNumbers, PrivateEstimator):
    """Confusion matrix of predicted labels on private rows, and the rates that follow from it.

    For scores rather than labels, :class:`PrivateClassifierReport` releases it at all thresholds.

    Parameters
    ----------
    classes : array-like, default=(0, 1)
        All labels, public. Of two the second is the positive class.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    confusion_ : ndarray of shape (n_classes, n_classes)
        Released numbers of rows; rows are true classes, as in scikit-learn.
    confusion_noise_scale_ : float
        Standard deviation of the noise of each of them.
    metric_names_ : list of str
        Names of the numbers in ``scores_``, which ``results()`` lists.
    scores_ : ndarray of shape (n_metrics,)
        Accuracy; of two classes also precision, recall, specificity, F1 and prevalence; of more the
        recall of each class. NaN where too few rows are seen.
    n_rows_ : float
        Released number of rows.
    classes_ : ndarray of shape (n_classes,)
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns that predictions are read as.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the predictions have names that are strings.

    See Also
    --------
    PrivateClassifierReport : Of scores.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, which is in
    one cell of the matrix; with ``groups`` one row of each person is read.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import PrivateConfusionMatrix
    >>> y = np.arange(20000) % 2
    >>> report = PrivateConfusionMatrix().fit(y, np.where(np.arange(20000) < 2000, 0, y))
    >>> low, high = report.interval("accuracy", confidence=0.999999)
    >>> low < 0.95 < high
    True
    """

    _target = "class"
    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "classes": ["array-like"],
    }

    @stores_parameters
    def __init__(
        self, *, classes=(0, 1), epsilon=1.0, delta=1e-6, random_state=None, ledger=None
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        return Plan(self._budget(Budget.gaussian), (CELLS,))

    def fit(self, y_true, y_pred=None, *, groups=None):
        """Release the confusion matrix of private rows.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_pred : array-like of shape (n_samples,) or (n_samples, n_classes)
            Predicted labels; or scores, of which the largest predicts.
        groups : array-like of shape (n_samples,), default=None
            Whose row each row is. With it one person, with all rows, is protected; one row of each
            is read.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            For labels that do not fit ``classes``, before any charge.
        BudgetExceeded
            If the ledger cannot grant the whole plan; before the release reads anything.
        """
        if isinstance(y_true, Table):
            return super().fit(y_true)
        X, y = as_scores(y_true, y_pred)
        if isinstance(X, list) and X and isinstance(X[0], list) and len(X[0]) == 1:
            X = as_entries(X)
        shape = getattr(X, "shape", ())
        if len(shape) == 2 and shape[1] == 1:
            X = self._indicators(np.asarray(X).reshape(-1))
        return super().fit(X, y, groups=groups)

    def _indicators(self, labels):
        classes = public_classes(self.classes, in_order=True)
        codes = Known(classes)(column_of(labels))
        known = ~np.isnan(codes)
        columns = np.full((len(codes), len(classes)), np.nan)
        columns[known] = np.eye(len(classes))[codes[known].astype(int)]
        if not known.all() and get_config()["invalid_rows"] == "error":
            raise ValueError(
                "y_pred has labels that are not in `classes`. Pass classes=[...] with all labels "
                "that are predicted."
            )
        return columns

    def _check_public(self, n_features):
        k = len(public_classes(self.classes))
        if n_features != k:
            raise ValueError(
                f"y_pred has a label, or {k} scores, for each row. Got {n_features} columns. Pass "
                "classes=[...] with all labels."
            )

    def _release(self, table):
        classes, table = coded_classes(table, self.classes, in_order=True)
        k = len(classes)
        told = table.ask(ConfusionCells(k), CELLS)
        matrix, sd = told.real.reshape(k, k).astype(float), float(np.max(told.sd))
        if not matrix.sum() > CLEAR * sd * k:
            table.doubt(FEW)
        rates = rates_of(matrix, sd, classes)
        return {
            "classes_": classes,
            "confusion_": matrix,
            "confusion_noise_scale_": sd,
            "n_rows_": float(matrix.sum()),
            "metric_names_": list(rates),
            "scores_": np.array([rate.value for rate in rates.values()]),
        }

    def __array__(self, dtype=None, copy=None):
        """Return the released matrix."""
        check_is_fitted(self)
        return np.array(self.confusion_, dtype=dtype)

    def _rates(self):
        check_is_fitted(self)
        return rates_of(self.confusion_, self.confusion_noise_scale_, self.classes_)

    def _spread(self):
        """Return half of a tenth of the way from no rate to a whole one."""
        return np.full(len(self.scores_), TENTH / 2)

    def _possible(self):
        return np.zeros(len(self.scores_)), np.ones(len(self.scores_))


def rates_of(matrix, sd, classes):
    """Return the rates of a released confusion matrix: a dict of Rates."""
    k = len(classes)
    if k == 2:
        weights = {name: RATES[name] for name in BINARY}
        weights = {
            name: np.reshape(pair, (2, 2, 2)).astype(float) for name, pair in weights.items()
        }
        return {name: _ratio(matrix, sd, *pair) for name, pair in weights.items()}
    rates = {"accuracy": _ratio(matrix, sd, np.eye(k), np.ones((k, k)))}
    for i, label in enumerate(classes.tolist()):
        row = np.zeros((k, k))
        row[i] = 1
        rates[f"recall of {label}"] = _ratio(matrix, sd, row * np.eye(k), row)
    return rates


def _ratio(matrix, sd, above, below):
    n = float((below * matrix).sum())
    if not n > CLEAR * sd * np.linalg.norm(below):
        return UNKNOWN
    ratio = float(np.clip((above * matrix).sum() / n, 0, 1))
    away = (above - ratio * below) / n
    var = float((np.square(away) * np.maximum(matrix, 0)).sum())
    return Rate(ratio, float(sd * np.linalg.norm(away)), var, n=n)
