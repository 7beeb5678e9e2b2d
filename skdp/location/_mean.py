"""A private mean without bounds: locate the rows, approach their centre, sum them once."""

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.location._column_roads import box_is_better, boxed, column_mean, column_steps, unboxed
from skdp.location._run import MeanRun
from skdp.scales._bisection import LEVELS

__all__ = ["mean_plan", "private_mean"]


def mean_plan(budget: Budget) -> Plan:
    """Return the plan of :func:`private_mean`.

    Parameters
    ----------
    budget : Budget
        A Gaussian budget; its failure probability is shared by three one-sided bounds.

    Returns
    -------
    plan : Plan
    """
    steps = (
        Step("row count", at_most=0.01),
        *column_steps(),
        Step("ring", at_most=0.12, times=2),
        Step("column scales", at_most=0.08),
        Step("norms", at_most=0.25, times=2),
        Step("core count", at_most=0.3),
        Step("h-index", at_most=0.3),
        Step("soft core", at_most=0.2),
        Step("median", at_most=0.01, times=LEVELS),
        Step("step", at_most=0.3, times=12),
        Step("distances", at_most=0.1),
        Step("final sum"),
        Step("rows kept", at_most=0.01),
    )
    names = ("first count", "second count", "h-index")
    return Plan(budget, steps, tuple((name, budget.failure / 3) for name in names))


def private_mean(
    rows, curator, *, center=None, radius=None, diameter=None, trim=False, scale="auto"
):
    """Release the mean of the rows.

    Parameters
    ----------
    rows : ArrayRows of n rows of length d
    curator : Curator
        With the steps of :func:`mean_plan`.
    center : ndarray of shape (d,), default=None
        A public point near the rows.
    radius : float, default=None
        A public radius: rows farther than that from their mean are clipped. Together with
        ``center`` it is a ball that holds the rows, and the whole budget goes into one sum.
    diameter : float, default=None
        A public bound on the distance of most pairs of rows.
    trim : bool, default=False
        Leave out rows that lie far beyond the bulk.
    scale : {"auto", "none"} or ndarray of shape (d,), default="auto"
        Public scales of the columns, or "auto": found privately where that is cheap.

    Returns
    -------
    release : MeanRelease

    Notes
    -----
    **Privacy** (add or remove one row): every release below is a function of the rows and of
    earlier releases, plus Gaussian noise for its proved sensitivity; the rest is post-processing.
    Shares may depend on earlier releases (user guide "Accounting", theorem 2). Failure events: the
    count bounds and the h-index bound, which the soft core rests on.
    """
    run = MeanRun(rows, curator, trim)
    run.count()
    known = center is not None or radius or diameter or trim
    if not known and isinstance(scale, str) and scale == "auto":
        if run.d == 1:
            return column_mean(run)
        surveys = box_is_better(run)
        if surveys is not None:
            return _boxed_mean(run, surveys)
    if isinstance(scale, np.ndarray):
        run.scale = scale
    if center is not None:
        run.center = center / run.scale
        found = radius is not None
    else:
        find_scales = isinstance(scale, str) and scale == "auto"
        found = run.locate(radius, diameter, find_scales=find_scales)
    if not found and not run.approach(radius):
        return run.nothing()
    return run.measure(radius)


def _boxed_mean(run, surveys):
    """Release the mean of rows whose columns are clipped one by one, from the middle of the box."""
    rows, clips = boxed(run, surveys)
    inner = MeanRun(rows, run.curator, trim=False)
    inner.n, inner.n_sd, inner.few = run.n, run.n_sd, run.few
    inner.center = np.zeros(run.d)
    release = inner.measure(None) if inner.approach(None) else inner.nothing()
    return unboxed(release, clips)
