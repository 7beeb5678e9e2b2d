"""PrivateContingencyTable: released counts of two or three categories, and what they say."""

import math
from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.special import chdtrc
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget, Plan
from skdp.estimator._estimator import PrivateEstimator
from skdp.stats._laws import CLEAR, Rates, cramers_v, sparse
from skdp.stats._result import FEW, ConfidenceInterval
from skdp.stats._tests import CELLS, SPARSE, cell_result, codes_axis, released_cells, unknown
from skdp.table._levels import Selection, coded_classes, coded_columns
from skdp.utils._compat import Interval
from skdp.utils._numbers import stores_parameters

LABELS = 0.1  # of the budget, for labels that are not public
NUMBERS = (
    "X must have columns of categories: a column of numbers has no levels. Pass "
    "categories={column: [...]}, or a column of text."
)
COLUMNS = "a table has one or two columns of X beside y. Pass X[['arm']], or X[['arm', 'site']]."
PAIR = "rows and columns must each name two levels that differ, as ('drug', 'placebo')"
STRATUM = "stratum must be a level of the second column of X, and only of three-way tables."


class PrivateContingencyTable(PrivateEstimator):
    """A two-way or three-way table of counts, released once: tests, odds ratios, risk ratios.

    Parameters
    ----------
    categories : dict or list, default=None
        Public levels of the columns of X: a dict from a column, by name or number, to its levels,
        or a list with levels for each. None finds those that are frequent enough, for a part of the
        budget.
    classes : list, default=None
        Public labels of y. None finds those that are frequent enough.
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
    counts_ : ndarray of shape (n_levels, n_classes), or (n_levels, n_strata, n_classes)
        Released numbers of rows, with noise: they may be negative. Rows with other labels, or
        without one, are in no cell.
    noise_scale_ : float
        Standard deviation of the noise in each.
    categories_ : list of tuple
        Levels of the columns of X.
    classes_ : ndarray of shape (n_classes,)
        Labels of y.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    private_chi2_contingency, private_proportions_test

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, which is in
    one cell; the number of rows is private. Everything else is computed from the released counts.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import PrivateContingencyTable
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.choice(["drug", "placebo"], size=(4000, 1))
    >>> cured = np.where(rng.random(4000) < np.where(arm[:, 0] == "drug", 0.6, 0.4), "yes", "no")
    >>> table = PrivateContingencyTable(
    ...     categories=[["drug", "placebo"]], classes=["yes", "no"]
    ... ).fit(arm, cured)
    >>> ratio, interval = table.odds_ratio(("drug", "placebo"), ("yes", "no"))
    >>> bool(1.6 < ratio < 3.2), bool(interval.low > 1)
    (True, True)
    """

    _target = "class"
    _mixed = True

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "categories": [dict, list, tuple, None],
        "classes": ["array-like", None],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        categories=None,
        classes=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        labels = Selection("classes", given=self.classes is not None), Selection("levels")
        steps = [step for one in labels for step in one.steps()]
        events = [event for one in labels for event in one.events(budget, 0.5)]
        return Plan(budget, (*steps, CELLS), tuple(events))

    def _read(self, X, y):
        rows = super()._read(X, y)
        levels = rows.about.get("levels")
        if levels is None or any(level is None for level in levels):
            raise ValueError(NUMBERS)
        return rows

    def _check_public(self, n_features):
        if n_features not in (1, 2):
            raise ValueError(COLUMNS)

    def _release(self, table):
        share = LABELS / 2
        labels, table = coded_classes(table, self.classes, share=share)
        coding, table = coded_columns(table, share=share)
        sizes = [len(level) for level in coding.levels]
        axes = [codes_axis(max(size, 1)) for size in (*sizes, len(labels))]
        counts, sd = released_cells(table, axes, CELLS, table.remaining)
        counts = counts[tuple(slice(size) for size in (*sizes, len(labels)))]
        if counts.sum() <= CLEAR * sd * math.sqrt(max(counts.size, 1)):
            table.doubt(FEW)
        elif min(counts.shape) > 1 and any(sparse(one, sd) for one in _strata(counts)):
            table.doubt(SPARSE)
        return {
            "counts_": counts,
            "noise_scale_": sd,
            "categories_": list(coding.levels),
            "classes_": labels,
        }

    def chi2(self, stratum=None):
        """Return the test of independence of the first column and y.

        Parameters
        ----------
        stratum : label, default=None
            Of a three-way table a level of the second column. None: independence in every stratum,
            by the sum of their statistics.

        Returns
        -------
        result : TestResult

        Raises
        ------
        ValueError
            For no level of the second column.
        """
        tables = self._tables(stratum)
        results = [cell_result(one, self.noise_scale_) for one in tables]
        first = results[0]
        if len(results) > 1:
            q, df = (sum(getattr(one, name) for one in results) for name in ("statistic", "df"))
            first = cell_result(sum(tables), self.noise_scale_ * math.sqrt(len(tables)))
            null = "the column and y are independent in every stratum"
            told = all(one.told for one in results)
            p = float(chdtrc(df, q))
            first = replace(first, statistic=q, df=df, pvalue=p, null=null, told=told)
        first = first if first.told else unknown(first)
        return replace(
            first, privacy_report_=self.privacy_report_, accuracy_warnings_=self.accuracy_warnings_
        )

    def cramers_v(self, confidence=0.95, stratum=None):
        """Return Cramer's V and its interval.

        Parameters
        ----------
        confidence : float, default=0.95
        stratum : label, default=None
            Of a three-way table a level of the second column; None adds the strata up.

        Returns
        -------
        value : float
        interval : ConfidenceInterval
            0 to 1 where the noise hides the table.
        """
        table, sd = self._added(stratum)
        value, low, high = cramers_v(table, sd, confidence)
        return value, ConfidenceInterval(low, high)

    def odds_ratio(self, rows, columns, *, confidence=0.95, stratum=None):
        """Return the odds ratio of two levels, and its interval.

        Parameters
        ----------
        rows : pair of labels
            Levels of the first column: those whose odds are compared, in this order.
        columns : pair of labels
            Classes of y: the event, and what it is compared with.
        confidence : float, default=0.95
        stratum : label, default=None
            Of a three-way table a level of the second column; None adds the strata up.

        Returns
        -------
        value : float
        interval : ConfidenceInterval
            For the population; 0 or infinite where the noise hides a count.
        """
        return self._ratio("odds", rows, columns, confidence, stratum)

    def risk_ratio(self, rows, columns, *, confidence=0.95, stratum=None):
        """Return the ratio of the rates of two levels, and its interval.

        Parameters are those of :meth:`odds_ratio`: ``rows``, ``columns``, ``confidence`` and
        ``stratum``.
        """
        return self._ratio("ratio", rows, columns, confidence, stratum)

    def risk_difference(self, rows, columns, *, confidence=0.95, stratum=None):
        """Return the difference of the rates of two levels, and its interval.

        Parameters are those of :meth:`odds_ratio`: ``rows``, ``columns``, ``confidence`` and
        ``stratum``.
        """
        return self._ratio("difference", rows, columns, confidence, stratum)

    def _ratio(self, scale, rows, columns, confidence, stratum):
        table, sd = self._added(stratum)
        i = self._places(rows, self.categories_[0])
        j = self._places(columns, self.classes_.tolist())
        rates = Rates(table[np.ix_(i, j)], sd, scale)
        return rates.value, ConfidenceInterval(*map(float, rates.at(confidence)))

    @staticmethod
    def _places(pair, labels):
        labels = list(labels)
        places = [labels.index(one) for one in pair if one in labels]
        if len(places) != 2 or len(pair) != 2 or places[0] == places[1]:
            raise ValueError(f"{PAIR}. Got {pair!r}; there are {labels}.")
        return places

    def _tables(self, stratum):
        """Return the two-way tables of all strata, or of one."""
        check_is_fitted(self)
        strata = _strata(self.counts_)
        if stratum is None:
            return strata
        known = list(self.categories_[1]) if self.counts_.ndim == 3 else []
        if stratum not in known:
            raise ValueError(STRATUM)
        return [strata[known.index(stratum)]]

    def _added(self, stratum):
        """Return one two-way table, and the noise in its cells."""
        tables = self._tables(stratum)
        return sum(tables), self.noise_scale_ * math.sqrt(len(tables))


def _strata(counts):
    """Return the two-way tables of a released table."""
    return [counts] if counts.ndim == 2 else [counts[:, i] for i in range(counts.shape[1])]
