"""Curators of disjoint sets of rows, side by side: all of them together pay for one."""

from fractions import Fraction

import numpy as np

from skdp.gate._accountant import BudgetAccountant
from skdp.gate._curator import _Child, _ChildKeys, plan_of_child
from skdp.mechanisms._entropy import spawned
from skdp.utils._warnings import Doubt

BEYOND = 2**60  # numbers of no row
STRETCH = 2**12  # rows whose keys are made together, as by RowKeys: their last rows differ by set


def parallel_sessions(curator, label, sets, *, budget, share, most=1):
    """Return a Curator for each of some disjoint sets of rows; together they pay ``share`` once.

    Each may spend ``budget``, of which ``share`` pays for ``most``.

    Notes
    -----
    **Privacy.** The caller proves that each row decides by itself, given earlier releases, in which
    set it is, if in any. Neighbouring tables then differ in one set. All releases of other sets,
    given the past, have the same laws on both tables and cost nothing, whatever they depend on; the
    books of the one set allow it what one fit may spend, and one use of each planned failure event.
    The theorems of the user guide ("By group") add up no more than that.

    If neighbouring tables differ in up to ``most`` sets, as where a person has rows in several, the
    releases of these sets are steps of one adaptive fit. They cost ``most`` budgets at most on
    every path, all of which are paid for; a planned failure event is divided among them.

    The bill lists one set after the other, in the order of ``sets``, and the lines of a set in the
    order of its own calls: a function of names and releases. Whose turn it was when many sets share
    a pass depends on their rows, and enters no line.
    """
    each = share / most
    if each == 1 and budget == curator.budget:
        curator._pay(label, "child", share)  # the whole, of whatever unit
    else:
        for _ in range(most):
            curator._grant(label, each, budget)
    plan, spent = plan_of_child(curator, label, budget, most), _Most()
    kept = _KeptKeys(_ChildKeys(curator.coins, f"{label}/"))
    parts = [_SubsetSession(curator, label, each, plan, *one, spent, kept) for one in sets.items()]
    curator._write(lambda: [part._outside(line) for part in parts for line in part._bill()])
    return [curator._wrap_part(part) for part in parts]


class _Most:
    """The largest share that one of some sets has spent."""

    share = Fraction(0)

    def raised(self, share):
        """Return by how much ``share`` exceeds it, and raise it."""
        more = max(share - self.share, Fraction(0))
        self.share += more
        return more


class _SubsetSession(_Child):
    """A Curator of one of the sets: it has the whole plan to itself, and noise of its own."""

    of_a_set = True  # disjoint from those of all others with this parent

    def __init__(self, parent, label, share, plan, name, numbers, most, kept):
        super().__init__(parent, label, share, plan)
        self._name, self._place = name, f"{label}[{name}]/"
        self._most, self._spent = most, Fraction(0)
        self._outer = None  # each set has all steps
        self._entropy = spawned(parent._entropy, f"{label}/{name}")
        self.coins = SubsetKeys(kept, numbers)
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
                while hasattr(owner, "_parent") and not isinstance(owner, _SubsetSession):
                    owner = owner._parent
                kept, owner._entropy = owner._entropy, self._entropy
                try:
                    return draw(*arguments)
                finally:
                    owner._entropy = kept

        return drawn

    def fails(self, label):
        """Declare a planned failure event, once for each set: a row is in one of them."""
        return BudgetAccountant.fails(self, label)

    _write = (
        BudgetAccountant._write
    )  # into a bill of its own, which that of the parent lists when it closes

    def _outside(self, line):
        if not isinstance(line, str):
            return super()._outside(line)
        return line.within(self._name) if isinstance(line, Doubt) else f"{self._name}: {line}"

    def _tell(self, label, share):
        """Let who listens hear of the planned step, and of what all sets spend."""
        self._spent += share
        super()._tell(label, self._most.raised(self._spent))


class _KeptKeys:
    """Keys of rows of the whole table, made once for all sets that ask for those of one stretch."""

    def __init__(self, coins):
        self._coins, self._known = coins, {}  # by use: first row, keys; 8 bytes a row

    def keys(self, start, stop, use=""):
        """Return keys, as :meth:`skdp.mechanisms.RowKeys.keys`."""
        low, high = start - start % STRETCH, stop + -stop % STRETCH
        first, keys = self._known.get(use, (low, None))
        if keys is None or start >= first + len(keys) or stop <= first:
            first, keys = low, self._coins.keys(low, high, use=use)
        last = first + len(keys)
        if start < first:
            first, keys = low, np.append(self._coins.keys(low, first, use=use), keys)
        if stop > last:
            keys = np.append(keys, self._coins.keys(last, high, use=use))
        self._known[use] = first, keys
        return keys[start - first : stop - first]


class SubsetKeys:
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
