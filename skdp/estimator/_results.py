"""What a fit has released as numbers: value, interval and whether it is reliable, in one place."""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.readers._calendar import UNITS, as_numbers, calendars_of
from skdp.utils._warnings import MOST_NAMED, Doubt

# of estimators with intervals
VALUES = "location_", "var_", "counts_", "sum_", "count_", "scores_"
COUNTS = "n_rows_", "count_"
NUMBERS = "value", "low", "high", "n"
COLUMNS = "variable", *NUMBERS, "reliable"
JUDGED = 0.95  # confidence of the intervals that are judged, whatever a table shows
CLOSE = 0.05  # of a number: known so well it is known, however little the column is spread
ALIKE = 1e-9  # of a number: the spread of a column of which one value was seen
MORE = "Use a larger epsilon or more rows."
NO_BOUNDS = "Use a larger epsilon, more rows, or bounds=(low, high)."
ENDS = "value", "low", "high"
ROUND = {"D": "D", "h": "h", "min": "m", "s": "s", "ms": "ms", "us": "us"}  # of dates, for numpy
TINY = np.finfo(float).tiny  # an interval so short is a point
FAR = 10  # spreads: no mean and no quantile from 1 % to 99 % are farther apart (Cantelli: 9.95)


class JudgedNumbers:
    """Mixin of every estimator: what the rule for reliable numbers asks it for."""

    _noun = "value"  # what its numbers are, in a warning
    _spread_is_most = False  # whether no column is spread more, so that nothing excuses more

    def _spread(self):
        """Return what the intervals of its numbers are short beside; None if nothing tells.

        Of means and quantiles the spread of the column; of a variance itself, from below.
        """
        return None

    def _possible(self):
        """Return the least and the largest number that there can be, whatever the rows are."""
        return getattr(self, "bounds_", (-np.inf, np.inf))

    def _axes(self):
        """Return titles and labels of the axes of its numbers before that of columns."""
        return {}

    def _doubt_numbers(self, curator):
        """Tell the curator of the numbers that are not reliable by their intervals alone."""


class ResultsMixin(JudgedNumbers):
    """Mixin of estimators whose numbers make a table."""

    def _doubt_numbers(self, curator):
        try:
            numbers = _judged(self)
        except (AttributeError, ValueError):  # no numbers, or none with intervals
            return
        bad = ~numbers.good & ~_doubted(self.privacy_report_, numbers.value.shape)
        use = NO_BOUNDS if getattr(self, "bounds", 0) is None else MORE
        for label, some in _each(self, bad) if bad.any() else ():
            curator.doubt(f"the {self._noun}{label} is {numbers.said(some)}. {use}", some)

    def results(self, confidence=0.95, *, rounded=False, **parameters):
        """Return the released numbers as one table, with intervals and what is reliable.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        rounded : bool, default=False
            Whether to show the digits alone that noise leaves: two of half an interval.
        **parameters : dict
            More for the method ``interval``, for instance ``simultaneous=True``.

        Returns
        -------
        frame : DataFrame
            One row for each number: ``variable``, the column it is of, ``value``, ``low``,
            ``high``, ``n``, the released number of rows, and ``reliable``: the rule of the user
            guide "When is an answer reliable". A ``value`` is NaN where nothing is known of it,
            ``n`` where no number of rows is released. After a fit with ``groups`` also
            ``rows_per_group``: as how many rows a group counts at most. A dict of arrays where
            pandas is not installed.

        Raises
        ------
        AttributeError
            Where the result is no list of numbers.
        """
        check_is_fitted(self)
        return long_format(lines_of(self, confidence, parameters), COLUMNS, rounded=rounded)


