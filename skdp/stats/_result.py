"""Results of private tests: statistic, p-value, interval, effect, and what they say."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

LEVEL = 0.05
MOST_DF = 1e6  # a normal law from here on
FEW = "no conclusion: too few rows for this budget. Use a larger epsilon or more rows."


class ConfidenceInterval(NamedTuple):
    """Both ends of an interval.

    Parameters
    ----------
    low, high : float
        Infinite, or the ends of what is possible, where nothing is known.

    See Also
    --------
    TestResult

    Notes
    -----
    **Privacy**: made of released values alone.

    Examples
    --------
    >>> from skdp.stats import ConfidenceInterval
    >>> ConfidenceInterval(0.1, 0.4).high
    0.4
    """

    low: float
    high: float


@dataclass(frozen=True)
class Around:
    """Intervals ``offset + factor (estimate -+ quantile sd)``, cut to what is possible."""

    estimate: float
    sd: float
    df: float = math.inf
    factor: float = 1.0
    offset: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def at(self, level):
        """Return the ends for a confidence level."""
        half = _quantile(0.5 + level / 2, self.df) * self.sd
        ends = sorted(self.offset + self.factor * (self.estimate + s * half) for s in (-1, 1))
        return tuple(np.clip(ends, self.low, self.high))

    @property
    def value(self):
        """The middle, before it is cut."""
        return self.offset + self.factor * self.estimate


@dataclass(frozen=True)
class OfMean:
    """Intervals of one mean: all T for which the released ``S - T n`` is as near 0 as its law says.

    The noise of n counts T times, whatever n is released (Fieller 1954).
    """

    sums: object
    means: object
    factor: float
    offset: float
    low, high = -math.inf, math.inf

    def at(self, level):
        """Return the ends for a confidence level."""
        q = _quantile(0.5 + level / 2, self.means.df)
        (T,), (n,), (V,) = self.means.mean, np.maximum(self.sums.n, 2.0), self.means.spread
        S = T * n
        a, c = n * n - (q * self.sums.n_sd) ** 2, S * S - q * q * (n * V + self.sums.sd**2)
        if a <= 0:
            return self.low, self.high
        half = math.sqrt(max((S * n) ** 2 - a * c, 0.0))
        ends = np.clip([(S * n - half) / a, (S * n + half) / a], -1, 1)
        return tuple(self.offset + self.factor * ends)


@dataclass(frozen=True)
class Whole:
    """The interval of those that know nothing."""

    low: float = -math.inf
    high: float = math.inf

    def at(self, level):
        """Return both ends."""
        return self.low, self.high


def p_value(statistic, alternative, df=math.inf):
    """Return the p-value of a statistic with Student's law, normal by default."""
    if alternative == "two-sided":
        return float(2 * _below(-abs(statistic), df))
    return float(_below(-statistic if alternative == "greater" else statistic, df))


def _below(x, df):
    return ndtr(x) if df > MOST_DF else stdtr(df, x)


def _quantile(p, df):
    return ndtri(p) if df > MOST_DF else stdtrit(df, p)


