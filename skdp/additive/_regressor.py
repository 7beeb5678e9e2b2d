"""PrivateAdditiveRegressor, the estimator."""

from fractions import Fraction

import numpy as np
from sklearn.base import RegressorMixin

from skdp.accounting import Budget, Plan
from skdp.additive._base import COUNT, HELD, AdditiveModel, release_count
from skdp.additive._fit import NUMBER_STEPS, fit_numbers, known_mean
from skdp.additive._place import (
    TargetScale,
    count_targets,
    find_straight,
    fitted_line,
    has_enough_rows_for_line,
    linear_contribution,
    mean_alone,
    place_events,
    place_steps,
    release_target_scale,
    straight_plan,
    target_place,
)
from skdp.additive._rules import (
    BINS_OF_NUMBER,
    FEW,
    FEW_UNKNOWN,
    bins_of_number,
    bins_share,
    cycles_of,
)
from skdp.kernel._terms import Clipped
from skdp.table._batched import ExplainedVarianceMixin, by_tables
from skdp.table._levels import Selection
from skdp.utils._numbers import column_ranges, stores_parameters
from skdp.utils._renamed import Renamed

LARGEST = 1e300  # of a term, and of a prediction
MEAN = (
    "too few rows to learn from features: predictions are the released mean of the targets. Use"
    " a larger epsilon or more rows"
)
NOISE = (
    "no feature exceeds the noise: predictions are the mean of the targets. Use a larger "
    "epsilon, more rows or fewer columns"
)
BESIDE = "no feature exceeds the noise in what the line leaves: predictions are the line"
OFF = (
    "noise, or a long tail of the targets that it may hide, moves all predictions by more than "
    "features tell. Take logarithms, or use a larger epsilon or more rows"
)
SLOPES = (
    "too few rows for the slopes of a line: the model has terms alone. Use a larger epsilon or "
    "more rows"
)


