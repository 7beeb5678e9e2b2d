"""PrivateSummary: what a table holds, column by column."""

from dataclasses import astuple, replace
from html import escape
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Budget, Plan
from skdp.by_group._private_group_by import SplitMixin
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._results import long_format
from skdp.kernel._table import Table
from skdp.marginals._frames import column_types, text_names
from skdp.readers._calendar import Calendar
from skdp.readers._columns import BlockEncoder, ColumnRows, Columns, TableRows, read_columns
from skdp.readers._labels import has_entries
from skdp.readers._raw import schema_of
from skdp.readers._sources import source_of
from skdp.scales._column_noise import level_of_each
from skdp.summary._columns import JUDGED, TEXT, cell_of, frame_of, html_of, joined_frames, text_of
from skdp.summary._release import release_columns, summary_events, summary_steps
from skdp.table._schema import NO_ROWS, look_at, typed_rows
from skdp.utils._compat import Interval
from skdp.utils._config import get_config
from skdp.utils._numbers import stores_parameters

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
CLEAR = 4.0  # noises: a number of rows that is clear of them
TITLES = "variable", "kind", "statistic", "label", "value", "low", "high", "n", "reliable", "reason"
FEW = (
    "so few rows that hardly anything stands clear of the noise. Use a larger epsilon, more rows, "
    "or fewer columns"
)
UNKNOWN = (
    "nothing in these columns stands clear of the noise. Use a larger epsilon, more rows, or fewer "
    "columns"
)
KINDS = (
    "X must have columns of numbers, text, categories, truth values, dates or durations. Got "
    "columns of another type: {}. Convert them first: X[name] = X[name].astype(str)."
)


