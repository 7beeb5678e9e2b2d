"""A median of every column without bounds: bisection on the order of all floats."""

import numpy as np

from skdp.chunks import ArrayRows
from skdp.chunks._persons import Representatives
from skdp.kernel._ranks import Balance, float_of_order
from skdp.kernel._table import opened

__all__ = ["LEVELS", "private_median"]

LEVELS = 46


def private_median(Z, curator, *, share, label):
    """Release a median of every column to a relative precision of about 2^-34.

    Parameters
    ----------
    Z : ndarray of shape (n, d), or Rows or Table of length d
        Finite rows, of nobody or one of each person.
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
    **Privacy**: the thresholds t are made of what was released before. The sign of
    ``2 #{i: Z_ij <= t_j} - n`` tells on which side of t_j the median lies; n itself is not needed.

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
    rows = Representatives(ArrayRows(Z)) if isinstance(Z, np.ndarray) else Z
    table, d = opened(rows, curator), rows.n_features
    low, high = np.zeros(d, np.uint64), np.full(d, 2**64 - 1, np.uint64)
    for _ in range(LEVELS):
        middle = low + (high - low) // np.uint64(2)
        balance = table.ask(Balance(middle), share=share / LEVELS, label=label)
        left = balance.value > 0
        high = np.where(left, middle, high)
        low = np.where(left, low, middle)
    return float_of_order(low + (high - low) // np.uint64(2))
