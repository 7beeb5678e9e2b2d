"""Whether a released mean is worth its interval: what its doubts follow from."""

import numpy as np

from skdp.location._column_strategies import HIDDEN

__all__ = ["doubt_mean"]

CLEAR = 2.0  # standard deviations of noise
# An interval is short if half of it is at most one part of the deviation or another of the mean.
SHORT, ALIKE = 0.5, 0.05
WIDE = (
    "the interval of a mean is long beside the spread of the rows: use a larger epsilon, more "
    "rows, or bounds=(low, high)"
)
HEAVY = (
    "so heavy a tail that the mean may depend on rows too few to be seen: the interval is a guess. "
    "Pass bounds=(low, high) if known"
)


def doubt_mean(mean, table):
    """Doubt a MeanRelease, by released values, where many rows may hide or an interval is long.

    What else is doubted, nothing seen or rows too few, is said where it is found.
    """
    if mean.hidden:
        table.doubt(HIDDEN)
    heavy = np.zeros(len(mean.location), dtype=bool) if mean.heavy is None else mean.heavy
    table.doubt(HEAVY, columns=heavy)
    spread = mean.deviation if mean.typical is None else mean.typical
    if spread is None:
        return
    half = CLEAR * mean.noise_scale + np.max(mean.clipping_bound, axis=0)
    long = np.isfinite(half) & (half > np.maximum(SHORT * spread, ALIKE * np.abs(mean.location)))
    table.doubt(WIDE, columns=long & ~heavy)
