"""The few directions in which the rows spread most: top eigenvectors of a noisy Gram matrix."""

import math

import numpy as np
from scipy.special import ndtri

from skdp._public import public_words
from skdp.cluster._lockstep import Ask
from skdp.kernel._cluster_sums import LocatedGram
from skdp.kernel._lattice import Subspace

__all__ = ["find_subspace", "whole_space"]

WIDEST = 64  # beyond, rows are first mapped to 64 public random directions
CLIP = 0.7
BOX = 2.0


def whole_space(half):
    """Return the coordinates themselves with the box [-half, half]: no release."""
    return Subspace(None, np.asarray(half, dtype=np.float64))


def find_subspace(located, *, most, share, step):
    """Release the directions of the largest second moments around the centre.

    A search for :func:`skdp.cluster._lockstep.in_step`, which asks for ``step``.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._cluster_sums.LocatedGram`. Both halves of the matrix are
    released and averaged. Random directions are public.
    """
    d = len(located.center)
    J = _random_directions(d) if d > WIDEST else None
    m = d if J is None else WIDEST
    clip = located.typical / located.radius * CLIP
    release = yield Ask(LocatedGram(located, clip, J), share, step)
    noise = release.scale / 4.0**release.bits
    values, vectors = np.linalg.eigh((release.value + release.value.T) / (2 * 4.0**release.bits))
    edge = math.sqrt(2 * m) * noise  # spectral norm of the noise
    p = min(max(2, min(int(np.count_nonzero(values > 3 * edge)), most)), m)
    V, top = vectors[:, : -p - 1 : -1], values[: -p - 1 : -1]
    half = np.minimum(1.0, BOX * np.sqrt(np.maximum(top, edge) / located.n_rows))
    return Subspace(V if J is None else J @ V, half, J is not None)


def _random_directions(d):
    """Return a d x 64 matrix of independent normal entries of variance 1/64."""
    words = public_words(d * WIDEST, "random directions", d)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return ndtri(uniform).reshape(d, WIDEST) / math.sqrt(WIDEST)
