"""What a ledger tells its reader."""

import json
from fractions import Fraction
from html import escape
from typing import NamedTuple

__all__ = ["LedgerReport", "Spending"]


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


class LedgerReport(NamedTuple):
    """What a ledger holds, as text, HTML or JSON."""

    ledger: str
    spent: Spending
    remaining: Spending
    latched: bool
    entries: tuple

    def __str__(self):
        lines = [f"{self.ledger}, neighbours: add or remove one row"]
        lines += [f"  spent      {self.spent!r}", f"  remaining  {self.remaining!r}"]
        if self.latched:
            lines.append("  LATCHED: nothing is granted before ledger.acknowledge()")
        lines += [f"  {entry!r}" for entry in self.entries[1:]]
        return "\n".join(lines)

    def _repr_html_(self):
        return f"<pre>{escape(str(self))}</pre>"

    def to_json(self):
        """Return the report as a JSON text, with floats for the exact numbers."""
        lines = [entry._asdict() for entry in self.entries]
        parts = {"spent": self.spent._asdict(), "remaining": self.remaining._asdict()}
        return json.dumps(self._asdict() | parts | {"entries": lines}, indent=2, default=float)
