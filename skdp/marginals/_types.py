"""The types of columns, which are public: what a column can hold, and how it is written anew."""

import re
from dataclasses import astuple, dataclass

import numpy as np

from skdp.readers._raw import column_type, library, schema_of
from skdp.table._levels import is_text, type_name

__all__ = ["BOOL", "NUMBER", "TEXT", "ColumnType", "column_types", "require_kinds"]

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