@dataclass(frozen=True, eq=False)
class TestResult:
    """The result of a private test: released values alone, as private as the report says.

    Attributes
    ----------
    statistic : float
        In deviations of sampling and privacy noise together, or chi-squared, F, or a distance.
    pvalue : float
        Valid for the null hypothesis with the noise in it; 1 where the rows are too few.
    df : float or tuple
        Degrees of freedom, infinite for a normal statistic.
    effect_size : float
    effect_name : str
        What the effect size is.
    null : str
        The hypothesis that a small p-value speaks against.
    n_rows : ndarray
        Released numbers of rows, of each group or of all.
    noise_share : float
        Part of the variance of the statistic that is privacy noise.
    detectable : float
        Effect, in the unit of the interval, that a test at 5 % finds with probability .8; infinite
        where no formula tells.
    told : bool
        Whether the rows stand clear of the noise.
    interval : object
        What :meth:`confidence_interval` is computed by.
    interval_name : str
        What :meth:`confidence_interval` is of; empty where there is none.
    conclusion : str
        What the p-value says, in words.
    more : dict
        Intervals of other effects, see :meth:`risk_ratio` and :meth:`odds_ratio`.
    accuracy_warnings_ : tuple of str
        What has low accuracy, why, and what helps.
    reliable_ : bool
        False where the rows are too few: the p-value is 1 and the interval knows nothing.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.

    See Also
    --------
    private_ttest_ind, private_mannwhitneyu

    Notes
    -----
    **Privacy**: computed from released values alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import private_ttest_ind
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0, 1, 2000), rng.normal(1, 1, 2000)
    >>> result = private_ttest_ind(x, y, epsilon=1.0)
    >>> result.pvalue < 0.05, result.confidence_interval().high < 0
    (True, True)
    """

    statistic: float
    pvalue: float
    df: float | tuple
    effect_size: float
    effect_name: str
    null: str
    n_rows: np.ndarray
    noise_share: float
    told: bool = True
    detectable: float = math.inf
    interval: object = field(default_factory=Whole, repr=False)
    interval_name: str = ""
    more: dict = field(default_factory=dict, repr=False)
    accuracy_warnings_: tuple = ()
    privacy_report_: object = field(default=None, repr=False)

    __test__ = False  # no test of pytest

    @property
    def reliable_(self):
        """Whether the rows stand clear of the noise."""
        return self.told and not self.accuracy_warnings_

    @property
    def conclusion(self):
        """What the p-value says, in words."""
        if not self.told:
            return next((w for w in self.accuracy_warnings_ if w.startswith("no conclusion")), FEW)
        if self.pvalue <= LEVEL:
            return f"at the 5 % level the rows speak against: {self.null}."
        return f"no conclusion: the rows do not speak against: {self.null}."

    def confidence_interval(self, confidence_level=0.95):
        """Return the interval of ``interval_name`` for the population, noise included.

        Parameters
        ----------
        confidence_level : float, default=0.95

        Returns
        -------
        interval : ConfidenceInterval
            ``low`` and ``high``.

        Raises
        ------
        ValueError
            For a level that is not between 0 and 1.
        """
        if not 0 < confidence_level < 1:
            raise ValueError("confidence_level must lie between 0 and 1. Pass 0.95.")
        return ConfidenceInterval(*map(float, self.interval.at(confidence_level)))

    def _more(self, name, confidence_level):
        if name not in self.more:
            raise AttributeError(
                "this test tells no ratio. Use private_proportions_test, for two groups of 0 and 1."
            )
        if not self.told:
            return math.nan, ConfidenceInterval(0.0, math.inf)
        rates = self.more[name]
        return rates.value, ConfidenceInterval(*map(float, rates.at(confidence_level)))

    def risk_ratio(self, confidence_level=0.95):
        """Return the ratio of the rates of x and y, and its interval.

        Parameters
        ----------
        confidence_level : float, default=0.95

        Returns
        -------
        ratio : float
        interval : ConfidenceInterval
            0 and infinity where the noise hides a rate.
        """
        return self._more("risk_ratio", confidence_level)

    def odds_ratio(self, confidence_level=0.95):
        """Return the ratio of the odds of x and y, and its interval.

        Parameters
        ----------
        confidence_level : float, default=0.95

        Returns
        -------
        ratio : float
        interval : ConfidenceInterval
            0 and infinity where the noise hides a rate.
        """
        return self._more("odds_ratio", confidence_level)

    def summary(self):
        """Return the result as text, a line for each fact."""
        low, high = self.confidence_interval()
        lines = [
            f"statistic {self.statistic:.4g}, p-value {self.pvalue:.3g}",
            f"{self.effect_name} {self.effect_size:.4g}",
            f"null hypothesis: {self.null}",
            self.conclusion,
        ]
        if self.interval_name:
            lines.insert(2, f"{self.interval_name}: {low:.4g} to {high:.4g} (95 %)")
        return "\n".join(lines)

    def __str__(self):
        return self.summary()
