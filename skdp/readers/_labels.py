"""Labels: text, whole numbers and truth values, as columns of any kind hold them.

What an entry stands for depends on that entry and the type of its column alone. A column is an
array of float64, in which NaN is missing, or of objects, in which None and NaN are.
"""

from collections import Counter
from itertools import repeat
from numbers import Integral, Real

import numpy as np

WHOLE = 2.0**53  # whole numbers below are themselves as floats
AT_ONCE = 2**16  # labels that wait before they are added up
NEAR = 2**16  # whole numbers no farther apart are found in a table
STRIP = 2**14  # entries that stay in the cache
TEXT = 2  # ranks of keys: truth values 0, numbers 1
NO_LABEL = ...
PLAIN = {str, type(None)}


def label_of(entry):
    """Return the text or the number of Python that an entry is, None if missing, else ``...``."""
    if isinstance(entry, str):
        return str.__str__(entry)  # a class derived from it could say anything
    try:
        return _number_of(entry)
    except Exception:  # of a number of another library, such as a duration of numpy
        return NO_LABEL


def _number_of(entry):
    if isinstance(entry, bool | np.bool_):
        return bool(entry)
    if isinstance(entry, Integral):
        return int(entry)
    if isinstance(entry, float | np.floating):
        number = float(entry)
        if number != number:
            return None
        return _integer_if_whole(number) if abs(number) < np.inf else NO_LABEL
    return None if entry is None else NO_LABEL


def _integer_if_whole(number):
    return int(number) if number.is_integer() else number


def is_missing(column):
    """Return which entries of a column are missing."""
    if column.dtype != object:
        return np.isnan(column)
    entries = (entry is None or label_of(entry) is None for entry in column.tolist())
    return np.fromiter(entries, dtype=bool, count=len(column))


def are_labels(column):
    """Return which entries of a column are text, truth values or whole numbers."""
    if column.dtype != object:
        return (column == np.trunc(column)) & (np.abs(column) < WHOLE)
    entries = (_key(entry) is not None for entry in column.tolist())
    return np.fromiter(entries, dtype=bool, count=len(column))


class Known:
    """Numbers of labels that are known: 0, 1, ... in their order.

    Notes
    -----
    **Privacy**: each code is a function of its entry alone. Numbers are compared as numbers,
    ``1 == 1.0 == True``; text is never a number.
    """

    def __init__(self, labels, other=np.nan, missing=np.nan):
        self.labels = [label_of(label) for label in labels]
        self.other, self.missing = other, missing
        self._codes = {label: float(code) for code, label in enumerate(self.labels)}

    def __call__(self, column):
        """Return the codes of a column, float64."""
        if column.dtype == object:
            return self._of_objects(column)
        numbers = [(float(x), code) for x, code in self._codes.items() if isinstance(x, Real)]
        codes = np.full(column.shape, self.other, dtype=np.float64)
        known, code = np.array(sorted(numbers)).reshape(-1, 2).T
        places = _places(known) if numbers else None
        for start in range(0, len(column), STRIP):
            entries, own = column[start : start + STRIP], codes[start : start + STRIP]
            if numbers:
                at = places(entries)
                np.copyto(own, code[at], where=known[at] == entries)
            own[np.isnan(entries)] = self.missing
        return codes

    def _of_objects(self, column):
        get, other, entries = self._codes.get, self.other, column.tolist()
        if set(map(type, entries)) <= PLAIN:
            codes = map({**self._codes, None: self.missing}.get, entries, repeat(other))
        else:
            codes = (get(x, other) if type(x) is str else self._of_any(x) for x in entries)
        return np.fromiter(codes, dtype=np.float64, count=len(column))

    def _of_any(self, entry):
        label = label_of(entry)
        return self.missing if label is None else self._codes.get(label, self.other)


def _places(known):
    """Return what tells for every entry the place where it stands among rising numbers, if so."""
    low, most = known[0], known[-1] - known[0]
    if most <= NEAR and (known == np.trunc(known)).all():  # a table of places: no search
        table = np.searchsorted(known, low + np.arange(most + 1))
        return lambda column: table[np.fmin(np.fmax(column - low, 0), most).astype(np.intp)]
    return lambda column: np.minimum(np.searchsorted(known, column), len(known) - 1)


def count_labels(rows, columns_of, n_columns):
    """Return how often every label occurs in columns, a list of dicts by key.

    Notes
    -----
    **Memory**: two numbers, and the text, for each label that occurs; parts of the table that wait
    to be added up hold no more than twice as many, or 2^16.
    """

    def statistic(start, block):
        return [[_counted(column) for column in columns_of(block)]]

    def merge(some, others):
        parts = [*some, *others]
        sizes = [sum(map(len, part)) for part in parts]
        return parts if sum(sizes) <= 2 * max(sizes[0], AT_ONCE) else [_added(parts)]

    return _added(rows.map_merge(statistic, merge) or [[{}] * n_columns])


def _counted(column):
    if column.dtype == object:
        counts = Counter(map(_key, column.tolist()))
        counts.pop(None, None)
        return counts
    labels, counts = np.unique(column[are_labels(column)], return_counts=True)
    return {(1, int(x)): int(n) for x, n in zip(labels, counts, strict=True)}


def _added(parts):
    sums = [Counter() for _ in parts[0]]
    for part in parts:
        for total, counts in zip(sums, part, strict=True):
            total.update(counts)
    return sums


def _key(entry):
    """Return text as it is, other labels as (rank, number), None for no label."""
    label = entry if type(entry) is str else label_of(entry)
    if type(label) is str:
        return label
    if label is None or label is NO_LABEL or isinstance(label, float):
        return None
    return int(not isinstance(label, bool)), label


def plain_label(key):
    """Return the label of a key."""
    return key if isinstance(key, str) else key[1]


def plain_key(label):
    """Return the key of a label, of True and 1 the same."""
    return label if isinstance(label, str) else (1, int(label))


def sorted_keys(keys):
    """Return keys in their order: truth values, numbers, text."""
    return sorted(keys, key=lambda key: (TEXT, key) if isinstance(key, str) else key)
