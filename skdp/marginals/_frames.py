"""What columns of tables of any kind hold: their types, what a domain asks of them; frames out."""

import re
from dataclasses import astuple, dataclass, replace
from itertools import compress

import numpy as np
import sklearn
from sklearn.utils.validation import validate_data

from skdp.marginals._domain import is_auto, read_domain
from skdp.readers._columns import (
    BlockEncoder,
    ColumnRows,
    Columns,
    TableRows,
    read_columns,
    table_type,
)
from skdp.readers._raw import column_type, library, schema_of
from skdp.readers._sources import source_of
from skdp.table._levels import is_text, type_name
from skdp.table._schema import TEXT as NOT_NUMBERS
from skdp.table._schema import look_at, typed_rows
from skdp.utils._config import get_config

BOOL, NUMBER, TEXT = "truth values", "numbers", "text"
CATEGORY = "category"
PLAIN = re.compile(r"u?int\d+|(half)?float\d*|double|bool(ean)?|str(ing)?|object", re.I)
BACKED = re.compile(r"(?P<plain>\w+)\[\w+\]")  # by Arrow, in pandas
INTEGER = re.compile(r"u?int\d+", re.I)


@dataclass(frozen=True)
class ColumnType:
    """What the type of a column says of its entries; nothing of the entries themselves."""

    kind: str | None  # {"truth values", "numbers", "text", None}: none is none of these
    # of the type in its library, of arrays of floats the one of 64 bits; of categories, whatever
    # they are, `"category"`
    name: str
    integer: bool = False  # whether numbers are whole
    full: bool = False  # whether the type has no missing entries
    calendar: tuple | None = None  # of dates and durations: the fields of their Calendar


def column_types(head, columns):
    """Return the ColumnTypes of some columns, by number, of a table of no rows."""
    schema = schema_of(head)
    return tuple(_column_type(head, j, schema.numeric[j], schema.calendars[j]) for j in columns)


def require_kinds(domain):
    """Raise ValueError if levels shall be bought for a column of a type that tells no kind."""
    wrong = [domain.names[place] for place in domain.unknown if domain.types[place].kind is None]
    if wrong:
        raise ValueError(
            f"levels of the columns {wrong[:10]} cannot be bought: they need a type of numbers, "
            "text, categories or truth values. Pass a frame, subtract a date and divide, or give "
            "their levels in the domain."
        )


def _column_type(head, j, numeric, calendar):
    dtype = getattr(head, "dtype", None) if library(head) == "numpy" else _dtype(head, j)
    full = isinstance(dtype, np.dtype) and dtype.kind in "iub"
    name = _name(head, j)
    if type_name(head, j).startswith("bool"):
        return ColumnType(BOOL, name, full=full)
    if calendar is not None:
        return ColumnType(NUMBER, name, integer=True, calendar=astuple(calendar))
    if numeric:
        return ColumnType(NUMBER, name, integer=bool(INTEGER.match(name)), full=full)
    tells = not (isinstance(head, np.ndarray) and head.dtype == object)  # one for all columns
    return ColumnType(TEXT if tells and is_text(head, j) else None, name)


def _dtype(head, j):
    return head.dtypes.iloc[j] if library(head) == "pandas" else None


def _name(head, j):
    """Return the name of a type that is written anew, "object" for others."""
    if hasattr(_dtype(head, j), "categories"):
        return CATEGORY
    name = column_type(head, j)
    if library(head) == "numpy" and head.dtype.kind == "f":
        return "float64"
    if name.startswith(("Categorical", "Enum", "dictionary")):
        return CATEGORY
    backed = BACKED.fullmatch(name)
    return name if PLAIN.fullmatch(backed["plain"] if backed else name) else "object"


PANDAS = (
    "frames need pandas. Install it with `pip install pandas`, or ask for an array: "
    "marginal(columns, as_frame=False)."
)


def columns_of(source, kind, domain, table, names):
    """Return rows of the columns of a domain, and beside them what is public of their table."""
    about = {"table_type": table, "names": None if names is None else tuple(map(str, names))}
    about["types"] = tuple(map(astuple, domain.types))
    here = {"kind": kind, "present": domain.coded.present, "about": about}
    return ColumnRows(source, len(domain.names), **here)


def domain_of(table, domain, n_features):
    """Return the Domain that a user describes, of the columns of a Table."""
    types = tuple(ColumnType(*one) for one in table.about["types"])
    return replace(read_domain(domain, n_features, table.about["names"]), types=types)


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


def require_levels(rows, domain):
    """Raise ValueError if there is no row, or one with an entry outside its levels."""
    if not len(rows):
        raise ValueError("X has no rows, and at least one is needed.")
    outside = list(compress(domain.names, domain.coded.outside(rows)))
    if outside:
        raise ValueError(
            f"X has entries outside the public levels of the columns {outside[:10]}, or infinity "
            "where levels are bought. Add the level "
            "None for missing entries and ... for all others (of Bins: missing=True, and infinite "
            'edges), or leave such rows out with skdp.config_context(invalid_rows="ignore").'
        )


def wants_frame(library):
    """Return the library that tables shall be frames of, or None."""
    configured = sklearn.get_config()["transform_output"]
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


SIGNS = "without a domain a column has two levels: 1 for entries above zero, 0 for others"
NO_DOMAIN = (
    f"{SIGNS}. Got columns that are not numbers. Name the levels of each, domain={{'column': "
    "[level, ...], ...}: those that can occur, which is public, and not those that do. Or pass "
    'domain="auto": they are found with a part of the budget.'
)


class MarginalRows:
    """What a fit reads of X, by public levels and types."""

    def _read(self, X, y):
        if self.domain is None:
            rows, names = self._zeros_and_ones(X, y), getattr(self, "feature_names_in_", None)
            domain = read_domain(None, rows.n_features, names)
            return columns_of(rows, "numbers", domain, table_type(X), names)
        auto, table = is_auto(self.domain), source_of(X)
        if table is None:
            table = TableRows(read_columns(typed_rows(self, X) if auto else X))
        columns = Columns(table.head())
        validate_data(self, columns.table, skip_check_array=True)
        names = text_names(schema_of(columns.table))
        domain = read_domain(self.domain, self.n_features_in_, names)
        domain = replace(domain, types=column_types(columns.table, domain.columns))
        require_types(columns, domain)
        require_kinds(domain)
        self._most_levels(domain)
        table = table.decoded_by(BlockEncoder(tuple(domain.columns), schema_of(columns.table)))
        rows = columns_of(table, "text", domain, table_type(columns.table), names)
        look_at(table, entries=False)
        if get_config()["invalid_rows"] == "error" and not sklearn.get_config()["assume_finite"]:
            require_levels(rows, domain)
        return rows

    def _zeros_and_ones(self, X, y):
        try:
            return super()._read(X, y)
        except ValueError as error:
            if not str(error).startswith(NOT_NUMBERS):
                raise
        raise ValueError(NO_DOMAIN)
