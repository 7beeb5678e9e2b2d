"""What private boosting for queries does, guarantees and costs, before a row is read.

Dwork, Rothblum and Vadhan (2010), with tight accounting. Round t draws queries from a distribution
D_t that prefers those which earlier rounds got wrong, measures them and answers all queries from
that; the answer is the median over rounds.

**Accuracy**. In round t the query q has an error E and the penalty
``b = clip(E - tolerance, 0, margin)``; with a = 1 - 2 b / margin, which is in [-1, 1],

    D_t(q) ~ exp(2 alpha / margin * sum of earlier b) ~ exp(-alpha * sum of earlier a).

Suppose that in every round a mass of at least 1/2 + eta of D_t has an error of at most the
tolerance. Then every median is off by less than tolerance + margin, if

    rounds * gain > log |Q|,    gain = -log((1/2 + eta) e^-alpha + (1/2 - eta) e^alpha).

*Proof.* The mean of a under D_t is at least 2 eta. By convexity e^(-alpha a) is at most
(1 + a)/2 e^-alpha + (1 - a)/2 e^alpha, so the mean Z of exp(-alpha sum a) over Q falls by a factor
e^-gain or less in each round, and Z < 1/|Q| in the end. If a median is off by tolerance + margin,
so are at least half of the answers; there a = -1, hence sum a <= 0, and this query alone makes
Z >= 1/|Q|. The best alpha is log((1 + 2 eta) / (1 - 2 eta)) / 2, where the gain is
-log(1 - 4 eta^2) / 2 >= 2 eta^2: about a fifth of the 2 log |Q| / eta^2 rounds that are usually
asked for.

**Price**. Errors of integer answers move by at most 1 with a row, and so does b; the sum of t - 1
of them by at most t - 1. A draw from D_t is an exponential mechanism on these integers with rate
2 alpha / margin: its bounded range is epsilon_t = 4 alpha (t - 1) / margin, and it costs
epsilon_t^2 / 8 = 2 alpha^2 (t - 1)^2 / margin^2 in zCDP (Cesar and Rogers 2021). With shares in
proportion to (t - 1)^2 the Curator, which finds the rate from share and sensitivity, uses this rate
in every round. Round 1 draws from the uniform distribution: it is public, and free.

**What is promised** is less than the theorem seems to say: somebody has to see to it that the base
is right on a mass of 1/2 + eta of *every* D_t. No base is known to be, at sizes of real tables, but
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
``1.03 z sqrt(|Q|) / mu`` at most, with ``2 Phi(-z) = miss / M`` for M cells, ``M <= 2^k |Q|``.
Boosting promises more than ``tolerance >= 2 z' sqrt(2 T |Q|) / mu``, as measurements have half of
rho, with ``2 Phi(-z') = miss / (2 (T |Q| + 1))`` and ``T >= max(2, k)``, as ``|Q| >= 2^k - 1``.
From ``Phi(-x - y) <= e^(-x y) Phi(-x)`` and z'^2 > 1.9 follows ``z <= z' (1 + .37 max(k - 2, 0))``,
and ``1.03 (1 + .37 max(k - 2, 0)) < 2 sqrt(2 max(2, k))``.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp, inf, log, sqrt

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.kernel._residual_sums import integer_residuals
from skdp.marginals._pairs import LEAST_ROWS
from skdp.marginals._residuals import workload_layout
from skdp.marginals.published._frank_wolfe import relaxed_projection
from skdp.mechanisms._exact import sqrt_up
from skdp.utils._numbers import public_words

COUNT, ANSWERS, CHOICES = Fraction(1, 20), Fraction(1, 2), Fraction(9, 20)
ETA = 0.4  # of the sure plan: rounds fall and draws rise with eta, the promise is best about here


@dataclass(frozen=True)
class BoostingPlan:
    """Everything about a boosted release that is known before the rows are read.

    **Privacy**: made of public numbers alone, so it costs nothing.
    """

    # n_queries, rounds, sampled: parities in all, rounds, draws per round
    n_queries: int
    rounds: int
    sampled: int
    # tolerance, margin: in rows: errors up to `tolerance` are right, from `tolerance + margin` on
    # wrong
    tolerance: int
    margin: int
    choice: Fraction  # share of one draw of round 2
    steps: tuple  # tuple of Step: for a Plan with a zCDP budget
    # in rows: how far answers to queries that were measured may be from what was measured
    reach: float = inf
    bound: float = inf  # what is promised of the largest error of an answer; inf is no promise

    def choice_share(self, t):
        """Return the share of one draw of round t = 2, 3, ..."""
        return self.choice * (t - 1) ** 2


def boosting_rounds(n_queries, alpha, eta):
    """Return the least number of rounds of the theorem."""
    gain = -log((0.5 + eta) * exp(-alpha) + (0.5 - eta) * exp(alpha))
    return max(2, int(log(n_queries) / gain + 1e-9) + 1)


def boosting_plan(n_queries, budget, *, sampled=None, eta=1 / 3, tolerance=None):
    """Plan a boosted release: rounds, tolerance, margin and shares.

    Parameters
    ----------
    n_queries : int
        Number of parities.
    budget : Budget
        In zCDP.
    sampled : int, default=None
        Draws per round; None is three times ``n_queries``, see the notes.
    eta : float, default=1/3
        The base is meant to be right on a mass of 1/2 + eta of every distribution.
    tolerance : int, default=None
        Error of the base, in rows, that counts as right; None is twice its noise.

    Returns
    -------
    plan : BoostingPlan

    See Also
    --------
    sure_boosting_plan, boosted_answers

    Notes
    -----
    Few draws suffice in theory, if a synopsis that is right on a sample is right on most of D_t;
    that takes samples larger than the number of bits of a synopsis, and no real table is so large.
    With k draws the mass that is not measured is at most |Q| / (e k) in the mean, as
    ``x (1 - x)^k <= 1 / (e k)``: .12 by default, where the base has nothing to guess.

    **Privacy**: made of public numbers alone, before any row is read, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import Budget
    >>> from skdp.marginals.published import boosting_plan
    >>> plan = boosting_plan(45, Budget.zcdp(1.0, 1e-6))
    >>> plan.n_queries, plan.sampled, plan.bound
    (45, 135, inf)
    """
    sampled = 3 * n_queries if sampled is None else sampled
    if budget.measure != "zcdp":
        raise ValueError("boosting mixes Gaussian noise and choices: pass Budget.zcdp(...).")
    if not 0 < eta < 0.5 or sampled < 1 or n_queries < 1:
        raise ValueError(
            "boosting needs n_queries >= 1, sampled >= 1 and eta in (0, 1/2). Pass for instance "
            "eta=1/3."
        )
    rho = float(budget.amount)
    alpha = log((1 + 2 * eta) / (1 - 2 * eta)) / 2
    rounds = boosting_rounds(n_queries, alpha, eta)
    if tolerance is None:
        tolerance = ceil(2 * sqrt(rounds * min(sampled, n_queries) / (2 * float(ANSWERS) * rho)))
    draws = sampled * _squares(rounds)
    margin = ceil(alpha * sqrt(2 * draws / (float(CHOICES) * rho)))
    choice = min(
        Fraction(2 * (alpha / margin) ** 2 / rho), CHOICES / draws
    )  # the same but rounding
    steps = (
        Step("count", at_most=COUNT),
        Step("answers", at_most=ANSWERS / rounds, times=rounds),
        Step("query", "select", choice * (rounds - 1) ** 2, (rounds - 1) * sampled),
    )
    return BoostingPlan(n_queries, rounds, sampled, int(tolerance), margin, choice, steps)


def penalties(errors, tolerance, margin):
    """Return ``b = clip(errors - tolerance, 0, margin)``: it moves no more than the error does."""
    return np.clip(errors - tolerance, 0, margin)


def _squares(rounds):
    """Return the sum of (t - 1)^2 over rounds."""
    return (rounds - 1) * rounds * (2 * rounds - 1) // 6


def sure_boosting_plan(n_queries, budget, *, miss=0.05):
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

    See Also
    --------
    boosting_plan

    Notes
    -----
    **Privacy**: made of public numbers alone, before any row is read, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import Budget
    >>> from skdp.marginals.published import sure_boosting_plan
    >>> sure_boosting_plan(45, Budget.zcdp(1.0, 1e-6)).bound < float("inf")
    True
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

    See Also
    --------
    boosting_plan, relaxed_projection

    Notes
    -----
    **Privacy**: rho-zCDP, rho the budget, for adding or removing one row: it adds 1 or -1 to every
    parity and 1 to the count, or nothing. So the count has sensitivity 1, s distinct parities have
    sqrt(s), and each penalty that enters a score, a function of a released answer and of the exact
    one, moves by at most 1. Everything else is public or
    released.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.accounting import Budget, Plan
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows
    >>> from skdp.marginals.published import boosted_answers, boosting_plan
    >>> budget, sets = Budget.zcdp(1.0, 1e-6), [(0, 1), (0, 2), (1, 2)]
    >>> plan = boosting_plan(len(sets), budget)
    >>> curator = CannedCurator(Plan(budget, plan.steps), "noise", seed=0)
    >>> rows = ArrayRows(np.zeros((1000, 3)))
    >>> values, n_rows = boosted_answers(rows, sets, curator, plan, steps=20)
    >>> bool(np.abs(values - 1000).max() < 200)
    True
    """
    if len(sets) != plan.n_queries:
        raise ValueError(f"the plan is for {plan.n_queries} queries. Make one for these sets.")
    exact = parity_counts(rows, [(), *sets])
    count = curator.gaussian(exact[:1], sensitivity=1, share=COUNT, label="count")
    n_rows, exact = max(int(LEAST_ROWS), int(count.value[0])), exact[1:]
    given = {"steps": steps, "reach": plan.reach}
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
        answers.append(base_answers(sets, rows.n_features, n_rows, picked, noisy, times, **given))
        scores = scores + penalties(np.abs(answers[-1] - exact), plan.tolerance, plan.margin)
    return np.median(answers, axis=0), n_rows


