"""The columns that are read, their public levels, and the tables that are wanted of them."""

from bisect import bisect
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from numbers import Integral, Real

import numpy as np

from skdp.kernel._labels import Coded
from skdp.kernel._layout import Layout
from skdp.marginals._levels import (
    AUTO,
    MISSING,
    OTHER,
    Intervals,
    Signs,
    Unknown,
    names_of,
    read_levels,
)
from skdp.marginals._residuals import RANGES, workload_layout
from skdp.readers._columns import ColumnBlock
from skdp.utils._numbers import describe_parameter

ROWS = "rows"  # the workload of synthetic rows
LIGHTEST = 1e-12  # part of the largest weight
FINEST = 1024  # levels of a column of ranges


@dataclass(frozen=True)
class Domain:
    """Columns with levels: their names, their numbers in the table, their levels and types."""

    names: tuple
    columns: tuple
    kinds: tuple
    types: tuple = ()

    @property
    def unknown(self):
        """Places of the columns whose levels a fit finds."""
        return [place for place, kind in enumerate(self.kinds) if isinstance(kind, Unknown)]

    def marked(self, places, n_features):
        """Return which columns of a table of so many are at these places."""
        marks = np.zeros(n_features, dtype=bool)
        marks[[self.columns[place] for place in places]] = True
        return marks

    def with_kinds(self, kinds):
        """Return the domain with other kinds of levels, by place."""
        return replace(self, kinds=tuple(kinds.get(i, kind) for i, kind in enumerate(self.kinds)))

    @cached_property
    def labels(self):
        """What the levels of every column are called in tables."""
        return tuple(kind.labels for kind in self.kinds)

    @cached_property
    def levels(self):
        """Number of levels of every column."""
        return tuple(map(len, self.labels))

    @cached_property
    def _numbers(self):
        by_column = {column: number for number, column in enumerate(self.columns)}
        return by_column | {name: number for number, name in enumerate(self.names)}

    def number(self, column):
        """Return the place of a column, by its name or its number in the table."""
        try:
            return self._numbers[column]
        except (KeyError, TypeError):
            known = f"{list(self.names[:10])}{' and more' if len(self.names) > 10 else ''}"
        raise ValueError(f"there is no column {column!r} in the domain, which has {known}.")

    def level(self, place, wanted):
        """Return the number of a level, by its value or by what it is called in tables."""
        if wanted is None or wanted is ... or wanted != wanted:
            wanted = OTHER if wanted is ... else MISSING
        if isinstance(wanted, Real) and hasattr(self.kinds[place], "laws"):
            (wanted,) = names_of((wanted,))  # of a number that is a level of its own
        try:
            return self.labels[place].index(wanted)
        except ValueError:
            raise ValueError(
                f"column {self.names[place]!r} has no level {wanted!r}. It has "
                f"{list(self.labels[place][:20])}."
            ) from None

    def between(self, place, low, high):
        """Return the numbers of the levels between two ends, which may be None."""
        kind = self.kinds[place]
        if not hasattr(kind, "edges"):
            last = len(getattr(kind, "values", kind.labels)) - 1
            ends = (
                self.level(place, x) if x is not None else y for x, y in ((low, 0), (high, last))
            )
            first, last = ends
        else:
            edges, outer = list(kind.edges), isinstance(kind, Intervals)
            low, high = (low, high) if outer else map(kind.end, (low, high))
            wrong = [end for end in (low, high) if end is not None and end not in edges]
            if wrong:
                raise ValueError(
                    f"a range of column {self.names[place]!r} has edges of its bins as ends, or "
                    f"None. Got {', '.join(map(describe_parameter, wrong))}; the nearest edges are "
                    f"{_nearest(edges, wrong[0])}. Bins(edges) of the domain are cut as you need."
                )
            inner = len(edges) - 2 if outer else len(edges)
            first = 0 if low is None else edges.index(low) + (not outer)
            last = inner if high is None else edges.index(high) - outer
        if last < first:
            raise ValueError(f"there is no level of column {self.names[place]!r} in this range.")
        return list(range(first, last + 1))

    def place(self, columns):
        """Return the places of one column or several, which must differ."""
        columns = [columns] if isinstance(columns, str | Integral) else list(columns)
        places = [self.number(column) for column in columns]
        if len(set(places)) < len(places):
            raise ValueError(f"the columns of a table must differ. Got {columns}.")
        return places

    @property
    def coded(self):
        """How rows become level numbers; NaN is an entry outside its levels."""
        return Coded(tuple(kind.coded for kind in self.kinds))

    def encode(self, columns):
        """Return the level numbers of columns that are arrays, shape (n_rows, n_columns)."""
        floats = [x if x.dtype.kind == "f" else np.array(x.tolist(), object) for x in columns]
        return self.coded.of_block(ColumnBlock([np.asarray(column) for column in floats]))


