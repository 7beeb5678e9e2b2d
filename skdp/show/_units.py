"""A ledger of several units as text, HTML, JSON and a frame: each account by itself."""

from dataclasses import dataclass

from skdp.show._ledger import LATCHED, NEIGHBOURS, STYLE, as_html, as_text
from skdp.show._page import AsJson

__all__ = ["UnitsReport"]


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
