"""Dates and durations: numbers of microseconds, whatever the unit of their type, and back."""

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps

import numpy as np

UNITS = {"D": 864e8, "s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}  # microseconds


@dataclass(frozen=True)
class Calendar:
    """What the type of a column of dates or durations says: public."""

    kind: str  # {"date", "duration"}
    unit: str  # one of UNITS: entries are whole numbers of it, dates since the start of 1970 (UTC)
    zone: str | None = None  # of dates

    def entries(self, numbers):
        """Return numbers as dates or durations, NaT for NaN and for what lies beyond the type."""
        x = np.asarray(numbers, dtype=np.float64) / UNITS[self.unit]
        inside = np.abs(x) < 2.0**62  # of 64 bits, and not NaN
        whole = np.where(inside, np.rint(np.where(inside, x, 0.0)), 0.0).astype(np.int64)
        code = f"{'M8' if self.kind == 'date' else 'm8'}[{self.unit}]"
        return np.where(inside, whole.view(code), np.array("NaT", code))

    def lengths(self):
        """Return the Calendar of differences of dates or durations."""
        return Calendar("duration", self.unit)

    def scalar(self, number, *, length=False):
        """Return a number as a date or a duration, of pandas where that is installed."""
        if length:
            return self.lengths().scalar(number)
        entry = self.entries(number)[()]
        try:
            import pandas as pd
        except ImportError:
            return entry
        try:
            if self.kind == "duration":
                return pd.Timedelta(entry)
            return pd.Timestamp(entry) if self.zone is None else pd.Timestamp(entry, tz=self.zone)
        except (ArithmeticError, ValueError, NotImplementedError):  # beyond the years of pandas
            return entry

    def text(self, number, *, length=False):
        """Return a number as a text of its date, in its own time zone, or of its duration."""
        if length:
            return self.lengths().text(number)
        entry = self.entries(number)[()]
        if np.isnat(entry):
            return "NaT"
        if self.kind == "date":
            text = str(entry.astype("M8[s]")).replace("T", " ").removesuffix(" 00:00:00")
            return text if self.zone is None else _in_zone(entry, self.zone, f"{text}+00:00")
        days = float(number) / UNITS["D"]
        if abs(days) >= 1:
            return f"{days:.3g} days"
        return f"{days * 24:.3g} h" if abs(days) * 24 >= 1 else f"{days * 86400:.3g} s"


def _in_zone(entry, zone, otherwise):
    """Return the text of a date in its time zone; ``otherwise`` for one that no calendar has."""
    try:
        import pandas as pd

        return str(pd.Timestamp(entry, tz="UTC").tz_convert(zone))
    except (ImportError, ArithmeticError, ValueError, NotImplementedError):
        return otherwise


def calendar_of(dtype):
    """Return the Calendar of a type of numpy, pandas, polars or Arrow, None for all others."""
    root = type(dtype).__module__.partition(".")[0]
    if root == "polars":
        return _of_polars(dtype)
    if root == "pyarrow":
        return _of_arrow(dtype)
    arrow = getattr(dtype, "pyarrow_dtype", None)
    if arrow is not None:
        return _of_arrow(arrow)
    kind = getattr(dtype, "kind", None)
    if kind not in ("m", "M"):
        return None
    zone = getattr(dtype, "tz", None)
    unit = getattr(dtype, "unit", None) if zone is not None else np.datetime_data(dtype)[0]
    counted = zone is not None or np.datetime_data(dtype)[1] == 1
    if unit not in UNITS or not counted:
        return None
    return Calendar(
        "date" if kind == "M" else "duration", unit, None if zone is None else str(zone)
    )


def from_calendar(column, library):
    """Return a column of dates or durations as microseconds, float64: NaN where missing."""
    return _whole(column, library) * UNITS[calendar_of(_type_of(column, library)).unit]


def _type_of(column, library):
    return column.type if library == "pyarrow" else column.dtype


def _whole(column, library):
    """Return a column as whole numbers of its unit."""
    if library == "polars":
        return column.to_physical().cast(_float64()).to_numpy().astype(np.float64)
    if library == "pandas" and not isinstance(column.dtype, np.dtype):
        if getattr(column.dtype, "pyarrow_dtype", None) is not None:
            return _arrow_numbers(column.array.__arrow_array__())
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if library == "pyarrow":
        return _arrow_numbers(column)
    entries = np.asarray(column)
    whole = entries.astype(np.int64).astype(np.float64)
    return np.where(np.isnat(entries), np.nan, whole)


def _of_polars(dtype):
    import polars

    if dtype == polars.Date:
        return Calendar("date", "D")
    if dtype == polars.Time:
        return Calendar("duration", "ns")
    if dtype.is_temporal():
        kind = "duration" if dtype == polars.Duration else "date"
        return Calendar(kind, dtype.time_unit, getattr(dtype, "time_zone", None))
    return None


def _float64():
    import polars

    return polars.Float64


def _of_arrow(kind):
    from pyarrow import types

    if types.is_date32(kind):
        return Calendar("date", "D")
    if types.is_date64(kind):
        return Calendar("date", "ms")
    if types.is_timestamp(kind):
        return Calendar("date", kind.unit, kind.tz)
    if types.is_duration(kind) or types.is_time(kind):
        return Calendar("duration", kind.unit)
    return None


def _arrow_numbers(column):
    import pyarrow

    narrow = column.type.bit_width == 32
    whole = column.cast(pyarrow.int32() if narrow else pyarrow.int64())
    return whole.cast("float64", safe=False).to_numpy(zero_copy_only=False)


_numbers = ContextVar("numbers", default=False)


@contextmanager
def as_numbers():
    """Let attributes and intervals be the numbers that they are made of: microseconds."""
    token = _numbers.set(True)
    try:
        yield
    finally:
        _numbers.reset(token)


def calendars_of(estimator):
    """Return the Calendar of every column, None for numbers; None if all columns hold numbers."""
    told = vars(estimator).get("calendars_in_")
    return told and [None if one is None else Calendar(*one) for one in told]


def in_dates(values, calendars):
    """Return numbers, the last axis of columns, as dates: of one type, or objects.

    These are for types that differ, and time zones.

    Of a list of arrays, one for each column, a list.
    """
    if calendars is None or _numbers.get():
        return values
    if isinstance(values, list):
        return [_column(own, one) for own, one in zip(values, calendars, strict=True)]
    columns = [_column(values[..., j], one) for j, one in enumerate(calendars)]
    kinds = {None if one is None or one.zone else one.kind for one in calendars}
    if len(kinds) == 1 and None not in kinds:
        return np.stack(columns, axis=-1)
    mixed = np.empty(values.shape, dtype=object)
    for j, (column, one) in enumerate(zip(columns, calendars, strict=True)):
        for place in np.ndindex(mixed.shape[:-1]):
            mixed[(*place, j)] = column[place] if one is None else one.scalar(values[(*place, j)])
    return mixed


def _column(numbers, calendar):
    """Return the numbers of one column as entries of its type, in UTC."""
    return numbers if calendar is None else calendar.entries(numbers)


class Dated:
    """Attribute of released numbers, one for each column, which reads as dates of such columns.

    ``columns`` is a function of an estimator: the numbers of the columns, by default all.
    """

    def __init__(self, columns=None):
        self.columns = columns

    def __set_name__(self, owner, name):
        """Learn the name of the attribute."""
        self.name = name

    def __get__(self, instance, owner=None):
        """Return the numbers, or dates."""
        if instance is None:
            return self
        if self.name not in vars(instance):
            raise AttributeError(
                f"{type(instance).__name__!r} object has no attribute {self.name!r}: it is not "
                "fitted yet. Call fit first"
            )
        calendars = calendars_of(instance)
        if calendars is not None and self.columns is not None:
            calendars = [calendars[j] for j in self.columns(instance)]
        return in_dates(vars(instance)[self.name], calendars)

    def __set__(self, instance, value):
        """Keep the numbers."""
        vars(instance)[self.name] = value

    def __delete__(self, instance):
        """Forget the numbers."""
        del vars(instance)[self.name]


def with_dates(method):
    """Let a method that returns ends of intervals return dates of columns of dates."""

    @wraps(method)
    def dated(self, *args, **keywords):
        with as_numbers():
            ends = method(self, *args, **keywords)
        calendars = calendars_of(self)
        return ends if calendars is None else tuple(in_dates(end, calendars) for end in ends)

    return dated
