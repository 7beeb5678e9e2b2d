"""Released numbers of columns of dates and durations, as users read them."""

from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

import numpy as np

from skdp.readers._calendar import Calendar

__all__ = ["Dated", "as_numbers", "calendars_of", "in_dates", "with_dates"]

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
