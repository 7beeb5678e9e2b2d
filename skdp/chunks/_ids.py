"""Numbers of persons from whatever tells them apart."""

from functools import partial

import numpy as np

from skdp.chunks._entries import ONE_EACH, arrays_of, entries_of, is_missing
from skdp.chunks._persons import Persons
from skdp.chunks._raw import library, numbers, schema_of
from skdp.chunks._rows import Source
from skdp.chunks._target import without_column

__all__ = ["Joined", "persons_of", "split_off"]

MISSING = (
    "groups has missing entries: give every row an owner, or leave such rows out with "
    'skdp.config_context(invalid_rows="ignore").'
)
UNHASHABLE = "the entries of groups must be numbers, text or other hashable objects."
ROUNDED = (
    "groups has whole numbers as floats that are too large to be told apart, 2^53 or more, 2^24 in "
    "single precision. Pass them as integers or as text."
)
NUMBERS = "biufcmM"  # kinds of entries that arrays are compared by; others one by one
DENSE = 8  # places per row up to which whole numbers are looked up, not sorted
YEARS = {"Y", "M"}  # units of time without a length
PARTS = ("s", "ms", "us", "ns", "ps", "fs", "as")
LENGTHS = {unit: 10 ** (18 - 3 * i) for i, unit in enumerate(PARTS)}  # of others, in attoseconds
LENGTHS |= {"W": 604800 * 10**18, "D": 86400 * 10**18, "h": 3600 * 10**18, "m": 60 * 10**18}


def persons_of(groups, n_rows, *, ignore):
    """Return the Persons of rows whose owners are named by the entries of ``groups``.

    Parameters
    ----------
    groups : array-like of shape (n_rows,), list of batches of them, Joined or Persons
        Equal entries are one person.
    n_rows : int
    ignore : bool
        Whether a row without an owner is absent, and nothing is told of entries.

    Raises
    ------
    ValueError, TypeError
    """
    if isinstance(groups, Persons) and len(groups.codes) == n_rows:
        return groups
    joined = groups if isinstance(groups, Joined) else Joined(*arrays_of(groups))
    if len(joined.codes) != n_rows:
        raise ValueError(ONE_EACH)
    if not ignore and joined.unhashable:
        raise TypeError(UNHASHABLE)
    if not ignore and (joined.codes < 0).any():
        raise ValueError(MISSING)
    if not ignore and joined.rounded:
        raise ValueError(ROUNDED)
    return Persons(joined.codes, len(joined))


class Joined:
    """Numbers of equal entries, found piece by piece.

    Parameters
    ----------
    *pieces : arrays of ids

    Notes
    -----
    Exact: entries are compared, not their hashes. A hash of few bits would make one person of two,
    whose rows then count for more than one person may.
    """

    def __init__(self, *pieces):
        self._numbers, self.rounded, self.unhashable = {}, False, False
        if len({ids.dtype for ids in pieces}) == 1 and pieces[0].dtype.kind in NUMBERS:
            there, codes, entries = self._distinct(np.concatenate(pieces))
            self.codes, self._n = _laid(there, codes), len(entries)
            return
        codes = [self._codes(ids) for ids in pieces]
        codes = np.concatenate(codes) if codes else np.arange(0)
        known = np.array([self._is_known(x) for x in self._numbers], dtype=bool)
        self._n = int(known.sum())
        self.codes = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)[codes]  # -1: last

    def __len__(self):
        return self._n

    def _codes(self, ids):
        """Return numbers of the entries of a piece, equal ones those of the pieces before."""
        if ids.dtype.kind not in NUMBERS:
            return self._numbered(ids.astype(object).tolist())
        there, codes, entries = self._distinct(ids)
        told = _moments(entries) if ids.dtype.kind in "mM" else entries.tolist()
        return _laid(there, self._numbered(told)[codes])

    def _numbered(self, entries):
        numbers = self._numbers
        try:
            codes = [numbers.setdefault(x, len(numbers)) for x in entries]
        except Exception:  # of an entry, which may quote itself
            codes = [self._number(x) for x in entries]
        return np.array(codes, dtype=np.int64)

    def _number(self, entry):
        try:
            return self._numbers.setdefault(entry, len(self._numbers))
        except Exception:
            self.unhashable = True
            return -1

    def _is_known(self, entry):
        try:
            return not is_missing(entry)
        except Exception:
            self.unhashable = True
            return False

    def _distinct(self, ids):
        """Return which entries are there, and for these: numbers, and what they are numbers of."""
        there = np.ones(len(ids), dtype=bool)
        if ids.dtype.kind in "mM":
            there = ~np.isnat(ids)
        elif ids.dtype.kind in "fc":
            there = ~np.isnan(ids)
            self.rounded |= bool((np.abs(ids) >= 2.0 / np.finfo(ids.dtype).eps).any())
        some = ids if there.all() else ids[there]
        entries, codes = _dense(some) or np.unique(some, return_inverse=True)
        return there, codes, entries


