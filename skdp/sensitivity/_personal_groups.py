"""Locations of groups of rows with different promises, averaged: personalised at any size."""

from dataclasses import dataclass

import numpy as np

from skdp.sensitivity._bounded import BITS, SQUARES, bounded_statistic
from skdp.sensitivity._personal import PersonalRelease, personal_laplace, personal_select


@dataclass(frozen=True)
class PersonalStatistic:
    """A released average of the groups' statistics.

    Notes
    -----
    **Privacy**: released: everything computed from it costs nothing more.
    """

    estimate: float
    noise_scale: float  # scale of the Laplace noise
    weights: np.ndarray  # shape (K,): public weights of the groups
    release: PersonalRelease  # with the guarantee of every group


def personal_statistic(
    groups, statistic, budgets, curator, *, sizes, radius, center=0.0, share=1, label
):
    """Release a location of groups of rows, each group with the epsilon that it was promised.

    Parameters
    ----------
    groups : sequence of K array-likes of float
        The rows of every group. NaN and infinity count as absent.
    statistic : str or object
        A location as for :func:`bounded_statistic`: ``"mean"``, ``"median"``, ``Quantile(p)``, ...
    budgets : PersonalBudgets
    curator : Curator
        With a pure budget, as a rule ``budgets.budget()``, and a Laplace step ``label``.
    sizes : sequence of K ints, > 0
        Public design sizes of the groups, not their exact private sizes.
    radius : float, > 0
        Public: the statistic of group k has the sensitivity ``radius / sizes[k]``, so it reaches
        about ``radius`` far from ``center``.
    center : float, default=0.0
        Public.
    share : float or Fraction, default=1
    label : str

    Returns
    -------
    statistic : PersonalStatistic

    See Also
    --------
    personal_laplace, PersonalReport

    Notes
    -----
    The groups' statistics g_k are averaged with weights w_k = sizes[k] epsilon_k / W, where
    W = sum sizes[k] epsilon_k. Rows with less privacy weigh more, so the average is meant
    for groups that are alike but for their promises. The noise has the scale radius / W, at a share
    of one.

    **Privacy** (add or remove one row of group k): of its group's integer G_k, which has the
    sensitivity 2^10 in units of radius / sizes[k] / 2^10, the release holds parts[k] times, and
    nothing else of it: sum parts[k] G_k moves by at most 2^10 parts[k].
    :func:`personal_laplace` does the rest. One unit of the sum is worth
    radius / sum(sizes[k] parts[k]) / 2^10.

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Plan, Step
    >>> from skdp.sensitivity import PersonalBudgets, personal_statistic
    >>> budgets = PersonalBudgets((0.5, 1.0))
    >>> curator = CannedCurator(Plan(budgets.budget(), (Step("mean", "laplace"),)))
    >>> public = {"sizes": (3, 3), "radius": 10.0, "label": "mean"}
    >>> groups = [[1.0, 2.0, 3.0], [2.0, 2.5, 3.0]]
    >>> found = personal_statistic(groups, "mean", budgets, curator, **public)
    >>> found.weights.round(3).tolist()
    [0.333, 0.667]
    """
    parts, sizes = budgets.parts, [int(size) for size in sizes]
    radius, center = float(radius), float(center)
    if not len(groups) == len(sizes) == len(parts) or min(sizes) < 1:
        raise ValueError(
            f"groups, sizes and epsilons must be of one number, sizes positive. Got {len(groups)} "
            f"groups, {len(sizes)} sizes and {len(parts)} epsilons."
        )
    if statistic in ("sum", "range", "std", *SQUARES):
        raise ValueError(f"statistic must be a location, such as 'mean'. Got {statistic!r}.")
    total = 0
    for group, size, part in zip(groups, sizes, parts, strict=True):
        bounded = bounded_statistic(group, statistic, sensitivity=radius / size, center=center)
        total += part * bounded.value
    release = personal_laplace([total], budgets, curator, step=2**BITS, share=share, label=label)
    weights = np.array([size * part for size, part in zip(sizes, parts, strict=True)])
    unit = radius / 2**BITS / int(weights.sum())
    estimate = float(center + unit * release.value[0])
    return PersonalStatistic(estimate, unit * release.scale, weights / weights.sum(), release)


def personal_median(groups, candidates, budgets, curator, *, share=1, label):
    """Choose a candidate near the median of all rows, each weighing as much as it was promised.

    Parameters
    ----------
    groups : sequence of K array-likes of float
        The rows of every group. NaN and infinity count as absent.
    candidates : array-like of float of shape (n_candidates,)
        Public, finite.
    budgets : PersonalBudgets
    curator : Curator
        With a pure budget, as a rule ``budgets.budget()``, and a step ``label`` of kind "select".
    share : float or Fraction, default=1
    label : str

    Returns
    -------
    candidate : float
    release : PersonalRelease
        The choice, with the guarantee of every group.

    See Also
    --------
    personal_select, personal_statistic, skdp.PrivateMedian

    Notes
    -----
    **Privacy** (add or remove one row of group k): the score of a candidate r is
    -|sum_k parts[k] (#{x > r} - #{x < r})|, which one row moves by at most parts[k].

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Plan, Step
    >>> from skdp.sensitivity import PersonalBudgets, personal_median
    >>> budgets = PersonalBudgets((0.5, 1.0))
    >>> curator = CannedCurator(Plan(budgets.budget(), (Step("median", "select"),)), "noise")
    >>> groups, candidates = [[20.0, 21.0] * 100, [29.0, 31.0] * 300], [0.0, 30.0, 60.0]
    >>> candidate, release = personal_median(groups, candidates, budgets, curator, label="median")
    >>> candidate, [float(epsilon) for epsilon in release.guarantees]
    (30.0, [0.5, 1.0])
    """
    if len(groups) != len(budgets.parts):
        raise ValueError(f"Got {len(groups)} groups for {len(budgets.parts)} epsilons.")
    candidates = np.asarray(candidates, dtype=np.float64)
    balance = np.zeros(len(candidates), dtype=np.int64)
    for group, part in zip(groups, budgets.parts, strict=True):
        x = np.asarray(group, dtype=np.float64).ravel()
        x = np.sort(x[np.isfinite(x)])
        below, upto = (np.searchsorted(x, candidates, side=side) for side in ("left", "right"))
        balance += part * (len(x) - upto - below)
    release = personal_select(-np.abs(balance), budgets, curator, step=1, share=share, label=label)
    return float(candidates[release.value]), release
