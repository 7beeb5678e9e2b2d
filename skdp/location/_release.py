"""A released mean, and the number of rows that it was divided by."""

import math
from dataclasses import dataclass, fields

import numpy as np

__all__ = ["NOTHING", "MeanRelease", "bounded"]

NOTHING = (
    "nothing found: too few rows for this epsilon to locate them; location_ is a placeholder. Use "
    "a larger epsilon, more rows, or bounds=(low, high)"
)


@dataclass
class MeanRelease:
    """A released mean."""

    location: np.ndarray  # shape (d,)
    noise_scale: np.ndarray  # shape (d,): standard deviation of the noise
    # shape (2, d): estimated bounds on how far clipping has moved the mean: how far the mean of the
    # rows may lie below `location`, and above
    clipping_bound: np.ndarray
    # float or shape (d,): released number of rows, or of the entries of every column; None where it
    # was divided by another count
    n_rows: float | np.ndarray = None
    # shape (d,) or: upper bounds of the standard deviations of the columns, None where nothing
    # tells
    deviation: np.ndarray = None
    # shape (d,) or: what an interval is short beside: lower bounds of the deviations, or of columns
    # that are found together what they are as a rule; None takes `deviation`
    typical: np.ndarray = None
    heavy: np.ndarray = None  # shape (d,) or: columns that may well have a tail without a variance
    unseen: np.ndarray = None  # shape (d,) or: columns of which a tail of many rows may be unseen
    # whether a tail of many rows may have stayed unseen, and out of `clipping_bound`
    hidden: bool = False

    @property
    def sampling_noise_scale(self):
        """Standard deviations of noise and sampling together, at most (d,); infinite if unknown."""
        if self.deviation is None or not np.all(self.n_rows):
            return np.full(len(self.location), math.inf)
        return np.hypot(self.noise_scale, self.deviation / np.sqrt(self.n_rows))

    def counted(self, *, apart):
        """Return the attribute of a number of rows; of columns ``apart`` their entries."""
        if self.n_rows is None:
            return {}
        return {"n_rows_": np.asarray(self.n_rows) if apart else float(np.max(self.n_rows))}

    @classmethod
    def side_by_side(cls, releases):
        """Return the means of several columns that were released by themselves."""
        parts = {f.name: [getattr(one, f.name) for one in releases] for f in fields(cls)}
        hidden = any(parts.pop("hidden"))
        joined = {name: _joined(part) for name, part in parts.items()}
        return cls(**joined, hidden=hidden)

    @classmethod
    def unknown(cls, location, n_rows=None):
        """Return a mean that is no more than a start: finite, and said to be worth nothing."""
        d = len(location)
        return cls(location, np.full(d, math.inf), np.full((2, d), math.inf), n_rows)


def _joined(parts):
    if any(part is None for part in parts):
        return None
    return np.concatenate([np.atleast_1d(part) for part in parts], axis=-1)


def bounded(length):
    """Keep a length where squares and quotients of lengths are ordinary numbers."""
    return min(max(length, 2.0**-900), 2.0**900)
