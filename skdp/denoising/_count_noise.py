"""The noise of counts: its law, its grid, its release."""

import math
from fractions import Fraction

import numpy as np

from skdp.accounting import Budget
from skdp.mechanisms._exact import sqrt_up

__all__ = ["TOO_LOUD", "is_too_loud", "quieter_law", "released", "resolution"]

LOUDEST = 2**45  # scale of noise, in grid units
TOO_LOUD = (
    "the noise would exceed 2^45 units and tell nothing. Pass a larger epsilon, or let single rows "
    "and users matter less."
)


def quieter_law(epsilon, delta, l1, squared_l2):
    """Return the law of less variance for these sensitivities, "laplace" or "gaussian"."""
    if delta == 0:
        return "laplace"
    laplace = 2 * (l1 / Budget.pure(epsilon).amount) ** 2
    return (
        "laplace" if laplace <= squared_l2 / Budget.gaussian(epsilon, delta).amount else "gaussian"
    )


def is_too_loud(budget, law, l1, squared_l2, share=1):
    """Return whether noise for these sensitivities is beyond what is drawn: a public fact."""
    amount = Fraction(share) * budget.amount
    return l1 > LOUDEST * amount if law == "laplace" else squared_l2 > LOUDEST**2 * amount


def released(curator, law, counts, *, l1, squared_l2, share, label, bits=0):
    """Release counts with Laplace or Gaussian noise; return them and the scale of the noise.

    Parameters
    ----------
    curator : Curator
    law : {"gaussian", "laplace"}
    counts : array-like of int64
    l1, squared_l2 : int or Fraction
        Sensitivities of the counts.
    share : float or Fraction
    label : str
    bits : int, default=0
        Noise is drawn on the grid of multiples of ``2^-bits``.

    Returns
    -------
    counts : ndarray of float64
    scale : float
        Standard deviation (Gaussian) or scale (Laplace) of the noise.
    """
    unit = 2**bits
    value = np.asanyarray(counts, dtype=np.int64) * unit
    if law == "laplace":
        release = curator.laplace(value, sensitivity=l1 * unit, share=share, label=label)
    else:
        l2 = sqrt_up(squared_l2 * unit**2)
        release = curator.gaussian(value, sensitivity=l2, share=share, label=label)
    return release.value / unit, release.scale / unit


def resolution(budget, law, l1, squared_l2, share):
    """Return a resolution fine enough for rounding not to matter, and coarse enough for int64."""
    amount = float(Fraction(share) * budget.amount)
    scale = float(l1) / amount if law == "laplace" else math.sqrt(float(squared_l2) / amount)
    return int(np.clip(10 - math.floor(math.log2(scale)), 0, 20))
