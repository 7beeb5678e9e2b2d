"""One private tuple of k points from many: a radius, a core, one order, one average."""

from dataclasses import replace
from fractions import Fraction

from skdp.accounting import Plan, Step
from skdp.friendly._diameter import diameter_radii, diameter_tests
from skdp.friendly._filters import replace_one_filter
from skdp.friendly._match import FusedMatch
from skdp.friendly._matching import as_tuples
from skdp.friendly._tuples import (
    find_tuple_diameter,
    friendly_tuple_average,
    reorder,
    secret_permutation,
)
from skdp.kernel.pairs._public_numbers import whole

__all__ = ["friendly_tuples", "friendly_tuples_plan"]

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
