"""Which cells of a noisy histogram over all floats hold rows, and which hold noise."""

from functools import lru_cache

import numpy as np

from skdp.scales._noise_level import noise_level, rounded_level
from skdp.scales._significance import COLUMN, COLUMN_NEAR, summed_up, windows_above

__all__ = ["WIDTHS", "is_significant"]

WIDTHS = (1, 2, 4, 8, 16)
NEAR = 6  # cells near others


def is_significant(counts, octave, scale, *, law="gaussian", false=COLUMN):
    """Return which cells lie in a window that stands clear of the noise.

    Shape of counts: (..., n_cells), of one histogram or of several with one noise.

    Windows of 1, 2, 4, 8 and 16 cells are looked at; a wide one counts only where no narrower one
    inside does, so that it holds rows that are spread, and no more cells than need be. Up to six
    cells from what has been seen less is asked of a cell.
    """
    counts = np.asarray(counts, dtype=np.float64)
    levels = zip(WIDTHS, _levels(octave.tobytes(), law, false), strict=True)
    seen = windows_above(counts, {w: rounded_level(level * scale, w) for w, level in levels})
    sized = np.zeros((*seen.shape[:-1], seen.shape[-1] + 2 * NEAR), dtype=bool)
    sized[..., NEAR:-NEAR] = seen
    sized[..., NEAR + seen.shape[-1] // 2] = False  # zero is near to no octave
    upto = summed_up(sized)
    near = upto[..., 2 * NEAR + 1 :] > upto[..., : -2 * NEAR - 1]
    return seen | (near & (counts > rounded_level(noise_level(COLUMN_NEAR, 1, law=law) * scale, 1)))


@lru_cache(maxsize=64)
def _levels(octave, law, false):
    """Return for every width, per window, what noise of scale 1 exceeds with its probability.

    A window has the weight 1 / (1 + |octave| / 4)^2 of its middle cell. Over all windows and widths
    the probabilities sum to at most ``false``.
    """
    octave = np.frombuffer(octave, dtype=np.int64)
    weight = 1 / np.square(1 + np.abs(octave) / 4)
    share = np.minimum(false / len(WIDTHS) * weight / weight.sum(), 0.4)
    levels = []
    for width in WIDTHS:
        middle = share[width // 2 :][: max(len(share) - width + 1, 0)]
        levels.append(noise_level(middle, width, law=law))
    return levels
