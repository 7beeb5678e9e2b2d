"""Synthetic rows as a table like that of the fit, and how near they are to released tables."""

from dataclasses import dataclass

import numpy as np

from skdp.marginals._found import Cells, cdf_at, laws_of_intervals, spread
from skdp.marginals._frames import BOOL, CATEGORY, NUMBER, ColumnType, text_names, tidy_frame
from skdp.marginals._levels import OTHER, Intervals
from skdp.readers._calendar import Calendar
from skdp.readers._columns import read_columns
from skdp.readers._raw import schema_of

ANY = ColumnType(None, "")  # of levels that stand for entries of several types
PLAIN = {"halffloat": "float16", "float": "float32", "double": "float64", "boolean": "bool"}


def table_of_codes(domain, codes, library, *, seed=0):
    """Return rows of values with these level numbers, in the columns and types of a table.

    Shapes: codes (n_rows, n_columns); rows (n_rows, n_columns).
    """
    types = domain.types or (ANY,) * len(domain.kinds)
    made = {}
    for i in np.argsort(domain.columns):
        values = _values(domain.kinds[i], codes[:, i], types[i], (int(i), seed))
        write = WRITERS[library] if types[i].calendar is None else _dates
        made[str(domain.names[i])] = write(values, types[i], domain.kinds[i], library)
    if library is None:
        return _stacked(list(made.values()))
    if library == "polars":
        import polars

        return polars.DataFrame(made)
    import pandas

    return pandas.DataFrame(made, index=range(len(codes)))


def _values(kind, codes, column_type, key):
    """Return the values of level numbers: floats, NaN where missing, or objects, None there."""
    if isinstance(kind, Cells | Intervals):
        numbers = _numbers(kind, codes, key, integer=column_type.integer)
        return _shortened(numbers, kind, codes, column_type.name)
    labels = _labels(kind, column_type)
    if column_type.kind in (NUMBER, BOOL) and not any(isinstance(x, str) for x in labels):
        return np.array([np.nan if x is None else x for x in labels], dtype=np.float64)[codes]
    values = np.empty(len(labels), dtype=object)
    values[:] = labels
    return values[codes]


def _labels(kind, column_type):
    """Return the values of all levels, None for missing ones; other entries of text are OTHER."""
    values = list(getattr(kind, "values", kind.labels))
    text = column_type.kind not in (NUMBER, BOOL) or any(isinstance(x, str) for x in values)
    others = [OTHER if label == OTHER and text else None for label in kind.labels[len(values) :]]
    return values + others


def _numbers(kind, codes, key, *, integer):
    if not isinstance(kind, Cells):
        laws, whole = laws_of_intervals(kind.edges, whole=integer), integer
    else:
        laws, whole = kind.laws, kind.whole
    parts, numbers = spread(codes, *key), np.full(len(codes), np.nan)
    for level, law in enumerate(laws):
        rows = codes == level
        numbers[rows] = cdf_at(law, parts[rows], whole=whole)
    return numbers


def _shortened(numbers, kind, codes, name):
    """Return numbers that a type of short floats holds, in the same bins if it has any there."""
    dtype = np.dtype(_plain_name(name)) if "float" in name.lower() else np.dtype(np.float64)
    with np.errstate(over="ignore"):
        short = numbers.astype(dtype)
        out = np.flatnonzero(
            (kind.coded.codes(short.astype(np.float64)) != codes) & ~np.isnan(numbers)
        )
        back = np.where(short[out] > numbers[out], -np.inf, np.inf).astype(dtype)
        short[out] = np.nextafter(short[out], back)
    return short.astype(np.float64)


def _plain_name(name):
    """Return what numpy calls a type of Arrow, or of pandas and polars."""
    name = name.lower().partition("[")[0]
    return PLAIN.get(name, name)


