"""PrivateBoostingClassifier and PrivateBoostingRegressor, the estimators."""

import math
from numbers import Real

import numpy as np

from skdp.additive._classifier import PrivateAdditiveClassifier
from skdp.additive._fit import class_strength, fit_classes, fit_numbers
from skdp.additive._regressor import PrivateAdditiveRegressor
from skdp.boosting._base import BoostingModel
from skdp.boosting._engine import fit_pairs_of_classes, fit_pairs_of_numbers
from skdp.utils._compat import StrOptions
from skdp.utils._numbers import stores_parameters

TWO = (
    "monotonic_cst needs two public classes: pass classes=[first, second], of which the second "
    "becomes more likely where predictions rise."
)
WEIGHTS = "class_weight must be 'balanced', or a dict from labels to numbers > 0. Got {!r}."


class PrivateBoostingClassifier(BoostingModel, PrivateAdditiveClassifier):
    """Boosting of classes under differential privacy, with pairs of features that stay readable.

    An additive model that also sees pairs of features. First a term is fitted for every feature, as
    in :class:`skdp.PrivateAdditiveClassifier`; then two cycles look at all pairs of features, and
    the last ones go on with those that tell something. The log-odds of a row are the sum of all
    terms. Every term can be looked at: :meth:`plot` draws curves, and heat maps of pairs.

    With too few rows for pairs it is the additive model, to the last bit, with all of the budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    interactions : "auto", int or list of pairs, default="auto"
        Pairs of features that get a term of their own. ``"auto"``: those that tell something, found
        privately among all pairs. A number: at most so many of them. A list of pairs of numbers or
        names of columns: these. 0: none, an additive model. Too few rows give an additive model
        too: ``privacy_report_`` says so. A list must not be computed from the data.
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
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1 where predictions rise with a feature, -1 where they fall, 0 where they do as they like;
        or a dict from names of columns. Missing entries are free. Numeric features only, and two
        public ``classes``. Must not be computed from the data.
    class_weight : dict, "balanced" or None, default=None
        Weights > 0 of classes, by label, 1 by default. They add their logarithms to the scores: so
        much the best weighted model differs from the best one. ``"balanced"``: one over the
        released number of rows of a class. Probabilities are then those of a reweighted table.
    n_bins : int or "auto", default="auto"
        Bins of a numeric feature, at most: fewer where noise hides them. ``"auto"`` is 16.
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
    terms_ : list of ndarrays of shape (n_cells,) or (n_cells, n_cells)
        What features add to the log-odds of the second class; of three classes or more to the score
        of each class, the last axis.
        Terms of single features come first, in the order of columns, then those of pairs, the most
        important first, with a row for each cell of the first feature. Cells are bins upwards, or
        categories and all others, and last missing entries. Every term has a mean of zero; rows and
        columns of pairs too, under released weights of their cells, so that a pair tells what its
        features alone do not.
    term_features_ : list of tuples of int
        The features of every term, one or two.
    term_noise_scale_ : list of ndarrays, of the shapes of ``terms_``
        Standard deviation of the noise of each entry, of all cycles together, before smoothing.
    importance_ : ndarray of shape (n_terms,)
        Root mean square of every term over the rows, by released weights of its cells: log-odds.
    intercept_ : ndarray of shape (1,), or (n_classes,) for three classes or more
    bin_edges_ : list of ndarrays
        Of a numeric feature the upper ends of all its bins but the last: short binary numbers,
        never entries of X. Empty for categories.
    categories_ : list
        Of a categorical feature its levels, a tuple; None for numbers.
    n_iter_ : int
        Cycles that every feature has taken; 0 if features were not looked at.
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
    PrivateAdditiveClassifier : The same without pairs.
    PrivateBoostingRegressor : The same for numbers.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row with its
    label; the number of rows is private. Every release is Gaussian, and one of
    :class:`skdp.PrivateAdditiveClassifier`: given bins and pairs, which are released or public, a
    pair is one more column of cells, and a row is in one cell of it
    (:class:`skdp.kernel._cells.Pair`). Which pairs are looked at again, and all smoothing, follow
    from releases. The private selection of classes and of categories may fail, with a probability
    that is part of delta. Not private: what the model says of private rows, as ``score``, and
    parameters that were chosen by looking at the data.

    Terms of pairs are those of explainable boosting machines [1]_. Two looks at all pairs count for
    the fit, and a prior that learns how many pairs tell anything shrinks the others to zero.

    References
    ----------
    .. [1] Lou, Caruana, Gehrke, Hooker. "Accurate intelligible models with pairwise interactions".
       KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 3))
    >>> y = np.where(X[:, 0] * X[:, 1] + rng.normal(size=20000) / 2 > 0, "yes", "no")
    >>> model = PrivateBoostingClassifier(epsilon=1.0, classes=["no", "yes"]).fit(X, y)
    >>> model.term_features_[3], bool(model.score(X, y) > 0.7)
    ((0, 1), True)
    """

    _parameter_constraints: dict = {
        **PrivateAdditiveClassifier._parameter_constraints,
        **BoostingModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _parameter_constraints.pop("n_cycles")

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        interactions="auto",
        classes=None,
        feature_range=None,
        categories=None,
        monotonic_cst=None,
        class_weight=None,
        n_bins="auto",
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _check_public(self, n_features):
        super()._check_public(n_features)
        if any(self._signs(n_features)) and (self.classes is None or len(self.classes) != 2):
            raise ValueError(TWO)
        weights = self.class_weight.values() if isinstance(self.class_weight, dict) else ()
        if not all(isinstance(w, Real) and 0 < w < math.inf for w in weights):
            raise ValueError(WEIGHTS.format(self.class_weight))

    _fits = fit_classes, fit_pairs_of_classes

    def _fit_terms(self, table, *, number, **known):
        strength = class_strength(number, table.budget.mu)
        return self._fit_with_pairs(table, strength=strength, number=number, **known)

    def _weighed(self, intercept, classes, number):
        if self.class_weight is None or len(classes) < 2:
            return intercept
        if self.class_weight == "balanced":
            weights = number.mean() / number
        else:
            weights = [float(self.class_weight.get(label, 1.0)) for label in classes.tolist()]
        logs = np.log(weights)
        return intercept + (logs[1:] - logs[0] if len(classes) == 2 else logs - logs.mean())


class PrivateBoostingRegressor(BoostingModel, PrivateAdditiveRegressor):
    """Boosting of numbers under differential privacy, with pairs of features that stay readable.

    An additive model that also sees pairs of features. First a term is fitted for every feature, as
    in :class:`skdp.PrivateAdditiveRegressor`; then two cycles look at all pairs of features, and
    the last ones go on with those that tell something. The prediction for a row is the sum of all
    terms. Every term can be looked at: :meth:`plot` draws curves, and heat maps of pairs.

    With too few rows for pairs it is the additive model, to the last bit, with all of the budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    interactions : "auto", int or list of pairs, default="auto"
        Pairs of features that get a term of their own. ``"auto"``: those that tell something, found
        privately among all pairs. A number: at most so many of them. A list of pairs of numbers or
        names of columns: these. 0: none, an additive model. Too few rows give an additive model
        too: ``privacy_report_`` says so. A list must not be computed from the data.
    target_range : (low, high), default=None
        Public bounds of y: targets beyond are moved to them, and predictions lie between. Saves the
        search for their place and scale, which is what most of the budget goes into if rows are
        few. Must not be computed from y.
    feature_range : (low, high), default=None
        Public ranges of the features, each a number or array-like of shape (n_features,), where
        the search for bins begins; entries may lie beyond. Those of categories are ignored. Must
        not be computed from X.
    categories : dict, list or None, default=None
        Public levels of columns that are no numbers: a dict from a column, by name or number, to
        its levels, or a list with levels or None for each column. Levels are a list of labels, or a
        number of codes. Columns of text and categories that are not named: levels that occur often
        enough are found privately. All other entries of a column share a cell.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1 where predictions rise with a feature, -1 where they fall, 0 where they do as they like;
        or a dict from names of columns. Missing entries are free. Numeric features only. Must not
        be computed from the data.
    n_bins : int or "auto", default="auto"
        Bins of a numeric feature, at most: fewer where noise hides them. ``"auto"``: 2 to 64, by
        the released number of rows.
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
    terms_ : list of ndarrays of shape (n_cells,) or (n_cells, n_cells)
        What features add to the prediction, in units of y.
        Terms of single features come first, in the order of columns, then those of pairs, the most
        important first, with a row for each cell of the first feature. Cells are bins upwards, or
        categories and all others, and last missing entries. Every term has a mean of zero; rows and
        columns of pairs too, under released weights of their cells, so that a pair tells what its
        features alone do not.
    term_features_ : list of tuples of int
        The features of every term, one or two.
    term_noise_scale_ : list of ndarrays, of the shapes of ``terms_``
        Standard deviation of the noise of each entry, of all cycles together, before smoothing.
    importance_ : ndarray of shape (n_terms,)
        Root mean square of every term over the rows, by released weights of its cells: units of y.
    intercept_ : float
        To which the terms add.
    target_range_ : tuple of float
        Least and largest number that ``predict`` returns: ``target_range``, or what the terms span.
    bin_edges_ : list of ndarrays
        Of a numeric feature the upper ends of all its bins but the last: short binary numbers,
        never entries of X. Empty for categories.
    categories_ : list
        Of a categorical feature its levels, a tuple; None for numbers.
    n_iter_ : int
        Cycles that every feature has taken; 0 if features were not looked at.
    informative_ : bool
        Whether the terms stand clear of the noise. If not, they are zero, and every row is given a
        released mean.
    n_rows_ : float
        Released number of rows.
    rows_per_group_ : int
        Of a fit with groups: the number of rows as which a group counts at most.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateAdditiveRegressor : The same without pairs, or with a line.
    PrivateBoostingClassifier : The same for classes.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row with its
    target; the number of rows is private. Every release is Gaussian, and one of
    :class:`skdp.PrivateAdditiveRegressor`: given bins and pairs, which are released or public, a
    pair is one more column of cells, and a row is in one cell of it
    (:class:`skdp.kernel._cells.Pair`). Beside its clipped residual a row adds the other leg of a
    right triangle whose longest side is the radius: that counts rows at no price
    (:class:`skdp.kernel._terms.HalfCircle`). Which pairs are looked at again, and all smoothing,
    follow from releases. The private selection of a centre and of categories may fail, with a
    probability that is part of delta. Not private: what the model says of private rows, as
    ``score``, and parameters that were chosen by looking at the data.

    Terms of pairs are those of explainable boosting machines [1]_. Two looks at all pairs count for
    the fit, and a prior that learns how many pairs tell anything shrinks the others to zero.

    References
    ----------
    .. [1] Lou, Caruana, Gehrke, Hooker. "Accurate intelligible models with pairwise interactions".
       KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 3))
    >>> y = 1e6 + 1e3 * (X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=20000))
    >>> model = PrivateBoostingRegressor(epsilon=1.0).fit(X, y)
    >>> model.term_features_[3], bool(model.score(X, y) > 0.9)
    ((0, 1), True)
    """

    linear = extrapolate = False
    _parameter_constraints: dict = {
        **PrivateAdditiveRegressor._parameter_constraints,
        **BoostingModel._parameter_constraints,
    }
    for _name in ("linear", "extrapolate", "n_cycles"):
        _parameter_constraints.pop(_name)

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        interactions="auto",
        target_range=None,
        feature_range=None,
        categories=None,
        monotonic_cst=None,
        n_bins="auto",
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    _fits = fit_numbers, fit_pairs_of_numbers

    def _fit_terms(self, table, place, *, n, **known):
        return self._fit_with_pairs(table, place, strength=n * table.budget.mu, n=n, **known)

    def _in_unit(self, told, unit):
        return super()._in_unit(told, unit) | {"importance_": told["importance_"] * unit}

    def _with_line(self, codes, y):
        return y
