"""Encoders of text whose levels are found privately, by one release for all columns."""

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from skdp.contracts import Contract, Rows
from skdp.readers._columns import read_columns
from skdp.readers._labels import Known
from skdp.summary._columns import NUMBER
from skdp.summary._private_summary import PrivateSummary
from skdp.table._batched import NamesOutMixin, transforms_tables
from skdp.utils._numbers import stores_parameters

QUARTILES = np.array([0.25, 0.5, 0.75])
NUMBERS = (
    "levels are those of columns of text, categories and truth values. Got numbers: {which}. "
    "Cut them into bins by PrivateKBinsDiscretizer, or convert codes to text by astype(str)."
)
NO_LEVEL = (
    "no text of these columns stands clear of the noise, so all entries are unknown. Use a larger "
    "epsilon, more rows or fewer columns"
)


class SummaryStep(NamesOutMixin, TransformerMixin, PrivateSummary):
    """A row-wise map of columns by what a summary of them has released.

    **Privacy**: the release is that of :class:`PrivateSummary`; what ``transform`` makes of a row
    is a function of that row and of released values.
    """

    _parameter_constraints: dict = {
        name: allowed
        for name, allowed in PrivateSummary._parameter_constraints.items()
        if name not in ("quantiles", "by", "levels")
    }
    by = None

    def _q(self):
        return QUARTILES

    def _table(self, X):
        """Return the Columns of rows that a fitted step shall map."""
        check_is_fitted(self)
        if getattr(X, "ndim", 2) != 2:
            validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        columns = read_columns(X)
        validate_data(self, columns.table, reset=False, skip_check_array=True)
        return columns

    def _names_in(self, input_features):
        return [str(name) for name in _check_feature_names_in(self, input_features)]

    def _named_as(self, wrong):
        """Return the names of some columns, as a text: public, by their types."""
        names = self._names_in(None)
        return ", ".join([name for name, bad in zip(names, wrong, strict=True) if bad][:10])

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, by a row-wise map that was released."""
        return Contract((Rows,), yields=lambda kind: Rows(), spends=True, weight=0.25)


class _Encoder(SummaryStep):
    """Base of encoders of labels."""

    @stores_parameters
    def __init__(self, *, epsilon=1.0, delta=1e-6, n_jobs=None, random_state=None, ledger=None): ...

    def _read(self, X, y):
        rows = super()._read(X, y)
        which = self._named_as([kind == NUMBER for kind in rows.about["kinds"]])
        if which:
            raise ValueError(NUMBERS.format(which=which))
        return rows

    def _release(self, table):
        fitted = super()._release(table)
        table.doubt(NO_LEVEL, columns=np.array([not one.labels for one in fitted["columns_"]]))
        return fitted

    @property
    def categories_(self):
        """The levels of each column, a list of arrays: those that stand clear of the noise."""
        return [np.array(column.labels, dtype=object) for column in self.columns_]

    def _codes(self, X):
        """Return the number of the level of every entry, -1 for others and none: floats."""
        columns = self._table(X)
        codes = [
            Known(column.labels, -1.0, -1.0)(columns.read(j))
            for j, column in enumerate(self.columns_)
        ]
        return np.column_stack([np.empty((len(columns), 0)), *codes])


@transforms_tables
class PrivateOneHotEncoder(_Encoder):
    """Encode levels of text as columns of 0 and 1; the levels are found privately.

    A private :class:`sklearn.preprocessing.OneHotEncoder` with ``handle_unknown="ignore"``. Use
    that of scikit-learn, with ``categories=``, if the levels are public: it costs nothing.

    Parameters
    ----------
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
    categories_ : list of ndarray
        The levels of each column, sorted: those of about 5 % of the rows and more, and rarer ones
        as far as the noise allows.
    columns_ : tuple
        The released counts, as of :class:`skdp.PrivateSummary`; ``results()`` has their shares.
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
    PrivateOrdinalEncoder, PrivateSummary

    Notes
    -----
    **Privacy**: that of :class:`skdp.PrivateSummary`, for adding or removing one row, with
    ``groups`` one person. Entries that are no level, and missing ones, are 0 in all columns.
    Where no level is found, there is one column of zeros, so that a later step has rows to read.
    Not private: what ``transform`` returns for the training rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skdp import PrivateOneHotEncoder
    >>> wards = np.random.default_rng(0).choice(["north", "south"], size=3000)
    >>> encoder = PrivateOneHotEncoder().fit(pd.DataFrame({"ward": wards}))
    >>> encoder.transform(pd.DataFrame({"ward": ["south", "mars"]})).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    >>> encoder.get_feature_names_out().tolist()
    ['ward_north', 'ward_south']
    """

    def transform(self, X):
        """Return the columns of 0 and 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_levels)
            A local view of the rows: as private as X itself.
        """
        codes = self._codes(X)
        parts = [
            codes[:, j, None] == np.arange(len(column.labels))
            for j, column in enumerate(self.columns_)
        ]
        if not any(part.shape[1] for part in parts):
            return np.zeros((len(codes), 1))
        return np.concatenate(parts, axis=1).astype(np.float64)

    def _names_out(self, input_features):
        pairs = zip(self._names_in(input_features), self.columns_, strict=True)
        names = [f"{name}_{x}" for name, column in pairs for x in column.labels]
        return np.array(names or ["no_level"], dtype=object)


@transforms_tables
class PrivateOrdinalEncoder(_Encoder):
    """Encode levels of text as whole numbers; the levels are found privately.

    A private :class:`sklearn.preprocessing.OrdinalEncoder`: levels of a column are 0, 1, ... in
    their order. Entries that are no level, and missing ones, are -1.

    Parameters
    ----------
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
    categories_ : list of ndarray
        The levels of each column, sorted: those of about 5 % of the rows and more, and rarer ones
        as far as the noise allows.
    columns_ : tuple
        The released counts, as of :class:`skdp.PrivateSummary`; ``results()`` has their shares.
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
    PrivateOneHotEncoder, PrivateSummary

    Notes
    -----
    **Privacy**: that of :class:`skdp.PrivateSummary`, for adding or removing one row, with
    ``groups`` one person. Not private: what ``transform`` returns for the training rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skdp import PrivateOrdinalEncoder
    >>> wards = np.random.default_rng(0).choice(["north", "south"], size=3000)
    >>> encoder = PrivateOrdinalEncoder().fit(pd.DataFrame({"ward": wards}))
    >>> encoder.transform(pd.DataFrame({"ward": ["south", "mars"]})).tolist()
    [[1.0], [-1.0]]
    >>> encoder.inverse_transform([[1.0], [-1.0]]).tolist()
    [['south'], [None]]
    """

    def transform(self, X):
        """Return the numbers of the levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.
        """
        return self._codes(X)

    def inverse_transform(self, X):
        """Return the levels that have these numbers, None for others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of object of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        codes = np.asarray(X, dtype=np.float64)
        labels = np.full(codes.shape, None, dtype=object)
        for j, column in enumerate(self.columns_):
            for code, label in enumerate(column.labels):
                labels[codes[:, j] == code, j] = label
        return labels

    def _names_out(self, input_features):
        return np.array(self._names_in(input_features), dtype=object)
