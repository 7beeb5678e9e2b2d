"""The log-rank test, private, and valid whatever the censoring."""

from dataclasses import replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel.applied._scores import ScoreCells
from skdp.stats._logrank_laws import Residuals
from skdp.stats._result import FEW, TestResult, Whole, p_value
from skdp.stats._survival_input import COUNTS, NOT_FOUND, OfTimes, release_counts
from skdp.stats._tests import DROWNED, MOSTLY_NOISE, POWER, unknown
from skdp.utils._compat import StrOptions
from skdp.utils._numbers import stores_parameters

FIRST = 0.3  # of what is left, for events by group
BINS = 32
RESIDUALS = Step("residuals", of=(ScoreCells,))
NULL = "all groups have the same hazard at all times"
GROUPS = (
    "a log-rank test compares groups, of one side two of them. Pass levels=[...] with two labels "
    'at least, with alternative="two-sided" if they are more.'
)
NOT_FITTING = (
    "no conclusion: the rows show no two groups, or more for a test of one side. Pass levels=[...] "
    "if they are public"
)


class LogRankTest(OfTimes):
    """The estimator behind :func:`private_logrank_test`."""

    __test__ = False
    _steps = (COUNTS, RESIDUALS)

    _parameter_constraints: dict = {
        **OfTimes._parameter_constraints,
        "alternative": [StrOptions({"two-sided", "less", "greater"})],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        horizon=None,
        bins=None,
        levels=None,
        alternative="two-sided",
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def _check_public(self, n_features):
        super()._check_public(n_features)
        if n_features != 2 or (self.levels is not None and not self._fits(len(self.levels))):
            raise ValueError(GROUPS)

    def _fits(self, n_groups):
        return n_groups == 2 or (n_groups > 2 and self.alternative == "two-sided")

    def _release(self, table):
        labels, parts, table = self._grouped(table)
        k = len(labels)
        if not self._fits(k):
            table.doubt(NOT_FITTING)
            return {"result_": _nothing(2)}
        edges = self._edges(table, 1, BINS)
        if edges is None:
            table.doubt(NOT_FOUND)
            return {"result_": _nothing(k)}
        counts = release_counts(parts, k, edges, 2, COUNTS, table.remaining * FIRST)
        residuals = Residuals(counts)
        if not residuals.compared.any():
            table.doubt(FEW)
            return {"result_": _nothing(k)}
        asked = dict.fromkeys(range(k), residuals.question(2))
        told = parts.ask(asked, share=table.remaining, label=RESIDUALS.label)
        y = np.array([told[g].real for g in range(k)])
        law = residuals.test(*residuals.scaled(y, float(told[0].sd)))
        result = (self._of_two if k == 2 else _of_more)(law, counts)
        if not result.told:
            table.doubt(FEW)
            result = unknown(result)
        elif result.noise_share > DROWNED:
            table.doubt(MOSTLY_NOISE)
        return {"result_": result}

    def _of_two(self, ratio, counts):
        sampling = ratio.variance() - ratio.noise
        effect = float(np.exp(min(POWER * np.sqrt(ratio.variance()) / sampling, 700.0)))
        return TestResult(
            ratio.z,
            p_value(ratio.z, self.alternative),
            np.inf,
            ratio.value,
            detectable=effect,
            interval=ratio,
            **_public(counts.n_rows, ratio.noise_share, ratio.told, 2),
        )


def _of_more(law, counts):
    public = _public(counts.n_rows, law.noise_share, law.told, len(law.d))
    return TestResult(law.q, law.pvalue, law.df, law.value, **public)


def _public(n_rows, noise_share, told, k):
    ratio = {"effect_name": "hazard ratio", "interval_name": "hazard ratio"}
    effect = ratio if k == 2 else {"effect_name": "epsilon squared, by events"}
    about = {"n_rows": n_rows, "noise_share": noise_share, "told": told}
    return effect | about | {"null": NULL}


def _nothing(k):
    """Return the result of rows that tell nothing."""
    public = _public(np.full(k, np.nan), 1.0, False, k)
    interval = Whole(0.0, np.inf) if k == 2 else Whole()
    return TestResult(np.nan, 1.0, np.inf, np.nan, interval=interval, **public)


def private_logrank_test(
    durations,
    event_observed=None,
    by=None,
    *,
    levels=None,
    alternative="two-sided",
    horizon=None,
    bins=None,
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Compare how long groups stay without an event: a private log-rank test.

    Parameters
    ----------
    durations : array-like of shape (n,) or (n, 2)
        Times, >= 0, to the event or to the last observation; or a table with the groups as its
        second column.
    event_observed : array-like of shape (n,) or str, default=None
        1 or True for an event, 0 or False for a row that left before; or the name of a column of
        durations. If every row has had it, pass ones.
    by : array-like of shape (n,), default=None
        The group of every row, if it is no column of durations.
    levels : sequence of labels, default=None
        Public: the groups, of two in the order in which their hazards are compared; rows of others
        are left out. None finds them, for 5 % of the budget.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the first of two groups has the larger hazard.
    horizon : float, default=None
        Public, > 0: the last time that counts, in the unit of the durations. None finds one, for 15
        % of the budget.
    bins : int or array-like, default=None
        Number of bins of time, or public times at their ends. None: 32, less for few rows.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    groups : array-like of shape (n,), default=None
        Privacy IDs: one row of each person, drawn at random, is read.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all tests share. The whole plan is charged before the rows are read.

    Returns
    -------
    result : TestResult
        Of two groups ``effect_size`` and ``confidence_interval()`` are the hazard ratio of the
        first to the second, by the likelihood of Cox. Of k > 2 groups the statistic is chi-squared
        with k - 1 degrees of freedom, and ``effect_size`` what it has beyond these, by events.

    Raises
    ------
    ValueError
        For arrays and parameters that do not fit, before anything is charged.
    BudgetExceeded
        If the ledger cannot grant the whole plan.

    See Also
    --------
    PrivateSurvival, n_rows_for

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, its duration,
    event and group; the number of rows is private. Two Gaussian releases: events by group and bin,
    then the sums of residuals beside the pooled hazard. Proof, and why unequal censoring is no
    harm: user guide "Comparing groups: proofs". Events count until the pooled sum of hazards is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_logrank_test
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.choice(["drug", "placebo"], size=4000)
    >>> life = rng.exponential(np.where(arm == "drug", 14.0, 10.0))
    >>> left = rng.uniform(0, 30, size=4000)
    >>> result = private_logrank_test(
    ...     np.minimum(life, left), life <= left, arm, levels=["drug", "placebo"], horizon=24.0
    ... )
    >>> result.pvalue < 0.01, bool(0.5 < result.effect_size < 0.95)
    (True, True)
    """
    test = LogRankTest(
        horizon=horizon,
        bins=bins,
        levels=levels,
        alternative=alternative,
        epsilon=epsilon,
        delta=delta,
        random_state=random_state,
        ledger=ledger,
    ).fit(durations, event_observed, by, groups=groups)
    report, warned = test.privacy_report_, test.accuracy_warnings_
    return replace(test.result_, privacy_report_=report, accuracy_warnings_=warned)
