"""The pieces of everything shown: JSON, frames, columns of text, HTML, and drawn displays."""

import json
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np


class AsJson:
    """Mixin of reports that have ``to_dict``."""

    def to_json(self):
        """Return the report as a JSON text.

        Returns
        -------
        text : str
        """
        return json.dumps(self.to_dict(), indent=2)


def data_frame(data, otherwise, **parameters):
    """Return a table of pandas; ``otherwise`` names what to use where it is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            f"to_frame needs pandas: pip install pandas. Without it, use {otherwise}."
        ) from error
    return pd.DataFrame(data, **parameters)


def columns(rows, left=()):
    """Return rows of texts as lines: columns in ``left`` flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if i in left else ">" for i in range(len(widths))]
    return [
        "  ".join(f"{cell:{side}{w}}" for cell, side, w in zip(line, sides, widths, strict=True))
        for line in rows
    ]


def row(cells, *, tags=("td",), kinds=("",), kind="", tail=""):
    """Return a row of HTML; tags and attributes of cells repeat the last, ``tail`` is markup."""
    tags, kinds = ([*x, *x[-1:] * (len(cells) - len(x))] for x in (tags, kinds))
    parts = zip(tags, kinds, cells, strict=True)
    body = "".join(f"<{tag}{how}>{escape(str(cell))}</{tag}>" for tag, how, cell in parts)
    return f"<tr{kind}>{body}{tail}</tr>"


def table(head, rows, **parameters):
    """Return a table of HTML with titles and rows, ready-made ones."""
    titles = row(head, tags=("th",), **parameters) if head else ""
    return f"<table>{titles}{''.join(rows)}</table>"


def bullets(texts):
    """Return a list of HTML, nothing where there are no texts."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


def pyplot():
    """Return ``matplotlib.pyplot``, which is imported when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures need matplotlib, which is not installed. Run pip install 'skdp[plot]'."
        ) from None
    return plt


@dataclass(frozen=True, repr=False)
class Display:
    """Base of frozen dataclasses that write ``_draw(ax, **parameters)``."""

    figure_: Any = field(default=None, kw_only=True)
    ax_: Any = field(default=None, kw_only=True)

    def plot(self, ax=None):
        """Draw on ``ax`` or a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : object
            This one with ``ax_`` and ``figure_``.
        """
        return self._plot(ax)

    def _plot(self, ax, **parameters):
        plt = pyplot()
        size = self._size()
        if ax is None:
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        more = self._draw(ax, **parameters) or {}
        return replace(self, ax_=ax, figure_=ax.figure, **more)

    def _size(self):
        """Return width and height of a new figure, None for the usual; refuse what is too much."""


MOST = 1e9  # parts of the capacity that a picture shows; what is beyond lies there


@dataclass(frozen=True, repr=False)
class LedgerDisplay(Display):
    """Plot of what a ledger has spent, charge by charge, against its capacity.

    Make one with :meth:`from_ledger` or ``ledger.report().plot()``.

    Parameters
    ----------
    times : ndarray of datetime64, shape (n_lines,)
        Of the opening and of every line after it, in UTC.
    spent : ndarray of shape (n_lines,)
        Part of the capacity that was spent after the line.
    refused : ndarray of shape (n_lines,)
        Part that would have been spent had a refused charge been granted; NaN at other lines.
    name : str
        Title.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.PrivacyLedger, BudgetDisplay

    Notes
    -----
    **Privacy**: it shows lines of a ledger, which hold no value of a table, so looking costs
    nothing.

    Examples
    --------
    >>> from skdp import PrivacyLedger
    >>> from skdp.inspection import LedgerDisplay
    >>> display = LedgerDisplay.from_ledger(PrivacyLedger(epsilon=1.0))
    >>> display.spent.tolist()
    [0.0]
    """

    times: np.ndarray
    spent: np.ndarray
    refused: np.ndarray
    name: str

    @classmethod
    def from_ledger(cls, ledger, *, ax=None, x="time"):
        """Plot a ledger, or the report of one.

        Parameters
        ----------
        ledger : PrivacyLedger or LedgerReport
        ax : matplotlib Axes, default=None
            A new figure by default.
        x : {"time", "line"}, default="time"
            What runs along the horizontal axis: time, or the number of the line.

        Returns
        -------
        display : LedgerDisplay
        """
        report = ledger.report() if hasattr(ledger, "report") else ledger
        if not hasattr(report, "history"):
            raise ValueError(
                "a ledger of several units has a picture of each: plot ledger.report('row') or "
                "ledger.report('group')."
            )
        lines = report.history()
        times = [report.entries[0].time, *(line.entry.time for line in lines)]
        spent = [0.0, *(1 - line.left.fraction for line in lines)]
        asked = [line.takes if line.entry.kind == "refused" else np.nan for line in lines]
        return cls(
            times=np.array([time[:19] for time in times], dtype="datetime64[s]"),
            spent=np.array(spent),
            refused=np.add(spent, [np.nan, *asked]),
            name=report.ledger,
        ).plot(ax, x=x)

    def plot(self, ax=None, *, x="time"):
        """Draw on ``ax`` or a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        x : {"time", "line"}, default="time"
            What runs along the horizontal axis.

        Returns
        -------
        display : LedgerDisplay
            With ``ax_`` and ``figure_``.
        """
        if x not in ("time", "line"):
            raise ValueError(f"x must be 'time' or 'line'. Got {x!r} instead.")
        return self._plot(ax, x=x)

    def _draw(self, ax, x):
        places = self.times if x == "time" else np.arange(1, len(self.times) + 1)
        spent, refused = (100 * np.minimum(part, MOST) for part in (self.spent, self.refused))
        ax.step(places, spent, where="post", marker=".", label="spent")
        ax.fill_between(places, spent, step="post", alpha=0.2)
        ax.axhline(100, color="black", lw=1, ls="--", label="capacity")
        if np.isfinite(refused).any():
            ax.plot(places, refused, "x", color="#c22", label="refused")
        ax.set(ylim=(0, None), xlabel="time (UTC)" if x == "time" else "line of the ledger")
        ax.set(ylabel="spent (% of the capacity)")
        ax.set_title(self.name, fontsize="small", wrap=True, parse_math=False)
        ax.legend(loc="best")
        if x == "time":
            ax.tick_params(axis="x", labelrotation=30)
