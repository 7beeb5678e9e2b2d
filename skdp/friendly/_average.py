"""The friendly average: rows any two of which share a friend, and noise in proportion."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.friendly._filters import certain_count
from skdp.friendly._predicates import bounds_distance
from skdp.kernel.pairs._soft_core import CELLS, GRID_BITS, SPREAD, _grid_rows
from skdp.mechanisms._exact import exact, sqrt_up
from skdp.mechanisms._tables import as_table
from skdp.readers import ArrayRows

__all__ = ["NoisyVector", "friendly_average"]

FINE_BITS = 12
PLACE = Fraction(1, 2**16)  # of the share of the average
PLACE_BITS = 30  # of a unit of the place; with 10^4 columns and mu = 1e-3 its noise is below 2^29
LONGEST = 2.0**100  # grid units: beyond all that a place can hold


@dataclass(frozen=True)
class NoisyVector:
    """A released vector.

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.
    """

    # shape (d,): infinite in a column of which no more is known than that it lies out of reach
    value: np.ndarray
    noise_scale: float  # standard deviation of the noise of each entry

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)


def friendly_average(
    X,
    core,
    *,
    curator,
    count_share,
    share,
    labels,
    event,
    law="gaussian",
):
    """Release the average of the core rows, or None.

    Parameters
    ----------
    X : array of shape (n, d) or ArrayRows
    core : LocalCore
        A core of the rows of X under a :class:`DistancePredicate`.
    curator : Curator
    count_share, share : float or Fraction
        Of the count and of the average.
    labels : (str, str) or (str, str, str)
        Planned steps of the count, and of the average; of three the second is that of a place
        near it, 2^-16 of ``share``. Without a place columns are out of reach from 2^28 radii off
        zero on (from 2^40 with a core of up to 4095 rows), with one from 2^58.
    event : str
        Planned failure event: the count is too high.
    law : {"gaussian", "laplace"}
        Noise of the count. Laplace needs a zCDP budget; it is the (epsilon, delta) variant, to
        follow a BasicFilter.

    Returns
    -------
    average : NoisyVector or None
        None if too few rows are in the core: a released fact. It costs the count alone.

    Raises
    ------
    ValueError
        For a core under another predicate, or of a table with another number of rows.

    See Also
    --------
    friendly_mean, friendly_core

    Notes
    -----
    **Privacy** (add or remove a core row x; m rows with it). Rows become integers
    q = floor(x / grid), clipped by a bound known from released numbers. Core rows share a
    friend: their q are at most 2 r / grid + sqrt(d) apart, r the certified radius of the predicate
    that the core carries. A - A' = (q_x - A') / m. With its ``n_up``,
    x has at most level * n_up non-friends, others are at most r / grid + sqrt(d) from q_x:
    |q_x - A'| <= (r / grid + sqrt(d)) (1 + min(1, level n_up / (m - 1))). The noisy count lowered
    by its margin is at most m outside the planned failure, on either side: low <= m - 1 + noise.
    With low <= 1 nothing follows; that covers m = 1. The mean is rounded down to 2^-e of the grid,
    e a function of low, which adds less than sqrt(d): in all, entries of the mean move by at most
    Delta. The place is floor(mean / 2^30), entry by entry: integers that differ by t fall less
    than t / 2^30 + 1 apart, so it moves by less than Delta / 2^30 + sqrt(d). Given the released
    place, the mean less 2^30 times the place moves by Delta as before; clipping moves nothing
    farther. An average that is clipped, to 2^62, is released as at least 2^61: out of reach.

    The sum is exact: see :func:`soft_core_average`. Rows outside the core are never read.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import Budget
    >>> from skdp.audit import CannedCurator
    >>> from skdp.friendly import friendly_mean, friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=10.0)
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> curator = CannedCurator(plan, "noise", seed=0)
    >>> mean = friendly_mean(X, curator=curator, radius=10.0)  # which ends with it
    >>> mean.value.shape
    (2,)
    """
    rows = X if hasattr(X, "map_merge") else ArrayRows(as_table(X))
    near, n_up = core.predicate, core.n_up
    if not bounds_distance(near):
        raise ValueError(
            "an average needs a core of rows that are friends by distance, under a "
            f"DistancePredicate. Got one under {type(near).__name__}."
        )
    if len(core.mask) != len(rows):
        raise ValueError("the core is one of another table: it has another number of rows.")
    kept = np.count_nonzero(core.mask)
    low = certain_count(curator, kept, share=count_share, label=labels[0], event=event, law=law)
    if low <= 1:
        curator.decide("too few rows have friends: no average")
        return None
    d = rows.n_features
    grid, root = near.unit * 2.0**-GRID_BITS, Fraction(sqrt_up(d))
    r = Fraction(near.certified_radius(d)) / Fraction(grid)
    reach = 2 * r + root
    if n_up is not None:
        reach = min(reach, (r + root) * (1 + core.level * max(0, n_up) / (low - 1)))
    fine = min(max(0, low.bit_length() - FINE_BITS), FINE_BITS)
    mean, moved = core_mean(rows, core.mask, near, fine), reach / low * 2**fine + root
    place, share = np.zeros(d, dtype=object), exact(share)
    if len(labels) > 2:
        release = curator.gaussian(
            _clipped(mean >> PLACE_BITS),
            sensitivity=moved / 2**PLACE_BITS + root,
            share=share * PLACE,
            label=labels[1],
        )
        place, share = release.value.astype(object) << PLACE_BITS, share * (1 - PLACE)
    release = curator.gaussian(
        _clipped(mean - place), sensitivity=moved, share=share, label=labels[-1]
    )
    unit, value = grid * 2.0**-fine, place + release.value
    with np.errstate(over="ignore"):
        value = np.where(out_of_reach(release), np.inf, value.astype(np.float64) * unit)
        return NoisyVector(value, release.scale * unit)


def out_of_reach(release):
    """Tell of which entries of a release on the grid no more is known than that they are large."""
    return np.abs(release.value.astype(np.float64)) >= 2.0**61


def _clipped(integers):
    return np.clip(integers, -(2**62), 2**62).astype(np.int64)


def core_mean(rows, mask, near, fine):
    """Return floor(2^fine mean of the core rows on the grid), ints; zero for an empty core."""
    index, d = np.flatnonzero(mask), rows.n_features
    if index.size == 0:
        return np.zeros(d, dtype=object)

    def integers(part):
        return _grid_rows(rows.take(part), near, LONGEST)

    reference, total = integers(index[:1]), np.zeros(d, dtype=np.int64)
    step = max(1, CELLS // d)
    for start in range(0, index.size, step):
        differences = integers(index[start : start + step]) - reference
        # acts only where nothing is claimed
        total += np.clip(differences, -SPREAD, SPREAD).astype(np.int64).sum(axis=0)
    start = np.array([int(q) for q in reference[0]], dtype=object)
    return start * 2**fine + (total.astype(object) * 2**fine) // int(index.size)
