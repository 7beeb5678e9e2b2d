"""A private covariance without bounds: scales, a centre, whitening, and one final Gram matrix."""

from dataclasses import replace

from skdp.accounting import Plan
from skdp.covariance._run import CENTRE, CENTRE_STEPS, COLUMNS, RUN_STEPS, CovarianceRun
from skdp.location._mean import mean_plan


def covariance_plan(budget, *, assume_centered=False):
    """Return the plan of :func:`private_covariance`."""
    if assume_centered:
        return Plan(budget, RUN_STEPS)
    centre = mean_plan(budget)
    inner = (replace(step, label=f"{CENTRE.label}/{step.label}") for step in centre.steps)
    events = tuple((f"{CENTRE.label}/{name}", p) for name, p in centre.failure_events)
    return Plan(budget, (*RUN_STEPS, *CENTRE_STEPS, *inner), events)


def private_covariance(table, *, assume_centered=False, denoise=True, start=None):
    """Release the covariance matrix of the rows.

    Shapes: start (d, d).

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
