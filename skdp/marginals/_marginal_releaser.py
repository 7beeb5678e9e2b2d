"""MarginalReleaser, the estimator."""

import math
from dataclasses import replace
from numbers import Integral

import numpy as np

from skdp.accounting import Budget, Plan
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import WeightsMixin
from skdp.marginals._answers import MarginalAnswers
from skdp.marginals._auto import UNNAMED, auto_events, auto_steps, find_levels, without_names
from skdp.marginals._chosen_pairs import SCORES, SINGLES, pairs_are_chosen, release_chosen
from skdp.marginals._domain import ROWS, Domain, is_auto, read_domain, read_workload
from skdp.marginals._frames import SIGNS, MarginalRows, domain_of
from skdp.marginals._levels import AUTO, Codes
from skdp.marginals._postprocess import HOW, require_current, require_way
from skdp.marginals._release import (
    RESIDUALS,
    expected_loss,
    noise_sd,
    release_ranges,
    release_tables,
    replace_one_factor,
    shares_for,
)
from skdp.marginals._residuals import RANGES, Measurement, noise_promise
from skdp.table._groups import FIT, GroupRule
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters

OUTSIDE = "rows with an entry outside its public levels count as absent"
REPLACE_ONE = (
    "replacing one row costs {} times the mu^2 of adding or removing one; what the report says of "
    "it holds with a factor of 4"
)
PROMISE = "with probability 0.95 plain noise puts no count off by more than {:,.0f} rows"
AS_RELEASED = "workload={!r} has no post-processing: leave postprocess and nonnegative out."
NO_TARGET = (
    "target must be None unless workload='rows'. Got {!r}. Set workload='rows', or give the pairs "
    "of this column larger weights."
)
USELESS = (
    "the estimated error of a count is above a tenth of all rows. Use fewer or smaller tables, "
    "merge levels, or use a larger epsilon"
)
TV, LEAST = 0.4, 40.0  # mean size of normal noise, half of it in both directions; persons
BOUGHT_WAYS = ("auto", "none", "james-stein", "projection")
MOST, FEWEST = 64, 4  # levels of a column, where they are bought
USEFUL, CLEAR = 0.1, 3.0  # of all rows; noise sds of the number of rows


