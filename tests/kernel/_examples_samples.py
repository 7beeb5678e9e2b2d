"""Questions about all rows of a sample together: what has to hold is tried on all small tables."""

from skdp.kernel._bins import LogBins
from skdp.kernel._friends import HIndex, Ring, RingColumns, RingEntries, SparseRing
from skdp.kernel._sampled import Members
from skdp.kernel.applied._likeness import RingLikeness

__all__ = ["EXAMPLES", "OF_SAMPLES"]

EXAMPLES = {}  # no sums over rows
BINS = LogBins(1, -3, 3)

# Class -> function of the number of columns that returns some of it.
OF_SAMPLES = {
    Members: lambda d: [Members()],
    Ring: lambda d: [Ring(BINS), Ring(LogBins(2, 0, 1))],
    RingColumns: lambda d: [RingColumns(BINS, d)],
    RingEntries: lambda d: [RingEntries(tuple(range(d)))],
    SparseRing: lambda d: [
        SparseRing(tuple(range(d)), most, LogBins(1, -1, 0)) for most in {1, d, d + 1}
    ],
    RingLikeness: lambda d: [RingLikeness()],
    HIndex: lambda d: [HIndex(1.0), HIndex(0.5)],
}
