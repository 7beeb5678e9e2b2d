"""Private tests, tables and their power: the statistics of a comparison of groups."""

from skdp.stats._association import (
    private_chi2_contingency,
    private_pearsonr,
    private_proportions_test,
    private_spearmanr,
)
from skdp.stats._comparison import PrivateComparison
from skdp.stats._contingency import PrivateContingencyTable
from skdp.stats._cox_regression import PrivateCoxRegression
from skdp.stats._logrank import private_logrank_test
from skdp.stats._mean_tests import (
    private_f_oneway,
    private_ttest_1samp,
    private_ttest_ind,
    private_ttest_rel,
)
from skdp.stats._power import epsilon_for, expected_power, n_rows_for
from skdp.stats._rank_tests import private_kruskal, private_ks_2samp, private_mannwhitneyu
from skdp.stats._result import ConfidenceInterval, TestResult
from skdp.stats._survival import PrivateSurvival, SurvivalDisplay

__all__ = [
    "ConfidenceInterval",
    "PrivateComparison",
    "PrivateContingencyTable",
    "PrivateCoxRegression",
    "PrivateSurvival",
    "SurvivalDisplay",
    "TestResult",
    "epsilon_for",
    "expected_power",
    "n_rows_for",
    "private_chi2_contingency",
    "private_f_oneway",
    "private_kruskal",
    "private_ks_2samp",
    "private_logrank_test",
    "private_mannwhitneyu",
    "private_pearsonr",
    "private_proportions_test",
    "private_spearmanr",
    "private_ttest_1samp",
    "private_ttest_ind",
    "private_ttest_rel",
]


def __getattr__(name):
    from skdp.utils._renamed import meant  # for the error alone

    other = "" if name.startswith("_") else meant(name, __all__, "skdp.stats.")
    raise AttributeError(f"module 'skdp.stats' has no attribute {name!r}{other}", name=name)
