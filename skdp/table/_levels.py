"""Public classes and categories, and the types of columns: what is a number, and what a label."""

import re
from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np

from skdp.readers._labels import WHOLE, label_of
from skdp.readers._raw import column_type, first_of, library, schema_of

BOUGHT = "bought"  # stands for levels that are not public
TEXT = re.compile(
    r"(object|string|str(?!uct)|large_string|categor|enum|dictionary|<u|>u|utf8)", re.I
)
NUMBER = re.compile(r"(u?int(8|16|32|64)|float(16|32|64)|double|bool|boolean)", re.I)
CLASSES = (
    "classes must be a list of labels that differ: text, whole numbers or truth values. Leave out "
    "missing ones, pass each once, and numbers of 2^53 or more as text."
)
CATEGORIES = (
    "categories must be None, a dict {column: levels}, or a list that has for every column its "
    "levels, or None. Levels are a list of text and numbers below 2^53 that differ, or a number of "
    "codes."
)


def public_classes(classes, *, in_order=False):
    """Return the labels of ``classes``, sorted or as they are, or raise ValueError."""
    labels = None if _is_text(classes) else _labels(classes)
    if labels is None or len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(CLASSES)
    return labels if in_order else sorted(labels)


def _labels(values):
    """Return the labels that values are, None if they are none, or one comes twice."""
    labels = [label_of(value) for value in values]
    usable = labels and all(_is_usable(label) for label in labels)
    return labels if usable and len(set(labels)) == len(labels) else None


def _is_usable(label):
    """Return whether columns of floats and of objects tell a label from all others alike."""
    return isinstance(label, str) or (isinstance(label, Real) and abs(label) < WHOLE)


def _is_text(values):
    return isinstance(values, str) or not hasattr(values, "__iter__")


def levels_of(categories, head):
    """Return for every column None, for numbers, or its levels: a tuple, or BOUGHT."""
    schema = schema_of(head)
    levels = [_of_type(head, j, readable) for j, readable in enumerate(schema.readable)]
    given = _given(categories, schema, isinstance(head, np.ndarray))
    if isinstance(head, np.ndarray) and given:  # one type for all: it tells nothing of a column
        levels = [None] * len(levels)
    for j, values in given.items():
        levels[j] = values
    wrong = [level is ... for level in levels]
    if any(wrong):
        which = first_of(schema.names or range(len(wrong)), [not bad for bad in wrong])
        raise ValueError(
            "X must have columns of numbers, text, categories or truth values. Got columns of "
            f"another type: {which}. Convert them, as by X[name].astype(str), or leave them out."
        )
    return tuple(levels)


def _of_type(head, column, numeric):
    name = type_name(head, column)
    if isinstance(head, np.ndarray) and head.dtype == object:
        return ...  # a type that tells nothing
    if name.startswith("bool"):
        return (False, True)
    if numeric:
        return None
    return BOUGHT if TEXT.match(name) else ...


def _given(categories, schema, is_array):
    if categories is None:
        return {}
    if isinstance(categories, Mapping):
        names = list(schema.names or ())
        found = {_column(key, names, len(schema)): v for key, v in categories.items()}
        if len(found) < len(categories):
            raise ValueError(CATEGORIES)
    elif isinstance(categories, list | tuple) and len(categories) == len(schema):
        found = {j: values for j, values in enumerate(categories) if values is not None}
    else:
        raise ValueError(CATEGORIES)
    return {j: _levels(values) for j, values in found.items()}


def _column(key, names, n_columns):
    if key in names:
        return names.index(key)
    if isinstance(key, Integral) and not isinstance(key, bool) and 0 <= key < n_columns:
        return int(key)
    raise ValueError(
        f"categories has a column {key!r}, which X has not. Pass its name, if X is a frame with "
        "names, or its number, from 0 on."
    )


def _levels(values):
    if isinstance(values, Integral) and not isinstance(values, bool) and values > 0:
        return tuple(range(int(values)))
    named = [] if _is_text(values) else [x for x in values if x is not ...]
    labels = _labels([x for x in named if label_of(x) is not None])  # the others have cells anyway
    if labels is None:
        raise ValueError(CATEGORIES)
    return tuple(labels)


def type_name(raw, column):
    """Return the name of the type of a column in small letters; of categories, that of theirs."""
    if library(raw) == "pandas" and hasattr(raw.dtypes.iloc[column], "categories"):
        name = str(raw.dtypes.iloc[column].categories.dtype)
        return name if TEXT.match(name) else f"categories of {name}"
    return column_type(raw, column).lower()


def is_text(raw, column):
    """Return whether a column holds text or categories, by its type."""
    return bool(TEXT.match(type_name(raw, column)))


def label_type(raw, column):
    """Return the type of an array of labels of a column: one of numbers, str or object."""
    name = type_name(raw, column).removeprefix("categories of ")
    if number := NUMBER.match(name):
        return np.dtype(number[0].replace("double", "float64").replace("boolean", "bool"))
    return np.dtype(str) if isinstance(raw, np.ndarray) and raw.dtype.kind == "U" else np.dtype("O")
