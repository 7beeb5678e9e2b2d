"""Tests of distributions: ranks and distances."""

from skdp.stats._search import compared, public
from skdp.stats._tests import DistanceTest, RankTest


def private_mannwhitneyu(
    x,
    y,
    *,
    alternative="two-sided",
    bounds=None,
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Compare two samples by ranks: a private test of Mann and Whitney, or Wilcoxon.

    Parameters
    ----------
    x, y : array-like of shape (n,), (m,)
        Numbers of two groups of rows.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that x tends to be larger.
    bounds : (low, high), default=None
        Public: numbers that the entries lie between; others are clipped. None finds where they lie.
        Must not be computed from the rows.
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
    private_ttest_ind, private_kruskal

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a value with
    its group: the samples are the groups of one table, and their sizes are private. The
    distribution of all rows is released first, labels unseen, then sums of scores by group. Proof:
    user guide "Comparing groups: proofs".

    False alarms at 5 % are 3 to 6 %, whatever the distribution: scores that were found badly cost
    power alone. The null hypothesis is that of equal *distributions*: rows of equal means and other
    spreads are no null. Source: :func:`scipy.stats.mannwhitneyu`.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_mannwhitneyu
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0, 1, 2000), rng.normal(0.5, 1, 2000)
    >>> bool(private_mannwhitneyu(x, y).pvalue < 0.05)
    True
    """
    return compared(RankTest, (x, y), groups, public(locals()))


def private_kruskal(
    *samples, bounds=None, epsilon=1.0, delta=1e-6, groups=None, random_state=None, ledger=None
):
    """Compare groups by ranks: a private test of Kruskal and Wallis.

    Parameters
    ----------
    *samples : array-like of shape (n_i,)
        Numbers of two or more groups of rows.
    bounds : (low, high), default=None
        Public: numbers that the entries lie between; others are clipped. None finds where they lie.
        Must not be computed from the rows.
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
    private_mannwhitneyu, private_f_oneway

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a value with
    its group: the samples are the groups of one table, and their sizes are private. The
    distribution of all rows is released first, labels unseen, then sums of scores by group. Proof:
    user guide "Comparing groups: proofs".

    A row is in one group, so groups cost nothing. Source: :func:`scipy.stats.kruskal`.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_kruskal
    >>> rng = np.random.default_rng(0)
    >>> samples = [rng.normal(shift, 1, 2000) for shift in (0, 0.3, 0.6)]
    >>> bool(private_kruskal(*samples).pvalue < 0.05)
    True
    """
    return compared(RankTest, samples, groups, public(locals()))


def private_ks_2samp(
    data1,
    data2,
    *,
    bounds=None,
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Compare two distribution functions: a private test of Kolmogorov and Smirnov.

    Parameters
    ----------
    data1, data2 : array-like of shape (n,), (m,)
        Numbers of two groups of rows.
    bounds : (low, high), default=None
        Public: numbers that the entries lie between; others are clipped. None finds where they lie.
        Must not be computed from the rows.
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
    private_mannwhitneyu

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a value with
    its group: the samples are the groups of one table, and their sizes are private. Quantiles of
    all rows are released first, labels unseen, then counts between them by group. Proof: user guide
    "Comparing groups: proofs".

    The distance is the largest at 3 to 15 pooled quantiles; its law is drawn with the noise in it.
    Source: :func:`scipy.stats.ks_2samp`.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_ks_2samp
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0, 1, 2000), rng.normal(0.5, 1, 2000)
    >>> bool(private_ks_2samp(x, y).pvalue < 0.05)
    True
    """
    return compared(DistanceTest, (data1, data2), groups, public(locals()))