class PrivateSummary(SplitMixin, PrivateEstimator):
    """The private ``df.describe(include="all")``: what every column of a table holds.

    One release for all columns: of numbers, dates and durations the number of entries, gaps, mean,
    standard deviation and quantiles; of text and categories the frequent ones with their shares; of
    truth values the rate; all with intervals. What is not told reliably is NaN, with a reason.

    Parameters
    ----------
    quantiles : list of float, default=(0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
        In (0, 1). Fewer of them have a little less noise.
    by : str, int or list of one or two, default=None
        Columns that tell the group of a row, by name or number: a summary of each group, all of
        them for the price of one, by :class:`skdp.PrivateGroupBy`.
    levels : list, default=None
        With ``by``: public groups, of two columns pairs; None finds them for a tenth of the budget.
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome by
        more than a factor e^epsilon, up to ``delta``.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    n_rows_ : float
        Released number of rows that have an entry; with ``groups`` of persons.
    noise_scale_ : float
        Standard deviation of the noise in it.
    columns_ : tuple
        What was released of every column, in their order: dataclasses of counts, ranks and moments.
    group_by_ : PrivateGroupBy
        With ``by``, in place of the attributes above: ``group_by_.estimators_[level]`` is the
        summary of a group.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateQuantile : Quantiles alone, with less noise.
    MarginalReleaser : Counts of cells of several columns together.
    PrivateGroupBy : Any estimator for each level of a column, for the price of one.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, with
    ``groups`` one person, of whom one row is read, drawn at random. A row moves one number of rows,
    one label of each column of text, one state of each such column, and one cell of each column of
    numbers, by 1 each, and of a few columns bounded moments (proofs:
    :mod:`skdp.kernel._labels`, :mod:`skdp.kernel._columns`, :class:`skdp.kernel._bounded.Powers`).
    Names and types of columns are public; a gap is a gap of its own column. Infinite numbers count
    as gaps.

    Columns share the budget: with k columns of a kind the noise in each of their numbers grows with
    sqrt(k). Shares of names and states depend on the released number of rows.

    Means and deviations of a few columns are those of entries clipped to ends that are found, far
    beside the outermost quantiles; they are unreliable if entries show beyond. Of many columns they
    follow from the released ranks; entries that do not show are taken to be within four ranges of
    the others, and a mean is not told if more than 15 % may not show. Not private: ``quantiles``,
    and names and types of columns.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skdp import PrivateSummary
    >>> rng = np.random.default_rng(0)
    >>> visits = pd.DataFrame({
    ...     "age": rng.normal(40, 10, size=5000),
    ...     "ward": rng.choice(["north", "south"], size=5000),
    ... })
    >>> summary = PrivateSummary().fit(visits)
    >>> frame = summary.to_frame()
    >>> bool(abs(frame.loc["mean", "age"] - 40) < 2), frame.loc["kind", "ward"]
    (True, 'text')
    """

    _mixed = True
    _parameter_constraints: dict = {
        **{k: v for k, v in PrivateEstimator._row_constraints.items() if k != "rows_per_group"},
        "quantiles": ["array-like"],
        **SplitMixin._by_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    @stores_parameters
    def __init__(
        self,
        quantiles=QUANTILES,
        *,
        by=None,
        levels=None,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        self._q()
        if self.by is not None:
            return self._split().plan()
        budget = self._budget(Budget.gaussian)
        return Plan(budget, summary_steps(budget), summary_events(budget))

    def fit(self, X, y=None, *, groups=None):
        """Release the summary of private rows, or with ``by`` one of each group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A frame, an array, or what is read in pieces.
        y : Ignored
            Present for API consistency by convention.
        groups : array-like of shape (n_samples,) or str, default=None
            Whose row each row is. With it one person, with all rows, is protected.

        Returns
        -------
        self : object
        """
        if self.by is not None and not isinstance(X, Table):
            vars(self).update(group_by_=self._fit_split(X, None, groups))
            return self
        super().fit(X, y, groups=groups)
        vars(self).pop("group_by_", None)
        return self

    def _grouped_plan(self):
        return super()._grouped_plan() if self.by is None else self._split()._grouped_plan()

    def _q(self):
        try:
            q = np.unique(np.asarray(self.quantiles, dtype=np.float64))
        except (TypeError, ValueError):
            q = np.empty(0)
        if q.ndim != 1 or not q.size or not ((q > 0) & (q < 1)).all():
            raise ValueError(
                "quantiles must be numbers between 0 and 1, at least one: [0.25, 0.5, 0.75]."
            )
        return q

    def _read(self, X, y):
        table = source_of(X)
        if table is None:
            table = TableRows(read_columns(typed_rows(self, X)))
        columns = Columns(table.head())
        validate_data(self, columns.table, skip_check_array=True)
        schema = schema_of(columns.table)
        names, every = text_names(schema), tuple(range(self.n_features_in_))
        types = column_types(columns.table, every)
        wrong = [str(names[j] if names else j) for j in every if types[j].kind is None]
        if wrong:
            raise ValueError(KINDS.format(", ".join(wrong[:10])))
        table = table.decoded_by(BlockEncoder(every, schema))
        about = {
            "kinds": tuple(one.kind for one in types),
            "calendars": tuple(None if one is None else astuple(one) for one in schema.calendars),
        }
        rows = ColumnRows(table, len(every), kind="text", present=has_entries, about=about)
        look_at(table, entries=False)
        if get_config()["invalid_rows"] == "error" and not len(table):
            raise ValueError(NO_ROWS)
        return rows

    def _release(self, table):
        kinds, failure = table.about["kinds"], self._budget(Budget.gaussian).failure
        n, sd, columns = release_columns(table, kinds, self._q(), float(failure))
        columns = tuple(
            replace(one, calendar=Calendar(*own)) if own is not None else one
            for one, own in zip(columns, table.about["calendars"], strict=True)
        )
        if n < CLEAR * sd:
            table.doubt(FEW)
        unknown = np.array(
            [one.kind != TEXT and not getattr(one, "found", True) for one in columns]
        )
        table.doubt(UNKNOWN, columns=unknown)
        return {"n_rows_": n, "noise_scale_": sd, "columns_": columns}

    def _named(self):
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return list(zip(map(str, names), self.columns_, strict=True))

    def _lines_of_columns(self, confidence, sampling):
        level_of_each(confidence, 1)
        return [
            one.lines(self.n_rows_, self.noise_scale_, confidence, sampling)
            for one in self.columns_
        ]

    def _lines(self, confidence, parameters):
        """Return the dicts of :meth:`results`; see :func:`skdp.estimator._results.lines_of`."""
        lines = self._lines_of_columns(confidence, **{"sampling": False, **parameters})
        told = []
        for (name, column), own in zip(self._named(), lines, strict=True):
            n = own[0].value
            for one in own:
                ends = (one.known().value, one.low, one.high)
                value, low, high = (cell_of(one, end, column.calendar) for end in ends)
                head = {"variable": name, "kind": column.kind, "statistic": one.statistic}
                cells = {"label": one.label, "value": value, "low": low, "high": high, "n": n}
                told.append({**head, **cells, "reliable": one.reliable, "reason": one.reason})
        return told

    def results(self, confidence=0.95, *, sampling=False, rounded=False):
        """Return all released numbers as one table, with intervals and what is reliable.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        sampling : bool, default=False
            Whether intervals are for the population that the rows were drawn from.
        rounded : bool, default=False
            Whether to show the digits alone that noise leaves: two of half an interval.

        Returns
        -------
        frame : DataFrame
            One row for each number: ``variable``, ``kind``, ``statistic`` ("entries", "gaps", the
            part of rows without an entry, "mean", "std", quantiles as "25%", "share" and "rate"),
            ``label``, the text of a share, ``value``, ``low``, ``high``, ``n``, the released number
            of entries, ``reliable`` and ``reason``, why not. A ``value`` that is not reliable is
            NaN. Of dates and durations they are dates and durations. A dict of arrays where pandas
            is not installed. With ``by`` there is a column ``group`` before.
        """
        check_is_fitted(self)
        if self.by is not None:
            lines = (
                {"group": level, **line}
                for level, one in self.group_by_.estimators_.items()
                for line in one._lines(confidence, {"sampling": sampling})
            )
            return long_format(list(lines), ("group", *TITLES), rounded=rounded)
        lines = self._lines(confidence, {"sampling": sampling})
        return long_format(lines, TITLES, rounded=rounded)

    def to_frame(self):
        """Return a frame like that of ``describe``: a column for each column of X.

        Returns
        -------
        frame : DataFrame
            Rows are ``kind``, ``entries``, ``gaps``, ``mean`` (of truth values the rate of true
            ones), ``std``, the quantiles, ``top``, the most frequent text or truth value, and
            ``share``, its part of the entries. NaN for what is not told reliably; ``results()``
            says why. With ``by`` the rows of each group stand together under its level.
        """
        check_is_fitted(self)
        if self.by is not None:
            return joined_frames({k: x.to_frame() for k, x in self.group_by_.estimators_.items()})
        return frame_of(self._named(), self._lines_of_columns(JUDGED, False))

    def summary(self):
        """Return a text: a line for each column, with a small histogram.

        Returns
        -------
        text : str
            A question mark stands for what is not told reliably.
        """
        check_is_fitted(self)
        if self.by is not None:
            parts = [f"{title}\n{one.summary()}" for title, one in self._by_title()]
            return "\n\n".join([self._title(), *parts])
        return text_of(*self._shown())

    def _repr_html_(self):
        if hasattr(self, "group_by_"):
            parts = (f"<h4>{escape(title)}</h4>{x._repr_html_()}" for title, x in self._by_title())
            return "".join([f"<p>{escape(self._title())}</p>", *parts])
        if not hasattr(self, "columns_"):
            return super()._repr_html_()
        return html_of(*self._shown())

    def _by_title(self):
        """Return pairs of what tells a group, as a text, and its summary."""
        names = self.group_by_._key_names()
        for level, one in self.group_by_.estimators_.items():
            keys = level if len(names) == 2 else (level,)
            pairs = zip(names, keys, strict=True)
            yield ", ".join(f"{name} = {key}" for name, key in pairs), one

    def _title(self):
        budget = self.privacy_report_.budget
        cost = f"private with epsilon={float(budget.epsilon):g}, delta={float(budget.delta):g}"
        if self.by is not None:
            names = " and ".join(self.group_by_._key_names())
            return f"{len(self.group_by_.levels_)} groups by {names}, {cost}"
        return f"{self.n_rows_:,.0f} rows, {self.n_features_in_} columns, {cost}"

    def _shown(self):
        lines = self._lines_of_columns(JUDGED, False)
        return self._title(), self._named(), lines, self.n_rows_, self.noise_scale_

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn: gaps are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
