"""Weights of rows: sample_weight, read by row with X."""

from dataclasses import replace

import numpy as np

from skdp.readers._array import FrameRows
from skdp.readers._columns import Columns
from skdp.readers._ids import named_column, split_numbers
from skdp.readers._persons import Persons
from skdp.readers._raw import library
from skdp.readers._target import without_column
from skdp.utils._config import get_config

IGNORED = (
    'Leave such rows out, or set skdp.config_context(invalid_rows="ignore"), where they count as '
    "absent."
)
NO_NUMBERS = (
    "sample_weight must be an array of real numbers, or a series, with one entry for each row of "
    "X. Got another type."
)
NO_TYPE = (
    'Under invalid_rows="ignore" pass sample_weight as an array or a series, which has a type of '
    "its own: that of a list depends on its entries."
)
LENGTHS = (
    "sample_weight must have one entry for each row of X. Pass an array of shape (n_samples,)."
)
OUTSIDE = (
    "sample_weight must lie in [0, 1], as a row counts once at most. Got other weights, or NaN. "
    f"Divide by a public bound, as sample_weight / 50. {IGNORED}"
)
NO_WEIGHT = "sample_weight is zero for all rows. Give one row at least a positive weight."
NAMED = (
    "sample_weight names a column of X, but X has no column of that name. Pass an array with one "
    "entry for each row of X, or X as a frame or file with such a column."
)


def without_weights(X, sample_weight):
    """Return X without the column that ``sample_weight`` names, and the weights, read later."""
    if not isinstance(sample_weight, str):
        return X, sample_weight
    source, column = named_column(X, sample_weight)
    if column is None:
        raise ValueError(NAMED)
    if not Columns(source.head()).numeric(column):
        raise ValueError(NO_NUMBERS)
    if isinstance(source, FrameRows):
        return without_column(X, column), X[sample_weight]
    return split_numbers(source, column)


def weighted_persons(sample_weight, persons, n_rows):
    """Return the Persons of rows that count with weights; without any, each row is a person.

    What it raises, it raises before anything is charged. **Privacy**: the weight of a row is a
    function of its own entry, 0 of one that is no weight.
    """
    shares = _numbers_of(sample_weight() if callable(sample_weight) else sample_weight)
    if shares.shape != (n_rows,):
        raise ValueError(LENGTHS)
    with np.errstate(invalid="ignore"):
        valid = (shares >= 0) & (shares <= 1)
    if not valid.all() and get_config()["invalid_rows"] != "ignore":
        raise ValueError(OUTSIDE)
    if not shares.any() and get_config()["invalid_rows"] != "ignore":
        raise ValueError(NO_WEIGHT)
    if persons is None:
        persons = Persons(np.arange(n_rows), n_rows)
    shares = np.where(valid, shares, 0.0)
    return replace(persons.of(shares > 0), shares=shares)


def _numbers_of(sample_weight):
    if get_config()["invalid_rows"] == "ignore" and not hasattr(sample_weight, "dtype"):
        raise ValueError(NO_TYPE)
    try:
        if library(sample_weight) in ("pandas", "polars"):  # a gap makes no other type of it
            column = Columns(sample_weight.to_frame())
            sample_weight = column.read(0) if column.numeric(0) else None
        shares = np.asarray(sample_weight)
        if shares.dtype.kind in "biuf":
            with np.errstate(over="ignore"):
                return shares.astype(np.float64)
    except Exception:  # which may quote entries
        pass
    raise ValueError(NO_NUMBERS)
