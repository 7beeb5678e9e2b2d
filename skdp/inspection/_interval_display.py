"""Released values with the intervals that account for their noise."""

from dataclasses import dataclass

import numpy as np

from skdp.readers._calendar import Calendar
from skdp.show._display import Display
from skdp.utils._numbers import plain

__all__ = ["IntervalDisplay"]

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
