"""What a fitted MarginalReleaser answers: tables, counts, intervals."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.denoising._vector import coordinate_interval
from skdp.kernel._layout import by_shape, set_numbers
from skdp.marginals._display import MarginalDisplay
from skdp.marginals._frames import tidy_frame, wants_frame
from skdp.marginals._residuals import cell_scales, count_scale, table_of, tables_of
from skdp.marginals._synthetic_rows import SyntheticRows


@dataclass(frozen=True)
class CountEstimate:
    """The answer to a counting query.

    Parameters
    ----------
    count : float
        Estimated number of rows.
    noise_scale : float
        Standard deviation of the count before post-processing.
    interval : (float, float)
        Interval around that count. What post-processing has moved may be outside of it.

    See Also
    --------
    skdp.MarginalReleaser, skdp.denoising.coordinate_interval

    Notes
    -----
    **Privacy**: computed from released marginals alone: any number of queries costs nothing.

    Examples
    --------
    >>> from skdp import MarginalReleaser
    >>> X = [["AA", "JFK"], ["UA", "EWR"], ["UA", "LGA"]] * 1000
    >>> domain = {0: ["AA", "UA"], 1: ["EWR", "JFK", "LGA"]}
    >>> estimate = MarginalReleaser(domain=domain).fit(X).query({0: "UA"})
    >>> abs(estimate.count - 2000) < 100
    True
    """

    count: float
    noise_scale: float
    interval: tuple


LEVELS = "levels must be a dict {column: level or list of levels}. Pass {'town': 'north'}."


class MarginalAnswers(SyntheticRows):
    """Methods of a fitted MarginalReleaser. All of them are free post-processing."""

    def marginal(self, columns, *, as_frame="auto"):
        """Return the table of some columns: the estimated number of rows with every combination.

        Parameters
        ----------
        columns : str, int or list of them
            Names or numbers of columns that are together in a table of the workload.
        as_frame : bool or "auto", default="auto"
            Whether to return a frame. ``"auto"``: if X was a frame, or scikit-learn is configured
            with ``set_config(transform_output="pandas")`` (or ``"polars"``).

        Returns
        -------
        table : ndarray with one axis per column, or DataFrame
            A frame is tidy: one row per cell, its levels, and ``count`` (``estimated_count``, if a
            column has that name).

        Notes
        -----
        Tables agree: what two of them say of the same columns is the same, to rounding errors.
        Counts are no integers, and may be negative; round at the end.
        """
        check_is_fitted(self)
        places = self._places(columns)
        table = table_of(self.measurement_.layout, self.residuals_, places)
        library = self._library(as_frame)
        if library is None:
            return table
        grids = np.meshgrid(*[self._labels(place) for place in places], indexing="ij")
        names = [str(self.domain_.names[place]) for place in places]
        cells = {name: grid.ravel() for name, grid in zip(names, grids, strict=True)}
        count = "count" if "count" not in names else "estimated_count"
        return tidy_frame({**cells, count: table.ravel()}, library)

    def to_frame(self):
        """Return all tables of the workload as one tidy frame.

        Returns
        -------
        frame : DataFrame
            One row per cell: ``column_1``, ``level_1``, ``column_2``, ... and ``count``. Smaller
            tables leave the last columns empty. Of pandas, or of polars if X was a frame of it.
        """
        check_is_fitted(self)
        layout, names = self.measurement_.layout, np.array(self.domain_.names, dtype=object)
        most, parts, order = max(sets.shape[1] for sets in self.workload_), [], []
        for shape, members, _ in by_shape(layout.levels, self.workload_):
            tables = tables_of(layout, self.residuals_, members)
            cells, rows = tables[0].size, tables.size
            level = np.indices(shape).reshape(len(shape), 1, cells)
            part = {}
            for i in range(most):
                column = np.full((len(members), cells), None, dtype=object)
                label = column.copy()
                if i < len(shape):
                    column[:] = names[members[:, i], None]
                    known = {place: self._labels(place) for place in np.unique(members[:, i])}
                    label[:] = [known[place][level[i, 0]] for place in members[:, i]]
                part |= {f"column_{i + 1}": column.ravel(), f"level_{i + 1}": label.ravel()}
            parts.append({**part, "count": tables.ravel()})
            order.append(np.repeat(set_numbers(layout, members), rows // max(len(members), 1)))
        order = np.argsort(np.concatenate(order), kind="stable")
        whole = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
        return tidy_frame(whole, self._library(True))

    def query(self, levels, *, confidence=0.95):
        """Estimate the number of rows with certain levels.

        Parameters
        ----------
        levels : dict
            ``{column: level or list of levels}`` for columns that are together in a table. Levels
            as in the domain, or as they are called in tables; None is missing, ... is other.
        confidence : float, default=0.95
            Probability with which the interval covers the exact number.

        Returns
        -------
        estimate : CountEstimate

        Examples
        --------
        >>> from skdp import MarginalReleaser
        >>> X = [["AA", "JFK"], ["UA", "EWR"], ["UA", "LGA"]] * 1000
        >>> domain = {0: ["AA", "UA"], 1: ["EWR", "JFK", "LGA"]}
        >>> fit = MarginalReleaser(domain=domain).fit(X)
        >>> abs(fit.query({0: "UA", 1: ["EWR", "LGA"]}).count - 2000) < 100
        True
        """
        check_is_fitted(self)
        if not isinstance(levels, dict):
            raise ValueError(LEVELS)
        places = self._places(list(levels))
        chosen = [
            self._chosen(c, wanted) for c, wanted in zip(places, levels.values(), strict=True)
        ]
        return self._count(places, chosen, confidence)

    def count_between(self, column, low=None, high=None, *, confidence=0.95):
        """Estimate the number of rows in a range of one ordered column.

        Parameters
        ----------
        column : str or int
        low, high : level or number, default=None
            Ends of the range. Of bins they are edges (of dates and durations also as such), and
            None is no end. Of other levels, which are taken in their order in the domain, they are
            levels and belong to the range, and None is the first or last one; missing and other
            entries are in none.
        confidence : float, default=0.95
            Probability with which the interval covers the exact number.

        Returns
        -------
        estimate : CountEstimate

        Raises
        ------
        ValueError
            If an end is no edge, or no level, or the range has no level.

        Notes
        -----
        Any release answers; ``workload="ranges"`` and ``"prefixes"`` are made for it, with less
        noise the more levels there are. Ranges of bins have the ends that bins have: closed on the
        left in public :class:`Bins`, on the right in those of ``"auto"``.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import MarginalReleaser
        >>> from skdp.marginals import Bins
        >>> X = np.random.default_rng(0).uniform(size=(20000, 1))
        >>> domain = {0: Bins(np.linspace(0, 1, 257))}
        >>> fit = MarginalReleaser(domain=domain, workload="ranges").fit(X)
        >>> estimate = fit.count_between(0, 0.25, 0.75)
        >>> abs(estimate.count - 10000) < 200, estimate.noise_scale < 30
        (True, True)
        """
        check_is_fitted(self)
        places = self._places(column)
        return self._count(places, [self.domain_.between(places[0], low, high)], confidence)

    def _count(self, places, chosen, confidence):
        processed, raw = (
            float(table_of(self.measurement_.layout, values, places)[np.ix_(*chosen)].sum())
            for values in (self.residuals_, self.measurement_.values)
        )
        sd = count_scale(self.measurement_, places, chosen)
        low, high = coordinate_interval(raw, sd, confidence)
        for place, levels in zip(places, chosen, strict=True):
            level, more = self._unnamed(place)
            low -= more * (level in levels and len(levels) < self.domain_.levels[place])
        return CountEstimate(processed, sd, (max(float(low), 0.0), max(float(high), 0.0)))

    def _unnamed(self, place):
        """Return the level that also holds entries without one, and how many there may be."""
        kind = self.domain_.kinds[place]
        hidden = getattr(kind, "hidden", 0.0)
        return (kind.rest, hidden) if hidden else (0, 0.0)

    def cell_scale(self, columns):
        """Return the standard deviation of a count in a table, before post-processing.

        Parameters
        ----------
        columns : str, int or list of them

        Returns
        -------
        sd : float, or ndarray of shape (n_levels,)
            In rows, the same for all cells; with ``workload="ranges"`` or ``"prefixes"`` one for
            each level.
        """
        check_is_fitted(self)
        return cell_scales(self.measurement_, self._places(columns))

    def interval(self, columns, confidence=0.95, *, simultaneous=False):
        """Return intervals for the exact counts of a table.

        They are made from the residuals as released, whose noise is known exactly, not from tables
        after post-processing, which have no such intervals and may be outside of them.

        Parameters
        ----------
        columns : str, int or list of them
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals of this table together shall cover with this probability.

        Returns
        -------
        lower, upper : ndarrays with one axis per column

        Notes
        -----
        The errors of the cells are jointly normal but not independent. Together, d intervals of
        level ``confidence^(1/d)`` still cover with ``confidence`` at least (Sidak's inequality).
        They cover the counts of this table of rows, not those of a population behind it.
        """
        check_is_fitted(self)
        places = self._places(columns)
        raw = table_of(self.measurement_.layout, self.measurement_.values, places)
        sd = cell_scales(self.measurement_, places)
        low, high = coordinate_interval(raw, sd, confidence, simultaneous=simultaneous)
        for axis, (level, more) in enumerate(map(self._unnamed, places)):
            np.moveaxis(low, axis, 0)[level] -= more
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def plot(self, columns, ax=None, **plot_params):
        """Plot the table of one column or two: bars or a map.

        Parameters
        ----------
        columns : str, int or list of them
        ax : matplotlib Axes, default=None
            A new figure by default.
        **plot_params : dict
            Further arguments of :meth:`MarginalDisplay.plot`.

        Returns
        -------
        display : MarginalDisplay
        """
        return MarginalDisplay.from_estimator(self, columns, ax=ax, **plot_params)

    def _places(self, columns):
        """Return the places of columns that are together in a table of the workload."""
        places = self.domain_.place(columns)
        try:
            set_numbers(self.measurement_.layout, [sorted(places)])
        except KeyError:
            names = [self.domain_.names[place] for place in places]
        else:
            return places
        raise ValueError(
            f"no table of the workload has all of the columns {names}: fit with a workload that "
            "has one. Tables of some of its columns come with it."
        )

    def _labels(self, place):
        """Return the labels of a column, an array of objects unless they are numbers."""
        labels = self.domain_.labels[place]
        numbers = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
        return np.array(labels, dtype=np.int64) if numbers else np.array(labels, dtype=object)

    def _chosen(self, place, wanted):
        """Return the numbers of one level or of several, without repetition."""
        several = isinstance(wanted, list | tuple | set | range | np.ndarray)
        numbers = [self.domain_.level(place, w) for w in (wanted if several else [wanted])]
        return sorted(set(numbers))

    def _library(self, as_frame):
        library = wants_frame(self.table_type_)
        if as_frame == "auto":
            return library
        return (library or "pandas") if as_frame else None
