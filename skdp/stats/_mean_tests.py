"""Tests of means, with the privacy noise in their variances."""

from skdp.stats._search import compared, differences, finite, public, single
from skdp.stats._tests import MeanTest


def private_ttest_ind(
    a,
    b,
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
    """Compare the means of two samples: Welch's test, with the privacy noise in its variance.

    Parameters
    ----------
    a, b : array-like of shape (n,), (m,)
        Numbers of two groups of rows.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the mean of a is larger.
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
    private_mannwhitneyu, private_ttest_rel

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a value with
    its group: the samples are the groups of one table, and their sizes are private. A window is
    found from all rows, labels unseen; then sums of clipped entries by group are released. Proof:
    user guide "Comparing groups: proofs".

    Rows beyond the window count as at its ends: with few rows a far tail that only one group has
    moves its mean. Use ``tails="heavy"``, or :func:`private_mannwhitneyu`. Source:
    :func:`scipy.stats.ttest_ind`, with ``equal_var=False``.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_ttest_ind
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0, 1, 2000), rng.normal(0.5, 1, 2000)
    >>> bool(private_ttest_ind(x, y).pvalue < 0.05)
    True
    """
    return compared(MeanTest, (a, b), groups, public(locals()))


def private_ttest_rel(
    a,
    b,
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
    """Compare two measurements of the same rows: a private t-test of their differences.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Of one row each: before and after, say.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the mean of a is larger.
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
    private_ttest_ind

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a pair; the
    number of rows is private. It is :func:`private_ttest_1samp` of a - b. Proof: user guide
    "Comparing groups: proofs".

    ``bounds`` are those of the differences. Source: :func:`scipy.stats.ttest_rel`.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_ttest_rel
    >>> rng = np.random.default_rng(0)
    >>> before = rng.normal(0, 1, 10_000)
    >>> after = before + rng.normal(0.3, 1, 10_000)
    >>> bool(private_ttest_rel(before, after).pvalue < 0.05)
    True
    """
    return single(MeanTest, (differences(a, b),), groups, public(locals()))


def private_ttest_1samp(
    a,
    popmean,
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
    """Test whether a mean is that of a null hypothesis, by a private t-test.

    Parameters
    ----------
    a : array-like of shape (n,)
    popmean : float
        Public: the mean under the null hypothesis.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Of one side, "greater" says that the mean is larger.
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
    private_ttest_rel

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number of
    rows is private. A window is found, rows beyond it are counted with noise, and sums of clipped
    entries are released. Proof: user guide "Comparing groups: proofs". Without ``bounds`` no window
    is found of fewer than some 300 / epsilon rows, and none where the count sees rows beyond it:
    then there is no conclusion. Fewer far rows than that noise, some 40 / epsilon, may be cut, and
    the mean with them: pass ``bounds``.

    Source: :func:`scipy.stats.ttest_1samp`.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_ttest_1samp
    >>> a = np.random.default_rng(0).normal(0.5, 1, 10_000)
    >>> bool(private_ttest_1samp(a, 0.0).pvalue < 0.05)
    True
    """
    return single(
        MeanTest, (a,), groups, public(locals()) | {"options": {"popmean": finite(popmean)}}
    )


def private_f_oneway(
    *samples,
    bounds=None,
    tails="light",
    epsilon=1.0,
    delta=1e-6,
    groups=None,
    random_state=None,
    ledger=None,
):
    """Compare the means of groups: Welch's analysis of one way, with the privacy noise.

    Parameters
    ----------
    *samples : array-like of shape (n_i,)
        Numbers of two or more groups of rows.
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
    private_kruskal

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, a value with
    its group: the samples are the groups of one table, and their sizes are private. A window is
    found from all rows, labels unseen; then sums of clipped entries by group are released. Proof:
    user guide "Comparing groups: proofs".

    Groups may have other variances. Source: :func:`scipy.stats.f_oneway`, with ``equal_var=False``.


    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_f_oneway
    >>> rng = np.random.default_rng(0)
    >>> samples = [rng.normal(shift, 1, 2000) for shift in (0, 0.3, 0.6)]
    >>> bool(private_f_oneway(*samples).pvalue < 0.05)
    True
    """
    return compared(MeanTest, samples, groups, public(locals()))
