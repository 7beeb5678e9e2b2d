"""MarginalReleaser, the estimator."""

import math
from numbers import Integral

import numpy as np
import sklearn
from sklearn.utils.validation import validate_data

from skdp._compat import Interval, StrOptions
from skdp._config import get_config
from skdp._estimator import PrivateEstimator
from skdp._schema import look_at
from skdp.accounting import Budget, Plan, Step
from skdp.chunks._raw import schema_of
from skdp.chunks._sources import source_of
from skdp.marginals._allocation import expected_loss, noise_sd, replace_one_factor, shares_for
from skdp.marginals._answers import MarginalAnswers
from skdp.marginals._domain import read_domain, read_workload
from skdp.marginals._frames import BlockOf, CodedRows, Columns, TableRows, read_columns, table_type
from skdp.marginals._layout import Measurement
from skdp.marginals._measure import measure
from skdp.marginals._noise_scale import noise_promise
from skdp.marginals._postprocess import HOW, postprocess, require_way

__all__ = ["MarginalReleaser"]

OUTSIDE = "rows with an entry outside its public levels count as absent"
REPLACE_ONE = (
    "replacing one row costs {} times the mu^2 of adding or removing one; what the report says of "
    "it holds with a factor of 4"
)
PROMISE = "with probability 0.95 plain noise puts no count off by more than {:,.0f} rows"
PUBLISHED = {
    "boosting": "error='worst' promises a smaller largest error at the same price. Boosting as it "
    "was published is the function skdp.marginals.published.boosted_answers",
    "frank-wolfe": "postprocess='projection' is nearer and faster. Frank-Wolfe as it was published "
    "is the function skdp.marginals.published.published_projection, of measurement_",
}
USELESS = (
    "useless at this number of rows and this budget: the estimated error of a count is above a "
    "tenth of all rows. Ask for fewer or smaller tables, merge levels, or spend more"
)
USEFUL, CLEAR = 0.1, 3.0  # of all rows; noise sds of the number of rows


