"""Levels that a fit buys: bins of numbers and the texts that occur often, without bounds."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.kernel._labels import (
    FRACTION,
    GAP,
    WHOLE,
    ColumnLabels,
    EntryStates,
    NumberColumns,
    RowsWithEntries,
)
from skdp.marginals._found import Cells, Found, laws_of, rounded, split
from skdp.marginals._frames import BOOL, NUMBER, TEXT
from skdp.marginals._levels import MISSING, OTHER
from skdp.marginals._residuals import table_of
from skdp.scales._bins import bin_share, bin_steps, search_cells
from skdp.table._levels import Selection

LEVELS = 0.02, 0.1  # shares of the budget
ROW_COUNT = Step("row count", at_most=0.01, of=(RowsWithEntries,))
NAMES = Selection("levels", at_most=LEVELS[1])
ENTRIES = Step("entries", at_most=0.02, of=(EntryStates,))
MANY = 2000.0  # rows in units of noise, above which the smaller share finds the levels
IN_A_CELL = 10.0  # rows in units of the noise of one of the tables, where bins are as fine
BINS = (3, 32)
SHOWS = 2.0  # noises above which entries of a kind are there
HIDES = 0.01  # part of the rows: texts without a level of their own have one if they may be more
FRACTIONS = 3.0  # and fractions: of 20 columns of whole numbers one in 40 tables seems to have some
LOST = 0.1  # part of the rows beyond an end of a column, or without a name, that is doubted
NOTHING = (
    "nothing in these columns exceeds the noise. Pass levels if they are public, or use a "
    "larger epsilon"
)
OPEN_TOP = "the top level of these columns of codes may hold more than one value: {}"
HIDDEN = (
    "a tenth of the rows may lie beyond the smallest or the largest level. Pass levels if "
    "public, or use fewer columns or a larger epsilon"
)

UNNAMED = (
    "a tenth of the rows or more have values that were too rare to be found, or the text 'other': "
    "they are one level, 'other'. Pass levels if public, or use a larger epsilon or more rows"
)


def auto_steps():
    """Return the steps of a plan that :func:`find_levels` takes."""
    return ROW_COUNT, *NAMES.steps(), ENTRIES, *bin_steps()


def auto_events(budget):
    """Return the failure events of :func:`find_levels`."""
    return NAMES.events(budget)


def bins_of(strength, sizes):
    """Return a number of bins: as many as make cells and their noise equally wide of the truth."""
    cells = strength / (IN_A_CELL * math.sqrt(len(sizes)))
    return int(np.clip(max(cells, 1.0) ** (1 / max(sizes)), *BINS))


def find_levels(table, domain, *, n_bins, sizes, most, n_features):
    """Release the levels of the columns whose levels are unknown, of a table of ``n_features``.

    Notes
    -----
    **Privacy** (add or remove one row). A row all of whose entries are missing is absent: it adds
    to none of four answers, to :class:`skdp.kernel._labels.RowsWithEntries`, to the names of
    :class:`skdp.kernel._labels.ColumnLabels`, with their one failure event, to
    :class:`skdp.kernel._labels.EntryStates` and to :func:`search_cells`.

    What is asked next is a function of what was released. The levels are functions of the releases
    and of public types; the code of an entry is a function of that entry and of its levels.
    """
    types = {place: domain.types[place] for place in domain.unknown}
    release = table.ask(RowsWithEntries(), ROW_COUNT)
    n = max(float(release.value[0]), 2 * release.scale, 2.0)
    strength = n * table.budget.mu
    names = _names(table, types, share=LEVELS[0] if strength > MANY else LEVELS[1])
    entries = _entries(table, types, names)
    kinds = {
        place: entries[place].found(names[place], most, n)
        for place, kind in types.items()
        if kind.kind != NUMBER
    }
    numbers = [place for place, kind in types.items() if kind.kind == NUMBER]
    n_bins = min(bins_of(strength, sizes) if n_bins == "auto" else n_bins, most)
    columns = table.map(NumberColumns(tuple(numbers)))
    search = search_cells(
        columns,
        range(len(numbers)),
        n_rows=n,
        n_bins=n_bins,
        share=bin_share(strength, max(len(numbers), 1)),
        target=False,
        whole=[entries[place].whole for place in numbers],
    )
    nothing, hidden = [place for place, labels in names.items() if not labels], []
    for place, searched in zip(numbers, search, strict=True):
        edges, (ends, beyond) = searched.edges(), searched.ends()
        kinds[place], told = _cells(edges, searched.laws(), ends, entries[place], most)
        if not told:
            nothing.append(place)
        elif max(beyond) > LOST * entries[place].numbers(n):
            hidden.append(place)
    names_of_tops = [str(domain.names[p]) for p in numbers if kinds[p].has_open_top]
    if names_of_tops:
        table.decide(OPEN_TOP.format(", ".join(names_of_tops)))
    table.doubt(NOTHING, columns=domain.marked(nothing, n_features))
    table.doubt(HIDDEN, columns=domain.marked(hidden, n_features))
    return kinds


def without_names(domain, tables, residuals):
    """Return the places of columns with many rows in the level of other values, by released tables.

    Columns of which no value was found are left out: they are doubted before.
    """
    told = {place for same in tables.sets for place in np.unique(same).tolist()}
    found = [p for p in sorted(told) if isinstance(domain.kinds[p], Found)]
    several = [p for p in found if domain.kinds[p].other and domain.kinds[p].values]
    shares = (table_of(tables.layout, residuals, [place]) for place in several)
    return [p for p, table in zip(several, shares, strict=True) if table[-1] > LOST * table.sum()]


def _names(table, types, *, share):
    """Return the values of all columns that are no numbers, bought for a share where needed."""
    found = {place: (False, True) for place, kind in types.items() if kind.kind == BOOL}
    bought = [place for place, kind in types.items() if kind.kind == TEXT]
    if bought:
        question = ColumnLabels(tuple(bought))
        labels = table.names(question, share=share, label=NAMES.label, event=NAMES.label)
        found |= {place: tuple(own) for place, own in zip(bought, labels, strict=True)}
    return found


def _entries(table, types, names):
    """Return the released _Entries of all unknown columns."""
    question = EntryStates(tuple(types), tuple(names.get(place) for place in types))
    release = table.ask(question, ENTRIES)
    parts = np.split(release.value, np.cumsum(question.sizes)[:-1])
    pairs = zip(types.items(), parts, strict=True)
    return {place: _Entries(part, release.scale, kind) for (place, kind), part in pairs}


@dataclass(frozen=True)
class _Entries:
    """Released counts of the states of the entries of one column."""

    counts: np.ndarray
    scale: float
    type: object

    def _shows(self, state, noises=SHOWS):
        return bool(self.counts[state] > noises * self.scale)

    @property
    def missing(self):
        """Whether a column of numbers has missing entries, as far as noise shows."""
        return self._shows(GAP) and not self.type.full

    @property
    def whole(self):
        """Whether a column of numbers has whole numbers alone, by type or as far as noise shows."""
        found = self._shows(WHOLE) and not self._shows(FRACTION, FRACTIONS)
        return self.type.integer or found

    def numbers(self, n):
        """Return how many of n rows have a number."""
        return n - self.counts[GAP] * self.missing

    def most(self, *states):
        """Return how many entries there may be in states, as far as noise shows."""
        noise = SHOWS * self.scale * math.sqrt(len(states))
        return max(float(self.counts[list(states)].sum()), 0.0) + noise

    def found(self, values, most, n):
        """Return the levels of a column of values: those of the largest counts."""
        most_common = np.argsort(-self.counts[:-2], kind="stable")[: most - 2]
        places = [i for i in np.sort(most_common) if values[i] not in (MISSING, OTHER)]
        kept, full = tuple(values[i] for i in places), self.type.full
        missing = not kept or (self._shows(-1) and not full)
        hidden = self.most(*([-2] * (self.type.kind == TEXT) + [-1] * (not (missing or full))))
        other = self.type.kind == TEXT and (self._shows(-2) or hidden > HIDES * n)
        other = other or len(kept) < max(len(values), 2)
        rest = int(np.argmax(self.counts[places])) if kept else 0
        return Found(kept, missing, other, rest=rest, hidden=0.0 if other else hidden)


def _cells(edges, laws, ends, entries, most):
    """Return the levels of a column of numbers, and whether bins, or one number, were found.

    An open bin in which nothing shows is none: what its edge is made of is noise. There are two
    levels at least: without any edge one is at the number that nearly all rows have, or at zero.
    """
    shows = np.flatnonzero([weight.size for _, _, weight in laws])
    first, last = (shows[0], shows[-1]) if shows.size else (0, 0)
    place = np.arange(edges.size)
    edges, laws = _merged(edges, laws, (place >= first) & (place < last))
    told = bool(edges.size)
    if not told:
        usual, told = _usual(laws[0], whole=entries.whole)
        edges = np.array([usual])
    else:
        calendar = entries.type.calendar
        edges = np.array(rounded(edges, laws, ends, whole=entries.whole, calendar=calendar))
    laws = split(laws, edges)
    while edges.size > most - 1 - entries.missing:
        edges, laws = _merged(edges, laws, np.arange(edges.size) % 2 == 1)
    edges = edges.tolist()
    laws = laws_of(edges, laws, whole=entries.whole)
    hidden = 0.0 if entries.missing or entries.type.full else entries.most(GAP)
    kept = tuple(edges), laws, entries.whole, entries.missing, tuple(ends), hidden
    return Cells(*kept, entries.type.calendar), told


def _merged(edges, laws, kept):
    """Return the edges that are kept, and the laws of the bins between them."""
    numbers = np.cumsum(np.append(False, kept))
    parts = [[] for _ in range(numbers[-1] + 1)]
    for number, law in zip(numbers, laws, strict=True):
        parts[number].append(law)
    return edges[kept], [tuple(map(np.concatenate, zip(*part, strict=True))) for part in parts]


def _usual(law, *, whole):
    """Return the number that nearly all rows of a law have, and whether there is one, else zero."""
    low, high, weight = law
    if weight.size:
        cell = np.argmax(weight)
        low, high = (np.floor(law[0]), np.floor(law[1])) if whole else (low, high)
        alone = high[cell] == (low[cell] + 1 if whole else np.nextafter(low[cell], np.inf))
        if alone and weight[cell] > (1 - LOST) * weight.sum():
            return high[cell], True
    return 0.0, False