class PrivateAdditiveRegressor(ExplainedVarianceMixin, RegressorMixin, AdditiveModel):
    """Additive regression under differential privacy, for mixed tables and without bounds.

    The prediction for a row is a sum of one term per feature: a table with an entry for each bin of
    a number, or each category. Bins are found privately, and so are the place and the scale of the
    targets, and categories unless they are public; a missing entry is a cell of its own. Cycles of
    Newton steps fit the terms: one feature after the other, by noisy sums of clipped residuals in
    its cells, smoothed by the known law of the noise. Every term can be looked at: :meth:`plot`.

    Within a bin a term is flat. Where slopes matter, as in the tails, ``linear=True`` fits a line
    to the numeric columns first, and the terms to what it leaves.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    linear : bool, default=False
        Fit the line of :class:`skdp.PrivateLinearRegression` through all numeric columns with half
        of the budget, and terms to its residuals with the rest. The line is that of the rows
        without missing numbers; later a missing number counts as the centre of its column. With too
        few rows for slopes there are terms alone.
    extrapolate : bool, default=False
        Whether the line goes on beyond what is seen, as in :class:`skdp.PrivateLinearRegression`:
        by default numbers are clipped to the ranges in which rows are seen, and predictions to that
        of the targets. Nothing without a line.
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
    n_bins : int or "auto", default="auto"
        Bins of a numeric feature, at most: fewer where noise hides them. ``"auto"``: 2 to 64, by
        the released number of rows.
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
    terms_ : list of ndarrays of shape (n_cells,)
        What a feature adds to the prediction in each of its cells, in units of y: bins upwards, or
        categories and all others, and last missing entries. Of mean zero.
    term_noise_scale_ : list of ndarrays, of the same shapes
        Standard deviation of the noise of each entry, of all cycles together, before smoothing.
    coef_ : ndarray of shape (n_features,)
        Slopes of the line, in units of y per unit of a column; 0 without a line, and of categories.
    coef_noise_scale_ : ndarray of shape (n_features,)
        Standard deviations of the noise of the slopes.
    line_center_ : ndarray of shape (n_features,)
        Where the line adds nothing: it adds ``coef_`` times the distance from here, and missing
        numbers count as lying here.
    feature_range_ : ndarray of shape (2, n_features)
        What numbers are clipped to in the line.
    intercept_ : float
        To which the terms and the line add.
    target_range_ : tuple of float
        Least and largest number that ``predict`` returns: ``target_range``, or what the terms span;
        with a line the visible range of the targets, or all numbers with ``extrapolate``.
    bin_edges_ : list of ndarrays
        Of a numeric feature the upper ends of all its bins but the last: short binary numbers,
        never entries of X. Empty for categories.
    categories_ : list
        Of a categorical feature its levels, a tuple; None for numbers.
    n_iter_ : int
        Cycles that were taken; 0 if features were not looked at.
    informative_ : bool
        Whether the terms stand clear of the noise. If not, they are zero, and every row is given a
        released mean, or what the line tells.
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
    PrivateAdditiveClassifier : The same for classes.
    PrivateMean : The mean of the targets alone.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row with its
    target; the number of rows is private. Every release is Gaussian. Bins, tables and clip radii
    are releases, so that given them a row adds an integer to one cell of each feature, at most the
    radius, by exact arithmetic of its own (:class:`skdp.kernel._terms.Clipped`). The search for
    the centre of the targets and that for categories may fail, with probabilities that are part of
    delta, and so may the search for centres of a line. Given the line, the residual of a row is a
    function of that row alone, to the last bit. Not private: what the model says of private rows,
    as ``score``, and parameters that were chosen by looking at the data.

    Residuals are clipped, so that few targets far from the rest do not decide: what is fitted is
    the mean of the bulk of the rows of a cell.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateAdditiveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 3))
    >>> y = 1e6 + 1e3 * (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=20000))
    >>> model = PrivateAdditiveRegressor(epsilon=1.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.85)
    True
    """

    _target = "number"

    coef_noise_ = Renamed("coef_noise_scale_")
    line_centre_ = Renamed("line_center_")
    _parameter_constraints: dict = {
        **AdditiveModel._parameter_constraints,
        "linear": ["boolean"],
        "extrapolate": ["boolean"],
        "target_range": ["array-like", tuple, None],
        "feature_range": ["array-like", tuple, None],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        linear=False,
        extrapolate=False,
        target_range=None,
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
        part = budget.with_failure(budget.failure * Fraction(3, 8 if self.linear else 4))
        events, steps = (), (COUNT,)
        if self.target_range is None:
            events, steps = place_events(part), place_steps(budget)
        if self.linear:
            line_steps, line_events = straight_plan(part)
            events, steps = (*events, *line_events), (*steps, *line_steps)
        return Plan(
            budget,
            (*steps, *NUMBER_STEPS, *self._common_steps()),
            failure_events=(*events, *Selection("levels").events(budget, Fraction(1, 4))),
            assumptions=(HELD,),
        )

    def _check_public(self, n_features):
        target_place(self.target_range)
        column_ranges(self.feature_range, n_features)

    def _release(self, table):
        place, run = target_place(self.target_range), None
        if place is None:
            run = count_targets(table)
            n = run.n
        else:
            n = release_count(table)
        strength = n * table.budget.mu
        known = self.target_range is not None and self.feature_range is not None
        few = strength < (FEW if known else FEW_UNKNOWN)
        coding, coded = self._coded(table, strength)
        straight = None
        if self.linear and not few:
            if has_enough_rows_for_line(coded, coding.n_cells):
                straight = self._straight(coding, coded)
                few = straight is None
            else:
                table.decide(SLOPES)
        if straight is not None:
            place, coded = TargetScale(0.0, straight.line.unit), coded.map(straight.beside)
        elif run is not None:
            place = mean_alone(run) if few else release_target_scale(run)
        edges = [size or np.empty(0) for size in coding.n_cells]
        n_cycles, informative = 0, False
        if few or not place.unit:
            table.doubt(MEAN)
            model, counts = known_mean(coded, place, n=n, edges=edges)
        else:
            share = BINS_OF_NUMBER
            if straight is None:
                share = bins_share(strength, len(edges), BINS_OF_NUMBER)
            edges = self._edges(
                coding,
                coded,
                n=n,
                n_bins=bins_of_number(strength) if self.n_bins == "auto" else self.n_bins,
                share=share,
                ranges=column_ranges(self.feature_range, len(edges)),
            )
            auto = self.n_cycles == "auto"
            n_cycles = cycles_of(strength, len(edges)) if auto else self.n_cycles
            model, counts, informative = self._fit_terms(
                coded,
                place,
                n=n,
                edges=edges,
                ordered=[np.ndim(edge) > 0 for edge in edges],
                n_cycles=n_cycles,
            )
            if not informative and straight is not None:
                table.decide(BESIDE)  # the line has doubts of its own
            elif not informative:
                table.doubt(NOISE)
            elif straight is None and model.is_off:
                table.doubt(OFF)
        told, intercept = self._fitted(coding, edges, model, counts, Clipped)
        told |= self._in_unit(told, place.unit)
        line, start = fitted_line(straight, len(edges))
        intercept = float(_finite(start + place.centre + intercept[0] * place.unit))
        return (
            {"n_iter_": n_cycles}
            | told
            | {
                **line,
                "intercept_": intercept,
                "target_range_": self._range(straight, table.budget.mu, told["terms_"], intercept),
                "informative_": informative,
                "n_rows_": n,
            }
        )

    _fit_terms = staticmethod(fit_numbers)  # returns the Model, cell counts, and whether it tells

    def _in_unit(self, told, unit):
        """Return the attributes of terms in the unit of the targets."""
        return {
            "terms_": [_finite(term * unit) for term in told["terms_"]],
            "term_noise_scale_": [_in_units(noise, unit) for noise in told["term_noise_scale_"]],
        }

    def _straight(self, coding, table):
        """Return the line that is released through the numbers."""
        columns = np.flatnonzero(np.array(coding.n_cells) == 0)
        known = np.full((2, len(columns) + 1), np.nan)
        if self.feature_range is not None:
            ranges = column_ranges(self.feature_range, len(coding.n_cells))
            known[:, :-1] = np.transpose([ranges[j] for j in columns])
        if self.target_range is not None:
            known[:, -1] = self.target_range
        return find_straight(table, columns, known=known, extrapolate=self.extrapolate)

    def _range(self, straight, mu, terms, intercept):
        """Return the least and the largest prediction."""
        if self.target_range is not None:
            return tuple(map(float, self.target_range))
        if straight is not None:
            return tuple(_finite(straight.ends(mu)).tolist())
        ends = (sum(float(end(term)) for term in terms) for end in (np.min, np.max))
        return tuple(float(_finite(intercept + end)) for end in ends)

    @by_tables
    def predict(self, X):
        """Return the prediction for every row, within ``target_range_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Local: as private as X.
        """
        codes = self._codes(X)
        y = self._with_line(codes, self._scores(codes))
        return np.clip(np.nan_to_num(y), *self.target_range_)

    def _with_line(self, codes, y):
        """Return scores of rows, and what the line adds to them."""
        if self.coef_.any():
            y += linear_contribution(codes, self.coef_, self.line_center_, self.feature_range_)
        return y

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # of few rows with a small epsilon
        return tags

    def _term_unit(self):
        return "target"


def _in_units(noise, unit):
    """Return noise times a unit; infinite noise stays so, whatever the unit is."""
    return np.where(np.isinf(noise), np.inf, noise * unit)


def _finite(values):
    return np.clip(values, -LARGEST, LARGEST)
