"""Curators of disjoint sets of rows, side by side: all of them together pay for one."""

from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np

from skdp._books import WORTH_LITTLE, Books
from skdp._curator import _Child, plan_of_child
from skdp.mechanisms._entropy import spawned

__all__ = ["KeysOf", "curators_beside", "in_order"]

BEYOND = 2**60  # numbers of no row


def curators_beside(curator, label, sets, *, budget, share):
    """Return a Curator for each of some disjoint sets of rows; together they pay ``share`` once.

    Parameters
    ----------
    curator : Curator
        Of the whole table; its plan has the steps of one set as ``label/...``.
    label : str
        Of a planned step, a child.
    sets : dict of str to ndarray of int
        Public or released names, with the rising numbers of their rows.
    budget : Budget
        Of each set: the whole one, or a part of it that is worth no more than the share.
    share : Fraction
        Part of the budget.

    Returns
    -------
    curators : list of Curator

    Notes
    -----
    **Privacy.** The caller proves that each row decides by itself, given earlier releases, in which
    set it is, if in any. Neighbouring tables then differ in one set. All releases of other sets,
    given the past, have the same laws on both tables and cost nothing, whatever they depend on; the
    books of the one set allow it what one fit may spend, and one use of each planned failure event.
    The theorems of the user guide ("By group") add up no more than that.
    """
    if share == 1 and budget == curator.budget:
        curator._pay(label, "child", share)  # the whole, of whatever unit
    else:
        curator.child(label, share, budget=budget)
    plan, turns = plan_of_child(curator, label, budget), _Turns()
    parts = (_Part(curator, label, share, plan, *one, turns) for one in sets.items())
    return [curator._heard(part) for part in parts]


def in_order(curators):
    """Let bills tell of one set after the other, once all have been fitted.

    **Privacy**: how often a fit reads its rows, and so whose turn it is when many share a pass,
    may hang on the rows themselves.
    """
    if not curators:
        return
    turns, owner = curators[0]._turns, curators[0]
    places = {part._name: place for place, part in enumerate(curators)}
    while owner := getattr(owner, "_parent", None):
        _sort_last(owner._charges, [places[name] for name in turns.of_charges])
        _sort_last(owner._decisions, [places[name] for name in turns.of_decisions])


def _sort_last(lines, places):
    first = len(lines) - len(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    lines[first:] = [lines[first + i] for i in order]


class _Turns:
    """Which set each line of a bill is of, and the largest share that one has spent."""

    spent = Fraction(0)

    def __init__(self):
        self.of_charges, self.of_decisions = [], []

    def raised(self, spent):
        """Return by how much ``spent`` exceeds it, and raise it."""
        more = max(spent - self.spent, Fraction(0))
        self.spent += more
        return more


class _Part(_Child):
    """A Curator of one of the sets: it has the whole plan to itself, and noise of its own."""

    def __init__(self, parent, label, share, plan, name, numbers, turns):
        super().__init__(parent, label, share, plan)
        self._name, self._turns = name, turns
        self._entropy = spawned(parent._entropy, f"{label}/{name}")
        self.coins = KeysOf(self.coins, numbers)
        self._choose, self._perturb = map(self._drawing, (self._choose, self._perturb))
        self._occurring, noisy = self._drawing(self._occurring), self._drawing(self._noisy)
        self._noisy = lambda value, law, scale, rows=None, parts=None: noisy(
            value, law, scale, rows if rows is None else numbers[rows], parts
        )

    def _drawing(self, draw):
        """Return a draw of the parent with words of this part."""

        def drawn(*arguments):
            with self._lock:
                owner = self._parent
                while hasattr(owner, "_parent") and not isinstance(owner, _Part):
                    owner = owner._parent
                kept, owner._entropy = owner._entropy, self._entropy
                try:
                    return draw(*arguments)
                finally:
                    owner._entropy = kept

        return drawn

    def _book(self, label):
        Books._book(self, label)  # each set has all steps

    def fails(self, label):
        """Declare a planned failure event, once for each set: a row is in one of them."""
        return Books.fails(self, label)

    def _record(self, charge):
        Books._record(self, charge)
        share, place = charge.share * self._part, f"{self._prefix[:-1]}[{self._name}]"
        more = self._turns.raised(self._used * self._part)
        with _heard_as(self, self._prefix + charge.label, more):
            self._parent._record(replace(charge, label=f"{place}/{charge.label}", share=share))
        self._turns.of_charges.append(self._name)

    def decide(self, text):
        """Note a decision, as :meth:`Curator.decide`, with the name of the set."""
        Books.decide(self, text)
        mark = WORTH_LITTLE if text.startswith(WORTH_LITTLE) else ""
        self._parent.decide(f"{mark}{self._name}: {text.removeprefix(WORTH_LITTLE)}")
        self._turns.of_decisions.append(self._name)


@contextmanager
def _heard_as(part, label, share):
    """Let who listens to the bill hear of the planned step, and of what all sets spend."""
    root = part._parent
    while hasattr(root, "_parent"):
        label, share, root = root._prefix + label, share * root._part, root._parent
    told = root.told
    root.told = None if told is None else lambda charge: told(_relabelled(charge, label, share))
    try:
        yield
    finally:
        root.told = told


def _relabelled(charge, label, share):
    return replace(charge, label=label, share=share)


class KeysOf:
    """The keys of some rows of a table, numbered anew: a row keeps its key in every part."""

    def __init__(self, coins, numbers):
        self._coins, self._numbers = coins, numbers

    def keys(self, start, stop, use=""):
        """Return keys, as :meth:`skdp.mechanisms.RowKeys.keys`."""
        numbers, first = self._numbers[start:stop], max(start, len(self._numbers))
        parts = []
        if len(numbers):
            low, high = int(numbers[0]), int(numbers[-1]) + 1
            parts.append(self._coins.keys(low, high, use=use)[numbers - low])
        if first < stop:  # numbers of no row
            parts.append(self._coins.keys(BEYOND + first, BEYOND + stop, use=use))
        return np.concatenate(parts) if parts else self._coins.keys(0, 0, use=use)
