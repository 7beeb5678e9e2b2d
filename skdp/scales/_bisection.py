"""A median of every column without bounds: bisection on the order of all floats."""

import numpy as np

from skdp.kernel._ranks import Balance

__all__ = ["LEVELS", "float_of_order", "private_median"]

LEVELS = 46
_SIGN = np.uint64(1 << 63)


def private_median(table, *, share, label):
    """Release a median of every column to a relative precision of about 2^-34.

    Parameters
    ----------
    table : Table
        Of finite rows, of nobody or one of each person.
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
    **Privacy**: the thresholds t are made of what was released before. The sign of
    ``2 #{i: Z_ij <= t_j} - n`` tells on which side of t_j the median lies; n itself is not needed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step, Table
    >>> from skdp.scales import private_median
    >>> plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("median", times=46),))
    >>> table = Table(ArrayRows(np.array([[1.0], [2.0], [3.0]])), CannedCurator(plan))
    >>> private_median(table, share=1, label="median").round(6).tolist()
    [2.0]
    """
    d = table.n_features
    low, high = np.zeros(d, np.uint64), np.full(d, 2**64 - 1, np.uint64)
    for _ in range(LEVELS):
        middle = low + (high - low) // np.uint64(2)
        balance = table.ask(Balance(middle), share=share / LEVELS, label=label)
        left = balance.value > 0
        high = np.where(left, middle, high)
        low = np.where(left, low, middle)
    return float_of_order(low + (high - low) // np.uint64(2))


def float_of_order(order):
    """Undo :func:`order_of_floats`; what is no finite float becomes the nearest one."""
    bits = np.where(order & _SIGN, order ^ _SIGN, ~order)
    return np.nan_to_num(bits.view(np.float64), nan=0.0)
