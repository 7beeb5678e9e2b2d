"""Engine of the house: what becomes of a row is decided by that row alone, to the last bit.

No name here is a user's: :class:`skdp.RowMap` and :class:`skdp.PublicFit` stand on it.
"""

__all__ = []
