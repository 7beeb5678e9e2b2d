"""Correlations, tables and rates of two groups."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from skdp.accounting import Step
from skdp.kernel.applied._scores import ScoreProducts
from skdp.stats._laws import PairSums
from skdp.stats._result import TestResult, p_value
from skdp.stats._search import binary, compared, find_ranks, find_windows, of_counts, public, single
from skdp.stats._tests import POWER, CellTest, Test, columns_of

PRODUCTS = Step("products", of=(ScoreProducts,))


class PairTest(Test):
    """The correlation of two columns: of ranks, or of numbers in windows."""

    _steps = (PRODUCTS,)

    def _result(self, table):
        rows, ranks = columns_of(table), self._options()["ranks"]
        windows = partial(find_windows, tails=self.tails, power=2)
        found = (find_ranks if ranks else windows)(rows, self.bounds)
        asked = ScoreProducts(found.scores)
        told = rows.ask(asked, PRODUCTS, share=rows.remaining)
        weights = replace(asked, bits=told.bits).weights
        value, sd = told.value / weights, told.scale / weights
        return pair_result(value, sd, found, ranks, self.alternative)


def pair_result(value, sd, found, ranks, alternative):
    """Return what released sums of two columns say of their correlation."""
    least = 0.15 if ranks else 1e-4
    sums = PairSums(
        value[0],
        value[1:3],
        value[3:5],
        value[5],
        sd[[0, 1, 3, 5]],
        (found.n, found.count_sd),
        least,
        ranks,
    )
    r, z, share, ok = sums.correlation()
    name = "Spearman's rho" if ranks else "Pearson's r"
    return TestResult(
        r,
        p_value(z, alternative),
        math.inf,
        r,
        name,
        null="the two columns are independent",
        n_rows=np.array([sums.rows[0]]),
        noise_share=share,
        told=ok and bool(found.found.all()),
        detectable=float(POWER * abs(r / z)) if z else math.inf,
        interval=sums,
        interval_name=name,
    )


def private_pearsonr(
    x,
    y,
    *,
    alternative="two-sided",
    bounds=None,
    tails="light",
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Estimate and test the correlation of two columns.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Columns of one table.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the correlation is positive.
    bounds : (low, high), default=None
        Public: numbers that the entries lie between; others are clipped. None finds where they lie.
        Must not be computed from the rows.
    tails : {"light", "heavy"}, default="light"
        How far the window of means reaches beyond the rows that are seen: "heavy" for incomes and
        other skewed rows, at up to twice the noise.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    groups : array-like, default=None
        Privacy IDs, one for each row. Protects a person with all rows in place of a row; one row of
        each, drawn at random, is read.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share; charged before rows are read.

    Returns
    -------
    result : TestResult
        ``statistic``, ``pvalue``, ``confidence_interval()``, ``effect_size``, ``null``,
        ``conclusion``, ``privacy_report_``.

    Raises
    ------
    ValueError
        For samples of another kind, and NaN; before anything is charged.
    BudgetExceeded
        If the ledger cannot grant the whole plan.

    See Also
    --------
    private_spearmanr

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a pair; the
    number of rows is private. A window of each column is found, then sums of products and squares
    of scores. Proof: user guide "Comparing groups: proofs".

    Source: :func:`scipy.stats.pearsonr`.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_pearsonr
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=3000)
    >>> result = private_pearsonr(x, x + rng.normal(size=3000))
    >>> bool(0.5 < result.statistic < 0.9)  # 0.7 in the population
    True
    """
    return single(PairTest, (x, y), groups, public(locals()) | {"options": {"ranks": False}})


