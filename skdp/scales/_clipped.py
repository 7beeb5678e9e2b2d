"""Private counts and clipped sums of rows, in exact integers."""

import numpy as np

from skdp.kernel._sums import BallSum
from skdp.mechanisms import finite_rows
from skdp.readers import weighed_sum

__all__ = ["clipped_sum", "count_rows"]


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
