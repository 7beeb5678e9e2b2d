"""A ledger as text, HTML, JSON and a frame."""

import math
import sqlite3
import sys
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from html import escape
from typing import NamedTuple

from skdp.show._display import AsJson, LedgerDisplay, columns, data_frame, row, table

COLUMNS = ["time", "kind", "what", "note", "epsilon", "delta", "takes", "left"]
COLUMNS += ["epsilon_left", "delta_left", "unit", "amount", "failure", "seeded", "pid"]
NOTE = " | "  # between what was charged for and a note
LATCHED = "LATCHED by a refusal: nothing is granted before ledger.acknowledge()"
TITLES = ("no", "time (UTC)", "line", "what", "epsilon", "delta", "takes", "left", "epsilon left")
WORDS = {"charge": "charged", "refused": "REFUSED", "acknowledged": "acknowledged"}
TEXTS = range(1, 4)  # columns that hold no numbers
LAST = 200  # lines that a text or a page shows
LARGEST = sys.float_info.max
NEIGHBOURS = {"row": "one row", "group": "one group (all rows with one entry of `groups`)"}
STYLE = (
    "<style>.skdp-ledger{font:13px system-ui,sans-serif}.skdp-ledger table{"
    "border-collapse:collapse;margin:.6em 0}.skdp-ledger td,.skdp-ledger th{font-size:13px;"
    "white-space:nowrap;padding:.15em .6em;text-align:left;border-bottom:1px solid #8884}"
    ".skdp-ledger .n{text-align:right;font-variant-numeric:tabular-nums}.skdp-ledger .bar{"
    "background:#8883;border-radius:3px;height:1em;margin:.5em 0;overflow:hidden;"
    "max-width:60em}"
    ".skdp-ledger .bar div{background:#3b7dd8;height:100%}"
    ".skdp-ledger .refused td,.skdp-ledger .warn{color:#c22;font-weight:600}"
    ".skdp-ledger .acknowledged td{color:#888}.skdp-ledger .rows{max-height:36em;overflow:auto}"
    "</style>"
)


def with_note(what, note):
    """Return what a line is for, and a note of one line; empty if there is none."""
    what, note = plain(what), plain(note)
    return f"{what}{NOTE}{note}" if note else what


def plain(text):
    """Return a text on one line, without what steers a terminal or turns the writing around."""
    text = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def part(first, cost):
    """Return the part of the capacity, which the ``first`` entry holds, that a cost takes."""
    whole = first.amount, first.failure
    return as_float(max(c / b for c, b in zip(cost, whole, strict=True) if b))


def as_float(number):
    """Return a number as a float, the largest one for what lies beyond."""
    try:
        return float(number)
    except OverflowError:
        return LARGEST


def text_of(x, spec):
    """Return a float as text, one that :func:`as_float` has cut as what it is."""
    if abs(x) >= LARGEST:
        return "> 1e308" if x > 0 else "< -1e308"
    return format(x, spec)


@lru_cache(maxsize=4096)
def as_number(text):
    """Return the number that a field of a line holds."""
    with suppress(AttributeError, TypeError, ValueError, ZeroDivisionError):
        number = Fraction(*(int(part, 0) for part in text.split("/")))
        if number >= 0:
            return number
    raise sqlite3.DataError("a number of it is damaged")


def state_of(text):
    """Return whether a ledger is latched, and the sums (amount, failure) of each account."""
    latched, *numbers = text.split()
    numbers = [as_number(number) for number in numbers]
    return latched == "1", tuple(zip(numbers[::2], numbers[1::2], strict=True))


class Entry(NamedTuple):
    """One line of a ledger: the first holds the capacity, and only kind "charge" costs.

    ``amount`` and ``failure`` are what it takes from the two capacities, ``epsilon`` and
    ``delta`` the guarantee of the fit by itself. ``kind`` is "opened", "charge", "refused" or
    "acknowledged".
    """

    id: int
    kind: str
    what: str
    unit: str
    amount: Fraction
    failure: Fraction
    epsilon: Fraction
    delta: Fraction
    seeded: bool
    pid: int
    time: str

    @classmethod
    def of(cls, row):
        """Return the entry in a row of the file."""
        if {*map(type, (*row[1:8], row[10]))} != {str}:
            raise sqlite3.DataError("a line of it is damaged")
        return cls(*row[:4], *map(as_number, row[4:8]), bool(row[8]), *row[9:11])

    @property
    def note(self):
        """Which data the line is about, and what for: str, empty if nothing was noted."""
        return self.what.partition(NOTE)[2]

    def __repr__(self):
        seeded = " (seeded: not private)" if self.seeded else ""
        epsilon, delta = as_float(self.epsilon), as_float(self.delta)
        cost = f"epsilon={text_of(epsilon, '.4g')}, delta={text_of(delta, '.3g')}{seeded}"
        line = f"{self.id:>5}  {plain(self.time)}  {plain(self.kind):<12} {plain(self.what)}"
        return f"{line}  {cost}" if self.epsilon else line


