"""Scores and distances of all magnitudes."""

from skdp.kernel._sums import ScoreSum
from tests.kernel._examples import hostile

__all__ = ["EXAMPLES"]

EXAMPLES = {
    ScoreSum: lambda rng: (ScoreSum(), hostile(rng, 1)),
}