def _array(values, column_type, kind, library=None):
    """Return values as an array of the type of a column, if it can hold all of them."""
    if values.dtype == object:
        whole = all(type(x) is int for x in values.tolist())
        return values.astype(np.int64) if whole else values
    dtype = np.dtype(_plain_name(column_type.name))
    if dtype.kind == "f" or np.isnan(values).any():
        return values.astype(dtype if dtype.kind == "f" else np.float64)
    if dtype.kind == "b":
        return values != 0
    ends = np.iinfo(dtype)
    top = float(ends.max)
    top = top if int(top) <= ends.max else np.nextafter(top, 0)
    return np.clip(values, float(ends.min), top).astype(dtype)


def _stacked(columns):
    kinds = {column.dtype.kind == "O" for column in columns}
    return np.column_stack([c.astype(object) for c in columns] if len(kinds) > 1 else columns)


def _pandas(values, column_type, kind, library=None):
    import pandas

    name = column_type.name
    if name == CATEGORY:
        return pandas.Categorical(values, categories=_categories(values, column_type, kind))
    if values.dtype != object and (not name or np.dtype("O") != _numpy_type(name)):
        return _array(values, column_type, kind)
    return pandas.Series(_plain(values, column_type), dtype=name or None)


def _dates(values, column_type, kind, library):
    """Return values as dates or durations of the type of a column."""
    calendar = Calendar(*column_type.calendar)
    entries = calendar.entries(np.array([x if x is not None else np.nan for x in values], float))
    if library == "polars":
        import polars

        column = polars.Series(entries)
        if calendar.zone is None:
            return column
        return column.dt.replace_time_zone("UTC").dt.convert_time_zone(calendar.zone)
    if library == "pandas" and calendar.zone is not None:
        import pandas

        return pandas.Series(entries).dt.tz_localize("UTC").dt.tz_convert(calendar.zone)
    return entries


def _numpy_type(name):
    """Return the numpy type of a name, that of objects if it has none of its own."""
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(object)


def _polars(values, column_type, kind, library=None):
    import polars

    entries, name = _plain(values, column_type), column_type.name
    if name == CATEGORY:
        entries = [x if x is None else str(x) for x in entries]
        return polars.Series(entries, dtype=polars.Categorical)
    dtype = getattr(polars, name, None)
    if dtype is not None:
        return polars.Series(entries, dtype=dtype, strict=False)
    several = len({type(x) for x in entries} - {type(None)}) > 1
    return polars.Series([str(x) if several and x is not None else x for x in entries])


def _plain(values, column_type):
    """Return values as a list of Python's own, None where missing."""
    if values.dtype == object:
        return values.tolist()
    make = bool if column_type.kind == BOOL else int if column_type.integer else float
    return [None if x != x else make(x) for x in values.tolist()]


def _categories(values, column_type, kind):
    """Return the categories of a column: the values of its levels, in their order."""
    labels = values.tolist() if isinstance(kind, Intervals) else _labels(kind, column_type)
    return list(dict.fromkeys(x for x in labels if x is not None and x == x))


WRITERS = {None: _array, "pandas": _pandas, "polars": _polars}

WARNING = (
    "Synthetic rows answer only what these tables hold. What they say of other combinations of "
    "columns, or of anything inside a bin, is an assumption, and they have no intervals: ask the "
    "releaser for those."
)
UNRELEASED = "{:,} pairs of columns have no released table: what rows say of them is the model's"
WORST = 5  # tables that a text names


