"""Tables of any kind as level numbers; and tidy frames out."""

from copy import copy
from functools import partial

import numpy as np
from sklearn import get_config

from skdp.chunks import ArrayRows, map_merge
from skdp.chunks._columns import ColumnBlock
from skdp.chunks._rows import MappedRows, take
from skdp.kernel._labels import has_entries

__all__ = [
    "CodedRows",
    "require_levels",
    "require_types",
    "text_names",
    "tidy_frame",
    "wants_frame",
]

PANDAS = (
    "frames need pandas. Install it with `pip install pandas`, or ask for an array: "
    "marginal(columns, as_frame=False)."
)


def require_types(columns, domain):
    """Raise ValueError if all levels are numbers and a column has another type."""
    if not all(kind.numeric for kind in domain.kinds):
        return
    pairs = zip(domain.names, domain.columns, strict=True)
    wrong = [name for name, column in pairs if not columns.numeric(column)]
    if wrong:
        raise ValueError(
            f"all levels of the domain are numbers, but the columns {wrong[:10]} of X are not: "
            "convert them with astype(float)."
        )


def text_names(schema):
    """Return the names of the columns if they are texts: old scikit-learn sees none of polars."""
    texts = schema.names is not None and all(isinstance(name, str) for name in schema.names)
    return schema.names if texts else None


def require_levels(rows):
    """Raise ValueError if there is no row, or one with an entry outside its levels."""
    if not len(rows):
        raise ValueError("X has no rows, and at least one is needed.")
    outside = rows.outside()
    if outside:
        raise ValueError(
            f"X has entries outside the public levels of the columns {outside[:10]}, or infinity "
            "where levels are bought. Add the level "
            "None for missing entries and ... for all others (of Bins: missing=True, and infinite "
            'edges), or leave such rows out with skdp.config_context(invalid_rows="ignore").'
        )


class CodedRows(MappedRows):
    """Rows as level numbers, encoded block by block; NaN where an entry is outside its levels.

    Parameters
    ----------
    source : Source of ColumnBlocks, or Rows of numbers, of all columns
    domain : Domain
    table_type : str
        Of the table, see :func:`table_type`.
    """

    def __init__(self, source, domain, table_type):
        super().__init__(source)
        self.n_features = len(domain.names)
        self.domain, self.table_type, self._found = domain, table_type, False

    @property
    def table(self):
        """The source of the columns, which are not encoded."""
        return self._rows

    def with_kinds(self, kinds):
        """Return these rows with levels that were found, by place; without entries they are none.

        A row all of whose entries are missing is absent, be there levels for missing entries.
        """
        rows = copy(self)
        rows.domain, rows._found = self.domain.with_kinds(kinds), True
        return rows

    def _mapped(self, block):
        columns = block.columns if isinstance(block, ColumnBlock) else list(block.T)
        codes = self.domain.encode(columns)
        if self._found:
            codes[~has_entries(block)] = np.nan
        return codes

    def take(self, indices):
        """Return the codes of the rows at ``indices``."""
        return take(self, indices)

    def gathered(self):
        """Return the same rows from codes in memory, for fits that read them often.

        Notes
        -----
        One number of as few bytes as levels need for every entry, found in one pass.
        """
        most = max(self.domain.levels)
        small = partial(_small, np.min_scalar_type(most), most)
        codes = np.concatenate(map_merge(self, small, list.__add__))
        return GatheredCodes(codes, most, self.domain, self.table_type)

    def outside(self):
        """Return the names of the columns with entries outside their levels. Private."""
        found = map_merge(self, lambda start, block: np.isnan(block).any(axis=0), np.logical_or)
        return [name for name, bad in zip(self.domain.names, found, strict=True) if bad]


class GatheredCodes(CodedRows):
    """Rows as level numbers that have been found; ``absent`` stands for NaN."""

    def __init__(self, codes, absent, domain, table_type):
        super().__init__(ArrayRows(codes), domain, table_type)
        self._absent = absent

    def _mapped(self, block):
        block = np.array(block, dtype=np.float64)
        block[block == self._absent] = np.nan
        return block


def _small(kind, absent, start, block):
    return [np.where(np.isnan(block), absent, block).astype(kind)]


def wants_frame(library):
    """Return the library that tables shall be frames of, or None."""
    configured = get_config()["transform_output"]
    if configured in ("pandas", "polars"):
        return configured
    return None if library == "numpy" else library


def tidy_frame(columns, library):
    """Return a frame of the library from a dict of name to array."""
    if library == "polars":
        import polars

        return polars.DataFrame({name: _uniform(values) for name, values in columns.items()})
    try:
        import pandas
    except ImportError:
        raise ImportError(PANDAS) from None
    return pandas.DataFrame({name: _inferred(values) for name, values in columns.items()})


def _inferred(values):
    """Return labels with a type of numbers, if all of them are numbers."""
    return values if values.dtype != object else values.tolist()


def _uniform(values):
    """Return labels as strings, if they have several types."""
    entries = values.tolist()
    types = {type(entry) for entry in entries} - {type(None)}
    return [x if x is None else str(x) for x in entries] if len(types) > 1 else entries
