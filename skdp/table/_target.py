"""Classes of y and levels of columns: public, or bought by a private selection.

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

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.exceptions import PlanError
from skdp.kernel._labels import CodedColumns, CodedTarget, Coding, ColumnLabels
from skdp.mechanisms._exact import exact
from skdp.table._levels import BOUGHT, public_classes

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
