"""The radius within which most rows are friends, by bisection."""

from fractions import Fraction

import numpy as np

from skdp.kernel.pairs._distance import DistancePredicate, real
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import exact
from skdp.mechanisms._norms import as_table
from skdp.readers import ArrayRows, map_merge

FINE = 2**10  # grid of the statistic


def diameter_radii(r_min, r_max, base=1.5):
    """Return the public candidates r_min base^i, i = 0..T, the last at least r_max."""
    r_min, r_max, base = real(r_min), real(r_max), real(base)
    if not (2.0**-400 <= r_min <= r_max <= 2.0**399 and 1.01 <= base <= 2.0**100):
        raise ValueError(
            "radii need 2**-400 <= r_min <= r_max <= 2**399 and 1.01 <= base <= 2**100. "
            f"Got r_min={r_min!r}, r_max={r_max!r}, base={base!r}."
        )
    radii = [r_min]
    while radii[-1] < r_max:
        radii.append(radii[-1] * base)
    return tuple(radii)


def diameter_tests(radii):
    """Return the number of tests, ceil(log2 len(radii)): a step of the plan has that many times.

    Parameters
    ----------
    radii : sequence of float
        The candidates.

    Returns
    -------
    tests : int

    See Also
    --------
    find_diameter

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.friendly import diameter_tests
    >>> diameter_tests([1.0, 2.0, 4.0, 8.0])
    2
    """
    return (len(radii) - 1).bit_length()


def check_diameter_statistic(counts, n, slack):
    """Return floor(1024 a), a = (1/n) sum c_i - (1 - slack) n, exactly; 0 if n = 0.

    Notes
    -----
    **Privacy.** Removing x_j from n rows with S = sum c_i: if x_j is its own friend,
    a - a' = (n (2 c_j - 1) - S) / (n (n - 1)) - (1 - slack). From
    n - 1 + 2 c_j - 1 - (n - 1) <= S <= (n - 1)^2 + 2 c_j - 1 it lies in (slack - 2, 1 + slack); if
    x_j is not, 2 c_j replaces 2 c_j - 1, c_j <= n - 1, with the same range; n = 1 moves a by at
    most 1. So |a - a'| <= 2 - slack for slack <= 1/2, and rounding down adds less than 1.
    """
    total, n, slack = sum(int(c) for c in np.asarray(counts)), int(n), exact(slack)
    return 0 if n == 0 else int((Fraction(total, n) - (1 - slack) * n) * FINE // 1)


def bisect_radii(radii, statistic, curator, *, sensitivity, share, label):
    """Return the least radius at which a statistic is at least 0, by noisy bisection.

    Notes
    -----
    **Privacy.** The tests are Gaussian steps; which one comes next, and whether, depends on earlier
    answers only. A wrong radius costs accuracy, never privacy.
    """
    share_of_each = exact(share) / max(diameter_tests(radii), 1)
    low, high = 0, len(radii) - 1
    while low < high:
        middle = (low + high) // 2
        release = curator.gaussian(
            [statistic(middle)], sensitivity=sensitivity, share=share_of_each, label=label
        )
        low, high = (low, middle) if release.value[0] >= 0 else (middle + 1, high)
    return radii[high]


def find_diameter(X, radii, curator, *, share, label, slack=Fraction(1, 10), family=None, bits=0):
    """Return a radius of the candidates within which most pairs of rows are friends.

    Parameters
    ----------
    X : array of shape (n, d) or ArrayRows
        Rows with NaN or infinity count as absent.
    radii : increasing sequence of floats
        Public, see :func:`diameter_radii`. The last is returned untested.
    curator : Curator
    share : float or Fraction
        For all tests together.
    label : str
        A planned step with ``times=diameter_tests(radii)``.
    slack : float or Fraction in [0, 1/2], default=1/10
        About the part of pairs that need not be friends.
    family : callable, default=DistancePredicate
        Maps a radius to a symmetric predicate.
    bits : int, default=0
        Public or released: the search is in a part of the rows of about 2^-bits, by secret coins.

    Returns
    -------
    radius : float
        Released.

    See Also
    --------
    diameter_tests, RadiusGrid

    Notes
    -----
    **Privacy.** See :func:`check_diameter_statistic` and :func:`bisect_radii`. Common rows keep
    their coins, so the parts of neighbouring tables are equal or neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.friendly import diameter_tests, find_diameter
    >>> radii = [0.1, 1.0, 10.0, 100.0]
    >>> step = Step("diameter", times=diameter_tests(radii))
    >>> curator = CannedCurator(Plan(Budget.gaussian(2.0, 1e-6), (step,)), "noise")
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> find_diameter(X, radii, curator, share=1, label="diameter")
    10.0
    """
    rows = X if hasattr(X, "map_merge") else ArrayRows(as_table(X))
    slack = exact(slack)
    if not 0 <= slack <= Fraction(1, 2):
        raise ValueError(f"slack must be in [0, 1/2]. Got {float(slack)!r}.")
    family = family or DistancePredicate
    X = _part(rows, curator.coins, f"{label} part", bits)

    def statistic(i):
        return check_diameter_statistic(family(radii[i]).friends(X), len(X), slack)

    return bisect_radii(
        radii, statistic, curator, sensitivity=(2 - slack) * FINE + 1, share=share, label=label
    )


def _part(rows, coins, use, bits):
    """Return the finite rows, or those whose key starts with `bits` zeros."""

    def among(start, stop):
        return coins.keys(start, stop, use=use) >> np.uint64(64 - bits) == 0 if bits else True

    def chosen(start, block, drawn):
        return start + np.flatnonzero(finite_rows(block) & drawn)

    return rows.take(map_merge(rows, chosen, lambda a, b: np.concatenate([a, b]), among))
