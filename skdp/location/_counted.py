"""A table whose rows have been counted: what every road of the mean starts from."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel._sums import Count
from skdp.kernel._table import Table

ROW_COUNT = Step("row count", at_most=0.01, of=(Count,))
CLEAR = 4.0  # noises
GONE = (
    "most rows have a gap and count as absent, and what is told is about the others. Fit columns "
    "with gaps by themselves, or fill in public values"
)
FEW = "the number of rows does not stand out of its noise: their mean may be anywhere in the ball"


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
