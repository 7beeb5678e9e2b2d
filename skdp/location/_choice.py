"""A quantile by the exponential mechanism: a candidate of a released grid, near it in rank."""

import numpy as np

from skdp.accounting import Step
from skdp.kernel._ranks import RankScores
from skdp.sensitivity import Quantile

__all__ = ["CHOICE", "choose_quantile"]

LINEAR, PER_OCTAVE, OCTAVES = 256, 64, 20
MOST_COLUMNS = 2**16
CHOICE = Step("statistic", "select", 1, MOST_COLUMNS, of=(RankScores,))
STEPS = 8  # of the grid, per distance that the noise moves a rank by
FALL = 2.0  # of the prior weight of an octave of far candidates, from one to the next


def choose_quantile(table, column, p, place, *, share):
    """Choose a point near a quantile of a column.

    Notes
    -----
    **Privacy**: see :class:`skdp.kernel._ranks.RankScores`. The candidates do not depend on rows.
    The far octaves have half the prior weight of the ones before them, so where no rank tells
    candidates apart, as beyond the outermost row, none is chosen for being far away. Which pure
    epsilon a share buys is told by :meth:`Curator.select`.
    """
    amount = float(table.budget.amount * share)
    epsilon = amount if table.budget.measure == "pure" else np.sqrt(8 * amount)
    center, sensitivity = place.center[column], place.sensitivity[column]
    grid = _grid(center, sensitivity / STEPS / max(1.0, epsilon))
    asked = RankScores(column, *Quantile(p).p.as_integer_ratio(), grid, _nats())
    index = table.choose(asked, share=share, label=CHOICE.label)
    return float(grid[index]), float(np.sqrt(8) * sensitivity / epsilon)


def _grid(center, step):
    """Return points that lie evenly near the centre and logarithmically far from it."""
    near = np.arange(1, LINEAR + 1)
    far = LINEAR * np.exp2(np.arange(1, PER_OCTAVE * OCTAVES + 1) / PER_OCTAVE)
    away = np.concatenate([near, far]) * step
    return np.nan_to_num(np.concatenate([center - away[::-1], [center], center + away]))


def _nats():
    """Return by how many factors of e the candidates are less likely from the start."""
    octaves = np.arange(1, PER_OCTAVE * OCTAVES + 1) // PER_OCTAVE
    away = np.concatenate([np.zeros(LINEAR), octaves * np.log(FALL)])
    return np.concatenate([away[::-1], [0.0], away])
