"""The columns that are read, and their public levels."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np

from skdp.marginals._levels import MISSING, OTHER, Signs, read_levels

__all__ = ["Domain", "read_domain"]


@dataclass(frozen=True)
class Domain:
    """Columns with public levels: their names, their numbers in the table, and their levels."""

    names: tuple
    columns: tuple
    kinds: tuple

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
        try:
            return self.labels[place].index(wanted)
        except ValueError:
            raise ValueError(
                f"column {self.names[place]!r} has no level {wanted!r}. It has "
                f"{list(self.labels[place][:20])}."
            ) from None

    def place(self, columns):
        """Return the places of one column or several, which must differ."""
        columns = [columns] if isinstance(columns, str | Integral) else list(columns)
        places = [self.number(column) for column in columns]
        if len(set(places)) < len(places):
            raise ValueError(f"the columns of a table must differ. Got {columns}.")
        return places

    def encode(self, columns):
        """Return the level numbers of columns, an array of shape (n_rows, n_columns).

        NaN is an entry outside its levels: the row is invalid. Every code is a function of its
        entry alone.
        """
        pairs = zip(self.kinds, columns, strict=True)
        return np.column_stack([kind.codes(column) for kind, column in pairs]).astype(np.float64)


def read_domain(domain, n_features, names=None):
    """Return the Domain that a user describes, or raise ValueError.

    Parameters
    ----------
    domain : dict or None
        As in MarginalReleaser.
    n_features : int
        Number of columns of the table; None if it is not known yet.
    names : array-like of str, default=None
        Names of the columns.

    Returns
    -------
    domain : Domain
    """
    if domain is None:
        columns = tuple(range(n_features))
        return Domain(columns if names is None else tuple(names), columns, (Signs(),) * n_features)
    if not isinstance(domain, dict) or not domain:
        raise ValueError(
            "the domain must be a dict {column: levels} with one column at least. Got "
            f"{type(domain).__name__}."
        )
    position = {} if names is None else {str(name): i for i, name in enumerate(names)}
    if names is not None and len(position) < len(names):
        raise ValueError("X has two columns of one name. Rename them, or pass an array.")
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
