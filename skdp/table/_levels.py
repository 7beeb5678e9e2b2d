"""Classes of y and levels of columns: public, or bought by a private selection; types of columns.

An estimator with ``_target = "number"`` or ``"class"`` (and ``_mixed = True``, if columns may hold
text, categories, truth values and gaps) is given a ``table`` by ``fit(X, y)``: the target is the
last of ``n_features_in_ + 1`` columns. Before anything else reads them it turns labels into codes::

    def plan(self):
        budget = self._budget(Budget.gaussian)
        classes = Selection("classes", given=self.classes is not None)
        levels = Selection("levels")
        steps = (*classes.steps(), *levels.steps(), Step("model"))
        events = (*classes.events(budget, 0.5), *levels.events(budget, 0.5))
        return Plan(budget, steps, events)

    def _release(self, table):
        classes, table = coded_classes(table, self.classes, share=0.02)
        coding, table = coded_columns(table, share=0.02)  # of mixed tables

``classes``: sorted array; the last column is its code, 0 to K - 1, NaN for a row that is absent.
``coding.levels``: for every column None, for numbers, or a tuple of L levels, of which an entry has
the code 0 to L - 1, L if it is another, L + 1 if it is missing; numbers are NaN where missing.
``coding.codes(X)`` gives the codes of later rows in memory; a later source is
``source.decoded_by(coding.decoder(source.head()))``. ``share`` is not spent if all is public, as
``table.about`` tells: :data:`skdp.table._levels.BOUGHT` stands for what is not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real

import numpy as np

from skdp.accounting import Step
from skdp.exceptions import PlanError
from skdp.kernel._labels import CodedColumns, CodedTarget, Coding, ColumnLabels
from skdp.mechanisms._exact import exact
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

NOTHING = (
    "no class of y exceeds the noise: nothing was learned. Pass classes=[...] if they are "
    "public, or use a larger epsilon"
)
ONE = (
    "only one class of y exceeds the noise: every prediction is that class. Pass classes=[...] "
    "if they are public, or use a larger epsilon"
)
NO_LEVELS = (
    "no level exceeds the noise: all entries count as one. Pass categories= if they are public,"
    " or use a larger epsilon"
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


# --- classes of y and levels of columns: public, or bought by a private selection


@dataclass(frozen=True)
class Selection:
    """A private selection of labels in a plan: its step and its failure event."""

    label: str  # {"classes", "levels"}: of the step, and of the event
    given: bool = False  # whether all labels are public, so that nothing is selected
    at_most: float | Fraction = Fraction(1, 10)  # largest share of the budget

    def steps(self):
        """Return the steps of a plan, one or none."""
        return () if self.given else (Step(self.label, at_most=self.at_most, of=(ColumnLabels,)),)

    def events(self, budget, part=1):
        """Return the failure events of a plan, one or none, with a part of the budget's failure."""
        if self.given:
            return ()
        if not budget.failure > 0:
            name = "classes" if self.label == "classes" else "categories"
            raise PlanError(
                f"with delta=0 `{name}` must be given: to find them privately is to publish what "
                "occurs, which may fail and so needs a delta. Pass them, or a delta well below "
                "1 / (number of rows)."
            )
        return ((self.label, budget.failure * exact(part)),)


def coded_classes(table, classes=None, *, share=None, in_order=False):
    """Return the classes of y, sorted or as they are given, and rows that end with their code."""
    if classes is not None:
        labels = public_classes(classes, in_order=in_order)
    else:
        step = {"label": "classes", "event": "classes"}
        (labels,) = table.names(ColumnLabels(), share=share, **step)
        if len(labels) < 2:
            table.doubt(ONE if labels else NOTHING)
    kind = np.dtype(table.about["label_type"])
    return _array(labels, kind), table.map(CodedTarget(tuple(labels)))


def coded_columns(table, *, share=None):
    """Return the levels of the columns of a mixed table, and rows that are numbers alone."""
    levels = list(table.about["levels"])
    bought = [j for j, level in enumerate(levels) if level == BOUGHT]
    if bought:
        question = ColumnLabels(tuple(bought))
        found = table.names(question, share=share, label="levels", event="levels")
        for j, labels in zip(bought, found, strict=True):
            levels[j] = tuple(labels)
        nothing = np.array([level == () for level in levels])
        table.doubt(NO_LEVELS, columns=nothing)
    levels = tuple(levels)
    return Coding(levels), table.map(CodedColumns(levels))


def _array(labels, kind):
    """Return labels as an array of the type of y, of their own where that does not hold them."""
    if kind.kind == "O" and labels and not any(isinstance(label, str) for label in labels):
        return np.array(labels)
    if kind.kind == "O" or (kind.kind == "U" and labels):
        return np.array(labels, dtype=kind)
    if not labels:
        return np.empty(0, dtype=kind)
    own = np.array(labels)
    if own.dtype.kind in "biuf" and np.array_equal(own.astype(kind), own):
        return own.astype(kind)
    return own