class Lines(tuple):
    """Rows of the file of a ledger, each with the state after it; seen as a tuple of Entry."""

    __slots__ = ()

    def __getitem__(self, place):
        found = super().__getitem__(place)
        return Lines(found) if isinstance(place, slice) else Entry.of(found)

    def __iter__(self):
        return map(Entry.of, super().__iter__())

    def rows(self):
        """Return an iterator over the rows themselves."""
        return super().__iter__()

    @property
    def state(self):
        """The state after the last line."""
        return super().__getitem__(-1)[-1]


class Spending(NamedTuple):
    """A part of a ledger's capacity: exact (amount, failure), and as a person reads it."""

    amount: Fraction
    failure: Fraction
    fraction: float
    epsilon: float
    delta: float
    mu: float | None  # sqrt(amount), for Gaussian composition

    def __repr__(self):
        mu = "" if self.mu is None else f", mu={text_of(self.mu, '.6g')}"
        epsilon, delta = text_of(self.epsilon, ".6g"), text_of(self.delta, ".3g")
        return f"{text_of(self.fraction, '.2%')}: epsilon={epsilon}, delta={delta}{mu}"


class Line(NamedTuple):
    """An entry of a ledger, the part of the capacity that it takes, and what was left after it.

    A refused one has asked for that part. A fit of the epsilon and delta of ``left`` would have
    been granted then, but for a latch.
    """

    entry: Entry
    takes: float
    left: Spending


@dataclass(frozen=True)
class LedgerView(AsJson):
    """The faces of a report, which adds ``unit``, ``spent``, ``remaining`` and ``history()``."""

    ledger: str
    used: tuple
    latched: bool
    entries: tuple
    cap: tuple = (math.inf, math.inf)
    account: int = 0

    def __str__(self):
        return as_text(self)

    def _repr_html_(self):
        return as_html(self)

    def to_dict(self):
        """Return the report as plain values, with floats for the exact numbers."""
        opening, spent, left = map(_floats, (self.entries[0], self.spent, self.remaining))
        lines = [_floats(x.entry) | _after(x) | {"note": x.entry.note} for x in self.history()]
        facts = {"ledger": self.ledger, "protects": self.unit, "latched": self.latched}
        sums = {"spent": spent, "remaining": left}
        return facts | sums | {"entries": [opening, *lines]}

    def to_frame(self):
        """Return the history as a table of pandas."""
        lines = self.to_dict()["entries"][1:]
        frame = data_frame(lines, "history()", columns=["id", *COLUMNS])
        return frame.assign(time=_times(frame["time"])).set_index("id")

    def plot(self, ax=None, *, x="time"):
        """Plot what was spent, over time or line by line, against the capacity."""
        return LedgerDisplay.from_ledger(self, ax=ax, x=x)


def _floats(fields):
    items = fields._asdict().items()
    return {name: as_float(x) if isinstance(x, Fraction) else x for name, x in items}


def _times(column):
    import pandas as pd

    return pd.to_datetime(column, utc=True)


def _after(line):
    left = {"epsilon_left": line.left.epsilon, "delta_left": line.left.delta}
    return {"takes": line.takes, "left": line.left.fraction} | left


def as_text(report):
    """Return a report as text in aligned columns."""
    lines = [report.ledger, *(f"  {name:<11} {text}" for name, text in _facts(report))]
    if report.latched:
        lines.append(f"  {LATCHED}")
    lines += [f"  {text}" for text in _left_out(report)]
    rows = [TITLES, *map(_cells, report.history(LAST))]
    return "\n".join(lines + [f"  {line}" for line in columns(rows, TEXTS) if len(rows) > 1])


