"""The road of FriendlyCore: cluster random parts of the table, agree on one tuple of centres."""

import math
from dataclasses import replace
from fractions import Fraction

from scipy.special import ndtri_exp

from skdp.accounting import Budget, Step
from skdp.cluster.friendly._parts import NEAR, kmeans_oracle, part_tuples
from skdp.friendly import friendly_tuples, friendly_tuples_plan
from skdp.friendly._tuples import PARTS
from skdp.mechanisms._exact import log_of

SHARE = Fraction(3, 5)  # of a fit of k-means
TAKEN = "road: friendly (random parts of the table agreed on the centres)"
FAILED = "road: density, after the random parts of the table did not agree"
FEWEST_PARTS = 400  # although nothing speaks for the road

R_MIN, R_MAX = 2.0**-20, 2 * NEAR  # in units of the radius of the ball: public constants
MOST_PARTS = 4000  # their pairs cost the time
AGREEING = 0.9  # part of the tuples that is expected to match
CERTAIN = 3.0  # noise sds that an agreeing tuple has to spare


def friendly_road_steps(budget: Budget, n_clusters, *, label="", at_most=1):
    """Return the planned steps and failure events of :func:`friendly_centers`.

    Parameters
    ----------
    budget : Budget
        Its failure probability is that of the road.
    n_clusters : int
    label : str, default=""
        Steps of a road on ``curator.child(label, share)`` are ``label/...``, and the child itself
        is the first step.
    at_most : float or Fraction, default=1
        Largest share of the child.

    Returns
    -------
    steps : tuple of Step
    events : tuple of (str, Fraction)

    See Also
    --------
    friendly_centers

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import Budget
    >>> from skdp.cluster.friendly import friendly_road_steps
    >>> steps, events = friendly_road_steps(Budget.gaussian(1.0, 1e-6), 3)
    >>> [step.label for step in steps]
    ['tuple diameter', 'tuple filter', 'tuple count', 'tuple points']
    """
    plan = friendly_tuples_plan(budget, k=n_clusters, r_min=R_MIN, r_max=R_MAX)
    if not label:
        return plan.steps, plan.failure_events
    steps = (replace(step, label=f"{label}/{step.label}") for step in plan.steps)
    events = ((f"{label}/{name}", p) for name, p in plan.failure_events)
    return (Step(label, "child", at_most), *steps), tuple(events)


def friendly_centers(
    rows,
    curator,
    n_clusters,
    *,
    n_parts,
    center=0.0,
    radius=1.0,
    gamma=1 / 7,
    oracle=kmeans_oracle,
    seed=0,
    n_jobs=None,
):
    """Release centres on which most of many random parts of the table agree, or None.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        With the steps of :func:`friendly_road_steps`.
    n_clusters : int
    n_parts : int
        Public or released.
    center : float or ndarray of shape (d,), default=0.0
    radius : float, default=1.0
        A ball, public or released. Rows beyond twice its radius are left out; partners of two parts
        are looked for at distances from 2^-20 to 4 radii.
    gamma : float, default=1/7
        How much nearer than others partners are. Beyond 1/7 more than 2/3 of the parts must agree.
    oracle : callable, default=kmeans_oracle
        ``oracle(part, n_clusters, seed)``, a function of its arguments.
    seed : int, default=0
        Public.
    n_jobs : int, default=None
        Threads for the oracles.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d) or None
        In an arbitrary order.

    See Also
    --------
    friendly_road_steps, part_tuples, skdp.FriendlyCoreKMeans

    Notes
    -----
    **Privacy** (add or remove one row). Couple the keys of common rows: one part of a public
    number of parts differs, so one tuple is replaced (:func:`part_tuples`), and
    :func:`skdp.friendly.friendly_tuples` is private for that. The paper accounts for adding or
    removing a *tuple* and cuts the table into blocks: a row would then cost four times as much and
    move all later blocks.

    References
    ----------
    .. [1] Tsfadia, Cohen, Kaplan, Mansour, Stemmer. "FriendlyCore: Practical differentially
       private aggregation". ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.accounting import Budget, Plan
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows
    >>> from skdp.cluster.friendly import friendly_centers, friendly_road_steps
    >>> budget = Budget.gaussian(8.0, 1e-5)
    >>> curator = CannedCurator(Plan(budget, *friendly_road_steps(budget, 1)), "noise", seed=0)
    >>> def mean(part, n_clusters, seed):
    ...     return part.mean(axis=0, keepdims=True)
    ...
    >>> rows = ArrayRows(np.random.default_rng(0).uniform(-0.5, 0.5, size=(20_000, 2)))
    >>> centers = friendly_centers(rows, curator, 1, n_parts=200, oracle=mean)
    >>> bool(np.abs(centers).max() < 0.05)
    True
    """
    tuples = part_tuples(
        rows,
        curator.coins,
        oracle,
        n_clusters,
        n_parts=n_parts,
        center=center,
        radius=radius,
        seed=seed,
        n_jobs=n_jobs,
    )
    points = friendly_tuples(tuples, curator, r_min=R_MIN, r_max=R_MAX, gamma=gamma)
    return None if points is None else center + radius * points


