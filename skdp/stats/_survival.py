"""PrivateSurvival: curves of Kaplan and Meier, and of Nelson and Aalen, by group."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.estimator._results import long_format
from skdp.scales._column_noise import check_confidence, check_sampling
from skdp.show._display import Display
from skdp.stats._result import FEW, ConfidenceInterval
from skdp.stats._survival_input import COUNTS, NOT_FOUND, OfTimes, release_counts
from skdp.stats._survival_laws import SurvivalCurve
from skdp.stats._tests import DROWNED
from skdp.utils._numbers import stores_parameters


@dataclass(frozen=True, repr=False)
class SurvivalDisplay(Display):
    """Picture of a :class:`PrivateSurvival`: a curve for each group, and its band.

    Parameters
    ----------
    estimator : PrivateSurvival
        Fitted.
    confidence : float, default=0.95
        Of bands, for the population.
    simultaneous : bool, default=True
        Whether a band covers the whole curve, or each time by itself.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    PrivateSurvival

    Notes
    -----
    **Privacy**: draws released numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import PrivateSurvival, SurvivalDisplay
    >>> life = np.random.default_rng(0).exponential(10, size=3000)
    >>> curve = PrivateSurvival(horizon=24.0).fit(life, np.ones(3000))
    >>> display = SurvivalDisplay(curve).plot()
    >>> display.ax_.get_ylabel()
    'Without event'
    """

    estimator: Any
    confidence: float = 0.95
    simultaneous: bool = True

    def _draw(self, ax):
        of = self.estimator
        check_is_fitted(of)
        ends = of.interval(self.confidence, simultaneous=self.simultaneous)
        rows = (np.atleast_2d(x) for x in (of.survival_function_, *ends))
        for label, S, low, high in zip(of.levels_ or ("all rows",), *rows, strict=True):
            seen = np.isfinite(S)
            times = np.where(np.isfinite(of.times_), of.times_, 1.0)
            (line,) = ax.plot(times[seen], S[seen], label=str(label))
            ax.fill_between(times, low, high, alpha=0.2, linewidth=0, color=line.get_color())
        ax.set(xlabel="Time", ylabel="Without event", ylim=(0, 1.02))
        ax.legend(loc="best")


NO_GROUPS = "no group stands clear of the noise. Pass levels=[...] if they are public"
NOISY = (
    "the survival curve{} is mostly privacy noise: only its wide interval says something. Use a "
    "larger epsilon or more rows"
)
SHORT = (
    "the survival curve{} is known until {:.4g} alone: later on too few rows are left for this "
    "budget"
)
LABEL = "group must be one of levels_, where there are groups. Pass group=levels_[0]."
NO_BINS = np.arange(3.0)  # where none were found
TITLES = "group", "time", "value", "low", "high", "n", "reliable"


class PrivateSurvival(OfTimes):
    """Survival curves of one or more groups, in one private release.

    Kaplan and Meier's curve and the sum of hazards of Nelson and Aalen at the ends of bins of
    time, with intervals and bands that know the privacy noise; medians, quantiles and restricted
    means of it.

    Parameters
    ----------
    horizon : float, default=None
        Public, > 0: the last time of the curve, in the unit of the durations. Rows that are
        observed for longer count as observed until then. None finds one, and where bins lie, for
        15 % of the budget.
    bins : int or array-like, default=None
        Number of bins, or public times at their ends. None: more bins for more rows, from 12 to
        64. Few bins of many rows bias a curve.
    levels : list, default=None
        Public labels of the groups, where there are groups. None finds those that are frequent
        enough, for 5 % of the budget.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1), well below one over the number of rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    times_ : ndarray of shape (n_times,)
        0, and the ends of the bins, in the unit of the durations.
    survival_function_ : ndarray of shape (n_times,), or (n_levels, n_times) with groups
        Parts that have had no event until ``times_``, of Kaplan and Meier; NaN from where too few
        rows are left to tell.
    cumulative_hazard_ : ndarray of the same shape
        Of Nelson and Aalen.
    at_risk_ : ndarray of the same shape
        Released numbers of rows at risk in the bin before each time; of time 0 all rows.
    median_ : float or ndarray of shape (n_levels,)
        Infinite where a curve stays above one half, NaN where it is not known so far.
    n_rows_, n_events_ : float or ndarray of shape (n_levels,)
        Released numbers of rows, and of events until the horizon, with noise; NaN for events where
        no bins were found.
    levels_ : tuple
        Labels of the groups, empty without groups.
    curves_ : list of SurvivalCurve
        What was released, by group, with the law of its noise.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns of durations and groups.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they have names that are strings.

    See Also
    --------
    private_logrank_test, SurvivalDisplay

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, its
    duration, event and group; the number of rows is private. One Gaussian release: a row is in one
    bin of one group, as an event or as another one, so groups cost nothing. Proof: user guide
    "Comparing groups: proofs". Negative durations count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import PrivateSurvival
    >>> rng = np.random.default_rng(0)
    >>> life, left = rng.exponential(10, size=5000), rng.uniform(0, 30, size=5000)
    >>> curve = PrivateSurvival(horizon=24.0, epsilon=1.0).fit(np.minimum(life, left), life <= left)
    >>> bool(6.0 < curve.median_ < 8.0)
    True
    """

    _steps = (COUNTS,)

    @stores_parameters
    def __init__(
        self,
        *,
        horizon=None,
        bins=None,
        levels=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def _release(self, table):
        labels, parts, table = self._grouped(table)
        k, grouped = max(len(labels), 1), table.n_features == 3
        edges = self._edges(table, k)
        if grouped and not labels:
            table.doubt(NO_GROUPS)
            return self._fitted([], labels, NO_BINS, grouped, np.zeros(0))
        columns, found = table.n_features - 1, edges is not None
        edges = edges if found else NO_BINS  # rows are counted, of their times nothing is said
        counts = release_counts(parts, k, edges, columns, COUNTS, table.remaining)
        curves = [SurvivalCurve.of(counts, g) for g in range(k)]
        n_rows = np.array([one.n_rows for one in curves])
        if not found:
            table.doubt(NOT_FOUND)
            return self._fitted([], labels, edges, grouped, n_rows)
        for curve, label in zip(curves, labels or ("",), strict=True):
            _doubt(table, curve, f" of {label}" if labels else "")
        return self._fitted(curves, labels, edges, grouped, n_rows)

    def _fitted(self, curves, labels, times, grouped, n_rows):
        def of_all(make, start):
            rows = [np.append(start(one), np.where(one.known, make(one), np.nan)) for one in curves]
            rows = np.array(rows) if rows else np.full((len(n_rows), len(times)), np.nan)
            return rows if grouped else rows[0]

        def numbers(make):
            told = np.array([make(one) for one in curves] if curves else [math.nan] * len(n_rows))
            return told if grouped else float(told[0])

        return {
            "times_": times,
            "survival_function_": of_all(lambda one: np.exp(-one.hazard(True)), lambda one: 1.0),
            "cumulative_hazard_": of_all(lambda one: one.hazard(False), lambda one: 0.0),
            "at_risk_": of_all(lambda one: one.at_risk, lambda one: one.n_rows),
            "median_": numbers(lambda one: one.quantile(0.5, 0.95)[0]),
            "n_rows_": n_rows if grouped else float(n_rows[0]),
            "n_events_": numbers(lambda one: one.n_events),
            "levels_": labels,
            "curves_": curves,
        }

    def _curve(self, group):
        """Return the curve of a group, None if nothing is known."""
        check_is_fitted(self)
        if (group is None and not self.levels_) or (group is not None and group in self.levels_):
            at = 0 if group is None else self.levels_.index(group)
            return self.curves_[at] if self.curves_ else None
        raise ValueError(LABEL)

    def interval(self, confidence=0.95, *, sampling=True, simultaneous=False, hazard=False):
        """Return intervals around the curves, or bands.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers, or a whole band.
        sampling : bool, default=True
            Whether they are for the population; else for the curve of these rows, without noise.
        simultaneous : bool, default=False
            Whether all times of a curve are covered at once: a band.
        hazard : bool, default=False
            Of ``cumulative_hazard_`` in place of ``survival_function_``.

        Returns
        -------
        low, high : ndarray of the shape of ``survival_function_``
            Where a curve is not known, all that is possible.

        Raises
        ------
        ValueError
            For a confidence that is not between 0 and 1.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        both = {"sampling": sampling, "simultaneous": simultaneous, "product": not hazard}
        k = np.size(self.n_rows_)
        low, high = np.zeros((k, len(self.times_))), np.full((k, len(self.times_)), np.inf)
        high[:, 0] = 0.0
        for g, curve in enumerate(self.curves_):
            low[g, 1:], high[g, 1:] = curve.ends(confidence, **both)
        if not hazard:
            low, high = np.exp(-high), np.exp(-low)
        return (low, high) if np.ndim(self.survival_function_) == 2 else (low[0], high[0])

    def quantile(self, q=0.5, *, group=None, confidence=0.95):
        """Return the time until which a part q of the rows has had the event, and its interval.

        Parameters
        ----------
        q : float, default=0.5
            In (0, 1). 0.5: the median.
        group : label, default=None
            One of ``levels_``, where there are groups.
        confidence : float, default=0.95

        Returns
        -------
        value : float
            Infinite where the curve stays above ``1 - q``, NaN where it is not known so far.
        interval : ConfidenceInterval
            For the population; infinite where the curve may stay above.

        Raises
        ------
        ValueError
            For no part of a whole, or no group.
        """
        if not 0 < q < 1:
            raise ValueError("q must lie between 0 and 1. Pass q=0.5.")
        check_confidence(confidence)
        curve = self._curve(group)
        if curve is None:
            return math.nan, ConfidenceInterval(0.0, math.inf)
        value, *ends = curve.quantile(q, confidence)
        return value, ConfidenceInterval(*ends)

    def restricted_mean(self, t=None, *, group=None, confidence=0.95):
        """Return the mean of the durations, those beyond t counted as t, and its interval.

        Parameters
        ----------
        t : float, default=None
            In the unit of the durations, at most the last of ``times_``, which is the default.
        group : label, default=None
            One of ``levels_``, where there are groups.
        confidence : float, default=0.95

        Returns
        -------
        value : float
            The area under the curve, NaN where it is not known so far.
        interval : ConfidenceInterval
            For the population; 0 to t where nothing is known.

        Raises
        ------
        ValueError
            For another time, or no group.
        """
        curve = self._curve(group)
        check_confidence(confidence)
        last = float(self.times_[-1])
        t = last if t is None else t
        if not (0 < t <= last or math.isnan(last)):
            raise ValueError("t must lie between 0 and the last of times_. Pass t=None.")
        if curve is None:
            return math.nan, ConfidenceInterval(0.0, float(t))
        value, *ends = curve.restricted_mean(float(t), confidence)
        return value, ConfidenceInterval(*ends)

    def results(self, confidence=0.95):
        """Return the curves as one table.

        Parameters
        ----------
        confidence : float, default=0.95

        Returns
        -------
        frame : DataFrame
            A row for each time of each group: ``group``, ``time``, ``value`` of the survival
            function, ``low`` and ``high`` for the population, ``n``, the released number at risk,
            and ``reliable``: whether the curve is known until then. A dict of arrays where pandas
            is not installed.
        """
        low, high = (np.atleast_2d(end) for end in self.interval(confidence))
        value, n = np.atleast_2d(self.survival_function_), np.atleast_2d(self.at_risk_)
        rows = [
            {
                "group": label,
                "time": float(t),
                "value": float(value[g, i]),
                "low": float(low[g, i]),
                "high": float(high[g, i]),
                "n": float(n[g, i]),
                "reliable": bool(np.isfinite(value[g, i])),
            }
            for g, label in enumerate(self.levels_ or ("all",))
            for i, t in enumerate(self.times_)
        ]
        return long_format(rows, TITLES)

    def plot(self, ax=None, *, confidence=0.95, simultaneous=True):
        """Plot the curves, see :class:`SurvivalDisplay`.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        confidence : float, default=0.95
        simultaneous : bool, default=True
            Whether a band covers the whole curve, or each time by itself.

        Returns
        -------
        display : SurvivalDisplay
        """
        check_is_fitted(self)
        return SurvivalDisplay(self, confidence, simultaneous).plot(ax)


def _doubt(table, curve, name):
    """Say what of a curve is not known, from what was released of it."""
    if not curve.known[0]:
        table.doubt(FEW if not name else f"group{name}: {FEW}")
    elif curve.noise_share > DROWNED:
        table.doubt(NOISY.format(name))
    elif not curve.known.all():
        table.decide(SHORT.format(name, curve.edges[int(curve.known.sum())]))
