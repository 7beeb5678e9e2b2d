"""Public levels of one column: from what a user writes to an object that encodes entries."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real

import numpy as np

from skdp.readers._calendar import Calendar
from skdp.readers._labels import (
    NO_LABEL,
    WHOLE,
    AnyLevel,
    LevelBins,
    LevelLabels,
    LevelNumbers,
    LevelSigns,
    label_of,
)

AUTO, MISSING, OTHER = "auto", "missing", "other"


@dataclass(frozen=True)
class Bins:
    """Public bins of a numeric column, for the domain of :class:`MarginalReleaser`.

    Parameters
    ----------
    edges : array-like of shape (n_bins + 1,)
        Increasing; the outer ones may be infinite. Bins are closed on the left, and the last one on
        both sides. They must be public: round numbers, or edges that a private histogram released.
    missing : bool, default=False
        Whether NaN is a level of its own. Without it a row with NaN is invalid.

    See Also
    --------
    skdp.MarginalReleaser, skdp.PrivateHistogram

    Notes
    -----
    **Privacy**: edges are parameters, so they must be public;
    an entry falls into its bin by itself.

    Examples
    --------
    >>> from skdp.marginals import Bins
    >>> domain = {"hour": Bins([0, 6, 12, 18, 24]), "delay": Bins([-float("inf"), 0, 15, 1500])}
    """

    edges: object
    missing: bool = False


@dataclass(frozen=True)
class Signs:
    """Entries above zero are level 1, others level 0."""

    labels: tuple = (0, 1)
    numeric = True
    coded = LevelSigns()


@dataclass(frozen=True)
class Unknown:
    """Levels that a fit buys, at least two."""

    labels: tuple = (0, 1)
    numeric = False
    coded = AnyLevel()


@dataclass(frozen=True)
class Codes:
    """Entries are level numbers, 0 to n - 1."""

    n: int
    numeric = True

    @property
    def labels(self):
        """What the levels are called in tables."""
        return tuple(range(self.n))

    @property
    def coded(self):
        """How entries become level numbers."""
        return LevelNumbers(self.n)


@dataclass(frozen=True)
class Values:
    """Entries are equal to one of the values, or missing, or other."""

    values: tuple
    missing: bool
    other: bool
    rest = None  # the level of what is in no other

    @property
    def numeric(self):
        """Whether entries of other types than numbers are out of place."""
        return not self.other and all(isinstance(value, Real) for value in self.values)

    @property
    def labels(self):
        """What the levels are called in tables."""
        return (*self.values, *[MISSING] * self.missing, *[OTHER] * self.other)

    @property
    def coded(self):
        """How entries become level numbers: what is no level may be in that of other entries."""
        other = len(self.labels) - 1 if self.other else self.rest
        missing = len(self.values) if self.missing else other
        return LevelLabels(tuple(map(label_of, self.values)), other, missing)


@dataclass(frozen=True)
class Intervals:
    """Entries are in one of the bins between increasing edges, or missing."""

    edges: tuple
    missing: bool
    numeric = True

    @property
    def labels(self):
        """What the levels are called in tables."""
        pairs = list(pairwise(names_of(self.edges)))
        names = [f"[{low}, {high})" for low, high in pairs[:-1]]
        return (*names, "[{}, {}]".format(*pairs[-1]), *[MISSING] * self.missing)

    @property
    def coded(self):
        """How entries become level numbers."""
        (low, *inner, high), missing = self.edges, len(self.edges) - 1 if self.missing else None
        return LevelBins(np.array(inner), True, low, high, None, missing)


def names_of(edges, calendar=None):
    """Return rising edges as short texts that differ, dates and durations as such if they do."""
    if calendar is not None:
        texts = list(map(Calendar(*calendar).text, edges))
        if len(set(texts)) == len(texts):
            return texts
    short = [f"{edge:g}" for edge in edges]
    return short if len(set(short)) == len(short) else [repr(float(edge)) for edge in edges]


def read_levels(key, levels):
    """Return the levels of the column ``key`` as an object that encodes it, or raise ValueError."""
    if isinstance(levels, str) and levels == AUTO:
        return Unknown()
    if isinstance(levels, Integral) and not isinstance(levels, bool):
        kind = Codes(int(levels))
    elif isinstance(levels, Bins):
        kind = _intervals(key, levels)
    elif isinstance(levels, list | tuple | range | np.ndarray):
        kind = _values(key, list(levels))
    else:
        raise ValueError(
            f"the levels of column {key!r} must be a number of codes, a list of values, Bins or "
            f"{AUTO!r}. Got {type(levels).__name__}."
        )
    labels = kind.labels
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(
            f"column {key!r} must have at least two levels, all different. Got {len(labels)}, "
            f"{len(set(labels))} of them different ({MISSING!r} and {OTHER!r} are taken where None "
            "and ... are levels)."
        )
    return kind


def _intervals(key, bins):
    edges = np.asarray(bins.edges, dtype=np.float64)
    if edges.ndim != 1 or edges.size < 2 or not np.all(np.diff(edges) > 0):
        raise ValueError(
            f"edges of column {key!r} must be increasing, at least two. Got shape {edges.shape}."
        )
    return Intervals(tuple(edges.tolist()), bool(bins.missing))


def _values(key, levels):
    levels = [level.item() if isinstance(level, np.generic) else level for level in levels]
    missing = [level is None or (isinstance(level, float) and level != level) for level in levels]
    other = [level is ... for level in levels]
    values = [x for x, a, b in zip(levels, missing, other, strict=True) if not (a or b)]
    if not all(isinstance(x, str | Real) and label_of(x) is not NO_LABEL for x in values):
        raise ValueError(
            f"the levels of column {key!r} must be strings or finite numbers, None for missing "
            "entries, and ... for all others. Convert other types with astype(str)."
        )
    if any(isinstance(x, Real) and abs(x) >= WHOLE for x in values):
        raise ValueError(
            f"the levels of column {key!r} must be below 2^53 if they are numbers: floats do not "
            "tell larger ones apart. Pass them, and the column, as text."
        )
    if sum(missing) > 1 or sum(other) > 1 or len(set(values)) < len(values):
        raise ValueError(f"the levels of column {key!r} must differ: one of them is there twice.")
    return Values(tuple(values), any(missing), any(other))