def kmeans_road_steps(budget: Budget, n_clusters):
    """Return the planned steps and failure events of :func:`friendly_kmeans`."""
    return friendly_road_steps(budget, n_clusters, label="friendly", at_most=SHARE)


def friendly_kmeans(rows, curator, located, n_clusters, *, n_parts, seed=0, n_jobs=None):
    """Take the road with three fifths of the budget of a fit of k-means, in a located ball.

    Shapes: centers (n_clusters, d) or.
    """
    budget = replace(curator.budget, amount=curator.budget.amount * SHARE)
    choice = parts_for(located.n_rows, budget, n_clusters, rows.n_features)
    enough, gamma = choice or (FEWEST_PARTS, 1 / 7)
    centers = friendly_centers(
        rows,
        curator.child("friendly", SHARE),
        n_clusters,
        n_parts=enough if n_parts == "auto" else n_parts,
        center=located.center,
        radius=located.radius,
        gamma=gamma,
        seed=seed,
        n_jobs=n_jobs,
    )
    curator.decide(FAILED if centers is None else TAKEN)
    return centers


def parts_for(n_rows, budget, n_clusters, n_features):
    """Return (n_parts, gamma) with which the road of FriendlyCore is promising, or None.

    Notes
    -----
    A tuple that matches the part g of t tuples is kept if, with b / a = 2 (gamma = 1/7) or 3/2
    (gamma = 1/3), (b g - a) t exceeds the quantile of failure / t and a few sds of the noise
    b sqrt(t) / mu: t = O(1 / mu^2). The parts must be large enough for stable centres: with m rows
    per cluster means are off by sqrt(2 d / m) sds, which must be below gamma / 1.2 of the
    separation; for one of sqrt(d / 2) sds m is 141 at 1/7 and 26 at 1/3, twice that for safety.
    In few columns clusters that can be told apart at all lie farther apart, 60 rows at 1/7 do.
    """
    few = n_features <= 4
    for gamma, a, b, least in ((1 / 7, 1, 2, 60 if few else 280), (1 / 3, 2, 3, 25 if few else 50)):
        n_parts = _enough_parts(budget, a, b)
        if n_parts is not None and n_rows >= n_parts * n_clusters * least:
            return n_parts, gamma
    return None


def _enough_parts(budget, a, b):
    mu = math.sqrt(float(budget.amount) * PARTS["tuple filter"] / 100)
    log_p = log_of(budget.failure / 2)
    t = 100
    while t <= MOST_PARTS:
        quantile = -float(ndtri_exp(log_p - math.log(t)))
        if (b * AGREEING - a) * t >= (quantile + CERTAIN) * b * math.sqrt(t) / mu:
            return t
        t = math.ceil(t * 1.1)
    return None
