"""What is promised of the largest error, before a row is read: by plain noise, and by boosting.

**Plain noise.** The cells of a table have normal noise of one standard deviation. With M cells in
all and s the largest of these, none is off by more than z s but with probability ``2 M Phi(-z)``.

**Boosting** promises less than its theorem seems to say: somebody has to see to it that the base is
right on a mass of 1/2 + eta of *every* D_t. No base is known to be, at sizes of real tables, but
the one that measures nearly everything. For that one:

- A set A of queries with ``D_t(A) > 1/2 - eta`` is left out by k draws with probability at most
  ``(1/2 + eta)^k <= e^(-k (1/2 - eta))``, and there are 2^|Q| sets. So what is left out in a round
  has a larger mass with probability at most ``2^|Q| e^(-k (1/2 - eta))``. Round 1 draws all.
- In T rounds at most T |Q| answers are measured, with a noise of standard deviation at most
  ``sqrt(T |Q| / (2 share rho))``, share being that of all answers. So all of them are within
  ``reach``, z times that number, but with probability ``2 T |Q| Phi(-z)``. Answers of the base stay
  within ``reach`` of what was measured, and so within ``tolerance = 2 reach`` of the truth.

Outside these events the theorem holds: no answer is off by ``tolerance + margin``. A count of the
rows with given levels in j columns is the mean of 2^j parities with signs, so it is not off by more
than they are, one of them being the number of rows.

**Plain noise always promises less**, for binary tables of at most k columns, k <= 16, at one price
``rho = mu^2 / 2``. Equal noise in all parities gives a cell of j >= 1 columns the variance
``2^-j (|Q| + 1) / mu^2``; the least largest one, with a twentieth of the budget for the number of
rows, is at most 1/.95 of the largest of these. So plain noise promises
``1.03 z sqrt(|Q|) / mu`` at most, with ``2 Phi(-z) = miss / M`` and ``M <= 2^k |Q|``. Boosting
promises more than ``tolerance >= 2 z' sqrt(2 T |Q|) / mu``, as measurements have half of rho, with
``2 Phi(-z') = miss / (2 (T |Q| + 1))`` and ``T >= max(2, k)``, as ``|Q| >= 2^k - 1``. From
``Phi(-x - y) <= e^(-x y) Phi(-x)`` and z'^2 > 1.9 follows ``z <= z' (1 + .37 max(k - 2, 0))``, and
``1.03 (1 + .37 max(k - 2, 0)) < 2 sqrt(2 max(2, k))``.
"""

from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np
from scipy.special import ndtri

from skdp.marginals._boosting_plan import ANSWERS, COUNT, boosting_plan, boosting_rounds
from skdp.marginals._noise_scale import largest_scale
from skdp.marginals._shrink import LEAST_ROWS

__all__ = ["CONFIDENCE", "noise_promise", "promises", "sure_boosting_plan"]

CONFIDENCE = 0.95
NOISE = "with probability 0.95 plain noise puts no count off by more than {:,.0f} rows"
BOOSTING = "private boosting would promise {:,.0f} rows at the same price"
ETA = 0.4  # rounds fall and draws rise with eta: the promise is best about here


def noise_promise(tables, sd, *, miss=1 - CONFIDENCE):
    """Return a number of rows that no cell of the tables as released is off by.

    Parameters
    ----------
    tables : Tables
    sd : ndarray of shape (n_sets,)
        Standard deviations of the noise of residuals.
    miss : float, default=0.05
        Probability with which the promise may fail.
    """
    levels = np.array(tables.layout.levels, dtype=float)
    cells = sum(
        float(np.prod(levels[np.unique(sets, axis=0)], axis=1).sum()) for sets in tables.sets
    )
    largest = largest_scale(tables.layout, tables.sets, sd)
    return float(-ndtri(miss / (2 * cells)) * largest)


def sure_boosting_plan(n_queries, budget, *, miss=1 - CONFIDENCE):
    """Plan a boosted release that keeps a promise.

    Parameters
    ----------
    n_queries : int
    budget : Budget
        In zCDP.
    miss : float, default=0.05
        Probability with which the promise may fail: one half for draws, one half for noise.

    Returns
    -------
    plan : BoostingPlan
        Its ``bound`` holds for all parities, the number of rows, and all counts made of them.
    """
    rho, alpha = float(budget.amount), log((1 + 2 * ETA) / (1 - 2 * ETA)) / 2
    rounds = boosting_rounds(n_queries, alpha, ETA)
    unseen = n_queries * log(2) + log(2 * (rounds - 1) / miss)
    z = -ndtri(miss / (4 * (rounds * n_queries + 1)))
    reach = ceil(z * sqrt(rounds * n_queries / (2 * ANSWERS * rho))) + 1
    count = ceil(z * sqrt(1 / (2 * COUNT * rho))) + 1
    plan = boosting_plan(
        n_queries, budget, sampled=ceil(unseen / (0.5 - ETA)), eta=ETA, tolerance=2 * reach
    )
    bound = max(plan.tolerance + plan.margin, count, LEAST_ROWS)
    return replace(plan, reach=reach, bound=float(bound))


def promises(tables, sd, budget):
    """Return what plain noise promises, and what boosting would: public texts for a plan.

    Parameters
    ----------
    tables : Tables
    sd : ndarray of shape (n_sets,)
        The noise of residuals at mu = 1.
    budget : Budget
        In GDP or zCDP; the other mechanism gets the same ``rho = mu^2 / 2``. For the same epsilon
        and delta boosting would have no more than that.
    """
    in_zcdp = budget.unit == "zcdp"
    rho = budget.amount if in_zcdp else budget.amount / 2
    texts = (NOISE.format(noise_promise(tables, sd / sqrt(2 * rho))),)
    if tables.layout.binary:
        budget = budget if in_zcdp else replace(budget, unit="zcdp", amount=rho)
        bound = sure_boosting_plan(len(tables.layout.lengths) - 1, budget).bound
        texts += (BOOSTING.format(bound),)
    return texts
