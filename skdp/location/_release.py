"""A mean and the count it rests on: both released, and estimates that come closer to the mean."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel._sums import BallSum, Count
from skdp.kernel._table import Table
from skdp.scales import clipped_sum

NOTHING = (
    "nothing found: too few rows for this epsilon to locate them; location_ is a placeholder. Use "
    "a larger epsilon, more rows, or bounds=(low, high)"
)

CLOSER = Step("step", at_most=0.3, times=24, of=(BallSum,))
LARGEST = float(np.finfo(np.float64).max)

ROW_COUNT = Step("row count", at_most=0.01, of=(Count,))
CLEAR = 4.0  # noises
GONE = (
    "most rows have a gap and count as absent, and what is told is about the others. Fit columns "
    "with gaps by themselves, or fill in public values"
)
FEW = "the number of rows does not stand out of its noise: their mean may be anywhere in the ball"


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


@dataclass(frozen=True)
class LocationEstimate:
    """Where the rows lie, as far as it is released or public. Lengths are in units of ``scale``."""

    # center, scale: shape (d,)
    center: np.ndarray
    scale: np.ndarray
    # what the centre is rarely farther from the mean of the rows; infinite where nothing is known
    error: float = math.inf
    spread: float = math.inf  # how far a typical row is from the mean
    # standard deviation of the noise in every entry of the centre, infinite for a centre that
    # estimates nothing
    noise: float = math.inf
    clipped: float = None  # the clip radius of the sum that the centre was moved by last
    columns: float = None  # so many columns of one size make rows of such lengths; None for all

    @property
    def found(self):
        """Whether anything is known."""
        return math.isfinite(self.error)

    @property
    def reach(self):
        """How far a typical row is from the centre."""
        return math.hypot(self.spread, self.error)

    @property
    def origin(self):
        """The centre in units of the table."""
        return np.nan_to_num(self.center * self.scale, posinf=LARGEST, neginf=-LARGEST)


def ball_around(where, radius, *, drop=None):
    """Return the fields of a :class:`skdp.kernel._sums.BallSum` around a centre."""
    return {
        "center": where.origin,
        "radius": bounded(radius),
        "scale": None if np.all(where.scale == 1) else where.scale,
        "drop": drop,
    }


def release_refined_center(counted, where, shares):
    """Move the centre of a LocationEstimate by a mean per share.

    While that makes its error smaller.
    """
    for share in shares:
        radius = 1.05 * where.reach
        around = ball_around(where, radius)
        total, sd = clipped_sum(counted.table, **around, share=share, label=CLOSER.label)
        noise = sd / counted.n
        error = noise_norm_quantile(noise, counted.d)
        if error < where.error:
            center = where.center + total / counted.n
            where = replace(where, center=center, error=error, noise=noise, clipped=radius)
    return where


def noise_norm_quantile(noise, d):
    """Return a length that a vector of d noises rarely exceeds."""
    return noise * (math.sqrt(d) + 2)


# --- a table whose rows have been counted: what every road of the mean starts from


@dataclass(frozen=True)
class RowCount:
    """A released number of rows."""

    told: float  # as released
    sd: float  # standard deviation of its noise
    ticket: int = -1  # number of the answer in the log of the fit

    @property
    def n(self):
        """The number to divide by: it stands out of the noise."""
        return max(self.told, 4 * self.sd, 2.0)

    @property
    def few(self):
        """Whether the rows are not told from noise."""
        return self.told < 4 * self.sd

    def pooled(self, other):
        """Return both counts in one, weighted by their variances."""
        weight = other.sd**2 / (other.sd**2 + self.sd**2)
        told = weight * self.told + (1 - weight) * other.told
        return RowCount(told, other.sd * self.sd / float(np.hypot(other.sd, self.sd)))


def release_count(table, step):
    """Release the number of finite rows; doubt a table most of whose rows have a gap."""
    told = table.ask(Count(gaps=table.about["whole_rows"]), step)
    if len(told.value) > 1 and told.value[1] > told.value[0] + CLEAR * told.scale:
        table.doubt(GONE)
    return RowCount(float(told.value[0]), told.scale, told.ticket)


@dataclass(frozen=True)
class CountedTable:
    """A Table and the released number of its rows."""

    table: Table
    count: RowCount

    @property
    def n(self):
        """The released number of rows."""
        return self.count.n

    @property
    def heads(self):
        """The released number of persons, of rows if they belong to nobody."""
        return self.count if self.table.heads is None else self.table.heads

    @property
    def heads_ticket(self):
        """The ticket of :attr:`heads`."""
        if self.table.heads is None:
            return self.count.ticket
        return self.table.heads_ticket

    @property
    def drawn(self):
        """The table to find something in: with one row of each person."""
        if self.table.heads is None:
            return self
        return replace(self, table=self.table.drawn(), count=RowCount(*self.table.heads))

    @property
    def d(self):
        """The number of columns."""
        return self.table.n_features

    @property
    def mu(self):
        """The budget."""
        return self.table.budget.mu

    @property
    def left(self):
        """The part of the budget that is left."""
        return float(self.table.remaining)

    @property
    def noise(self):
        """Length of the noise of a mean bought with the whole budget, per unit of clip radius."""
        return math.sqrt(self.d) / (self.n * self.mu)

    def checked(self, release, radius):
        """Return a MeanRelease whose noise says so where no more is known than the ball."""
        if self.count.few:
            self.table.doubt(FEW)
            return replace(release, noise_scale=np.hypot(release.noise_scale, radius))
        return release
