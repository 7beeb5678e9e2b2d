"""Numbers of persons from whatever tells them apart."""

from functools import partial

import numpy as np

from skdp.readers._columns import Columns
from skdp.readers._entries import (
    ONE_EACH,
    STRANGE,
    arrays_of,
    entries_of,
    keys_of,
    moments,
    require_ids,
)
from skdp.readers._persons import Persons
from skdp.readers._raw import library, numbers, schema_of
from skdp.readers._rows import Source
from skdp.readers._sources import FrameRows, source_of
from skdp.readers._target import without_column

MISSING = (
    "groups has missing entries: give every row an owner, or leave such rows out with "
    'skdp.config_context(invalid_rows="ignore").'
)
ROUNDED = (
    "groups has whole numbers as floats that are too large to be told apart, 2^53 or more, 2^24 in "
    "single precision. Pass them as integers or as text."
)
NUMBERS = "biufcmM"  # kinds of entries that arrays are compared by; others one by one
DENSE = 8  # places per row up to which whole numbers are looked up, not sorted


def persons_of(groups, n_rows, *, ignore):
    """Return the Persons of rows whose owners are named by the entries of ``groups``."""
    if isinstance(groups, Persons) and len(groups.codes) == n_rows:
        return groups
    joined = groups if isinstance(groups, UnitCodes) else UnitCodes(*arrays_of(groups))
    if len(joined.codes) != n_rows:
        raise ValueError(ONE_EACH)
    if not ignore and joined.strange:
        raise TypeError(STRANGE)
    if not ignore and (joined.codes < 0).any():
        raise ValueError(MISSING)
    if not ignore and joined.rounded:
        raise ValueError(ROUNDED)
    return Persons(joined.codes, len(joined))


class UnitCodes:
    """Numbers of equal entries, found piece by piece.

    Notes
    -----
    Exact: keys of entries are compared, not their hashes. A hash of few bits would make one person
    of two, whose rows then count for more than one person may. Which rows are one person's is a
    function of their entries and the type of the column alone: see :mod:`skdp.readers._entries`.
    """

    def __init__(self, *pieces):
        self._numbers, self.rounded, self.strange = {}, False, False
        if len({ids.dtype for ids in pieces}) == 1 and pieces[0].dtype.kind in NUMBERS:
            there, codes, entries = self._distinct(np.concatenate(pieces))
            self.codes, self._n = _codes_present(there, codes), len(entries)
            return
        codes = [self._codes(ids) for ids in pieces]
        codes = np.concatenate(codes) if codes else np.arange(0)
        known = np.array([key is not None for key in self._numbers], dtype=bool)
        self._n = int(known.sum())
        self.codes = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)[codes]  # -1: last

    def __len__(self):
        return self._n

    def _codes(self, ids):
        """Return numbers of the entries of a piece, equal ones those of the pieces before."""
        if ids.dtype.kind not in NUMBERS:
            return self._numbered(ids.astype(object).tolist())
        there, codes, entries = self._distinct(ids)
        told = moments(entries) if ids.dtype.kind in "mM" else entries.tolist()
        return _codes_present(there, self._numbered(told)[codes])

    def _numbered(self, entries):
        keys, strange = keys_of(entries)
        self.strange |= strange
        numbers = self._numbers
        return np.array([numbers.setdefault(x, len(numbers)) for x in keys], dtype=np.int64)

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


def _codes_present(there, codes):
    """Return the codes of those that are there, -1 for the others."""
    if there.all():
        return codes
    laid = np.full(len(there), -1, dtype=np.int64)
    laid[there] = codes
    return laid


class NarrowRows(Source):
    """Rows of a source without one of its columns."""

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
        """Return what :func:`skdp.readers.map_merge` returns, None for no rows."""
        return self._behind().map_merge(statistic, merge, beside)

    def look(self, *, entries, first=None):
        """Read the table once before a fit, see :meth:`Source.look`."""
        self._source = self._behind()
        seen = self._source.look(entries=entries)
        self.n_rows = self._source.n_rows
        return seen

    def _behind(self):
        return self._source.decoded_by(partial(_narrowed, self.decode, self._column))


def _narrowed(decode, column, raw):
    return decode(without_column(raw, column))


def named_column(X, name):
    """Return X as a source and the number of a column by its name, None if there is no such one."""
    source = source_of(X)
    if source is None and library(X) in ("pandas", "polars"):
        source = FrameRows(X)
    names = None if source is None else schema_of(source.head()).names
    return source, names.index(name) if names is not None and names.count(name) == 1 else None


def split_numbers(source, column):
    """Return a source without one of its columns, of numbers, and a function that reads that."""
    return NarrowRows(source, column), partial(_read_numbers, source, column)


def _read_numbers(source, column):
    found = source.decoded_by(partial(_numbers_of, column)).map_merge(_raw_entries, list.__add__)
    return np.concatenate(found or [np.zeros(0)])


def _numbers_of(column, raw):
    return _Ids(Columns(raw).read(column))


def split_unit_ids(source, column):
    """Return a source without one of its columns, and the UnitCodes ids in that column.

    The ids of every piece come to the caller: its entries that differ, and a number for each row.
    """
    require_ids(_column(source.head(), column))
    found = source.decoded_by(partial(_ids_of, column)).map_merge(_raw_entries, list.__add__)
    return NarrowRows(source, column), UnitCodes(*(found or []))


class _Ids:
    """The ids of a piece, cut as its rows are."""

    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, rows):
        return _Ids(self.ids[rows])


def _ids_of(column, raw):
    return _Ids(entries_of(_column(raw, column)))


def _column(raw, column):
    kind = library(raw)
    if kind == "pyarrow":
        return raw.column(column)
    if kind == "polars":
        return raw.to_series(column)
    return raw.iloc[:, column] if kind == "pandas" else raw[:, column]


def _raw_entries(start, block):
    return [block.ids]
