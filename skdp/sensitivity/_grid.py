"""Numbers become integers on a public grid, each by itself."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.readers import map_merge
from skdp.readers._strips import strips

__all__ = ["Grid", "gathered_columns"]

SMALLEST, LARGEST = 2.0**-900, 2.0**900


@dataclass(frozen=True)
class Grid:
    """The public grid ``origin + unit * k`` with ``|k| <= 2^bits``."""

    origin: float  # public or released, finite
    unit: float  # public or released, in [2^-900, 2^900]
    bits: int = 36  # at most 52

    def __post_init__(self):
        if not (math.isfinite(self.origin) and SMALLEST <= self.unit <= LARGEST):
            raise ValueError(
                "a grid needs a finite origin and a unit in [2**-900, 2**900]. Got "
                f"origin={self.origin!r}, unit={self.unit!r}."
            )

    def integers(self, x):
        """Return ``floor((x - origin) / unit)`` of the finite entries, clipped to the grid's ends.

        Shapes: x (n,); k (number of finite entries,).

        Notes
        -----
        **Privacy**: elementwise, hence a function of the row; NaN and infinity count as absent.
        """
        x = np.asarray(x, dtype=np.float64).ravel()
        finite = np.isfinite(x)
        if not finite.all():
            x = x[finite]
        with np.errstate(over="ignore"):
            k = x - self.origin
            k /= self.unit
        np.floor(k, out=k)
        np.clip(k, -(2.0**self.bits), 2.0**self.bits, out=k)
        return k.astype(np.int64)

    def value(self, k):
        """Return the number at position ``k`` (of a released integer) as a float."""
        return self.origin + np.asarray(k, dtype=np.float64) * self.unit


def gathered_columns(rows, columns):
    """Return columns of a table. Private.

    Shapes: x (k, number of finite rows).
    """
    none = np.empty((len(columns), 0))
    parts = map_merge(rows, lambda start, block: list(strips(block, columns)), list.__add__)
    return np.concatenate([none, *parts], axis=1)
