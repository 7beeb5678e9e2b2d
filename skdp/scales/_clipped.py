"""Private counts, clipped sums and medians of rows without bounds."""

import numpy as np

from skdp.kernel._ranks import Balance
from skdp.kernel._sums import BallSum
from skdp.mechanisms import finite_rows
from skdp.readers import weighed_sum

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


def count_rows(rows):
    """Return the exact number of rows without NaN or infinity. Not for release.

    Parameters
    ----------
    rows : ArrayRows

    Returns
    -------
    n : int

    See Also
    --------
    finite_rows, skdp.PrivateCount

    Notes
    -----
    **Privacy**: exact and private. One row moves it by at most 1: release it through a Curator.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows, count_rows
    >>> count_rows(ArrayRows(np.array([[1.0], [np.nan], [2.0]])))
    2
    """

    def finite(start, block):
        return int(np.count_nonzero(finite_rows(block)))

    return weighed_sum(rows, finite)


def clipped_sum(table, *, center, radius, share, label, scale=None, drop=None):
    """Release the sum of ``(x - center) / scale`` over all rows, every row clipped to a ball.

    Parameters
    ----------
    table : Table
    center : ndarray of shape (d,)
        Public or released.
    radius : float
        Radius of the ball, public or released.
    share : float or Fraction
    label : str
    scale : ndarray of shape (d,), default=None
        Public or released scales of the columns.
    drop : float, default=None
        Rows beyond ``drop * radius`` contribute nothing at all.

    Returns
    -------
    total : ndarray of shape (d,)
        In units of ``scale``.
    sd : float
        Standard deviation of the noise per coordinate.

    See Also
    --------
    ball_sum, ball_rows

    Notes
    -----
    **Privacy** (add or remove one row): every row becomes an integer vector of length at most
    2^bits, checked in integers, as a function of that row and of released values; the l2
    sensitivity of the integer sum is 2^bits exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step, Table, clipped_sum
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("sum"),)))
    >>> public = {"center": np.zeros(2), "radius": 5.0, "share": 1, "label": "sum"}
    >>> total, sd = clipped_sum(Table(ArrayRows(np.ones((10, 2))), curator), **public)
    >>> total.round(2).tolist(), sd > 0
    ([10.0, 10.0], True)
    """
    center = np.broadcast_to(np.asarray(center, dtype=np.float64), table.n_features)
    told = table.ask(BallSum(center, radius, scale, drop), share=share, label=label)
    return told.real, told.sd