@dataclass
class _Numbers:
    """Numbers with intervals, judged."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray  # ndarray or float: infinite where nothing tells
    possible: tuple  # tuple of ndarray or float: the least and the largest number
    most: bool = False  # whether the spread is an upper bound

    @property
    @np.errstate(all="ignore")  # of numbers near the ends of floats
    def _measure(self):
        """What an interval is short beside: the spread, or a part of the end that is nearer to 0.

        That end, not the value: a number that is far too large must not excuse its interval.
        """
        nearest = np.fmax(np.fmax(self.low, -self.high), 0)
        return np.fmax(self.spread, np.fmax(CLOSE * nearest, TINY))

    @property
    @np.errstate(all="ignore")  # of numbers near the ends of floats
    def known(self):
        """Whether a value is near an end of its interval that says more than what is possible."""
        least, most = self.possible
        below = np.where(self.low > least, self.value - self.low, np.inf)
        above = np.where(self.high < most, self.high - self.value, np.inf)
        near = np.fmin(below, above)
        between = np.isfinite(least) & np.isfinite(most)  # then no value is absurd
        return np.isfinite(near) & (between | ~(near > FAR * self._measure))

    @property
    @np.errstate(all="ignore")  # of numbers near the ends of floats
    def short(self):
        """Whether an interval ends, and reaches no farther than what it is short beside.

        Numbers of an arbitrary zero, as years, are large: beside all that a column may be spread,
        their size counts for nothing.
        """
        reach = np.fmax(self.high - self.value, self.value - self.low)
        told = self.most & (self.spread > ALIKE * np.abs(self.value))  # else no spread was seen
        return np.isfinite(reach) & ~(reach > np.where(told, self.spread, self._measure))

    @property
    def good(self):
        """Whether a value is known, by a short interval; of no interval nothing is said."""
        return (self.known & self.short) | np.isnan(self.low)

    @np.errstate(all="ignore")  # of numbers near the ends of floats
    def said(self, mask):
        """Return in words how well some of the numbers are known."""
        cells = (a[mask] for a in (self.value, self.low, self.high))
        told = [_words(*cell) for cell in zip(*cells, strict=True)]
        if len(told) > 1 and len(set(told)) == 1:
            told = told[:1]
        more = ", ..." if len(told) > MOST_NAMED else ""
        words = ", ".join(told[:MOST_NAMED]) + more
        return words if words.startswith("not known") else f"known only {words}"


def _words(value, low, high):
    if not (np.isfinite(low) or np.isfinite(high)):
        return "not known"
    if not np.isfinite(low):
        return f"to be below {high:.3g}"
    if not np.isfinite(high):
        return f"to be above {low:.3g}"
    below, above = value - low, high - value
    if abs(below - above) < 0.1 * (below + above):
        return f"to within ± {(high - low) / 2:.3g}"
    return f"to lie between {low:.3g} and {high:.3g}"


def lines_of(estimator, confidence, parameters):
    """Return a dict with the COLUMNS, and those of axes, for each number of a fitted estimator.

    Notes
    -----
    **The rule.** A number is reliable if no doubt of the fit is about it, and its interval ends and
    is short beside the spread, or the value, that it is about. It is judged at 95 %, whatever the
    interval that is shown, which must end too.
    """
    last = _last(estimator)
    if hasattr(last, "_lines"):
        return last._lines(confidence, parameters)
    shown, judged = _with_interval(last, confidence, parameters), _judged(last)
    ends = np.isfinite(shown.low) & np.isfinite(shown.high) | np.isnan(shown.low).all()
    doubted = _doubted(last.privacy_report_, shown.value.shape)
    if len(_low_accuracy_records(estimator.privacy_report_)) > len(
        _low_accuracy_records(last.privacy_report_)
    ):
        doubted = np.ones_like(doubted)  # steps before make its rows
    cells = {
        "value": np.where(judged.known | np.isnan(judged.low), shown.value, np.nan),
        "low": shown.low,
        "high": shown.high,
        "n": np.full(shown.value.shape, _count(last)),
        "reliable": judged.good & ends & ~doubted,
    }
    axes = {
        title: np.broadcast_to(np.asarray(labels)[..., None], shown.value.shape).ravel()
        for title, labels in last._axes().items()
    }
    names = _names(last, shown.value.shape, numbered=not axes)
    columns = {"variable": names, **axes, **{name: cell.ravel() for name, cell in cells.items()}}
    columns["reliable"] = columns["reliable"].tolist()
    columns |= _in_dates(last, {name: columns[name] for name in ("variable", *ENDS)})
    if hasattr(last, "rows_per_group_"):
        columns["rows_per_group"] = [int(last.rows_per_group_)] * len(names)
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def _in_dates(estimator, columns):
    """Return cells with the locations of dates and durations in their own types, slopes per day."""
    calendars = calendars_of(estimator)
    if calendars is None or not (hasattr(estimator, "location_") or hasattr(estimator, "coef_")):
        return columns
    if hasattr(estimator, "coef_"):
        calendars = [*calendars, None]  # of the intercept
        dated = np.resize([one is not None for one in calendars], len(columns["variable"]))
        cells = zip(columns["variable"], dated, strict=True)
        names = [f"{name} per day" if is_date else name for name, is_date in cells]
        scale = np.where(dated, UNITS["D"], 1.0)
        return {"variable": names, **{name: columns[name] * scale for name in ENDS}}
    return columns | {
        name: [
            cell if (own := calendars[i % len(calendars)]) is None else own.scalar(cell)
            for i, cell in enumerate(columns[name].tolist())
        ]
        for name in ENDS
    }


def n_values(estimator):
    """Return how many lines :func:`lines_of` has."""
    last = _last(estimator)
    return len(lines_of(last, JUDGED, {})) if hasattr(last, "_lines") else _values(last).size


def long_format(rows, titles, *, rounded=False):
    """Return dicts as a frame of pandas, or a dict of arrays where that is not installed."""
    rows = [_rounded(row) for row in rows] if rounded else rows
    titles = list(rows[0]) if rows else titles
    columns = {title: [row[title] for row in rows] for title in titles}
    arrays = {
        title: np.array(column, dtype=float) if _are_floats(title, column) else _objects(column)
        for title, column in columns.items()
    }
    if np.isfinite(arrays.get("n", np.nan)).all():
        arrays["n"] = arrays["n"].astype(np.int64)
    try:
        from pandas import DataFrame, Series
    except ImportError:
        return arrays
    numbers = [t for t, own in columns.items() if any(isinstance(cell, float) for cell in own)]
    frame = DataFrame({t: Series(own, dtype=own.dtype) for t, own in arrays.items()})
    others = frame.columns.difference(numbers)  # beside dates NaN stays that of a number
    return frame.astype(frame[others].infer_objects().dtypes)


def _rounded(row):
    """Return the cells of a line with two digits of half of its interval; dates to a unit of it."""
    width = row["high"] - row["low"]
    if isinstance(width, Real):
        if not TINY < width < np.inf:
            return row
        digits = 1 - math.floor(math.log10(width / 2))
        return row | {name: round(row[name], digits) for name in ENDS}
    unit = next((own for own, one in ROUND.items() if width > 10 * np.timedelta64(1, one)), None)
    if unit is None or not hasattr(width, "round"):  # NaT, or no pandas
        return row
    return row | {name: row[name].round(unit) for name in ENDS}


def _are_floats(title, column):
    return title in NUMBERS and all(isinstance(cell, Real) for cell in column)


def _objects(column):
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def _last(estimator):
    while hasattr(estimator, "steps_"):
        estimator = next(
            step for _, step in reversed(estimator.steps_) if not isinstance(step, str | None)
        )
    return estimator


def _judged(estimator):
    return _with_interval(estimator, JUDGED, {})


@as_numbers()
def _with_interval(estimator, confidence, parameters):
    """Return the _Numbers of an estimator."""
    values = _values(estimator)
    low = high = np.full(values.shape, np.nan)
    with np.errstate(all="ignore"):
        if hasattr(estimator, "interval"):
            ends = estimator.interval(confidence=confidence, **parameters)
            low, high = (_of_shape(np.asarray(end, dtype=float), values.shape) for end in ends)
        spread = estimator._spread()
    spread = np.inf if spread is None else np.asarray(spread, dtype=float)
    return _Numbers(values, low, high, spread, estimator._possible(), estimator._spread_is_most)


def _of_shape(ends, shape):
    """Return ends of intervals in the shape of values, NaN for an intercept that has none."""
    if ends.ndim and ends.ndim == len(shape) and ends.shape[-1] + 1 == shape[-1]:
        ends = np.append(ends, np.full((*shape[:-1], 1), np.nan), axis=-1)
    return ends.reshape(shape)


def _low_accuracy_records(report):
    return [line for line in report.decisions if isinstance(line, Doubt)]


def _doubted(report, shape):
    """Return which numbers of this shape the doubts of a report are about."""
    doubted = np.zeros(shape, dtype=bool)
    for doubt in _low_accuracy_records(report):
        mask = np.asarray(True if doubt.mask is None else doubt.mask)
        mask = mask.reshape(shape) if mask.size == doubted.size else mask
        if mask.shape and mask.shape[-1] + 1 == shape[-1]:  # of features; an intercept needs all
            mask = np.append(mask, np.ones((*mask.shape[:-1], 1), dtype=bool), axis=-1)
        fits = mask.shape == shape[len(shape) - mask.ndim :]
        doubted |= mask if fits else True  # of columns that its numbers are not of
    return doubted


def _each(estimator, bad):
    """Yield the words for a row of numbers, a number for each column, and which of it are bad."""
    rows = bad.reshape(-1, bad.shape[-1])
    labels = [
        f" {title}={label}"
        for title, labels in estimator._axes().items()
        for label in np.broadcast_to(labels, bad.shape[:-1]).ravel().tolist()
    ]
    for i, label in enumerate(labels or [""] * len(rows)):
        if rows[i].any():
            yield (
                label,
                np.where(np.arange(len(rows))[:, None] == i, rows, False).reshape(bad.shape),
            )


def _count(estimator):
    """Return the released numbers of entries, or of rows, whole ones, NaN where there is none."""
    # moments of bounded columns: their first row is that of ones
    if getattr(estimator, "moments_", None) is not None:
        return np.rint(np.asarray(estimator.moments_, dtype=float)[0])
    if hasattr(estimator, "rank_curves_"):
        return np.rint(estimator.rank_curves_.n_rows)
    told = (np.asarray(getattr(estimator, name)) for name in COUNTS if hasattr(estimator, name))
    return np.rint(next(told, np.nan))


@as_numbers()
def _values(estimator):
    for name in VALUES:
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name), dtype=float)
    if hasattr(estimator, "coef_"):
        coef = np.asarray(estimator.coef_, dtype=float)
        return np.append(coef, np.reshape(estimator.intercept_, (*coef.shape[:-1], 1)), axis=-1)
    raise AttributeError(
        "this estimator releases no means, rates, counts, sums, quantiles, variances or "
        "coefficients that results could list. Read its attributes instead."
    )


def _names(estimator, shape, numbered=True):
    """Return names of values: those of their columns, with a number where there are several."""
    if not shape:
        return ["count"]
    if hasattr(estimator, "metric_names_"):
        return list(estimator.metric_names_)
    d = estimator.n_features_in_
    names = [str(x) for x in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(d)])]
    names = [*names, *(["intercept"] if shape[-1] == d + 1 else [])]
    if len(names) != shape[-1]:
        names = [f"cell {j}" for j in range(shape[-1])]
    outer = list(np.ndindex(shape[:-1]))
    if len(outer) == 1 or not numbered:
        return names * len(outer)
    return [f"{name} ({', '.join(map(str, place))})" for place in outer for name in names]