def private_spearmanr(
    a,
    b,
    *,
    alternative="two-sided",
    bounds=None,
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Estimate and test the rank correlation of two columns.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Columns of one table.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the correlation is positive.
    bounds : (low, high), default=None
        Public: numbers that the entries lie between; others are clipped. None finds where they lie.
        Must not be computed from the rows.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    groups : array-like, default=None
        Privacy IDs, one for each row. Protects a person with all rows in place of a row; one row of
        each, drawn at random, is read.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share; charged before rows are read.

    Returns
    -------
    result : TestResult
        ``statistic``, ``pvalue``, ``confidence_interval()``, ``effect_size``, ``null``,
        ``conclusion``, ``privacy_report_``.

    Raises
    ------
    ValueError
        For samples of another kind, and NaN; before anything is charged.
    BudgetExceeded
        If the ledger cannot grant the whole plan.

    See Also
    --------
    private_pearsonr

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a pair; the
    number of rows is private. Quantiles of both columns are released, then sums of products and
    squares of scores. Proof: user guide "Comparing groups: proofs".

    Source: :func:`scipy.stats.spearmanr`.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_spearmanr
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=3000)
    >>> result = private_spearmanr(x, x + rng.normal(size=3000))
    >>> bool(0.5 < result.statistic < 0.9)  # 0.7 in the population
    True
    """
    return single(PairTest, (a, b), groups, public(locals()) | {"options": {"ranks": True}})


def private_chi2_contingency(observed, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
    """Test the independence of rows and columns of a table of counts.

    Parameters
    ----------
    observed : array-like of shape (r, c)
        Exact numbers of rows in each cell: private. Its shape is public.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share; charged before rows are read.

    Returns
    -------
    result : TestResult
        ``statistic``, ``pvalue``, ``confidence_interval()``, ``effect_size``, ``null``,
        ``conclusion``, ``privacy_report_``.

    Raises
    ------
    ValueError
        For samples of another kind, and NaN; before anything is charged.
    BudgetExceeded
        If the ledger cannot grant the whole plan.

    See Also
    --------
    private_proportions_test

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number of
    rows is private. Every cell is released with noise: a row is in one cell. Proof: user guide
    "Comparing groups: proofs".

    The covariance of the noise is in the quadratic form. Source:
    :func:`scipy.stats.chi2_contingency`.


    Examples
    --------
    >>> from skdp.stats import private_chi2_contingency
    >>> result = private_chi2_contingency([[300, 700], [500, 500]])
    >>> bool(result.pvalue < 0.05), result.df
    (True, 1)
    """
    return of_counts(CellTest, observed, public(locals()))


def private_proportions_test(
    x,
    y,
    *,
    alternative="two-sided",
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Compare the rates of two groups: a private A/B test.

    Parameters
    ----------
    x, y : array-like of shape (n,), (m,)
        0 and 1, or truth values, of two groups of rows.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the rate of x is larger.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    groups : sequence of array-like, default=None
        Privacy IDs, one array for each sample. Protects a person with all rows in place of a row;
        one row of each, drawn at random, is read.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share; charged before rows are read.

    Returns
    -------
    result : TestResult
        ``statistic``, ``pvalue``, ``confidence_interval()``, ``effect_size``, ``null``,
        ``conclusion``, ``privacy_report_``.

    Raises
    ------
    ValueError
        For samples of another kind, and NaN; before anything is charged.
    BudgetExceeded
        If the ledger cannot grant the whole plan.

    See Also
    --------
    private_chi2_contingency

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a value with
    its group: the samples are the groups of one table, and their sizes are private. The four cells
    are released with noise: a row is in one cell. Proof: user guide "Comparing groups: proofs".

    ``confidence_interval()`` is of the difference of rates; ``risk_ratio()`` and ``odds_ratio()``
    tell ratios. Intervals are Wilson's with the noise in them, joined by the method of variance
    estimates recovery [1]_.

    References
    ----------
    .. [1] R. G. Newcombe (1998). Interval estimation for the difference between independent
       proportions. Statistics in Medicine 17.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_proportions_test
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.random(4000) < 0.30, rng.random(4000) < 0.25
    >>> result = private_proportions_test(x, y)
    >>> bool(result.pvalue < 0.05), bool(0.02 < result.effect_size < 0.08)
    (True, True)
    """
    return compared(
        CellTest,
        (binary(x), binary(y)),
        groups,
        public(locals()) | {"options": {"n_levels": 2, "rates": True}},
    )
