"""PrivateTargetEncoder, the transformer."""

from fractions import Fraction
from numbers import Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from skdp.accounting import Budget, Plan
from skdp.additive._base import COUNT, release_count
from skdp.additive._fit import CLASS_MEANS, NUMBER_MEANS, class_means, number_means
from skdp.additive._place import (
    count_targets,
    mean_alone,
    place_events,
    place_steps,
    release_target_scale,
    target_place,
)
from skdp.additive._rules import FEW_UNKNOWN, rule_of_terms, share_of_labels
from skdp.contracts import Contract, Rows
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import MixedColumns
from skdp.table._batched import NamesOutMixin, transforms_tables
from skdp.table._levels import Coding, Selection, coded_classes, coded_columns, public_classes
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters

NUMBERS = (
    "levels are those of columns of text, categories and truth values. Got numbers: {which}. Name "
    "their public levels in categories, or cut them into bins by PrivateKBinsDiscretizer."
)
ONLY_OF = "{name} is for target_type={kind!r}. Leave it out, or change target_type."
RARE = (
    "too few rows to tell levels apart: all are encoded as the mean of the targets. Use a larger "
    "epsilon or more rows"
)
NOISE = (
    "the noise in the mean of every level exceeds the spread of the targets. Use a larger epsilon, "
    "more rows or fewer columns"
)


