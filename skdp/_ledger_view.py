"""A ledger as text, HTML, JSON and a frame."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import NamedTuple

from skdp._ledger_display import LedgerDisplay

__all__ = ["Entry", "LedgerView", "Line", "Spending", "as_html", "as_text", "with_note"]

COLUMNS = ["time", "kind", "what", "note", "epsilon", "delta", "takes", "left"]
COLUMNS += ["epsilon_left", "delta_left", "unit", "amount", "failure", "seeded", "pid"]
NOTE = " | "  # between what was charged for and a note
LATCHED = "LATCHED by a refusal: nothing is granted before ledger.acknowledge()"
TITLES = ("no", "time (UTC)", "line", "what", "epsilon", "delta", "takes", "left", "epsilon left")
WORDS = {"charge": "charged", "refused": "REFUSED"}
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
    note = " ".join(str(note).split())
    return f"{what}{NOTE}{note}" if note else str(what)


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

    @property
    def note(self):
        """Which data the line is about, and what for: str, empty if nothing was noted."""
        return self.what.partition(NOTE)[2]

    def __repr__(self):
        seeded = " (seeded: not private)" if self.seeded else ""
        cost = f"epsilon={float(self.epsilon):.4g}, delta={float(self.delta):.3g}{seeded}"
        line = f"{self.id:>5}  {self.time}  {self.kind:<12} {self.what}"
        return f"{line}  {cost}" if self.epsilon else line


class Spending(NamedTuple):
    """A part of a ledger's capacity: exact (amount, failure), and as a person reads it."""

    amount: Fraction
    failure: Fraction
    fraction: float
    epsilon: float
    delta: float
    mu: float | None  # sqrt(amount), for Gaussian composition

    def __repr__(self):
        mu = "" if self.mu is None else f", mu={self.mu:.6g}"
        return f"{self.fraction:.2%}: epsilon={self.epsilon:.6g}, delta={self.delta:.3g}{mu}"


class Line(NamedTuple):
    """An entry of a ledger, the part of the capacity that it takes, and what was left after it.

    A refused one has asked for that part. A fit of the epsilon and delta of ``left`` would have
    been granted then, but for a latch.
    """

    entry: Entry
    takes: float
    left: Spending


@dataclass(frozen=True)
class LedgerView:
    """The faces of a report, which adds ``unit``, ``spent``, ``remaining`` and ``history()``."""

    ledger: str
    used: tuple
    latched: bool
    entries: tuple
    cap: tuple = (math.inf, math.inf)

    def __str__(self):
        return as_text(self)

    def _repr_html_(self):
        return as_html(self)

    def to_dict(self):
        """Return the report as plain values, with floats for the exact numbers.

        Returns
        -------
        report : dict
            ``ledger``, ``protects`` (its unit, "row" or "group"), ``spent``, ``remaining``,
            ``latched`` and ``entries``, a list of dicts.
        """
        opening, spent, left = map(_plain, (self.entries[0], self.spent, self.remaining))
        lines = [_plain(line.entry) | _after(line) | _noted(line) for line in self.history()]
        facts = {"ledger": self.ledger, "protects": self.unit, "latched": self.latched}
        sums = {"spent": spent, "remaining": left}
        return facts | sums | {"entries": [opening, *lines]}

    def to_json(self):
        """Return the report as a JSON text.

        Returns
        -------
        text : str
        """
        return json.dumps(self.to_dict(), indent=2)

    def to_frame(self):
        """Return the history as a table of pandas.

        Returns
        -------
        frame : DataFrame
            One row per line after the opening, indexed by its number: when, what, its epsilon and
            delta, the part of the capacity that it takes, and what was left after it.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install pandas. Without it, use history()."
            ) from error
        frame = pd.DataFrame(self.to_dict()["entries"][1:], columns=["id", *COLUMNS])
        return frame.assign(time=pd.to_datetime(frame["time"], utc=True)).set_index("id")

    def plot(self, ax=None, *, x="time"):
        """Plot what was spent, over time or line by line, against the capacity.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            A new figure by default.
        x : {"time", "line"}, default="time"
            What runs along the horizontal axis.

        Returns
        -------
        display : LedgerDisplay
        """
        return LedgerDisplay.from_ledger(self, ax=ax, x=x)


def _plain(fields):
    items = fields._asdict().items()
    return {name: float(x) if isinstance(x, Fraction) else x for name, x in items}


def _noted(line):
    return {"note": line.entry.note}


def _after(line):
    left = {"epsilon_left": line.left.epsilon, "delta_left": line.left.delta}
    return {"takes": line.takes, "left": line.left.fraction} | left


def as_text(report):
    """Return a report as text in aligned columns."""
    lines = [report.ledger, *(f"  {name:<11} {text}" for name, text in _facts(report))]
    if report.latched:
        lines.append(f"  {LATCHED}")
    rows = [TITLES, *map(_cells, report.history())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join([*lines, *(_aligned(row, widths) for row in rows if len(rows) > 1)])


def as_html(report):
    """Return a report as HTML: a bar of what is spent above a table of the lines."""
    spent = f"<div style='width:{100 * report.spent.fraction:.2f}%'></div>"
    facts = "".join(f"<tr><td>{name}</td><td>{escape(x)}</td></tr>" for name, x in _facts(report))
    latch = f"<div class=warn>{LATCHED}</div>" if report.latched else ""
    body = "".join(
        f"<tr class={line.entry.kind}>{_tags('td', _cells(line))}</tr>" for line in report.history()
    )
    table = f"<table><tr>{_tags('th', TITLES)}</tr>{body}</table>" if body else ""
    return (
        f"{STYLE}<div class=skdp-ledger><b>{escape(report.ledger)}</b><div class=bar>{spent}</div>"
        f"<table>{facts}</table>{latch}<div class=rows>{table}</div></div>"
    )


def _facts(report):
    whom = NEIGHBOURS[report.unit]
    yield "neighbours", f"add or remove {whom}; the guarantee is that of the whole ledger"
    yield "composition", report.entries[0].what
    yield "spent", repr(report.spent)
    yield "remaining", repr(report.remaining)


def _cells(line):
    entry, numbers = line.entry, [""] * 3
    if entry.epsilon:
        epsilon, delta = float(entry.epsilon), float(entry.delta)
        numbers = [f"{epsilon:.4g}", f"{delta:.3g}", f"{line.takes:.2%}"]
    what = entry.what + (" (seeded: not private)" if entry.seeded else "")
    return (
        str(entry.id),
        entry.time[:19].replace("T", " "),
        WORDS.get(entry.kind, entry.kind),
        what,
        *numbers,
        f"{line.left.fraction:.2%}",
        f"{line.left.epsilon:.4g}",
    )


def _aligned(row, widths):
    """Return numbers flush right and texts flush left."""
    cells = [
        f"{cell:<{width}}" if 0 < i < 4 else f"{cell:>{width}}"
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  " + "  ".join(cells)


def _tags(tag, cells):
    kinds = ["" if 0 < i < 4 else " class=n" for i in range(len(cells))]
    return "".join(
        f"<{tag}{k}>{escape(cell)}</{tag}>" for k, cell in zip(kinds, cells, strict=True)
    )
