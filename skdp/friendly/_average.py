"""The friendly average of a core, with noise in proportion, and the mean of FriendlyCore."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Plan, Step
from skdp.friendly._core import (
    MOST_UNSAMPLED,
    friendly_core,
    friendly_core_plan,
    group_bits,
    row_bound,
)
from skdp.friendly._diameter import diameter_radii, diameter_tests, find_diameter
from skdp.friendly._filters import certain_count
from skdp.friendly._match import bounds_distance
from skdp.kernel.pairs._distance import CELLS, GRID_BITS, SPREAD, DistancePredicate, _grid_rows
from skdp.mechanisms._exact import exact, sqrt_up
from skdp.mechanisms._norms import as_table
from skdp.readers import ArrayRows

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


def friendly_average(X, core, *, curator, count_share, share, labels, event, law="gaussian"):
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


DIAMETER, SIZE = Fraction(1, 10), Fraction(3, 100)  # shares
AVERAGE = Step("core size"), Step("core place"), Step("core average")


@dataclass(frozen=True)
class RadiusGrid:
    """A search for the radius of friends among public candidates: see :func:`find_diameter`.

    Attributes
    ----------
    r_min, r_max : float
        Public: the first candidate, and what the last is not below.
    slack : float or Fraction, default=1/10
        About the part of pairs that need not be friends.

    See Also
    --------
    friendly_mean, find_diameter

    Notes
    -----
    **Privacy**: candidates are public; the search is a planned, paid step, see
    :func:`find_diameter`.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.friendly import RadiusGrid, friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=RadiusGrid(0.01, 100.0))
    >>> [step.label for step in plan.steps]
    ['diameter', 'core row count', 'core filter', 'core size', 'core place', 'core average']
    """

    r_min: float
    r_max: float
    slack: Fraction = Fraction(1, 10)

    @property
    def steps(self):
        """The planned steps of the search."""
        tests = diameter_tests(diameter_radii(self.r_min, self.r_max))
        return (Step("diameter", times=tests),) if tests else ()

    def find(self, X, curator, *, n_up, most):
        """Release a radius."""
        return find_diameter(
            X,
            diameter_radii(self.r_min, self.r_max),
            curator,
            share=DIAMETER,
            label="diameter",
            slack=self.slack,
            bits=group_bits(n_up, most / 2),
        )


def friendly_mean_plan(budget, *, radius):
    """Return the plan of :func:`friendly_mean` from public numbers; failure in equal parts.

    Parameters
    ----------
    budget : Budget
    radius : float or object
        As for :func:`friendly_mean`.

    Returns
    -------
    plan : Plan

    See Also
    --------
    friendly_mean, RadiusGrid

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.friendly import friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=10.0)
    >>> [step.label for step in plan.steps]
    ['core row count', 'core filter', 'core size', 'core place', 'core average']
    """
    steps, events = friendly_core_plan()
    events = (*events, "core size")
    steps = (*getattr(radius, "steps", ()), *steps, *AVERAGE)
    return Plan(budget, steps, tuple((name, budget.failure / len(events)) for name in events))


def friendly_mean(X, *, curator, radius, level=Fraction(1, 2), most=MOST_UNSAMPLED):
    """Release the mean of rows most of which are within a radius of each other: FC_Avg.

    Parameters
    ----------
    X : array of shape (n, d) or ArrayRows
        Rows with NaN or infinity are as if absent.
    curator : Curator
        With the plan of :func:`friendly_mean_plan` for the same radius.
    radius : float or object
        Public: two typical rows are at most this far apart. Or a search for it with ``steps`` and
        ``find(X, curator, n_up=, most=)``, which releases a radius or None: :class:`RadiusGrid`.
    level : float, Fraction in (0, 1/2] or callable, default=1/2
        Core rows have fewer than level * n non-friends. A callable is told the released bound on
        the number of rows.
    most : int, default=20000
        See :func:`friendly_core`.

    Returns
    -------
    mean : NoisyVector or None
        None if too few rows are friends of most others, or no radius was found.

    See Also
    --------
    friendly_mean_plan, RadiusGrid, skdp.PrivateMean

    Notes
    -----
    **Privacy**: a row count (1 %), a search for the diameter (10 %), a filter, a core size (3 %),
    a place and an average for all that remains, each a Gaussian step or proved next to its code;
    shares depend on earlier releases only.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget
    >>> from skdp.friendly import friendly_mean, friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=10.0)
    >>> X = np.random.default_rng(0).normal(loc=1e6, size=(2000, 2))
    >>> curator = CannedCurator(plan, "noise", seed=0)
    >>> mean = friendly_mean(X, curator=curator, radius=10.0)
    >>> bool(np.abs(mean.value - 1e6).max() < 0.5)
    True
    """
    n_up = row_bound(X, curator)
    if hasattr(radius, "find"):
        radius = radius.find(X, curator, n_up=n_up, most=most)
    if radius is None:
        return None
    level = level(n_up) if callable(level) else level
    near = DistancePredicate(radius)
    core = friendly_core(X, near, curator, n_up=n_up, level=level, most=most)
    return core_average(X, core, curator)


def core_average(X, core, curator):
    """Release the average of a core with all that is left: :func:`friendly_average`."""
    return friendly_average(
        X,
        core,
        curator=curator,
        count_share=SIZE,
        share=curator.remaining - SIZE,
        labels=tuple(step.label for step in AVERAGE),
        event="core size",
    )
