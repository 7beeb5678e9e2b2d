"""PrivateSimpleImputer, the transformer."""

import numpy as np

from skdp.preprocessing._encoders import SummaryStep
from skdp.rowwise._form import Form
from skdp.summary._columns import NUMBER
from skdp.table._batched import transforms_tables
from skdp.utils._compat import StrOptions
from skdp.utils._numbers import stores_parameters

DATES = (
    "PrivateSimpleImputer fills numbers, text and truth values. Got columns of dates or "
    "durations: {which}. Leave them out, or fill in a public date by a RowMap."
)


@transforms_tables
class PrivateSimpleImputer(SummaryStep):
    """Fill in missing entries by medians, means or frequent texts that were released with noise.

    A private :class:`sklearn.impute.SimpleImputer`. As the first step of a pipeline it keeps rows
    with gaps, which count as absent otherwise.

    Parameters
    ----------
    strategy : {"median", "mean"}, default="median"
        For columns of numbers. Gaps of text and truth values get the most frequent entry.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1).
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features_in_,)
        What is filled in. Where nothing stands clear of the noise it is 0, or None, and a warning
        of low accuracy says so.
    columns_ : tuple
        The release, as of :class:`skdp.PrivateSummary`; ``results()`` has its numbers.
    n_rows_ : float
        Released number of rows.
    noise_scale_ : float
        Standard deviation of the noise in it.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateSummary : All that is released of the columns.

    Notes
    -----
    **Privacy**: that of :class:`skdp.PrivateSummary`, for adding or removing one row, with
    ``groups`` one person. Infinite numbers count as gaps. Not private: what ``transform`` returns
    for the training rows.

    What is estimated afterwards is about the filled table: its variance is too small, and
    intervals of later steps do not know of gaps. Statistics of columns do better without it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateSimpleImputer
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(4000, 1))
    >>> X[::10] = np.nan
    >>> filled = PrivateSimpleImputer().fit_transform(X)
    >>> bool(abs(filled[0, 0] - 5) < 0.5), bool(np.isnan(filled).any())
    (True, False)
    """

    _parameter_constraints: dict = {
        **SummaryStep._parameter_constraints,
        "strategy": [StrOptions({"median", "mean"})],
    }

    @stores_parameters
    def __init__(
        self,
        strategy="median",
        *,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        random_state=None,
        ledger=None,
    ): ...

    def _read(self, X, y):
        rows = super()._read(X, y)
        which = self._named_as([calendar is not None for calendar in rows.about["calendars"]])
        if which:
            raise ValueError(DATES.format(which=which))
        return rows

    def _release(self, table):
        fitted = super()._release(table)
        n, sd = fitted["n_rows_"], fitted["noise_scale_"]
        found = np.empty(len(fitted["columns_"]), dtype=object)
        for j, column in enumerate(fitted["columns_"]):
            found[j] = _filling(column, n, sd, self.strategy)
        numbers = all(column.kind == NUMBER for column in fitted["columns_"])
        return fitted | {"statistics_": found.astype(np.float64) if numbers else found}

    def transform(self, X):
        """Return the rows with gaps filled in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        filled : ndarray or DataFrame of shape (n_samples, n_features)
            Of numbers alone an array of float64, else a table like X. A local view of the rows: as
            private as X itself.
        """
        columns = self._table(X)
        filled = [_filled(columns.read(j), fill) for j, fill in enumerate(self.statistics_)]
        if all(column.kind == NUMBER for column in self.columns_):
            return np.column_stack([np.empty((len(columns), 0)), *filled])
        table = np.empty((len(columns), len(filled)), dtype=object)
        for j, column in enumerate(filled):
            table[:, j] = column
        if columns.library not in ("pandas", "polars"):
            return table
        types = tuple(np.dtype(float if c.kind == NUMBER else object) for c in self.columns_)
        frame, given = columns.table, tuple(columns.table.dtypes)
        return Form(types, tuple(frame.columns), type(frame), given).table(table, frame)

    def _names_out(self, input_features):
        return np.array(self._names_in(input_features), dtype=object)


def _filling(column, n, sd, strategy):
    """Return what fills the gaps of a column, from what was released of it."""
    if column.kind != NUMBER:
        clear = len(column.labels) and np.max(column.counts) > 0
        return column.labels[int(np.argmax(column.counts))] if clear else None
    statistic = "mean" if strategy == "mean" else "50%"
    lines = column.lines(n, sd, 0.95, False)
    value = next((line.value for line in lines if line.statistic == statistic), np.nan)
    return float(value) if np.isfinite(value) else 0.0


def _filled(column, fill):
    if column.dtype != object:
        fill = np.nan if fill is None else float(fill)
        return np.where(np.isfinite(column), column, fill)
    entries = [fill if x is None or x != x else x for x in column.tolist()]
    filled = np.empty(len(entries), dtype=object)
    filled[:] = entries
    return filled
