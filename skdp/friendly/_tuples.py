"""Private steps on tuples of k points, and one private tuple made of many."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from skdp.accounting import Plan, Step
from skdp.friendly._average import out_of_reach
from skdp.friendly._diameter import bisect_radii, diameter_radii, diameter_tests
from skdp.friendly._filters import replace_one_filter
from skdp.friendly._match import FusedMatch
from skdp.friendly._matching import as_tuples
from skdp.kernel.pairs._distance import GRID_BITS, SPREAD, DistancePredicate, _grid_rows, whole
from skdp.mechanisms._exact import exact, sqrt_up

BEYOND = 2**62  # the number of no row


def secret_permutation(coins, k, *, use=0):
    """Return a uniform permutation of k from two keys each, of rows that no table has.

    Notes
    -----
    It is independent of the keys of the rows, of the rows and of all noise. Each call of
    :func:`reorder` in a fit needs another: ``use`` numbers them.
    """
    k = whole(k)
    keys = coins.keys(BEYOND, BEYOND + 2 * k, use=f"permutation {use}")
    return np.lexsort(np.asarray(keys, dtype=np.uint64).reshape(2, k))


def find_tuple_diameter(counts, radii, curator, *, share, label, slack=Fraction(1, 5)):
    """Return a radius within which most pairs of tuples match, by bisection.

    Notes
    -----
    **Privacy** (t public, one tuple replaced). What is released is the number of ordered pairs of
    friends less a public one. A tuple is in 2 (t - 1) + 1 of them, the pair with itself included:
    sensitivity 2t - 1. See :func:`bisect_radii`.
    """
    totals, t = np.asarray(counts, dtype=np.int64).sum(axis=0), len(counts)
    enough = math.ceil((1 - exact(slack)) * t * t)
    return bisect_radii(
        radii,
        lambda i: totals[i] - enough,
        curator,
        sensitivity=max(1, 2 * t - 1),
        share=share,
        label=label,
    )


def reorder(tuples, core, predicate, permutation):
    """Return the core tuples, points in the order of the first of them, then permuted.

    Parameters
    ----------
    tuples : array of shape (t, k, d)
    core : array of shape (t,), bool
        Private.
    predicate : MatchPredicate
    permutation : array of shape (k,)
        Secret, from :func:`secret_permutation`.

    Returns
    -------
    ordered : ndarray of shape (core.sum(), k, d)
        Private.

    See Also
    --------
    friendly_tuples, MatchPredicate

    Notes
    -----
    **Privacy.** Let S hold the core tuples of both neighbours, certified as `predicate.least` asks.
    Permutations of S compose (:class:`MatchPredicate`), so ordering by another tuple of S
    changes the order of all by one and the same sigma. Given all earlier releases and coins, the
    permutation p is uniform: pair the run with p on one table with that with sigma p on the other;
    this is a bijection. Paired runs order common tuples alike. The law of a later release is
    the mixture over p, and hockey-stick divergence is jointly convex: what holds for paired runs,
    holds for the mixtures. (So p must be secret, and serve one release or one fixed composition of
    releases, as here. It is not among the coins that the accounting hands to the adversary.)

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import MatchPredicate, reorder
    >>> tuples = np.array([[[0.0], [10.0]], [[10.1], [0.1]]])
    >>> ordered = reorder(tuples, np.array([True, True]), MatchPredicate(), np.array([0, 1]))
    >>> ordered[:, :, 0].tolist()
    [[0.0, 10.0], [0.1, 10.1]]
    """
    chosen = as_tuples(tuples)[np.asarray(core, dtype=bool)]
    if len(chosen) == 0:
        return chosen
    return predicate.order(chosen, chosen[0])[:, permutation]


def friendly_tuple_average(ordered, radii, curator, *, count_share, share, labels, event):
    """Release the average of ordered core tuples, point by point, or None.

    Parameters
    ----------
    ordered : array of shape (m, k, d)
        Core tuples in consistent order; m is private.
    radii : sequence of k floats
        Friends' i-th points are at most the certified ``radii[i]`` apart.
    curator : Curator
    count_share, share : Fraction
        Of the count, and of the k averages together.
    labels : (str, str)
        Planned steps of the count and of the k averages.
    event : str
        Planned failure event: the count is too high.

    Returns
    -------
    points : ndarray of shape (k, d) or None
        Infinite where a point lies 2^40 radii or more off zero.

    See Also
    --------
    friendly_tuples, reorder

    Notes
    -----
    **Privacy** (one tuple replaced, given the core without it). Sizes m, m' differ by at most 1.
    With M the larger, averages of M >= 1 points of which two share a friend differ by at most
    2 r / M: by (x - x') / M if both runs keep their tuple, by (x - average) / M if one does. The
    bound low = count - margin exceeds M, the same bad set for both runs, with at most the planned
    probability, as m, m' <= M. Outside it: either low <= 1 and nothing follows, or M >= 2.
    Points become integers q = floor(x / grid) as in :func:`soft_core_average`: at most 2 r / grid +
    sqrt(d) apart; rounding the average down adds less than sqrt(d). Each point has its own grid
    and a k-th of the share: noise in proportion to each radius, k costs that sum to the share.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.friendly import friendly_tuple_average
    >>> budget = Budget.gaussian(2.0, 1e-6)
    >>> steps = (Step("count"), Step("points", times=2))
    >>> curator = CannedCurator(Plan(budget, steps, (("count", budget.failure),)), "noise")
    >>> public = {"count_share": 0.125, "share": 0.875, "labels": ("count", "points")}
    >>> ordered = np.tile([[[0.0], [10.0]]], (400, 1, 1))
    >>> points = friendly_tuple_average(ordered, [0.1, 0.1], curator, event="count", **public)
    >>> np.abs(points).round(1).ravel().tolist()
    [0.0, 10.0]
    """
    m, k, d = ordered.shape
    margin = -float(ndtri_exp(curator.fails(event)))
    count = curator.gaussian([m], sensitivity=1, share=count_share, label=labels[0])
    low = int(count.value[0]) - math.ceil(margin * count.scale * (1 + 1e-9) + 0.5)
    if low <= 1:
        curator.decide("too few tuples agree: no average")
        return None
    points = np.empty((k, d))
    for i, radius in enumerate(radii):
        near, root = DistancePredicate(radius), Fraction(sqrt_up(d))
        grid = near.unit * 2.0**-GRID_BITS
        reach = 2 * Fraction(near.certified_radius(d)) / Fraction(grid) + root
        release = curator.gaussian(
            _grid_average(ordered[:, i], near),
            sensitivity=reach / low + root,
            share=exact(share) / k,
            label=labels[1],
        )
        points[i] = np.where(out_of_reach(release), np.inf, release.value * grid)
    return points


def _grid_average(X, near):
    """Return floor(sum of floor(x / grid) / m), exactly where the rows are within SPREAD."""
    if len(X) == 0:
        return np.zeros(X.shape[1], dtype=np.int64)
    rows = _grid_rows(X, near)
    differences = np.clip(rows - rows[0], -SPREAD, SPREAD).astype(np.int64)
    return rows[0].astype(np.int64) + differences.sum(axis=0) // len(X)


PARTS = {"tuple diameter": 10, "tuple filter": 65, "tuple count": 3, "tuple points": 22}  # percent


def friendly_tuples_plan(budget, *, k, r_min, r_max):
    """Return the plan of :func:`friendly_tuples` from public numbers.

    Parameters
    ----------
    budget : Budget
        Gaussian; its failure probability is shared by the filter and the count.
    k : int
        Points of a tuple.
    r_min, r_max : float
        As for :func:`diameter_radii`.

    Returns
    -------
    plan : Plan

    See Also
    --------
    friendly_tuples

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.friendly import friendly_tuples_plan
    >>> plan = friendly_tuples_plan(Budget.gaussian(2.0, 1e-6), k=2, r_min=1e-3, r_max=2.0)
    >>> [step.label for step in plan.steps]
    ['tuple diameter', 'tuple filter', 'tuple count', 'tuple points']
    """
    k = whole(k)
    times = {"tuple diameter": diameter_tests(diameter_radii(r_min, r_max)), "tuple points": k}
    steps = (Step(label, times=times.get(label, 1)) for label in PARTS)
    steps = (replace(s, at_most=Fraction(PARTS[s.label], 100) / max(1, s.times)) for s in steps)
    events = (("tuple filter", budget.failure / 2), ("tuple count", budget.failure / 2))
    return Plan(budget, tuple(steps), events)


def friendly_tuples(tuples, curator, *, r_min, r_max, gamma=1 / 7):
    """Release one tuple of k points that agrees with most of t tuples, or None.

    Parameters
    ----------
    tuples : array of shape (t, k, d)
        t is public. A tuple may be garbage; the order of its points is irrelevant.
    curator : Curator
        With the plan of :func:`friendly_tuples_plan`.
    r_min, r_max : float
        Public bounds on the distance of partners.
    gamma : float, default=1/7
        See :class:`MatchPredicate`; beyond 1/7 the core needs more than 2/3 of the tuples.

    Returns
    -------
    points : ndarray of shape (k, d) or None
        None if too few tuples agree. The points come in an arbitrary order.

    See Also
    --------
    friendly_tuples_plan, skdp.cluster.friendly.friendly_centers

    Notes
    -----
    **Privacy** (one tuple replaced, t public): find a radius, find a core of friends, put it
    in one order, average. Each step has its proof; shares sum to one. Adding or removing a *row* of
    a table replaces one tuple if each row belongs to one of t parts by a coin of its own and
    each tuple is computed from its part alone: then what the plan claims holds for rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget
    >>> from skdp.friendly import friendly_tuples, friendly_tuples_plan
    >>> rng = np.random.default_rng(0)
    >>> tuples = np.array([[[0.0], [10.0]]]) + rng.uniform(0, 0.01, size=(400, 2, 1))
    >>> plan = friendly_tuples_plan(Budget.gaussian(8.0, 1e-5), k=2, r_min=1e-3, r_max=2.0)
    >>> points = friendly_tuples(tuples, CannedCurator(plan, "noise"), r_min=1e-3, r_max=2.0)
    >>> np.sort(np.abs(points.ravel())).round(1).tolist()
    [0.0, 10.0]
    """
    radii, tuples = diameter_radii(r_min, r_max), as_tuples(tuples)
    share = {label: Fraction(percent, 100) for label, percent in PARTS.items()}
    predicates = [FusedMatch(gamma, r) for r in radii]
    counts = predicates[0].friends_within(tuples, [p.limit for p in predicates])
    radius = find_tuple_diameter(
        counts, radii, curator, share=share["tuple diameter"], label="tuple diameter"
    )
    predicate = predicates[radii.index(radius)]
    core = replace_one_filter(
        counts[:, radii.index(radius)],
        size=len(tuples),
        curator=curator,
        share=share["tuple filter"],
        label="tuple filter",
        event="tuple filter",
        least=predicate.least,
    )
    k = tuples.shape[1]
    ordered = reorder(tuples, core, predicate, secret_permutation(curator.coins, k))
    return friendly_tuple_average(
        ordered,
        [radius] * k,
        curator,
        count_share=share["tuple count"],
        share=share["tuple points"],
        labels=("tuple count", "tuple points"),
        event="tuple count",
    )
