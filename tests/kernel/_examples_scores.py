"""Scores and distances of all magnitudes."""

from skdp.kernel._bins import LogBins
from skdp.kernel._sums import LogCells, ScoreSum
from tests.kernel._examples import hostile

__all__ = ["EXAMPLES"]

EXAMPLES = {
    ScoreSum: lambda rng: (ScoreSum(), hostile(rng, 1)),
    LogCells: lambda rng: (LogCells(LogBins(int(rng.choice([1, 2, 8])))), hostile(rng, 1)),
}