class MarginalReleaser(WeightsMixin, MarginalRows, MarginalAnswers, PrivateEstimator):
    """Counts of the rows with all combinations of levels of a few columns, for many such tables.

    All tables of k columns are released at once, also of hundreds of columns: noise on the
    residuals that the tables have in common, in proportions that are optimal for the workload, and
    post-processing that brings them near to what some set of rows could have. Tables agree with
    each other.

    Parameters
    ----------
    k : int, default=2
        Number of columns of a table, if ``workload="all"``.
    domain : dict, "auto" or Domain, default=None
        ``{column name or number: levels}`` for the columns that shall be read; others are not,
        unless ``...`` is among the keys, which stands for all of them. Levels are public: a number
        L of codes 0 to L - 1; a list of strings and numbers, in which None is a level for missing
        entries and ``...`` one for all others; or :class:`Bins` of a numeric column. Or they are
        ``"auto"``: bought from the budget, bins of numbers that hold about equally many rows, and
        those texts that occur often; so ``"auto"`` for a domain is ``{...: "auto"}``. Or it is
        ``domain_`` of an earlier fit, whose levels then cost nothing more. None: all
        columns of X are numbers and have two levels, 1 for entries above zero and 0 for others.
    workload : "all", "ranges", "prefixes", "rows" or list, default="all"
        Tables to release: all of k columns, or a list of them, each a column or a list of columns.
        Or all ranges of levels of every single column, or all that begin with the first level:
        counts of :meth:`count_between`, of columns of up to 1024 levels in their order. Or, for
        rows of :meth:`sample`, single columns and those pairs that are worth their noise, chosen by
        a private score; domains of at most 4096 combinations of levels release all pairs.
    target : str or int, default=None
        Column that synthetic rows shall predict, public, with ``workload="rows"``: its pairs have
        the weight 4, others 1.
    n_bins : int or "auto", default="auto"
        About as many bins has a column of numbers with the levels ``"auto"``. ``"auto"`` depends on
        the released number of rows, the budget and the workload: 3 to 32.
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
    rows_per_group : int or "auto", default=1
        With ``groups``: a person with more rows weighs no more than with so many, public; "auto"
        finds a number privately. Ignored without, and where levels are bought: these fits read
        one row of each group, drawn at random.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    n_rows_ : float
        Estimated number of rows. With ``groups`` all counts are of rows with weights: those of a
        group move a release by one row at most, so that a group whose rows are unlike one another
        may count as several.
    noise_scale_ : float
        Root mean square of the noise of all cells of the workload, before post-processing; with
        ``"ranges"`` and ``"prefixes"`` of these.
    error_bound_ : float
        With probability 0.95 no cell of any table, or range, or prefix, is off by more rows, before
        post-processing.
    risk_ : float
        Estimated root mean squared error of a cell of the workload, after post-processing, as a
        fraction of ``n_rows_``: Stein's estimate of the squared error, zero if negative. Unbiased
        for one ``postprocess``; optimistic for ``"auto"``, the least of several: the error was up
        to 1.6 times it with tables of three columns.
    accuracy_warnings_ : tuple of str
        What to do if ``risk_`` is above a tenth, or if of bought levels nothing shows, or a tenth
        of the rows may lie beyond an end of a column; otherwise empty.
    postprocess_ : str
        What was done to the residuals.
    domain_ : Domain
        Columns and their levels: ``names`` and ``labels``; released, where they were bought.
    workload_ : tuple of ndarray
        Places in ``domain_`` of the columns of the tables, an array for every number of columns;
        with ``"rows"`` those that were chosen. Others have no answer.
    measurement_ : Measurement
        Residuals as released, and their noise.
    residuals_ : ndarray
        Residuals after post-processing.
    singles_ : Measurement or None
        The first release of single columns, where pairs were chosen; ``measurement_`` has a second
        one. ``residuals_`` and rows are made of both, intervals of ``measurement_`` alone.
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
    over i in T``, whatever the row (proof: ``skdp/marginals/_release.py``; user guide "Tables of
    many columns"). The number of rows is one of the residuals and is paid for like the others. A
    row with an entry outside its levels contributes nothing. Everything else is post-processing.
    Not private: parameters that were chosen by looking at the data, levels above all.

    With ``workload="rows"`` there are three releases: single columns for 10 % of the budget; for
    5 % a score of every pair, its distance from independence, of which a row moves each by 1/2;
    and the residuals of the pairs that these chose (proof: ``skdp/marginals/_chosen_pairs.py``).

    Levels ``"auto"`` are released before, for 5 to 33 % of the budget: a number of rows, names of
    texts, states of entries and counts of cells, each of which a row moves by the root of the
    number of columns at most (proof: ``skdp/marginals/_auto.py``; user guide "Synthetic rows"). A
    row without any entry is then absent. Names and types of columns are public.

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

    Levels that nobody has listed, and rows that stand for nobody:

    >>> fit = MarginalReleaser(k=2, domain="auto", n_bins=4).fit(np.random.normal(size=(9000, 3)))
    >>> len(fit.domain_.labels), fit.sample(5).shape
    (3, (5, 3))
    """

    _of_ranges = property(lambda self: isinstance(self.workload, str) and self.workload in RANGES)
    _of_rows = property(lambda self: isinstance(self.workload, str) and self.workload == ROWS)
    _weighs_groups = property(
        lambda self: not (is_auto(self.domain) or self._of_ranges or self._of_rows)
    )
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "k": [Interval(Integral, 1, None, closed="left")],
        "domain": [dict, Domain, StrOptions({AUTO}), None],
        "workload": [StrOptions({"all", ROWS, *RANGES}), list, tuple],
        "target": [str, Integral, None],
        "n_bins": [Interval(Integral, 2, 4096, closed="both"), StrOptions({"auto"})],
        "weights": ["array-like", None],
        "error": [StrOptions({"mean", "worst", "boosting"}, deprecated={"boosting"})],
        "postprocess": [StrOptions({*HOW, "frank-wolfe"}, deprecated={"frank-wolfe"})],
        "nonnegative": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self,
        k=2,
        *,
        domain=None,
        workload="all",
        target=None,
        n_bins="auto",
        weights=None,
        error="mean",
        postprocess="auto",
        nonnegative=False,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        notes = (SIGNS, OUTSIDE) if self.domain is None else (OUTSIDE,)
        steps = (SINGLES, SCORES, RESIDUALS) if self._of_rows else (RESIDUALS,)
        if is_auto(self.domain):
            steps = (*auto_steps(), *steps)
            return Plan(budget, steps, auto_events(budget), assumptions=notes)
        if isinstance(self.domain, dict | Domain):
            tables = self._tables(read_domain(self.domain, None))
            if self._of_rows and not pairs_are_chosen(tables.layout):
                steps = (RESIDUALS,)
            sd = noise_sd(tables.layout, shares_for(tables, self.error))
            factor = (
                4.0 if self._of_ranges or self._of_rows else replace_one_factor(tables.layout, sd)
            )
            notes += (REPLACE_ONE.format(_rounded_up(factor)),)
            if self.error == "worst":
                mu2 = budget.amount * (1 if budget.measure == "gdp" else 2)
                notes += (PROMISE.format(noise_promise(tables, sd / math.sqrt(mu2))),)
        return Plan(budget, steps, assumptions=notes)

    def _check_public(self, n_features):
        self._most_levels(read_domain(self.domain, n_features))

    def _most_levels(self, domain):
        """Return how many levels a column may have whose levels are bought, or raise ValueError.

        As many as the workload admits in any case, so that no release can ask for too much.
        """
        places = domain.unknown
        if places and self.postprocess not in BOUGHT_WAYS:
            raise ValueError(
                f"postprocess={self.postprocess!r} needs levels that are public. With 'auto' ones "
                f"it is one of {list(BOUGHT_WAYS)}."
            )
        fewest = FEWEST if self.n_bins == "auto" else max(self.n_bins + 2, FEWEST)
        most = max(MOST, fewest)
        while True:
            try:
                self._tables(domain.with_kinds(dict.fromkeys(places, Codes(most))))
            except ValueError:
                if not places or most == fewest:
                    raise
                most = max(most // 2, fewest)
            else:
                return most

    def _tables(self, domain):
        """Return the Tables of the workload, or raise ValueError."""
        require_current(self.error, self.postprocess)
        tables = read_workload(self.k, self.workload, self.weights, self.error, domain)
        require_way(Measurement(tables.layout, None, None, None), self.postprocess)
        if self._of_ranges and (self.nonnegative or self.postprocess not in ("auto", "none")):
            raise ValueError(AS_RELEASED.format(self.workload))
        if self.target is not None and not self._of_rows:
            raise ValueError(NO_TARGET.format(self.target))
        if self.target is not None:
            domain.number(self.target)
        return tables

    def _grouped_plan(self):
        """Return the plan of a fit with groups, without what holds for single rows alone."""
        plan = super()._grouped_plan()
        return replace(plan, assumptions=(f"{FIT}: {OUTSIDE}",))

    def _group_rule(self, n_features):
        names = getattr(self, "feature_names_in_", None)
        tables = self._tables(read_domain(self.domain, self.n_features_in_, names))
        sd = noise_sd(tables.layout, shares_for(tables, self.error))
        noise = np.sqrt(expected_loss(tables.layout, tables.loss, sd) / tables.cells)
        n_tables = sum(len(sets) for sets in tables.sets)
        return GroupRule(noise=TV * float(noise) * tables.cells / n_tables, least=LEAST)

    @property
    def _mixed(self):
        return is_auto(self.domain)

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_auto(self.domain)
        return tags

    def _release(self, table):
        domain, entered = domain_of(table, self.domain, self.n_features_in_), False
        if domain.unknown:
            most, sets = self._most_levels(domain), self._tables(domain).sets
            asked = {"n_bins": self.n_bins, "sizes": [len(s) for same in sets for s in same]}
            asked["n_features"] = self.n_features_in_
            domain = domain.with_kinds(find_levels(table, domain, most=most, **asked))
            entered = True
        tables, rows = self._tables(domain), table.map(replace(domain.coded, entered=entered))
        ways = {"how": self.postprocess, "nonnegative": self.nonnegative}
        if self._of_ranges:
            released = release_ranges(rows, tables, self.workload)
        elif self._of_rows and pairs_are_chosen(tables.layout):
            target = None if self.target is None else domain.number(self.target)
            released = release_chosen(rows, tables, target, **ways)
        else:
            released = release_tables(rows, tables, error=self.error, **ways)
        measurement, processed, tables = released.measurement, released.processed, released.tables
        n_rows = float(processed.values[0])
        risk = np.sqrt(max(processed.risk, 0.0) / tables.cells) / max(n_rows, 1.0)
        useful = bool(risk <= USEFUL and n_rows > CLEAR * measurement.sd[0])
        if not useful:
            table.doubt(USELESS)
        unnamed = without_names(domain, tables, processed.values)
        table.doubt(UNNAMED, columns=domain.marked(unnamed, self.n_features_in_))
        return {
            "n_rows_": n_rows,
            "noise_scale_": released.noise,
            "error_bound_": released.bound,
            "risk_": float(risk),
            "postprocess_": processed.chosen,
            "domain_": domain,
            "workload_": tables.sets,
            "table_type_": table.about["table_type"],
            "measurement_": measurement,
            "residuals_": processed.values,
            "singles_": released.singles,
            "joint_": np.empty(0) if processed.joint is None else processed.joint,
        }


def _rounded_up(factor):
    return min(math.ceil(100 * factor) / 100, 4.0)