def as_html(report):
    """Return a report as HTML: a bar of what is spent above a table of the lines."""
    spent = f"<div style='width:{100 * min(report.spent.fraction, 1):.2f}%'></div>"
    latch = f"<div class=warn>{LATCHED}</div>" if report.latched else ""
    latch += "".join(f"<div>{text}</div>" for text in _left_out(report))
    kinds = ["" if i in TEXTS else " class=n" for i in range(len(TITLES))]
    body = [
        row(_cells(line), kinds=kinds, kind=f" class={_kind_of(line.entry)}")
        for line in report.history(LAST)
    ]
    history = table(TITLES, body, kinds=kinds) if body else ""
    facts = table((), map(row, _facts(report)))
    return (
        f"{STYLE}<div class=skdp-ledger><b>{escape(report.ledger)}</b><div class=bar>{spent}</div>"
        f"{facts}{latch}<div class=rows>{history}</div></div>"
    )


def _kind_of(entry):
    return entry.kind if entry.kind in WORDS else "warn"


def _facts(report):
    whom = NEIGHBOURS[report.unit]
    yield "neighbours", f"add or remove {whom}; the guarantee is that of the whole ledger"
    yield "composition", plain(report.entries[0].what)
    yield "spent", repr(report.spent)
    yield "remaining", repr(report.remaining)


def _left_out(report):
    """Return what is said of earlier lines, if there are too many to show."""
    n = len(report.entries) - 1 - LAST
    return [f"{n} earlier lines are not shown here: to_json() and to_frame() have them"] * (n > 0)


def _cells(line):
    entry, numbers = line.entry, [""] * 3
    if entry.epsilon:
        epsilon, delta = as_float(entry.epsilon), as_float(entry.delta)
        numbers = [text_of(epsilon, ".4g"), text_of(delta, ".3g"), text_of(line.takes, ".2%")]
    return (
        str(entry.id),
        plain(entry.time[:19].replace("T", " ")),
        WORDS.get(entry.kind) or plain(entry.kind),
        plain(entry.what) + (" (seeded: not private)" if entry.seeded else ""),
        *numbers,
        text_of(line.left.fraction, ".2%"),
        text_of(line.left.epsilon, ".4g"),
    )


def sizes_of(asked, left):
    """Return what a refused fit asks for and what is left, as a sentence."""
    asked, left = (
        f"(epsilon={float(each.epsilon):.4g}, delta={float(each.delta):.3g})"
        for each in (asked, left)
    )
    return f"It asks for {asked}, and {left} is left. "


@dataclass(frozen=True)
class UnitsReport(AsJson):
    """What a ledger of several units holds at one instant: as text, HTML, JSON or a frame."""

    ledger: str  # its repr: capacities and path
    latched: bool  # whether a refusal waits to be acknowledged
    entries: tuple  # tuple of Entry: all lines; a fit has one in each account that it uses up
    # dict of str to LedgerReport: the account of each unit that is promised something, "row" or
    # "group"
    units: dict
    unclaimed: dict  # dict of str to str: what is said of a unit that is promised nothing

    @property
    def spent(self):
        """The running totals, a dict of :class:`Spending` by unit."""
        return {unit: report.spent for unit, report in self.units.items()}

    @property
    def remaining(self):
        """What is left, a dict of :class:`Spending` by unit: for a fit that protects this unit."""
        return {unit: report.remaining for unit, report in self.units.items()}

    def __str__(self):
        lines = [self.ledger, *[f"  {LATCHED}"] * self.latched]
        for unit, report in self.units.items():
            lines += [f"  {NEIGHBOURS[unit]}:", *as_text(report).split("\n")[1:]]
        return "\n".join(lines + [f"  {NEIGHBOURS[u]}: {x}" for u, x in self.unclaimed.items()])

    def _repr_html_(self):
        parts = [as_html(report) for report in self.units.values()]
        parts += [f"<p class=warn>{NEIGHBOURS[u]}: {x}</p>" for u, x in self.unclaimed.items()]
        return f"{STYLE}<div class=skdp-ledger>{''.join(parts)}</div>"

    def to_dict(self):
        """Return the report as plain values.

        ``ledger``, ``latched``, ``units`` and ``unclaimed``.
        """
        units = {unit: report.to_dict() for unit, report in self.units.items()}
        facts = {"ledger": self.ledger, "latched": self.latched}
        return facts | {"units": units, "unclaimed": self.unclaimed}

    def to_frame(self):
        """Return the lines of all accounts as a table of pandas, with a column ``account``."""
        import pandas as pd

        frames = [report.to_frame().assign(account=u) for u, report in self.units.items()]
        return pd.concat(frames).sort_index(kind="stable")

    def plot(self, unit, ax=None, *, x="time"):
        """Plot the account of a unit, as :meth:`LedgerReport.plot` does."""
        return self.units[unit].plot(ax, x=x)