@dataclass(frozen=True)
class SyntheticReport:
    """Synthetic rows beside every table of a release.

    Parameters
    ----------
    n_rows : int
        Number of synthetic rows.
    columns : tuple of tuple of str
        Names of the columns of every table.
    distance : ndarray of shape (n_tables,)
        Total variation distance of the rows from the table as released: half the sum of the
        absolute differences of the shares of all cells.
    noise : ndarray of shape (n_tables,)
        What the noise of the release makes of it on average, for rows that have the exact shares.
    bound : ndarray of shape (n_tables,)
        Rows that have the exact shares of a table are further from it with probability 0.05 at
        most.
    library : {"pandas", "polars"}, default="pandas"
        Of :meth:`to_frame`.
    bins : tuple of (str, int), default=()
        Columns some of whose levels are bins of several numbers, and how many levels they have:
        the distance is that of levels, and says nothing of what lies inside a bin.
    unreleased : int, default=0
        Number of pairs of columns that are in no released table: nothing is compared, and what rows
        say of them is the model's.

    See Also
    --------
    skdp.MarginalReleaser : Releases the tables, and draws rows from them.

    Notes
    -----
    **Privacy**: post-processing of a release and of the rows that were compared with it. It
    protects no rows: those of :meth:`skdp.MarginalReleaser.sample` need no protection, others do.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import MarginalReleaser
    >>> X = np.random.default_rng(0).integers(2, size=(10000, 20))
    >>> fit = MarginalReleaser(k=2).fit(X)
    >>> report = fit.synthetic_report(fit.sample())
    >>> len(report.columns), bool(report.distance.mean() < 0.02)
    (190, True)
    """

    n_rows: int
    columns: tuple
    distance: np.ndarray
    noise: np.ndarray
    bound: np.ndarray
    library: str = "pandas"
    bins: tuple = ()
    unreleased: int = 0

    @property
    def within_noise(self):
        """Whether the noise of the release alone may explain the distance, table by table."""
        return self.distance <= self.bound

    def to_frame(self):
        """Return the report as a tidy frame.

        Returns
        -------
        frame : DataFrame
            One row per table: ``column_1``, ``column_2``, ..., of which smaller tables leave the
            last empty, ``distance``, ``noise``, ``bound`` and ``within_noise``.
        """
        most = max(map(len, self.columns))
        padded = np.array([(*names, *[None] * (most - len(names))) for names in self.columns])
        told = {f"column_{i + 1}": column for i, column in enumerate(padded.T)}
        numbers = {"distance": self.distance, "noise": self.noise, "bound": self.bound}
        return tidy_frame({**told, **numbers, "within_noise": self.within_noise}, self.library)

    def __str__(self):
        far = np.flatnonzero(~self.within_noise)
        far = far[np.argsort(-(self.distance / self.bound)[far], kind="stable")]
        bins = ", ".join(f"{name} {n_levels}" for name, n_levels in self.bins)
        lines = [
            f"{self.n_rows:,} synthetic rows beside {len(self.columns):,} released tables",
            f"total variation distance: {self.distance.mean():.4f} on average, "
            f"{self.distance.max():.4f} at most",
            f"the noise of the tables explains {self.noise.mean():.4f} on average, and the "
            f"distances of {len(self.columns) - len(far):,} tables",
            *[f"levels are compared, and nothing inside bins; levels of {bins}"][: len(bins)],
            *[UNRELEASED.format(self.unreleased)][: self.unreleased],
        ]
        for i in far[:WORST]:
            lines.append(
                f"  beyond noise: {' x '.join(self.columns[i])}, {self.distance[i]:.4f}, of which "
                f"noise explains {self.bound[i]:.4f} at most"
            )
        return "\n".join([*lines, WARNING])


def codes_of_rows(domain, rows):
    """Return the level numbers of synthetic rows, an array of int of shape (n_rows, n_columns)."""
    columns = read_columns(rows)
    names, d = text_names(schema_of(columns.table)), len(domain.names)
    if names is None:
        there = dict(zip(np.argsort(domain.columns).tolist(), range(d), strict=True))
        fits = columns.table.shape[1] == d
    else:
        there = {i: names.index(str(x)) for i, x in enumerate(domain.names) if str(x) in names}
        fits = len(there) == d
    if not fits or not len(columns):
        raise ValueError(
            f"synthetic rows have the {d} columns of the domain, and there is at least one row, as "
            "sample() returns them. Got other columns, or no rows."
        )
    codes = domain.encode([columns.read(there[place]) for place in range(d)])
    outside = [
        name for name, bad in zip(domain.names, np.isnan(codes).any(axis=0), strict=True) if bad
    ]
    if outside:
        raise ValueError(
            f"rows have entries outside the levels of the columns {outside[:10]}. Pass rows as "
            "sample() returns them, or replace such entries by levels of domain_."
        )
    return codes.astype(np.int64)