class MarginalReleaser(MarginalAnswers, PrivateEstimator):
    """Counts of the rows with all combinations of levels of a few columns, for many such tables.

    All tables of k columns are released at once, also of hundreds of columns: noise on the
    residuals that the tables have in common, in proportions that are optimal for the workload, and
    post-processing that brings them near to what some set of rows could have. Tables agree with
    each other.

    Parameters
    ----------
    k : int, default=2
        Number of columns of a table, if ``workload="all"``.
    domain : dict, default=None
        ``{column name or number: levels}`` for the columns that shall be read; others are not.
        Levels are public: a number L of codes 0 to L - 1; a list of strings and numbers, in which
        None is a level for missing entries and ``...`` one for all others; or :class:`Bins` of a
        numeric column. None: all columns of X are numbers and have two levels, 1 for entries above
        zero and 0 for others.
    workload : "all" or list, default="all"
        Tables to release: all of k columns, or a list of them, each a column or a list of columns.
    weights : array-like, default=None
        Positive weights of the squared errors of the tables, one for each; of ``"all"`` in the
        order of ``itertools.combinations``. The weight of a table is that of each of its cells.
    error : {"mean", "worst"}, default="mean"
        What the noise is least for: the mean squared error of all cells, or the largest of all
        tables.
    postprocess : {"auto", "none", "james-stein", "projection", "spectral", "spiked", "exact"}, \
            default="auto"
        What is done to the residuals, for free. ``"auto"`` takes the one of least estimated error,
        and none unless ``error="mean"``.
    nonnegative : bool, default=False
        Make tables nonnegative, at some cost in time.
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome
        by more than a factor e^epsilon, up to ``delta``.
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
        Estimated number of rows.
    noise_scale_ : float
        Root mean square of the noise of all cells of the workload, before post-processing.
    error_bound_ : float
        With probability 0.95 no cell of any table is off by more rows, before post-processing.
    risk_ : float
        Estimated root mean squared error of a cell of the workload, after post-processing, as a
        fraction of ``n_rows_``: Stein's estimate of the squared error, zero if negative. Unbiased
        for one ``postprocess``; optimistic for ``"auto"``, the least of several: the error was up
        to 1.6 times it with tables of three columns.
    advice_ : str
        What to do if ``risk_`` is above a tenth; otherwise empty.
    postprocess_ : str
        What was done to the residuals.
    domain_ : Domain
        Columns and their levels: ``names`` and ``labels``.
    workload_ : tuple of ndarray
        Places in ``domain_`` of the columns of the tables, an array for every number of columns.
    measurement_ : Measurement
        Residuals as released, and their noise.
    residuals_ : ndarray
        Residuals after post-processing.
    joint_ : ndarray with one axis per column of the domain
        Estimated counts of all combinations of levels; empty if post-processing makes none.
    table_type_ : {"numpy", "pandas", "polars"}
        What X was.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateHistogram : Counts on one grid, with less noise if it has few cells.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row. There is one
    release, of the residuals of all sets of columns: with noise of standard deviation sigma_T in
    the residual of T it costs ``mu^2 = sum_T c_T / sigma_T^2`` with ``c_T = product of 1 - 1 / L_i
    over i in T``, whatever the row (proof: ``skdp/marginals/_measure.py``; user guide "Tables of
    many columns"). The number of rows is one of the residuals and is paid for like the others. A
    row with an entry outside its levels contributes nothing. Everything else is post-processing.
    Not private: parameters that were chosen by looking at the data, levels above all.

    References
    ----------
    .. [1] Dwork, Nikolov, Talwar. "Using convex relaxations for efficiently and privately
       releasing marginals". SoCG 2014.
    .. [2] Xiao, He, Zhang, Kifer. "An optimal and scalable matrix mechanism for noisy marginals
       under convex loss functions". NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import MarginalReleaser
    >>> X = np.random.default_rng(0).integers(2, size=(10000, 20))
    >>> fit = MarginalReleaser(k=2).fit(X)
    >>> fit.marginal([3, 7]).shape, bool(fit.risk_ < 0.01)
    ((2, 2), True)
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "k": [Interval(Integral, 1, None, closed="left")],
        "domain": [dict, None],
        "workload": [StrOptions({"all"}), list, tuple],
        "weights": ["array-like", None],
        "error": [StrOptions({"mean", "worst", "boosting"}, deprecated={"boosting"})],
        "postprocess": [StrOptions({*HOW, "frank-wolfe"}, deprecated={"frank-wolfe"})],
        "nonnegative": ["boolean"],
    }

    def __init__(
        self,
        k=2,
        *,
        domain=None,
        workload="all",
        weights=None,
        error="mean",
        postprocess="auto",
        nonnegative=False,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        random_state=None,
        ledger=None,
    ):
        self.k = k
        self.domain = domain
        self.workload = workload
        self.weights = weights
        self.error = error
        self.postprocess = postprocess
        self.nonnegative = nonnegative
        self.epsilon = epsilon
        self.delta = delta
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        notes, budget = (OUTSIDE,), self._budget(Budget.gaussian)
        if isinstance(self.domain, dict):
            tables = self._tables(read_domain(self.domain, None))
            sd = noise_sd(tables.layout, shares_for(tables, self.error))
            notes += (REPLACE_ONE.format(_rounded_up(replace_one_factor(tables.layout, sd))),)
            if self.error == "worst":
                mu2 = budget.amount * (1 if budget.unit == "gdp" else 2)
                notes += (PROMISE.format(noise_promise(tables, sd / math.sqrt(mu2))),)
        return Plan(budget, (Step("residuals"),), assumptions=notes)

    def _read(self, X, y):
        if not isinstance(self.domain, dict):
            rows = super()._read(X, y)
            domain = read_domain(None, rows.n_features, getattr(self, "feature_names_in_", None))
            return CodedRows(rows, domain, table_type(X))
        table = source_of(X)
        if table is None:
            table = TableRows(read_columns(X))
        columns = Columns(table.head())
        validate_data(self, columns.table, skip_check_array=True)
        names = getattr(self, "feature_names_in_", None)
        domain = read_domain(self.domain, self.n_features_in_, names)
        columns.require_types(domain)
        self._tables(domain)
        table = table.decoded_by(BlockOf(tuple(domain.columns), schema_of(columns.table)))
        rows = CodedRows(table, domain, table_type(columns.table))
        look_at(table, entries=False)
        if get_config()["invalid_rows"] == "error" and not sklearn.get_config()["assume_finite"]:
            _require_levels(rows)
        return rows

    def _check_public(self, n_features):
        self._tables(read_domain(self.domain, n_features))

    def _tables(self, domain):
        """Return the Tables of the workload, or raise ValueError."""
        for value in (self.error, self.postprocess):
            if value in PUBLISHED:
                raise ValueError(f"{value!r} is no longer a parameter: {PUBLISHED[value]}.")
        tables = read_workload(self.k, self.workload, self.weights, self.error, domain)
        require_way(Measurement(tables.layout, None, None, None), self.postprocess)
        return tables

    def _release(self, rows, curator):
        tables = self._tables(rows.domain)
        shares = shares_for(tables, self.error)
        measurement = measure(rows, tables.layout, tables.loss, curator, share=1, shares=shares)
        noise = expected_loss(tables.layout, tables.loss, measurement.sd)
        # what makes errors small on average may make the worst one larger
        how = "none" if (self.error, self.postprocess) == ("worst", "auto") else self.postprocess
        processed = postprocess(measurement, how, nonnegative=self.nonnegative)
        n_rows = float(processed.values[0])
        risk = np.sqrt(max(processed.risk, 0.0) / tables.cells) / max(n_rows, 1.0)
        useful = bool(risk <= USEFUL and n_rows > CLEAR * measurement.sd[0])
        if not useful:
            curator.doubt(USELESS)
        return {
            "n_rows_": n_rows,
            "noise_scale_": float(np.sqrt(noise / tables.cells)),
            "error_bound_": noise_promise(tables, measurement.sd),
            "risk_": float(risk),
            "advice_": "" if useful else USELESS,
            "postprocess_": processed.chosen,
            "domain_": rows.domain,
            "workload_": tables.sets,
            "table_type_": rows.table_type,
            "measurement_": measurement,
            "residuals_": processed.values,
            "joint_": np.empty(0) if processed.joint is None else processed.joint,
        }


def _rounded_up(factor):
    return min(math.ceil(100 * factor) / 100, 4.0)


def _require_levels(rows):
    """Raise ValueError if there is no row, or one with an entry outside its levels."""
    if not len(rows):
        raise ValueError("X has no rows, and at least one is needed.")
    outside = rows.outside()
    if outside:
        raise ValueError(
            f"X has entries outside the public levels of the columns {outside[:10]}. Add the level "
            "None for missing entries and ... for all others (of Bins: missing=True, and infinite "
            'edges), or leave such rows out with skdp.config_context(invalid_rows="ignore").'
        )
