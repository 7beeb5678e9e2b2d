"""Samples of the functions: what they may be, as groups of one table."""

from dataclasses import replace

import numpy as np

from skdp.readers._entries import arrays_of
from skdp.readers._ids import UnitCodes
from skdp.readers._raw import library
from skdp.table._schema import require_type
from skdp.utils._config import get_config

PUBLIC = "alternative", "bounds", "tails", "epsilon", "delta", "random_state", "ledger"

ONE_DIMENSION = (
    "a sample must be an array or a series of numbers, of one dimension. Pass one column, "
    "for instance frame['age']."
)
COUNTS = (
    "observed must be a table of whole numbers >= 0 with two rows and two columns at least, of at "
    "most 10 million rows in all. Pass numbers of rows, for instance by pandas.crosstab."
)
BINARY = "samples must hold 0 and 1, or truth values. Pass for instance frame['died'] == 1."
PAIRS = "both samples must have one length: a row is a pair. Pass columns of one table."
IDS = (
    "groups must be a sequence with one array of privacy IDs for each sample, of its length. Pass "
    "groups=(ids_of_x, ids_of_y)."
)
SAMPLES = "a comparison needs two samples at least. Pass them one after the other."
MOST_COUNTS = 10**7


def as_array(x, *, labels=False):
    """Return a column as an array, whose type no entry decides: of a list of labels, objects."""
    require_type(x)
    if library(x) == "pandas" and getattr(getattr(x, "dtype", None), "kind", "O") in "iuf":
        return x.to_numpy(dtype=np.float64, na_value=np.nan)  # else a gap may make objects of it
    return np.asarray(x, dtype=None if hasattr(x, "__array__") or not labels else object)


def sample(x):
    """Return a column of numbers, or raise ValueError."""
    require_type(x)
    try:
        x = as_array(x)
        numeric = get_config()["invalid_rows"] == "error" or x.dtype.kind in "fiub"
        x = x.astype(np.float64) if numeric else np.empty((0, 0))
    except (TypeError, ValueError, OverflowError):
        x = np.empty((0, 0))
    if x.ndim != 1:
        raise ValueError(ONE_DIMENSION)
    return x


def public(given):
    """Return the public parameters among the arguments of a function."""
    return {name: given[name] for name in PUBLIC if name in given}


def fitted(test, X, code, groups):
    """Return the result of a test of rows with codes of groups."""
    test.fit(X, code, groups=groups)
    report, warned = test.privacy_report_, test.accuracy_warnings_
    return replace(test.result_, privacy_report_=report, accuracy_warnings_=warned)


def compared(make, samples, groups, given):
    """Return the result for samples that are the groups of one table."""
    samples = [sample(x) for x in samples]
    if len(samples) < 2:
        raise ValueError(SAMPLES)
    if groups is not None:
        ids = [array for one in groups for array in arrays_of(one)]
        if [one.shape for one in ids] != [x.shape for x in samples]:
            raise ValueError(IDS)
        groups = UnitCodes(*ids)  # an entry names the same person in every sample
    code = np.repeat(np.arange(len(samples)), [len(x) for x in samples])
    test = make(len(samples), **given)
    return fitted(test, np.concatenate(samples)[:, None], code, groups)


def single(make, columns, groups, given):
    """Return the result for rows of one group."""
    columns = [sample(x) for x in columns]
    if len({len(x) for x in columns}) > 1:
        raise ValueError(PAIRS)
    X = np.column_stack(columns)
    return fitted(make(1, **given), X, np.zeros(len(X), dtype=int), groups)


def finite(x):
    """Return a public number, or raise ValueError."""
    try:
        x = float(x)
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x):
        raise ValueError("popmean must be a finite number. Pass popmean=0.0.")
    return x


def differences(a, b):
    """Return the differences of pairs, which may not overflow."""
    a, b = sample(a), sample(b)
    if len(a) != len(b):
        raise ValueError(PAIRS)
    with np.errstate(all="ignore"):  # a warning that rows decide on would tell of them
        d, most = a - b, np.finfo(float).max
    return np.where(np.isfinite(a) & np.isfinite(b), np.clip(d, -most, most), d)


def of_counts(make, observed, given):
    """Return the result for the rows that a table counts."""
    try:
        table = np.asarray(observed, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    fits = table.ndim == 2 and min(table.shape) > 1
    whole = fits and np.isfinite(table).all() and (table >= 0).all() and (table % 1 == 0).all()
    if not whole or table.sum() > MOST_COUNTS:
        raise ValueError(COUNTS)
    row, column = (np.repeat(i.ravel(), table.astype(int).ravel()) for i in np.indices(table.shape))
    test = make(table.shape[1], options={"n_levels": table.shape[0]}, **given)
    return fitted(test, row[:, None].astype(float), column, None)


def binary(x):
    """Return a sample of zeros and ones; where invalid rows are ignored, others are absent."""
    x = sample(x)
    known = np.isin(x, (0.0, 1.0))
    if get_config()["invalid_rows"] == "ignore":
        return np.where(known, x, np.nan)
    if not known.all():
        raise ValueError(BINARY)
    return x