def _nearest(edges, wanted):
    """Return the edges below and above a number, some of them."""
    at = bisect(edges, wanted) if isinstance(wanted, Real) else 0
    return edges[max(at - 3, 0) : max(at, 3) + 3]


def is_auto(domain):
    """Return whether a domain as a user writes it has levels that a fit shall buy."""
    written = list(domain.values()) if isinstance(domain, dict) else [domain]
    return any(isinstance(levels, str) and levels == AUTO for levels in written)


def read_domain(domain, n_features, names=None):
    """Return the Domain that a user describes, or raise ValueError."""
    if isinstance(domain, Domain):
        return _released(domain, n_features, names)
    if domain is None:
        columns = tuple(range(n_features))
        return Domain(columns if names is None else tuple(names), columns, (Signs(),) * n_features)
    if isinstance(domain, str) and domain == AUTO:
        domain = {...: AUTO}
    if not isinstance(domain, dict) or not domain:
        raise ValueError(
            "the domain must be a dict {column: levels} with one column at least, or 'auto'. Got "
            f"{type(domain).__name__}."
        )
    position = {} if names is None else {str(name): i for i, name in enumerate(names)}
    if names is not None and len(position) < len(names):
        raise ValueError("X has two columns of one name. Rename them, or pass an array.")
    domain = _written_out(domain, n_features, names, position)
    columns = []
    for key in domain:
        by_number = isinstance(key, Integral) and not isinstance(key, bool)
        inside = by_number and (n_features is None or 0 <= key < n_features)
        if n_features is not None and not inside and key not in position:
            raise ValueError(
                f"the domain has a column {key!r}, which X has not. Pass its name, if X is a frame "
                f"with names, or its number, below {n_features}."
            )
        columns.append(int(key) if inside else position.get(key, key))
    if len(set(columns)) < len(columns):
        raise ValueError(f"the domain has a column twice, by name and by number: {list(domain)}.")
    named = [key if names is None or key in position else str(names[key]) for key in domain]
    kinds = tuple(read_levels(key, levels) for key, levels in domain.items())
    return Domain(tuple(named), tuple(columns), kinds)


def _released(domain, n_features, names):
    """Return the Domain of an earlier fit, or raise ValueError for a table without its columns."""
    if n_features is None:
        return domain
    known = {} if names is None else {str(name): i for i, name in enumerate(names)}
    columns = tuple(
        known.get(str(name), column)
        for name, column in zip(domain.names, domain.columns, strict=True)
    )
    lost = [
        name
        for name, column in zip(domain.names, columns, strict=True)
        if (known and str(name) not in known) or not column < n_features
    ]
    if lost or len(set(columns)) < len(columns):
        raise ValueError(
            f"X must have the columns of the domain of the earlier fit. Missing: {lost[:10]}. Pass "
            "a table with these columns, or another domain."
        )
    return replace(domain, columns=columns)


def _written_out(domain, n_features, names, position):
    """Return the domain with all columns that it does not name in the place of ``...``."""
    if ... not in domain or n_features is None:
        return domain
    named = {position.get(key, key) for key in domain}
    others = [j if names is None else str(names[j]) for j in range(n_features) if j not in named]
    rest = dict.fromkeys(others, domain[...])
    return {key: levels for key, levels in domain.items() if key is not ...} | rest


