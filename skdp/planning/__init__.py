"""How much epsilon, and how many rows: what to expect of a fit before any private row is read."""

from skdp.planning._expected import ExpectedError

__all__ = ["ExpectedError"]
