"""PrivateComparison: every column of a table by group, in one release."""

import math
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import MixedColumns
from skdp.estimator._results import long_format
from skdp.kernel._histograms import HistogramCounts
from skdp.kernel._lattice import TheseColumns
from skdp.mechanisms._exact import exact
from skdp.stats._laws import CLEAR, adjusted, means, share_of_arm, sparse
from skdp.stats._result import FEW, Around
from skdp.stats._search import find_ranks, find_windows, search_steps
from skdp.stats._tests import (
    SPARSE,
    SUMS,
    cell_result,
    codes_axis,
    columns_of,
    group_sums,
    mean_result,
    rank_result,
    released_cells,
    unknown,
)
from skdp.table._levels import Selection, coded_classes, coded_columns
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import bounds_vectors, stores_parameters

MOST_COLUMNS = 2**10  # of a kind
CHILDREN = {kind: Step(kind, "child", times=MOST_COLUMNS) for kind in ("ranks", "means")}
COUNTS = Step("counts", of=(HistogramCounts,), times=MOST_COLUMNS)


class ComparedColumns:
    """What a comparison releases, column after column.

    **Privacy** (add or remove one row): every column is a table of its own, of the rows that have
    an entry in it and a group, with a k-th of what is left: sequential composition.
    """

    def __init__(self, estimator, table, kinds, labels, coding):
        self.estimator, self.table, self.labels = estimator, table, labels
        self.kinds, self.coding = kinds, coding
        self.tests, self.rows = {}, []
        share = exact(table.remaining) / max(len(kinds), 1)
        for j in sorted(kinds):
            view = table.map(TheseColumns(np.array([j, table.n_features - 1])))
            if kinds[j] == "counts":
                self._counts(j, view, share)
            else:
                self._numbers(j, view.child(kinds[j], share))

    def attributes(self):
        """Return the fitted attributes, in the order of the columns."""
        told = [self.estimator._name(j) for j in sorted(self.kinds)]
        for name in told:
            if not self.tests[name].told:
                self.table.doubt(f"{name}: {FEW}")
        return {"tests_": {name: self.tests[name] for name in told}, "groups_": self.rows}

    def _numbers(self, j, view):
        ranks, bounds = self.kinds[j] == "ranks", self._bounds(j)
        if ranks:
            found = find_ranks(columns_of(view), bounds)
        else:
            found = find_windows(columns_of(view), bounds, self.estimator.tails, len(self.labels))
        (of,) = group_sums(view, found, len(self.labels), view.remaining)
        ok, middle, half = bool(found.found[0]), found.middle[0], found.half[0]
        if ranks:
            result = rank_result(of, "two-sided", ok)
        else:
            result = mean_result(of, middle, half, "two-sided", ok)
        self._keep(j, result)
        each = means(of)
        scale = (0.5, 0.5, 0.0, 1.0) if ranks else (half, middle, -np.inf, np.inf)
        name = "mean rank" if ranks else "mean"
        for g, label in enumerate(self.labels):
            df = each.var[g] ** 2 * 2 / each.of_variance[g]
            around = Around(each.mean[g], math.sqrt(each.var[g]), max(df, 2.0), *scale)
            value, *ends = (around.value, *around.at(0.95)) if result.told else (np.nan, *scale[2:])
            self._row(j, label, name, value, *ends, of.n[g])

    def _bounds(self, j):
        bounds, d = self.estimator.bounds, len(self.coding.levels)
        return None if bounds is None else tuple(one[[j]] for one in bounds_vectors(bounds, d))

    def _counts(self, j, view, share):
        levels = self.coding.levels[j]
        axes = [codes_axis(len(levels) + 2), codes_axis(len(self.labels))]
        counts, sd = released_cells(view, axes, COUNTS, share)
        counts = counts[:-2]  # others and missing ones are in no level
        if len(counts) < 2:
            counts = np.concatenate([counts, np.zeros((2 - len(counts), counts.shape[1]))])
        if sparse(counts, sd):
            self.table.doubt(f"{self.estimator._name(j)}: {SPARSE}")
        result = cell_result(counts, sd)
        self._keep(j, result)
        n = counts.sum(axis=0)
        for g, label in enumerate(self.labels):
            for level, count in zip(levels, counts[:, g], strict=False):
                value, *ends = share_of_arm(count, n[g], len(counts), sd)
                if n[g] <= CLEAR * sd * math.sqrt(len(counts)):
                    value, ends = math.nan, (0.0, 1.0)
                self._row(j, label, f"part of {level}", value, *ends, n[g])

    def _keep(self, j, result):
        if len(self.labels) == 2 and self.kinds[j] != "counts":
            x, y = self.labels
            if self.kinds[j] == "ranks":
                name = f"P({x} > {y})"
                names = {"effect_name": f"{name}, half of ties with it", "interval_name": name}
            else:
                names = {
                    "effect_name": f"Cohen's d, {x} less {y}",
                    "interval_name": f"mean of {x} less that of {y}",
                }
            result = replace(result, **names)
        self.tests[self.estimator._name(j)] = result if result.told else unknown(result)

    def _row(self, j, label, measure, value, low, high, n):
        numbers = {"value": value, "low": low, "high": high, "n": n}
        self.rows.append(
            {"variable": self.estimator._name(j), "group": label, "measure": measure}
            | {key: float(x) for key, x in numbers.items()}
            | {"reliable": math.isfinite(value)}
        )


