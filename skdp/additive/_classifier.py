"""PrivateAdditiveClassifier, the estimator."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from skdp.accounting import Budget, Plan
from skdp.additive._base import COUNT, HELD, AdditiveModel, release_count
from skdp.additive._cycles import Model
from skdp.additive._fit import CLASS_STEPS, count_classes, fit_classes, prior_model
from skdp.additive._rules import (
    BINS,
    BINS_OF_CLASSES,
    FEW,
    bins_share,
    cycles_of,
    first_round,
    share_of_labels,
)
from skdp.kernel._cells import n_cells
from skdp.kernel._terms import Logistic
from skdp.table._batched import AccuracyMixin, by_tables
from skdp.table._levels import Selection, coded_classes
from skdp.utils._numbers import column_ranges, stores_parameters

NO_CLASSES = (
    "this model has found no class of y, so that it cannot predict any. Fit again with `classes`, "
    "if they are public, with more rows or with a larger epsilon."
)
PRIOR = (
    "too few rows to learn from features: predictions are the released class frequencies. Use a"
    " larger epsilon or more rows"
)
NOISE = (
    "no feature exceeds the noise: the terms may be noise. Use a larger epsilon, more rows or "
    "fewer columns"
)


class PrivateAdditiveClassifier(AccuracyMixin, ClassifierMixin, AdditiveModel):
    """Additive classifier under differential privacy, for mixed tables and without bounds.

    The log-odds of a row are a sum of one term per feature: a table with an entry for each bin of
    a number, or each category. Bins are found privately, categories and classes too unless they
    are public, and a missing entry is a cell of its own. One or four cycles of Newton steps fit
    the terms: one feature after the other, by noisy sums of residuals in its cells, smoothed by the
    known law of the noise. Every term can be looked at: :meth:`plot`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    classes : array-like of shape (n_classes,), default=None
        Public labels of y, sorted by the fit. None: labels that occur often enough are found
        privately, about 170 rows of a class with the default budget, and rows of other labels count
        as absent. Must not be computed from y.
    feature_range : (low, high), default=None
        Public ranges of the features, each a number or array-like of shape (n_features,), where
        the search for bins begins; entries may lie beyond. Those of categories are ignored. Must
        not be computed from X.
    categories : dict, list or None, default=None
        Public levels of columns that are no numbers: a dict from a column, by name or number, to
        its levels, or a list with levels or None for each column. Levels are a list of labels, or a
        number of codes. Columns of text and categories that are not named: levels that occur often
        enough are found privately. All other entries of a column share a cell.
    n_bins : int or "auto", default="auto"
        Bins of a numeric feature, at most: fewer where noise hides them. ``"auto"`` is 16.
    n_cycles : int or "auto", default="auto"
        Newton steps for each feature. ``"auto"``: one or four, by the released number of rows.
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
        Sorted. Empty or of one class if no others stand clear of the noise.
    terms_ : list of ndarrays of shape (n_cells,), or (n_cells, n_classes) for three classes or more
        What a feature adds to the log-odds of the second class, or to the score of each class, in
        each of its cells: bins upwards, or categories and all others, and last missing entries.
        Of mean zero.
    term_noise_scale_ : list of ndarrays, of the same shapes
        Standard deviation of the noise of each entry, of all cycles together, before smoothing.
    intercept_ : ndarray of shape (1,), or (n_classes,) for three classes or more
    bin_edges_ : list of ndarrays
        Of a numeric feature the upper ends of all its bins but the last: short binary numbers,
        never entries of X. Empty for categories.
    categories_ : list
        Of a categorical feature its levels, a tuple; None for numbers.
    n_iter_ : int
        Cycles that were taken; 0 if features were not looked at.
    informative_ : bool
        Whether the terms stand clear of the noise, all together or one of them. If not, they are
        still the best guess, and little: the noise has shrunk them.
    n_rows_ : float
        Released number of rows with a label, one of ``classes`` if they are given.
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
    PrivateAdditiveRegressor : The same for numbers.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row with its
    label; the number of rows is private. Every release is Gaussian. Bins and tables are releases,
    so that given them a row adds an integer vector to one cell of each feature, of length at most 1
    for two classes and sqrt(2) for more, in units of a probability, by exact arithmetic of its own
    (:mod:`skdp.kernel._terms`). The private selection of classes and of categories may fail, with
    a probability that is part of delta. Not private: what the model says of private rows, as
    ``score``, and parameters that were chosen by looking at the data.

    Terms are explainable boosting machines' [1]_, made private in [2]_ by hundreds of rounds of
    boosting on given bounds. Here few cycles of Newton steps are shrunk and smoothed as the noise
    suggests, under Gaussian priors [3]_, and nothing is given.

    References
    ----------
    .. [1] Lou, Caruana, Gehrke. "Intelligible models for classification and regression". KDD 2012.
    .. [2] Nori, Caruana, Bu, Shen, Kulkarni. "Accuracy, interpretability, and differential privacy
       via explainable boosting". ICML 2021.
    .. [3] Rasmussen, Williams. "Gaussian processes for machine learning". MIT Press 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateAdditiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 3))
    >>> y = np.where(X[:, 0] ** 2 + X[:, 1] + rng.normal(size=20000) > 1, "yes", "no")
    >>> model = PrivateAdditiveClassifier(epsilon=1.0).fit(X, y)
    >>> list(map(str, model.classes_)), bool(model.score(X, y) > 0.75)
    (['no', 'yes'], True)
    """

    _target = "class"

    _parameter_constraints: dict = {
        **AdditiveModel._parameter_constraints,
        "classes": ["array-like", None],
        "feature_range": ["array-like", tuple, None],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        classes=None,
        feature_range=None,
        categories=None,
        n_bins="auto",
        n_cycles="auto",
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        classes, levels = self._selections()
        steps = (COUNT, *classes.steps(), *CLASS_STEPS)
        return Plan(
            budget,
            (*steps, *self._common_steps()),
            failure_events=(*classes.events(budget, 0.5), *levels.events(budget, 0.5)),
            assumptions=(HELD,),
        )

    def _check_public(self, n_features):
        column_ranges(self.feature_range, n_features)

    def _selections(self):
        return Selection("classes", given=self.classes is not None), Selection("levels")

    def _release(self, table):
        if self.classes is not None:
            classes, table = coded_classes(table, self.classes)
        n = release_count(table)
        strength = n * table.budget.mu
        if self.classes is None:
            classes, table = coded_classes(table, share=share_of_labels(strength))
        coding, coded = self._coded(table, strength)
        told = {"classes_": classes, "n_rows_": n}
        edges = [size or np.empty(0) for size in coding.n_cells]
        counts = [np.ones(size) for size in n_cells(edges)]
        number = np.ones(len(classes))
        if len(classes) < 2:
            model = Model.start(np.zeros(1), [len(count) for count in counts])
            n_cycles, informative = 0, False
        else:
            number = count_classes(coded, len(classes), strength)
            strength = number.sum() * table.budget.mu
            if strength < FEW:
                table.doubt(PRIOR)
                n_cycles, informative = 0, False
                model = prior_model(number, [len(count) for count in counts])
            else:
                edges = self._edges(
                    coding,
                    coded,
                    n=float(number.sum()),
                    n_bins=BINS if self.n_bins == "auto" else self.n_bins,
                    share=bins_share(strength, len(edges), BINS_OF_CLASSES),
                    ranges=column_ranges(self.feature_range, len(edges)),
                    first=first_round(strength, len(edges)),
                )
                auto = self.n_cycles == "auto"
                n_cycles = cycles_of(strength, len(edges)) if auto else self.n_cycles
                model, counts, informative = self._fit_terms(
                    coded,
                    edges=edges,
                    ordered=[np.ndim(edge) > 0 for edge in edges],
                    number=number,
                    n_cycles=n_cycles,
                )
                if not informative:
                    table.doubt(NOISE)
        fitted, intercept = self._fitted(coding, edges, model, counts, Logistic)
        intercept = self._weighed(intercept, classes, number)
        told |= {"n_iter_": n_cycles, "informative_": informative}
        return told | fitted | {"intercept_": intercept}

    def _weighed(self, intercept, classes, number):
        """Return the intercept under weights of the classes, all alike."""
        return intercept

    _fit_terms = staticmethod(fit_classes)  # returns the Model, cell counts, and whether it tells

    def _class_scores(self, X):
        scores = self._scores(self._codes(X))
        if not len(self.classes_):
            raise ValueError(NO_CLASSES)
        return scores

    @by_tables
    def decision_function(self, X):
        """Return the scores of rows: log-odds of the second class, or a score for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        scores : ndarray of shape (n_samples,), or (n_samples, n_classes) for three classes or more
            Local: as private as X.
        """
        return self._class_scores(X)

    @by_tables
    def predict(self, X):
        """Return the most likely class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Local: as private as X.

        Raises
        ------
        ValueError
            If the fit has found no class.
        """
        scores = self._class_scores(X)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        return self.classes_[best]

    @by_tables
    def predict_proba(self, X):
        """Return the probabilities of the classes for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Local: as private as X.
        """
        return self._probabilities(X)

    @by_tables
    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities of the classes for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            Local: as private as X.
        """
        return np.log(np.maximum(self._probabilities(X), np.finfo(float).tiny))

    def _probabilities(self, X):
        scores = self._class_scores(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of few rows with a small epsilon
        return tags

    def _term_unit(self):
        return f"log-odds of {self.classes_[-1]}" if len(self.classes_) == 2 else "score"
