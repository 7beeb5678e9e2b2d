"""Moments of columns between public bounds: a few sums whose sensitivity is known exactly."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.kernel._bounded import Bernstein, BoundedSums, Powers


@dataclass(frozen=True)
class Moments:
    """Released sums of the powers of t, the entries mapped evenly from the bounds to [-1, 1].

    Attributes
    ----------
    values : ndarray of shape (degree + 1, d)
        Estimates of the number of entries, of sum t and, for degree 2, sum t^2.
    covariance : ndarray of shape (degree + 1, degree + 1)
        Of the noise in them, in every column. That in sum t is uncorrelated to the others.
    law : {"gaussian", "laplace"}
        They are sums of noises of this law.

    See Also
    --------
    bounded_moments

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step, Table
    >>> from skdp.columns import bounded_moments
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("moments"),)))
    >>> public = {"low": np.zeros(1), "high": np.ones(1), "share": 1, "label": "moments"}
    >>> table = Table(ArrayRows(np.full((8, 1), 0.75)), curator)
    >>> moments = bounded_moments(table, degree=1, **public)
    >>> np.round(moments.values, 2).tolist()  # eight rows, each at t = 0.5
    [[8.0], [4.0]]
    """

    values: np.ndarray
    covariance: np.ndarray
    law: str


def bounded_moments(table, *, low, high, degree, share, label):
    """Release the numbers of entries and the first moments of all columns in one go.

    A gap, NaN or infinity, is a gap of its own column.

    Parameters
    ----------
    table : Table
        Of a Gaussian or a pure budget.
    low, high : ndarrays of shape (d,)
        Public; entries outside are clipped.
    degree : {1, 2}
    share : float or Fraction
    label : str

    Returns
    -------
    moments : Moments

    See Also
    --------
    Moments

    Notes
    -----
    **Privacy**: see :class:`skdp.kernel._bounded.Powers`, released of Gaussian budgets, and
    :class:`skdp.kernel._bounded.Bernstein`, of pure ones.

    **The constants** make the noise least in the worst case, which is a column that lies on one of
    its bounds (doc/bounds_proofs.rst).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step, Table
    >>> from skdp.columns import bounded_moments
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("moments"),)))
    >>> public = {"low": np.zeros(1), "high": np.ones(1), "share": 1, "label": "moments"}
    >>> table = Table(ArrayRows(np.full((8, 1), 0.75)), curator)
    >>> moments = bounded_moments(table, degree=2, **public)
    >>> moments.values.shape, moments.law
    ((3, 1), 'gaussian')
    """
    d, pure = len(low), table.budget.measure == "pure"
    sketch = Bernstein if pure else Powers
    entries = d > 1  # of one column rows and entries are the same
    release = table.ask(sketch(low, high, degree, entries=entries), share=share, label=label)
    sketch = sketch(low, high, degree, pure, release.bits, entries)
    read = _of_pairs if isinstance(sketch, Bernstein) else _of_powers
    deviation = release.scale * (math.sqrt(2) if pure else 1)
    values, covariance = read(sketch, release.real)
    return Moments(values, covariance * (deviation / sketch.grid) ** 2, release.law)


def bounded_sums(table, *, low, high, share, label):
    """Release the sums of all columns.

    Notes
    -----
    **Privacy**: see :class:`skdp.kernel._bounded.BoundedSums`.
    """
    asked = BoundedSums(low, high, entries=len(low) > 1)
    release = table.ask(asked, share=share, label=label)
    sums = np.nan_to_num(asked.most * release.real)
    return sums, asked.most * release.sd, release.law


def _of_powers(sketch, sums):
    """Return estimates of moments and their covariance, per variance of a sum of powers."""
    weight = sketch.constant / sketch.grid
    size = sketch.degree * sketch.d
    n, var_n = np.full(sketch.d, sums[size:] / weight), 1 / weight**2
    sums = sums[:size].reshape(sketch.degree, sketch.d)
    if sketch.degree == 1:
        return np.array([n, sums[0]]), np.diag([var_n, 1.0])
    values = np.array([n, sums[0] * math.sqrt(9 / 8), 3 / 4 * (sums[1] + n)])
    mixed = 3 / 4 * var_n
    covariance = [[var_n, 0, mixed], [0, 9 / 8, 0], [mixed, 0, 9 / 16 * (1 + var_n)]]
    return values, np.array(covariance)


def _of_pairs(sketch, sums):
    """Return estimates of moments and their covariance, per variance of a sum of polynomials."""
    sums = sums.reshape(sketch.degree + 1, sketch.d)
    n, first = sums.sum(axis=0), sums[-1] - sums[0]
    if sketch.degree == 1:
        return np.array([n, first]), np.diag([2.0, 2.0])
    second = sums[0] - sums[1] + sums[2]
    covariance = [[3, 0, 1], [0, 2, 0], [1, 0, 3]]
    return np.array([n, first, second]), np.array(covariance, dtype=np.float64)
