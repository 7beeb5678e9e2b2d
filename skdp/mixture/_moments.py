"""Released moments of every component of a mixture."""

from dataclasses import dataclass

import numpy as np

from skdp.kernel._mixtures import MixtureMoments, second_shape
from skdp.kernel._table import opened

__all__ = ["Moments", "release_moments"]


@dataclass(frozen=True)
class Moments:
    """Released moments in units of one row, and the standard deviations of their noise.

    ``numbers`` (k,), ``vectors`` (k, d): sums of ``r u``; ``matrices``: sums of ``r u u^T``, of
    shape (k, d, d), (1, d, d) for "tied", (k, d) for "diag", (k, 1) for "spherical" (traces).
    The noise of entries beside the diagonal is smaller by sqrt(2).
    """

    numbers: np.ndarray
    vectors: np.ndarray
    matrices: np.ndarray
    number_sd: float
    vector_sd: float
    matrix_sd: float


def release_moments(rows, curator, located, frame, *, reach, weight, share, label):
    """Release the :class:`skdp.kernel._mixtures.MixtureMoments` of rows, in units of one."""
    k, d = frame.means.shape
    asked = MixtureMoments(located, frame, reach, weight)
    told = opened(rows, curator).ask(asked, share=share, label=label)
    grid, value = weight.on_grid(told.bits), told.value.astype(np.float64)
    units = np.array([grid.number, grid.vector * grid.vector_unit, grid.matrix_unit])
    units *= 2.0**grid.bits
    second = value[k + k * d :].reshape(second_shape(frame)) / units[2]
    if second.ndim == 3:
        second = (second + second.transpose(0, 2, 1)) / 2
    first = value[k : k + k * d].reshape(k, d) / units[1]
    return Moments(value[:k] / units[0], first, second, *(told.scale / units))
