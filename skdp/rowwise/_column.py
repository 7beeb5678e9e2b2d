"""Columns of a type that is known beforehand, not inferred from what is in them."""

import numpy as np

__all__ = ["pandas_column", "polars_column"]


def pandas_column(entries, dtype):
    """Return entries as a column of text, dates, durations or categories; else as objects."""
    unit = _unit(dtype)
    if unit is not None:
        return _instants(entries, dtype, unit)
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        known = set(categories)
        kept = [v if _is_in(v, known) else None for v in entries]
        return dtype.construct_array_type()._from_sequence(kept, dtype=dtype)
    if getattr(dtype, "type", None) is str and not isinstance(dtype, np.dtype):
        kept = [v if isinstance(v, str) else None for v in entries]
        return dtype.construct_array_type()._from_sequence(kept, dtype=dtype)
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def polars_column(entries, dtype, frame):
    """Return entries as a column of a type of polars; ``frame`` is the class of its tables.

    Each is converted by itself: what cannot be is missing.
    """
    text = str(dtype) == "String"
    kept = [v if text and type(v) is str else _converted(v, dtype, frame) for v in entries]
    return frame({"": kept}, schema={"": dtype}, strict=False)[""]


def _converted(v, dtype, frame):
    try:
        return frame({"": [v]}, schema={"": dtype}, strict=False)[""].to_list()[0]
    except KeyboardInterrupt:  # of the user
        raise
    except BaseException:  # polars panics
        return None


def _unit(dtype):
    """Return the unit of a type of dates or durations of numpy, or of dates with a zone."""
    if isinstance(dtype, np.dtype):
        return np.datetime_data(dtype)[0] if dtype.kind in "mM" else None
    return getattr(dtype, "unit", None) if hasattr(dtype, "tz") else None


def _instants(entries, dtype, unit):
    zone = getattr(dtype, "tz", None)
    kept = np.full(len(entries), "NaT", dtype=f"{dtype.kind}8[{unit}]")
    for i, v in enumerate(entries):
        try:
            v = v.as_unit(unit)
            if dtype.kind == "m":
                kept[i] = v.to_timedelta64()
            elif (v.tzinfo is None) is (zone is None):
                kept[i] = v.to_datetime64()
        except Exception:  # not of the type
            continue
    if zone is None:
        return kept
    naive = dtype.construct_array_type()._from_sequence(kept)
    return naive.tz_localize("UTC").tz_convert(zone)


def _is_in(v, known):
    try:
        return v in known
    except TypeError:  # nothing that could be looked up
        return False