LABELS = 0.1  # of the budget, for groups and levels that are not public
MEASURES = (
    "measures must be None, a list of columns, or a dict {column: 'ranks', 'means' or 'counts'}. "
    "Name columns as X does; 'counts' are for columns with categories, the others for numbers. "
    "Got "
)
COUNTED = "has categories. Pass 'counts' for it, or None"
NUMBERED = (
    "has numbers. Pass 'means' or 'ranks' for it, or its levels as categories={column: [0, 1]}"
)
MANY = (
    f"a fit compares {MOST_COLUMNS} columns at most. Name fewer in measures, or fit several times."
)
ALONE = "fewer than two groups stand clear of the noise. Pass classes=[...] if they are public"


class PrivateComparison(MixedColumns, PrivateEstimator):
    """Table one of a study: every column compared between groups, in one private release.

    Parameters
    ----------
    by : str, default=None
        Name of the column of X that holds the groups, where ``y`` is not passed to ``fit``.
    measures : list or dict, default=None
        Columns to compare, by name or number. A dict says how: "ranks" or "means" of a column of
        numbers, "counts" of one with categories. None: all columns, numbers by ranks.
    classes : list, default=None
        Public labels of the groups. None finds those that are frequent enough, for a part of the
        budget.
    categories : dict or list, default=None
        Public levels of columns that are no numbers, as of :class:`skdp.PrivateAdditiveClassifier`.
    bounds : (low, high), default=None
        Public: each a number, or one per column of X, in which case columns without numbers have
        any; entries are clipped. None finds where they lie. Must not be computed from X.
    tails : {"light", "heavy"}, default="light"
        Of means, see :func:`private_ttest_ind`.
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
    classes_ : ndarray of shape (n_groups,)
        Labels of the groups.
    tests_ : dict of str to TestResult
        By name of the column. Their bill is that of the fit.
    groups_ : list of dict
        Released numbers of groups: variable, group, what is measured, value, low, high and n.
    categories_ : list
        Of a column with categories its levels, a tuple; None for numbers.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    private_kruskal, private_f_oneway

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row with its
    group; the number of rows is private. Every column is a table of its own, of the rows that have
    an entry in it, with a k-th of the budget of k columns: noise grows with the root of k. A row is
    in one group, so groups cost nothing. Proof: user guide "Comparing groups: proofs". A gap is one
    of its own column, as in pandas; a missing category is in no level.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skdp.stats import PrivateComparison
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.choice(["drug", "placebo"], size=4000)
    >>> frame = pd.DataFrame({"pain": rng.normal(size=4000) - (arm == "drug"), "arm": arm})
    >>> table = PrivateComparison(by="arm", classes=["drug", "placebo"]).fit(frame)
    >>> bool(table.pvalues()["pain"] < 0.05)
    True
    """

    _target = "class"
    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "by": [str, None],
        "measures": [list, tuple, dict, None],
        "classes": ["array-like", None],
        "categories": [dict, list, tuple, None],
        "bounds": ["array-like", None],
        "tails": [StrOptions({"light", "heavy"})],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        by=None,
        measures=None,
        classes=None,
        categories=None,
        bounds=None,
        tails="light",
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def fit(self, X, y=None, *, groups=None):
        """Compare the columns of private rows between groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows: a table or a source of them, of numbers, text and categories.
        y : array-like of shape (n_samples,) or str, default=None
            The group of every row, or the name of a column of X. None: the column ``by``.
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
        return super().fit(X, self.by if y is None else y, groups=groups)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        labels = Selection("classes", given=self.classes is not None), Selection("levels")
        steps = [step for one in labels for step in one.steps()]
        steps += [*CHILDREN.values(), COUNTS]
        for kind in CHILDREN:
            inner = (*search_steps(budget, bounded=self.bounds is not None), SUMS)
            steps += [
                replace(step, label=f"{kind}/{step.label}", times=step.times * MOST_COLUMNS)
                for step in inner
            ]
        events = [event for one in labels for event in one.events(budget, 0.5)]
        return Plan(budget, tuple(steps), tuple(events))

    def _check_public(self, n_features):
        bounds_vectors(self.bounds, n_features)
        measures = self._measures(n_features)
        if len(measures) > MOST_COLUMNS:
            raise ValueError(MANY)
        for kind in measures.values():
            if kind not in (None, "ranks", "means", "counts"):
                raise ValueError(f"{MEASURES}{self.measures!r}.")

    def _read(self, X, y):
        rows = super()._read(X, y)
        levels = rows.about.get("levels") or [None] * self.n_features_in_
        for j, kind in self._measures(self.n_features_in_).items():
            if kind is not None and (kind == "counts") != (levels[j] is not None):
                name, rule = self._name(j), NUMBERED if kind == "counts" else COUNTED
                raise ValueError(f"measures: column {name!r} {rule}.")
        return rows

    def _measures(self, n_features):
        """Return how columns are compared, by number; None for the usual way."""
        if self.measures is None:
            return dict.fromkeys(range(n_features))
        given = self.measures if isinstance(self.measures, dict) else dict.fromkeys(self.measures)
        names = list(getattr(self, "feature_names_in_", ()))
        found = {}
        for key, kind in given.items():
            at = names.index(key) if key in names else key
            if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < n_features:
                raise ValueError(f"{MEASURES}{self.measures!r}.")
            found[at] = kind
        if not found or len(found) < len(given):
            raise ValueError(f"{MEASURES}{self.measures!r}.")
        return found

    def _release(self, table):
        labels, table = coded_classes(table, self.classes, share=LABELS / 2)
        coding, table = coded_columns(table, share=LABELS / 2)
        told = {"classes_": labels, "categories_": list(coding.levels)}
        if len(labels) < 2:
            table.doubt(ALONE)
            return told | {"tests_": {}, "groups_": []}
        kinds = {
            j: kind or ("ranks" if coding.levels[j] is None else "counts")
            for j, kind in self._measures(len(coding.levels)).items()
        }
        released = ComparedColumns(self, table, kinds, labels, coding)
        return told | released.attributes()

    def _name(self, j):
        return str(getattr(self, "feature_names_in_", range(self.n_features_in_))[j])

    def pvalues(self, adjust="holm"):
        """Return p-values of all columns, adjusted for their number: it costs nothing.

        Parameters
        ----------
        adjust : {"holm", "bh", None}, default="holm"
            "holm": the chance of any false alarm stays at the level. "bh", of Benjamini and
            Hochberg: the part of false ones among alarms does.

        Returns
        -------
        pvalues : dict of str to float

        Raises
        ------
        ValueError
            For another adjustment.
        """
        check_is_fitted(self)
        if adjust not in ("holm", "bh", None):
            raise ValueError("adjust must be 'holm', 'bh' or None. Pass adjust='holm'.")
        p = np.array([test.pvalue for test in self.tests_.values()])
        return dict(zip(self.tests_, adjusted(p, adjust).tolist(), strict=True))

    def results(self):
        """Return the numbers of all groups as one table.

        Returns
        -------
        frame : DataFrame
            A row for each number: ``variable``, ``group``, ``measure``, ``value``, ``low`` and
            ``high`` of a 95 % interval for the population, ``n``, the released size of the group,
            and ``reliable``: whether anything is told. A dict of arrays without pandas.
        """
        check_is_fitted(self)
        titles = "variable", "group", "measure", "value", "low", "high", "n", "reliable"
        return long_format(self.groups_, titles)

    def summary(self):
        """Return the tests of all columns as text, with p-values by Holm's rule."""
        lines = []
        for name, p in self.pvalues().items():
            test = replace(self.tests_[name], pvalue=p)
            effect = f"{test.effect_name} {test.effect_size:.3g}"
            lines.append(f"{name}: adjusted p-value {p:.3g}; {effect}; {test.conclusion}")
        return "\n".join(lines)