def parity_counts(rows, sets):
    """Return the exact sums of the parities over rows of codes 0 and 1, int64. Private."""
    layout, _ = workload_layout((2,) * rows.n_features, [s for s in sets if len(s)])
    numbers = [layout.position[tuple(sorted(s))] for s in sets]
    return integer_residuals(rows, layout)[numbers]


def base_answers(sets, d, n_rows, picked, noisy, times, *, steps, reach=inf):
    """Return integer answers to all sets from noisy parities of some: the base, order by order.

    Notes
    -----
    Where few steps leave a gap above the variance of the noise, there is more error in the
    projection than it can take away, and what was measured keeps its noisy answer. Anyway it
    comes no farther from it than ``reach``.
    """
    y, weights = np.zeros(len(sets)), np.zeros(len(sets))
    y[picked], weights[picked] = noisy.value, times
    orders, answers = np.array([len(s) for s in sets]), np.zeros(len(sets))
    for k in np.unique(orders[picked]):
        same = np.flatnonzero(orders == k)
        some = [sets[i] for i in same]
        found = relaxed_projection(y[same], some, d, n=n_rows, weights=weights[same], steps=steps)
        near = 0 if found.gap > noisy.scale**2 else reach
        near = np.where(weights[same] > 0, near, inf)
        answers[same] = np.clip(found.values, y[same] - near, y[same] + near)
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
