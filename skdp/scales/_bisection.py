"""A median of every column without bounds: bisection on the order of all floats."""

import numpy as np

from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._weighed import of_persons

__all__ = ["LEVELS", "private_median"]

LEVELS = 46
_SIGN = np.uint64(1 << 63)


def private_median(Z, curator, *, share, label):
    """Release a median of every column to a relative precision of about 2^-34.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Finite rows.
    curator : Curator
        Its plan holds ``label`` for 46 releases.
    share : float
        Share of the budget for all of them.
    label : str

    Returns
    -------
    median : ndarray of shape (d,)

    See Also
    --------
    skdp.PrivateMedian, skdp.columns.find_quantiles

    Notes
    -----
    **Privacy** (add or remove one row): given the thresholds t, which are released, the vector
    ``2 #{i: Z_ij <= t_j} - n`` moves by exactly 1 in every column, so its l2 sensitivity is
    sqrt(d). Its sign tells on which side of t_j the median lies; n itself is not needed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.scales import private_median
    >>> plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("median", times=46),))
    >>> Z = np.array([[1.0], [2.0], [3.0]])
    >>> private_median(Z, CannedCurator(plan), share=1, label="median").round(6).tolist()
    [2.0]
    """
    d = Z.shape[1]
    order = _ordered(Z)
    low, high = np.zeros(d, np.uint64), np.full(d, 2**64 - 1, np.uint64)
    sensitivity = sqrt_up(d)
    for _ in range(LEVELS):
        middle = low + (high - low) // np.uint64(2)
        below = np.count_nonzero(order <= middle, axis=0)
        balance = curator.gaussian(
            of_persons(2 * below - len(Z)),
            sensitivity=sensitivity,
            share=share / LEVELS,
            label=label,
        )
        left = balance.value > 0
        high = np.where(left, middle, high)
        low = np.where(left, low, middle)
    return _float(low + (high - low) // np.uint64(2))


def _ordered(x):
    """Map floats to integers of the same order (the sign bit flipped, negatives reversed)."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    return bits ^ ((bits.view(np.int64) >> 63).view(np.uint64) | _SIGN)


def _float(order):
    """Undo :func:`_ordered`; what is no finite float becomes the nearest one."""
    bits = np.where(order & _SIGN, order ^ _SIGN, ~order)
    return np.nan_to_num(bits.view(np.float64), nan=0.0)