@transforms_tables
class PrivateTargetEncoder(MixedColumns, NamesOutMixin, TransformerMixin, PrivateEstimator):
    """Encode levels of text as means of the target, found and released privately.

    A private :class:`sklearn.preprocessing.TargetEncoder`: every level of a column becomes the mean
    of y over its rows, pulled to the mean of all rows. With ``target_type="multiclass"`` it becomes
    the rate of the second of two classes, or the rates of more. As a step of a PrivatePipeline it
    gets the y of the pipeline, inside a ColumnTransformer too.

    Parameters
    ----------
    categories : dict, list or None, default=None
        Public levels of columns: a dict from a column, by name or number, to its levels, or a list
        with levels or None for each column. Those of text and categories that are not named are
        found privately, if they occur often enough. All other entries of a column share a level.
    target_type : {"continuous", "multiclass"}, default="continuous"
        Whether y holds numbers or classes. It depends on no entry: say it.
    smooth : "auto" or float, default="auto"
        A float m pulls the mean of a level of n rows as m rows of the mean of all would.
        ``"auto"`` pulls by what the levels differ, beside noise and the spread of targets.
    target_range : (low, high), default=None
        Public bounds of y, for numbers: targets beyond are moved to them. Saves the search for
        their place and scale. Must not be computed from y.
    classes : list, default=None
        Public classes. None: those that occur often are found privately.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number.
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
    encodings_ : list of ndarrays of shape (n_levels + 2,)
        Of every column the numbers that stand for its levels, for all other entries together, and
        for missing ones, in units of y, or as rates. With K > 2 classes K arrays for each column.
    encoding_noise_scale_ : list of ndarrays, of the same shapes
        Standard deviations of the noise in the means, before smoothing; infinite where all levels
        are encoded as the mean.
    categories_ : list of tuples
        The levels of each column.
    target_mean_ : float or ndarray of shape (n_classes,)
        The released mean of y, or rates of classes.
    classes_ : ndarray of shape (n_classes,) or None
        The classes, of ``target_type="multiclass"``.
    n_rows_ : float
        Released number of rows.
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
    PrivateOneHotEncoder, PrivateOrdinalEncoder
    PrivateGroupBy : Means of one column by level, with intervals.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row with its
    target, with ``groups`` one person. A row is in one level of every column, and adds its clipped
    target to the sum of that level alone: all levels of a column cost what one costs, as in
    :class:`skdp.PrivateGroupBy` (parallel composition). Columns divide the budget, since a row is
    in a level of each. Bounds: :class:`skdp.kernel._terms.ResidualSum`. Not private: ``smooth``,
    and what ``transform`` returns for the training rows.

    scikit-learn encodes the rows of a fit by parts that do not hold them, since the mean of a rare
    level tells much of its rows. Here ``fit_transform`` is ``fit`` and ``transform``: noise and
    smoothing hide what one row tells, and rare levels share one mean.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skdp import PrivateTargetEncoder
    >>> rng = np.random.default_rng(0)
    >>> ward = rng.choice(["north", "south"], size=5000)
    >>> y = np.where(ward == "south", 7.0, 3.0) + rng.normal(size=5000)
    >>> encoder = PrivateTargetEncoder(target_range=(0, 10)).fit(pd.DataFrame({"ward": ward}), y)
    >>> encoder.transform(pd.DataFrame({"ward": ["north", "south"]})).round().tolist()
    [[3.0], [7.0]]
    """

    _weighs_groups = True
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "categories": [dict, list, tuple, None],
        "target_type": [StrOptions({"continuous", "multiclass"})],
        "smooth": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "target_range": ["array-like", tuple, None],
        "classes": ["array-like", None],
    }

    @stores_parameters
    def __init__(
        self,
        categories=None,
        *,
        target_type="continuous",
        smooth="auto",
        target_range=None,
        classes=None,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    @property
    def _target(self):
        """What y is: "number" or "class"."""
        return "number" if self.target_type == "continuous" else "class"

    def _group_rule(self, n_features):
        return rule_of_terms(n_features - 1)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        self._check_target()
        budget = self._budget(Budget.gaussian)
        half = Fraction(1, 2)
        events, steps = (), (COUNT,)
        if self._target == "class":
            first = Selection("classes", given=self.classes is not None)
            events, steps = first.events(budget, half), (COUNT, *first.steps(), *CLASS_MEANS)
        else:
            if self.target_range is None:
                events = place_events(budget.with_failure(budget.failure * half))
                steps = place_steps(budget)
            steps = (*steps, *NUMBER_MEANS)
        levels = Selection("levels")
        steps = (*steps, *levels.steps())
        return Plan(budget, steps, failure_events=(*events, *levels.events(budget, half)))

    def _check_target(self):
        """Raise ValueError for parameters of the other kind of target."""
        only = {"class": ("target_range", "continuous"), "number": ("classes", "multiclass")}
        name, kind = only[self._target]
        if getattr(self, name) is not None:
            raise ValueError(ONLY_OF.format(name=name, kind=kind))

    def _check_public(self, n_features):
        target_place(self.target_range)
        if self.classes is not None:
            public_classes(self.classes)

    def _read(self, X, y):
        rows = super()._read(X, y)
        wrong = [level is None for level in rows.about["levels"]]
        if any(wrong):
            names = self._names_in(None)
            which = ", ".join([name for name, bad in zip(names, wrong, strict=True) if bad][:10])
            raise ValueError(NUMBERS.format(which=which))
        return rows

    def _release(self, table):
        if self._target == "class":
            n, classes, coding, means = self._of_classes(table)
            ends = 0.0, 1.0
        else:
            n, coding, means = self._of_numbers(table)
            classes, ends = None, self.target_range or (-np.inf, np.inf)
        alone = not np.isfinite(means.spread).all()
        if alone:
            table.doubt(RARE)
        else:
            noisy = [bool((sd >= means.spread[:, None]).all()) for sd in means.noise]
            table.doubt(NOISE, columns=np.array(noisy))
        outputs = range(len(means.mean))
        levels = [np.clip(one, *ends) for one in means.smoothed(self.smooth)]
        return {
            "encodings_": [own[k] for own in levels for k in outputs],
            "encoding_noise_scale_": [own[k] for own in means.noise for k in outputs],
            "categories_": [tuple(level) for level in coding.levels],
            "target_mean_": float(means.mean[0]) if len(outputs) == 1 else means.mean,
            "classes_": classes,
            "n_rows_": n,
        }

    def _of_classes(self, table):
        """Return the released number of rows, classes, the Coding, and the LevelMeans."""
        if self.classes is not None:
            classes, table = coded_classes(table, self.classes)
        n = release_count(table)
        share = share_of_labels(n * table.budget.mu)
        if self.classes is None:
            classes, table = coded_classes(table, share=share)
        coding, coded = coded_columns(table, share=share)
        return n, classes, coding, class_means(coded, coding.n_cells, len(classes))

    def _of_numbers(self, table):
        """Return the released number of rows, the Coding, and the LevelMeans."""
        place = target_place(self.target_range)
        run = count_targets(table) if place is None else None
        n = release_count(table) if run is None else run.n
        strength = n * table.budget.mu
        coding, coded = coded_columns(table, share=share_of_labels(strength))
        if run is not None:
            place = mean_alone(run) if strength < FEW_UNKNOWN else release_target_scale(run)
        return n, coding, number_means(coded, coding.n_cells, place, n)

    def transform(self, X):
        """Return the numbers that stand for the levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_features), or (n_samples, n_features * n_classes)
            A local view of the rows: as private as X itself.
        """
        check_is_fitted(self)
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
            X = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        codes = Coding(tuple(self.categories_)).codes(X).astype(np.intp)
        n_outputs = len(self.encodings_) // self.n_features_in_
        places = [codes[:, j // n_outputs] for j in range(len(self.encodings_))]
        columns = [own[at] for own, at in zip(self.encodings_, places, strict=True)]
        return np.column_stack([np.empty((len(codes), 0)), *columns])

    def _names_in(self, input_features):
        return [str(name) for name in _check_feature_names_in(self, input_features)]

    def _names_out(self, input_features):
        names = self._names_in(input_features)
        if len(self.encodings_) == len(names):
            return np.array(names, dtype=object)
        return np.array([f"{name}_{one}" for name in names for one in self.classes_], dtype=object)

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, by a row-wise map that was released."""
        yields = {"yields": lambda kind: Rows(), "weight": 0.25}
        return Contract((Rows,), spends=True, target=self._target, **yields)
