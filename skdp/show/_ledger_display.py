"""A ledger as a picture."""

from dataclasses import dataclass

import numpy as np

from skdp.show._display import Display

__all__ = ["LedgerDisplay"]

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