def _dense(ids):
    """Return what np.unique does of whole numbers that lie close together, None of others."""
    if ids.dtype.kind not in "iu" or not len(ids):
        return None
    span = int(ids.max()) - int(ids.min()) + 1
    if span > DENSE * len(ids):
        return None
    at = ids.astype(np.int64 if ids.dtype.kind == "i" else np.uint64)
    at = (at - at.min()).astype(np.int64)
    places = np.full(span, -1)
    places[at] = np.arange(len(at))
    occurs = places >= 0
    return ids[places[occurs]], (np.cumsum(occurs) - 1)[at]


def _laid(there, codes):
    """Return the codes of those that are there, -1 for the others."""
    if there.all():
        return codes
    laid = np.full(len(there), -1, dtype=np.int64)
    laid[there] = codes
    return laid


class NarrowRows(Source):
    """Rows of a source without one of its columns.

    Parameters
    ----------
    source : Source
    column : int
    """

    def __init__(self, source, column):
        self._source, self._column = source, column
        self._head = without_column(source.head(), column)
        schema = schema_of(self._head)
        super().__init__(len(schema), n_rows=source.n_rows)
        self.names, self.decode = schema.names, partial(numbers, schema)

    def head(self):
        """Return raw rows of no rows."""
        return self._head

    def pieces(self):
        """Yield (number of rows, raw rows)."""
        for n, raw in self._source.pieces():
            yield n, without_column(raw, self._column)

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`skdp.chunks.map_merge` returns, None for no rows."""
        return self._behind().map_merge(statistic, merge, beside)

    def look(self, *, entries):
        """Read the table once before a fit, see :meth:`Source.look`."""
        self._source = self._behind()
        seen = self._source.look(entries=entries)
        self.n_rows = self._source.n_rows
        return seen

    def _behind(self):
        return self._source.decoded_by(partial(_narrowed, self.decode, self._column))


def _narrowed(decode, column, raw):
    return decode(without_column(raw, column))


def split_off(source, column):
    """Return a source without one of its columns, and the Joined ids in that column.

    The ids of every piece come to the caller: its entries that differ, and a number for each row.
    """
    found = source.decoded_by(partial(_ids_of, column)).map_merge(_as_they_are, list.__add__)
    return NarrowRows(source, column), Joined(*(found or []))


class _Ids:
    """The ids of a piece, cut as its rows are."""

    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, rows):
        return _Ids(self.ids[rows])


def _ids_of(column, raw):
    kind = library(raw)
    if kind == "pyarrow":
        return _Ids(entries_of(raw.column(column)))
    if kind == "polars":
        return _Ids(entries_of(raw.to_series(column)))
    return _Ids(entries_of(raw.iloc[:, column]) if kind == "pandas" else raw[:, column])


def _moments(times):
    """Return times of whatever unit so that equal ones are equal: batches may have other units."""
    kind, (unit, step) = times.dtype.kind, np.datetime_data(times.dtype)
    if kind == "M" and unit in YEARS:
        times, unit, step = times.astype("M8[D]"), "D", 1
    length = step * LENGTHS.get(unit, 1)
    known = "" if unit in LENGTHS else unit
    return [(kind, known, length * ticks) for ticks in times.view(np.int64).tolist()]


def _as_they_are(start, block):
    return [block.ids]
