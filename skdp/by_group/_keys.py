"""Which group a row is in, by its own key, and what the model of that group says of it."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.readers._columns import Columns
from skdp.readers._labels import WHOLE, Known, _counted, _key, label_of, plain_label, sorted_keys
from skdp.readers._raw import library, readable, schema_of
from skdp.readers._tables import columns_of
from skdp.table._batched import fitted_alone, lazy_result, row_method, tables_for
from skdp.table._levels import BOUGHT, is_text, levels_of
from skdp.utils._compat import safe_indexing
from skdp.utils._numbers import describe_parameter

BY = (
    "by must be the name or the number of a column of X, or a list of two of them that differ. "
    "Pass names if X is a frame, and numbers from 0 on if it is not."
)
ALONE = (
    "by takes all columns of X, n_features = {n}, and the estimator needs one. Add another, for "
    "instance one of zeros to count rows."
)
LEVELS = (
    "levels must be a list of labels that differ: text, truth values and numbers below 2^53; of "
    "two columns a list of pairs of them. Pass levels=None to find them privately."
)
TEXT = (
    "levels are text, and a column of by holds numbers or truth values, which no text equals. Pass "
    "levels of its type, as in levels=[0, 1]."
)
MOST_COLUMNS = 2


def listed(by):
    """Return the columns that ``by`` names as a list."""
    columns = list(by) if isinstance(by, list | tuple) else [by]
    if not 1 <= len(columns) <= MOST_COLUMNS or len(set(columns)) < len(columns):
        raise ValueError(BY)
    return columns


def places_of(by, head, keys=None):
    """Return the places of the columns of the key, and of the others, in tables like ``head``."""
    schema = schema_of(head)
    names = list(schema.names or ())
    places = tuple(_place(column, names, len(schema)) for column in listed(by))
    strange = [c for c, at in zip(listed(by), places, strict=True) if at is None]
    if strange and names:
        raise ValueError(
            f"{BY} Got {', '.join(map(describe_parameter, strange))}; X has {names[:20]}."
        )
    rest = tuple(j for j in range(len(schema)) if j not in places)
    if None in places or len(set(places)) < len(places):
        raise ValueError(BY)
    if not rest:
        raise ValueError(ALONE.format(n=len(schema)))
    for j, of_type in enumerate(levels_of(None, columns_of(head, places))):
        if keys and of_type != BOUGHT and all(isinstance(key[j], str) for key in keys):
            raise ValueError(TEXT)
    return places, rest


def _place(column, names, n_columns):
    if column in names:
        return names.index(column) if names.count(column) == 1 else None
    if isinstance(column, Integral) and not isinstance(column, bool) and 0 <= column < n_columns:
        return int(column)
    return None


def levels_as_keys(levels, n_columns):
    """Return levels as a list of tuples of labels of Python."""
    if isinstance(levels, str) or not hasattr(levels, "__iter__"):
        raise ValueError(LEVELS)
    keys = [_labels(level, n_columns) for level in levels]
    if not keys or None in keys or len(set(keys)) < len(keys):
        raise ValueError(LEVELS)
    return keys


def _labels(level, n_columns):
    entries = [level] if n_columns == 1 else list(level) if _is_pair(level) else []
    labels = tuple(label_of(entry) for entry in entries)
    usable = all(isinstance(x, str) or (isinstance(x, Real) and abs(x) < WHOLE) for x in labels)
    return labels if len(labels) == n_columns and usable else None


def _is_pair(level):
    return isinstance(level, tuple | list | np.ndarray) and len(level) == MOST_COLUMNS


def name_of(key):
    """Return the text that stands for a key in a bill: other keys have other texts, without /."""
    return repr(key[0] if len(key) == 1 else key).replace("/", "\\x2f")


@dataclass(frozen=True)
class Keys:
    """The columns of a key: those of tables that hold no others.

    Notes
    -----
    **Privacy**: the key of a row, and its number among public or released ones, is a function of
    these entries of the row alone.
    """

    n_columns: int

    def counted(self, table):
        """Return how often every key occurs in an array or frame, a Counter of tuples.

        Entries that are no labels, missing ones for instance, make no key. True and 1 are two keys:
        a row moves one count by one, whatever other rows hold.
        """
        columns = [Columns(table).read(j) for j in range(self.n_columns)]
        if len(columns) == 1:
            return Counter({(key,): n for key, n in _counted(columns[0]).items()})
        counts = Counter(zip(*(map(_key, column.tolist()) for column in columns), strict=True))
        return Counter({key: n for key, n in counts.items() if None not in key})

    def numbers(self, keys, table):
        """Return for every row the number of its key among ``keys``, -1 for rows with another."""
        known = [list(dict.fromkeys(key[j] for key in keys)) for j in range(self.n_columns)]
        codes = [_codes(table, j, labels) for j, labels in enumerate(known)]
        if self.n_columns == 1:
            return codes[0].astype(narrow(keys))
        return _paired(keys, known, codes).astype(narrow(keys))


def _paired(keys, known, codes):
    """Return for every row the number of its pair among ``keys``; as much memory as keys need."""
    places = [{label: place for place, label in enumerate(labels)} for labels in known]
    width = len(known[1]) + 1
    pairs = [places[0][one] * width + places[1][other] for one, other in keys]
    order = np.argsort(np.array(pairs, dtype=np.int64))
    pairs = np.array([*pairs, -1], dtype=np.int64)[[*order, -1]]  # of no keys: -1 alone
    rows = np.where((codes[0] < 0) | (codes[1] < 0), -2, codes[0] * width + codes[1])
    at = np.searchsorted(pairs[:-1], rows)
    return np.where(pairs[at] == rows, np.append(order, -1)[at], -1)


def narrow(keys):
    """Return the type of numbers of keys; narrow ones are sorted by radix."""
    return np.int16 if len(keys) < np.iinfo(np.int16).max else np.int32


def _codes(table, place, labels):
    """Return for every row the number of its label, -1 for another and for none."""
    known = Known(labels, -1, -1)
    coded = _coded(table, place) if is_text(table, place) else None
    if coded is None:
        return known(Columns(table).read(place)).astype(np.int64)
    codes, entries = coded  # text, or categories of it: each entry is looked up once
    return known(np.array([*entries, None], dtype=object)).astype(np.int64)[codes]


def _coded(table, place):
    """Return the number of the entry of each row, -1 if missing, and entries; None if too dear."""
    kind = library(table)
    if kind == "pyarrow":
        column = readable(table.column(place))
        column = getattr(column, "combine_chunks", lambda: column)().dictionary_encode()
        return column.indices.cast("int64").fill_null(-1).to_numpy(), column.dictionary.to_pylist()
    series = table.iloc[:, place] if kind == "pandas" else None
    if series is None or series.dtype == object:
        return None
    try:
        codes, entries = series.factorize()
        return codes, list(entries)
    except Exception:  # of text of Arrow that is no UTF-8, which it quotes
        return None


def ordered(counts):
    """Return counts of keys in the order of keys."""
    ranks = [
        {key: rank for rank, key in enumerate(sorted_keys({key[j] for key in counts}))}
        for j in range(MOST_COLUMNS)
        if all(len(key) > j for key in counts)
    ]
    ranked = sorted(counts, key=lambda key: [ranks[j][part] for j, part in enumerate(key)])
    return {key: counts[key] for key in ranked}


def merged(keys):
    """Return keys as tuples of labels, which differ: True is 1."""
    return list(dict.fromkeys(tuple(map(plain_label, key)) for key in keys))


# --- what the models of groups say of rows: each row is asked of that of its group


def _has(name):
    def check(group_by):
        getattr(group_by.estimator, name)  # or AttributeError
        return True

    return check


def _routed(name, what, returns):
    return available_if(_has(name))(row_method(name, _ask, what, returns))


def _ask(group_by, X, name):
    tables = tables_for(group_by, X)
    if tables is not None:
        return lazy_result(tables, partial(_answers, fitted_alone(group_by), name))
    check_is_fitted(group_by)
    if hasattr(X, "columns"):
        validate_data(group_by, X, reset=False, skip_check_array=True)
    else:
        X = validate_data(group_by, X, reset=False, dtype=None, ensure_all_finite=False)
    return _answers(group_by, name, X)


def _answers(group_by, name, table):
    """Return what the models say of the rows of an array or frame, in their order."""
    numbers = group_by.group_numbers(table)
    features = columns_of(table, group_by._rest())
    parts = []
    for number, model in enumerate(group_by.estimators_.values()):
        rows = np.flatnonzero(numbers == number)
        if len(rows):
            answer = np.asarray(getattr(model, name)(safe_indexing(features, rows)))
            parts.append((rows, _by_classes(answer, model, group_by, name)))
    return _placed(parts, len(numbers), group_by, name)


def _by_classes(answer, model, group_by, name):
    """Return probabilities of all classes; 0 for those that a group does not know."""
    if name != "predict_proba" or group_by._target != "class":
        return answer
    classes = group_by.classes_
    whole = np.zeros((len(answer), len(classes)))
    whole[:, np.searchsorted(classes, model.classes_)] = answer
    return whole


def _placed(parts, n_rows, group_by, name):
    """Return answers in the order of the rows, and for rows in no group what says so."""
    n_inside = sum(len(rows) for rows, _ in parts)
    if not parts:
        shape = (n_rows, len(group_by.classes_)) if name == "predict_proba" else (n_rows,)
        return np.full(shape, np.nan)
    kind = np.result_type(*(answer.dtype for _, answer in parts))
    fill = np.nan
    if n_inside < n_rows and kind.kind != "f":
        if group_by._target == "class":
            kind, fill = np.dtype(object), None
        else:
            fill = -1
    placed = np.full((n_rows, *parts[0][1].shape[1:]), fill if n_inside < n_rows else 0, kind)
    for rows, answer in parts:
        placed[rows] = answer
    return placed


class RoutesRows:
    """Methods of the models of groups, for rows that say by their key whose they are."""

    predict = _routed(
        "predict",
        "Predict each row with the model of its group; rows in no group get NaN, labels of "
        "clusters -1, classes None",
        "y : ndarray of shape (n_samples,)",
    )
    predict_proba = _routed(
        "predict_proba",
        "Return probabilities by the model of the group of each row, NaN for rows in no group",
        "probabilities : ndarray of shape (n_samples, n_classes)",
    )

    @property
    def classes_(self):
        """The classes that the groups know, a sorted array."""
        known = [model.classes_ for model in self.estimators_.values()]
        return np.unique(np.concatenate(known)) if known else np.empty(0)
