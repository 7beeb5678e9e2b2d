"""Plots of released numbers: shares of a budget, costs of numbers of clusters, intervals."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.readers._calendar import Calendar
from skdp.show._display import Display
from skdp.utils._numbers import plain

UNITS = {"gdp": r"$\mu^2$", "zcdp": r"$\rho$", "mixed": r"$\rho$"}


@dataclass(frozen=True, repr=False)
class BudgetDisplay(Display):
    """Plot of the shares that the releases of a plan may take.

    They are upper bounds: which releases a fit makes may depend on earlier ones. The shares of a
    fit sum to at most one. Make one with :meth:`from_plan`.

    Parameters
    ----------
    labels : list of str
        Of the releases, those with the same text before the first ``/`` together: a step of a
        pipeline, or a part of an algorithm.
    once : ndarray of shape (n_labels,)
        Largest share of one such release.
    in_all : ndarray of shape (n_labels,)
        Largest share of all of them together.
    name : str
        Title.
    unit : str, default="epsilon"
        What the shares are parts of.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.PrivacyReport, LedgerDisplay

    Notes
    -----
    **Privacy**: it shows plans and bills, which hold no value of a table, so looking costs nothing.

    Examples
    --------
    >>> from skdp import PrivateMean
    >>> from skdp.inspection import BudgetDisplay
    >>> display = BudgetDisplay.from_plan(PrivateMean().plan())
    >>> display.name
    'Plan: epsilon=1, delta=1e-06'
    """

    labels: list
    once: np.ndarray
    in_all: np.ndarray
    name: str
    unit: str = "epsilon"

    @classmethod
    def from_plan(cls, plan_or_estimator, *, ax=None):
        """Plot a plan, or the plan of an estimator, which need not be fitted.

        Parameters
        ----------
        plan_or_estimator : Plan, or estimator or pipeline with a method ``plan``
        ax : matplotlib Axes, default=None
            A new figure by default.

        Returns
        -------
        display : BudgetDisplay
        """
        plan, name = plan_or_estimator, "Plan"
        if hasattr(plan, "plan"):
            plan, name = plan.plan(), type(plan).__name__
        parts = {step.label: step.at_most for step in plan.steps if step.mechanism == "child"}
        order = list(dict.fromkeys(_head(step.label) for step in plan.steps))
        steps = sorted(plan.steps, key=lambda step: order.index(_head(step.label)))
        above = [_above(step.label, parts) for step in steps]
        once = [float(a * step.at_most) for a, step in zip(above, steps, strict=True)]
        in_all = [
            float(a * min(step.at_most * step.times, 1))
            for a, step in zip(above, steps, strict=True)
        ]
        budget = plan.budget
        return cls(
            labels=[step.label for step in steps],
            once=np.array(once),
            in_all=np.array(in_all),
            name=f"{name}: epsilon={float(budget.epsilon):g}, delta={float(budget.delta):g}",
            unit=UNITS.get(budget.measure, "epsilon"),
        ).plot(ax)

    def _size(self):
        return 6.4, 1.2 + 0.26 * len(self.labels)

    def _draw(self, ax):
        n = len(self.labels)
        heads = list(dict.fromkeys(_head(x) for x in self.labels if "/" in x))
        colors = [
            f"C{1 + heads.index(h) % 9 if h in heads else 0}" for h in map(_head, self.labels)
        ]
        inner = [label not in heads for label in self.labels]
        ax.barh(range(n), 100 * self.in_all, color=colors, alpha=0.3, label="all of that name")
        ax.barh(range(n), 100 * self.once * inner, color=colors, label="one release")
        ax.set_yticks(range(n), [label.partition("/")[2] or label for label in self.labels])
        for text, label in zip(ax.get_yticklabels(), self.labels, strict=True):
            text.set_fontweight("bold" if label in heads else "normal")
        ax.invert_yaxis()
        ax.set(xlim=(0, 100), title=self.name, xlabel=f"share of {self.unit}, at most (%)")
        ax.legend(fontsize="small")


def _head(label):
    return label.split("/")[0]


def _above(label, parts):
    """Return the share of the children that a release is within: its own is a part of theirs."""
    share, names = 1, label.split("/")
    for i in range(1, len(names)):
        share = share * parts.get("/".join(names[:i]), 1)
    return share


@dataclass(frozen=True, repr=False)
class ElbowDisplay(Display):
    """Plot of the cost of k-means against the number of clusters, and the number that was chosen.

    Make one with :meth:`from_estimator`. It shows released values only: looking costs no budget,
    and the picture may be published.

    Parameters
    ----------
    costs : ndarray of shape (max_clusters,)
        Estimated costs of 1, 2, ... clusters.
    n_clusters : int
        The number that was chosen.
    name : str, default="estimator"
        Of the estimator.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.FriendlyCoreKMeans

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.inspection import ElbowDisplay
    >>> display = ElbowDisplay(costs=np.array([9.0, 2.0, 1.8]), n_clusters=2).plot()
    >>> display.ax_.get_xlabel()
    'number of clusters'
    """

    costs: np.ndarray
    n_clusters: int
    name: str = "estimator"

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Plot the cost curve of a clustering that was fitted with ``n_clusters="auto"``.

        Parameters
        ----------
        estimator : fitted estimator with ``cost_curve_``
        ax : matplotlib Axes, default=None
            A new figure by default.

        Returns
        -------
        display : ElbowDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "cost_curve_"):
            raise ValueError(
                f"this {type(estimator).__name__} has no cost_curve_. Fit a FriendlyCoreKMeans "
                'with n_clusters="auto".'
            )
        name = type(estimator).__name__
        return cls(estimator.cost_curve_, estimator.n_clusters_, name).plot(ax)

    def _draw(self, ax):
        from matplotlib.ticker import MaxNLocator

        numbers = np.arange(1, len(self.costs) + 1)
        ax.plot(numbers, self.costs, marker="o", ms=4, label="estimated cost")
        chosen = f"chosen: {self.n_clusters}"
        ax.axvline(self.n_clusters, color="C1", ls="--", label=chosen)
        ax.set(yscale="log", xlabel="number of clusters", ylabel="cost (inertia)")
        ax.set_title(f"{self.name}: what more clusters would save", fontsize="medium")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend()


VALUES = "location_", "var_", "counts_", "sum_", "count_"  # what estimators with intervals release
MOST_NAMES = 40
ENDLESS = 1e100  # an end as far as this says that nothing is known; such intervals are dotted


@dataclass(frozen=True, repr=False)
class IntervalDisplay(Display):
    """Plot of the intervals of a fitted estimator, with the values that it released.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_values,)
        Ends of the intervals: numbers, dates or durations.
    values : ndarray of shape (n_values,)
        What was released; a denoised value need not be the middle of its interval.
    names : list of str
        Of the values.
    title : str, default=""
        Title.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.PrivateMean, skdp.denoising.coordinate_interval

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> from skdp.inspection import IntervalDisplay
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> mean = PrivateMean(epsilon=1.0, delta=1e-6).fit(X)
    >>> display = IntervalDisplay.from_estimator(mean)
    >>> bool((display.lower < display.values).all())
    True
    """

    lower: np.ndarray
    upper: np.ndarray
    values: np.ndarray
    names: list
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator, confidence=0.95, *, ax=None, **parameters):
        """Plot the intervals of a fitted estimator.

        Parameters
        ----------
        estimator : estimator with a method ``interval``
        confidence : float, default=0.95
            Probability with which an interval covers.
        ax : matplotlib Axes, default=None
            A new figure by default.
        **parameters : dict
            Further parameters of ``interval``, for instance ``simultaneous=True``.

        Returns
        -------
        display : IntervalDisplay
        """
        lower, upper = map(np.asarray, estimator.interval(confidence=confidence, **parameters))
        there = (getattr(estimator, name) for name in VALUES if hasattr(estimator, name))
        values = next((x for x in map(np.asarray, there) if x.shape == lower.shape), None)
        if values is None:
            values = (lower + upper) / 2
        together = "all together" if parameters.get("simultaneous") else "each"
        return cls(
            *(x.ravel() for x in (lower, upper, values)),
            names=_names(estimator, lower.shape),
            title=f"{type(estimator).__name__}: {confidence:.0%} intervals, {together}",
        ).plot(ax)

    @classmethod
    def from_results(cls, results, *, ax=None, title=""):
        """Plot lines of a table of results.

        Parameters
        ----------
        results : DataFrame, or dict of arrays
            Of :meth:`skdp.PrivateGroupBy.results`, or some of its lines: ``value``, ``low`` and
            ``high``; ``group`` and, where there are several, ``variable`` and ``q`` name them.
        ax : matplotlib Axes, default=None
            A new figure by default.
        title : str, default=""
            Title.

        Returns
        -------
        display : IntervalDisplay
        """
        ends, values = (np.asarray(results[name]) for name in ("low", "high")), results["value"]
        several = [name for name in ("variable", "q") if len(set(results.get(name, ()))) > 1]
        groups = results.get("group", [()] * len(values))
        names = [
            ": ".join(
                [", ".join(map(str, group if isinstance(group, tuple) else (group,))), *more]
            ).removeprefix(": ")
            for group, *more in zip(
                groups, *(map(str, results[name]) for name in several), strict=True
            )
        ]
        return cls(*ends, np.asarray(values), names=names, title=title).plot(ax)

    def _size(self):
        return 6.4, 1.2 + 0.26 * min(len(self.values), MOST_NAMES)

    def _draw(self, ax):
        n, kinds = len(self.values), list(map(_kind, self.values))
        lower, upper, values = map(_numbers, (self.lower, self.upper, self.values))
        style = {"color": "C0", "alpha": 0.5, "lw": 4 if n < 100 else 1}
        bounded = np.maximum(np.abs(lower), np.abs(upper)) < ENDLESS
        places = np.flatnonzero(bounded)
        ax.hlines(places, lower[bounded], upper[bounded], **style)
        for place in np.flatnonzero(~bounded):
            ax.axhline(place, **style | {"lw": 1, "ls": ":"})
        ax.plot(values, range(n), "o", color="C0", ms=5 if n < 100 else 2)
        if n <= MOST_NAMES:
            ax.set_yticks(range(n), self.names)
            right = ax.secondary_yaxis("right")
            ends = zip(kinds, lower, upper, strict=True)
            right.set_yticks(range(n), [f"[{_text(k, a)}, {_text(k, b)}]" for k, a, b in ends])
        ax.set(ylim=(n - 0.5, -0.5), xlabel="released value", title=self.title)
        if n and kinds[0] is not None and len(set(kinds)) == 1:
            ax.locator_params(axis="x", nbins=4)
            ax.xaxis.set_major_formatter(lambda x, _: kinds[0].text(x))


def _kind(value):
    """Return the Calendar of a date or a duration, None for a number."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind == "M" or hasattr(value, "toordinal"):
        zone = getattr(value, "tzinfo", None)
        return Calendar("date", "us", None if zone is None else str(zone))
    return Calendar("duration", "us") if kind == "m" or hasattr(value, "total_seconds") else None


def _numbers(values):
    """Return values as floats, dates and durations as microseconds."""
    return np.array([plain(value) for value in values], dtype=np.float64)


def _text(kind, number):
    return f"{number:.4g}" if kind is None or not np.isfinite(number) else kind.text(number)


def _names(estimator, shape):
    """Return a name for each value: that of its column, or its place."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and shape == (len(names),):
        return [str(name) for name in names]
    word = "column" if shape == (getattr(estimator, "n_features_in_", None),) else "cell"
    return [f"{word} {', '.join(map(str, place))}" for place in np.ndindex(shape)]
