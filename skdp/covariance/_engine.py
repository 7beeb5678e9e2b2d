"""A private covariance without bounds: scales, a centre, whitening, and one final Gram matrix."""

from dataclasses import replace

from skdp.accounting import Plan, Step
from skdp.covariance._columns import SPARSE
from skdp.covariance._run import CENTRE, COLUMNS, ROUNDS, CovarianceRun
from skdp.kernel._sums import BallProducts, BallTotal, Count, Distances, LengthsNear
from skdp.location._mean import mean_plan

__all__ = ["covariance_plan", "private_covariance"]


def covariance_plan(budget, *, assume_centered=False):
    """Return the plan of :func:`private_covariance`.

    Parameters
    ----------
    budget : Budget
        Gaussian.
    assume_centered : bool, default=False

    Returns
    -------
    plan : Plan
    """
    steps = [
        Step("row count", at_most=0.01, of=(Count,)),
        Step("column scales", at_most=0.1),
        Step("sparse rows", at_most=0.002),
        Step("sparse scales", at_most=SPARSE[1]),
        Step("spread", at_most=0.02, times=ROUNDS, of=(Distances,)),
        Step("shape", at_most=0.15, times=ROUNDS, of=(BallProducts,)),
        Step("rest", at_most=0.02, times=2 * ROUNDS, of=(LengthsNear,)),
        Step("final spread", at_most=0.05, of=(Distances,)),
        Step("final Gram", of=(BallProducts,)),
    ]
    if assume_centered:
        return Plan(budget, tuple(steps))
    steps += [
        Step("centre", "child", at_most=CENTRE[1]),
        Step("shape centre", at_most=0.03, times=ROUNDS, of=(BallTotal,)),
        Step("final sum", at_most=0.03, of=(BallTotal,)),
    ]
    centre = mean_plan(budget)
    steps += [replace(step, label=f"centre/{step.label}") for step in centre.steps]
    events = tuple((f"centre/{name}", p) for name, p in centre.events)
    return Plan(budget, tuple(steps), events)


def private_covariance(table, *, assume_centered=False, denoise=True, start=None):
    """Release the covariance matrix of the rows.

    Parameters
    ----------
    table : Table
        With the plan of :func:`covariance_plan`.
    assume_centered : bool, default=False
        Whether the rows vary around zero.
    denoise : bool, default=True
    start : ndarray of shape (d, d), default=None
        Released: a factor of a matrix near the covariance, which saves the scales of the columns.

    Returns
    -------
    release : CovarianceRelease

    Notes
    -----
    **Privacy** (add or remove one row): every release is a function of the rows and of earlier
    releases, plus Gaussian noise for its proved sensitivity; the rest is post-processing. Shares
    may depend on earlier releases (user guide "Accounting", theorem 2). The failure events are
    those of the private mean that finds the centre with a part of the budget.
    """
    run = CovarianceRun(table, assume_centered, denoise, start)
    run.count()
    run.find_columns()
    run.whiten()
    if not run.apart:
        table.doubt(COLUMNS)
    return run.measure()
