"""Private boosting for queries, with the relaxed projection as the base. Theorem: the plan."""

from dataclasses import dataclass
from math import inf

import numpy as np

from skdp._public import public_words
from skdp.marginals._boosting_plan import ANSWERS, COUNT, penalties
from skdp.marginals._counts import integer_residuals
from skdp.marginals._frank_wolfe import relaxed_projection
from skdp.marginals._workload import workload_layout
from skdp.mechanisms._exact import sqrt_up

__all__ = ["boosted_answers"]

LEAST_ROWS = 10


def boosted_answers(rows, sets, curator, plan, *, steps=100):
    """Release the parities of binary rows with small error on every one of them.

    Parameters
    ----------
    rows : ArrayRows
        Codes 0 and 1, x = 1 - 2 code; other rows contribute nothing.
    sets : sequence of tuple of int
        The attributes of every parity, at least one; orders may be mixed.
    curator : Curator
        Of a plan with the steps of ``plan``.
    plan : BoostingPlan
        For as many queries as there are sets.
    steps : int, default=100
        Steps of Frank-Wolfe in each round.

    Returns
    -------
    values : ndarray of shape (m,)
        Sums over rows.
    n_rows : int
        The noisy number of rows, at least 10.

    Notes
    -----
    **Privacy**: rho-zCDP, rho the budget, for adding or removing one row: it adds 1 or -1 to every
    parity and 1 to the count, or nothing. So the count has sensitivity 1, s distinct parities have
    sqrt(s), and each penalty that enters a score, a function of a released answer and of the exact
    one, moves by at most 1 (``skdp/marginals/_boosting_plan.py``). Everything else is public or
    released.
    """
    if len(sets) != plan.n_queries:
        raise ValueError(f"the plan is for {plan.n_queries} queries. Make one for these sets.")
    exact = parity_counts(rows, [(), *sets])
    count = curator.gaussian(exact[:1], sensitivity=1, share=COUNT, label="count")
    n_rows, exact = max(LEAST_ROWS, int(count.value[0])), exact[1:]
    base = Base(sets, rows.n_features, n_rows, steps, plan.reach)
    scores, answers = np.zeros(len(sets), dtype=np.int64), []
    for t in range(1, plan.rounds + 1):
        drawn = _draw(scores, t, plan, curator)
        picked, times = np.unique(drawn, return_counts=True)
        noisy = curator.gaussian(
            exact[picked],
            sensitivity=sqrt_up(len(picked)),
            share=ANSWERS / plan.rounds,
            label="answers",
        )
        answers.append(base.answers(picked, noisy, times))
        scores = scores + penalties(np.abs(answers[-1] - exact), plan.tolerance, plan.margin)
    return np.median(answers, axis=0), n_rows


def parity_counts(rows, sets):
    """Return the exact sums of the parities over rows of codes 0 and 1, int64. Private."""
    layout, _ = workload_layout((2,) * rows.n_features, [s for s in sets if len(s)])
    numbers = [layout.position[tuple(sorted(s))] for s in sets]
    return integer_residuals(rows, layout)[numbers]


@dataclass(frozen=True)
class Base:
    """The base: relaxed projection of some noisy parities, answers to all, order by order.

    Parameters
    ----------
    sets : sequence of tuple of int
    d, n_rows, steps : int
    reach : float, default=inf
        As in BoostingPlan.
    """

    sets: tuple
    d: int
    n_rows: int
    steps: int
    reach: float = inf

    def answers(self, picked, noisy, times):
        """Return integer answers to all sets from a release of those of number ``picked``.

        Where few steps leave a gap above the variance of the noise, there is more error in the
        projection than it can take away, and what was measured keeps its noisy answer. Anyway it
        comes no farther from it than ``reach``.
        """
        y, weights = np.zeros(len(self.sets)), np.zeros(len(self.sets))
        y[picked], weights[picked] = noisy.value, times
        orders, answers = np.array([len(s) for s in self.sets]), np.zeros(len(self.sets))
        for k in np.unique(orders[picked]):
            same = np.flatnonzero(orders == k)
            projection = relaxed_projection(
                y[same],
                [self.sets[i] for i in same],
                self.d,
                n=self.n_rows,
                weights=weights[same],
                steps=self.steps,
            )
            reach = 0 if projection.gap > noisy.scale**2 else self.reach
            reach = np.where(weights[same] > 0, reach, inf)
            answers[same] = np.clip(projection.values, y[same] - reach, y[same] + reach)
        return np.rint(answers).astype(np.int64)


def _draw(scores, t, plan, curator):
    """Return the numbers of the queries of round t."""
    if t == 1 and plan.sampled >= plan.n_queries:
        return np.arange(plan.sampled) % plan.n_queries
    if t == 1:
        words = public_words(plan.sampled, "first round", plan.n_queries)
        return (words % np.uint64(plan.n_queries)).astype(np.int64)
    share = plan.choice_share(t)
    return [
        curator.select(scores, sensitivity=t - 1, share=share, label="query")
        for _ in range(plan.sampled)
    ]