@dataclass(frozen=True)
class Tables:
    """A workload."""

    layout: Layout  # the residuals that it needs
    loss: np.ndarray  # shape (n_sets,): what an error in each of them costs
    sets: tuple  # the tables, an array of shape (m_j, j) for every number j of columns that occurs
    cells: float  # number of cells of all tables, each times its weight


def read_workload(k, workload, weights, error, domain):
    """Return the Tables that a user describes, or raise ValueError."""
    k, d = int(k), len(domain.levels)
    if weights is not None and error != "mean":
        raise ValueError("weights are for error='mean': the worst error has none. Leave them out.")
    if isinstance(workload, str) and workload in RANGES:
        return _ranges(workload, weights, error, domain)
    if isinstance(workload, str) and workload == ROWS:
        if weights is not None or error != "mean":
            raise ValueError(f"workload={ROWS!r} takes no weights, and error='mean'.")
        k = min(2, d)
    if isinstance(workload, str) and k > d:
        raise ValueError(
            f"tables of k={k} columns need as many columns in X, or in the domain. Got "
            f"n_features = {d}. Pass a smaller k, or a domain with levels of more columns, "
            '{..., ...: "auto"} to buy those of all others.'
        )
    if isinstance(workload, str) and weights is None:
        layout, loss = workload_layout(domain.levels, k)
        sets = (layout.subsets[k],)
        return Tables(layout, loss, sets, float(_cells(domain, sets[0]).sum()))
    if isinstance(workload, str):
        listed = list(combinations(range(d), k))
    else:
        listed = [tuple(sorted(domain.place(columns))) for columns in workload]
        if not listed or not all(listed):
            raise ValueError("the workload must list tables of at least one column each.")
    weights = np.ones(len(listed)) if weights is None else _scaled(weights, len(listed))
    layout, loss = workload_layout(domain.levels, listed, weights)
    sizes = np.array([len(columns) for columns in listed])
    sets, cells = [], 0.0
    for size in np.unique(sizes):
        sets.append(np.array([columns for columns in listed if len(columns) == size]))
        cells += weights[sizes == size] @ _cells(domain, sets[-1])
    return Tables(layout, loss, tuple(sets), float(cells))


def chosen_tables(levels, pairs):
    """Return the Tables of all single columns and of some pairs."""
    singles = np.arange(len(levels))[:, None]
    layout, loss = workload_layout(levels, [*singles.tolist(), *pairs])
    sets = (singles, np.array(pairs)) if len(pairs) else (singles,)
    sizes = np.array(levels, dtype=float)
    cells = sum(float(np.prod(sizes[one], axis=1).sum()) for one in sets)
    return Tables(layout, loss, sets, cells)


def _ranges(workload, weights, error, domain):
    if weights is not None or error != "mean" or max(domain.levels) > FINEST:
        raise ValueError(
            f"workload={workload!r} takes columns of at most {FINEST} levels, no weights, and "
            "error='mean'. Merge levels, leave the others out, or list tables."
        )
    sets = np.arange(len(domain.levels))[:, None]
    layout, loss = workload_layout(domain.levels, sets.tolist())
    return Tables(layout, loss, (sets,), float(_cells(domain, sets).sum()))


def _scaled(weights, n_tables):
    """Return weights of which the largest lies in [1/2, 1): only their ratios count."""
    weights = np.asarray(weights, dtype=float)
    fits = weights.shape == (n_tables,) and np.all((weights > 0) & (weights < np.inf))
    if fits:
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    if not fits or weights.min() < LIGHTEST:
        raise ValueError(
            "weights must be positive and finite, one for each table, the largest at most 1e12 "
            "times the smallest. Leave out tables that do not matter."
        )
    return weights


def _cells(domain, sets):
    """Return the number of cells of every table."""
    return np.prod(np.array(domain.levels, dtype=float)[sets], axis=1)
