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
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, inf, log, sqrt

import numpy as np

from skdp.accounting import Step

__all__ = ["BoostingPlan", "boosting_plan", "boosting_rounds", "penalties"]

COUNT, ANSWERS, CHOICES = Fraction(1, 20), Fraction(1, 2), Fraction(9, 20)


@dataclass(frozen=True)
class BoostingPlan:
    """Everything about a boosted release that is known before the rows are read.

    Parameters
    ----------
    n_queries, rounds, sampled : int
        Parities in all, rounds, draws per round.
    tolerance, margin : int
        In rows: errors up to ``tolerance`` are right, from ``tolerance + margin`` on wrong.
    choice : Fraction
        Share of one draw of round 2.
    steps : tuple of Step
        For a Plan with a zCDP budget.
    reach : float, default=inf
        In rows: how far answers to queries that were measured may be from what was measured.
    bound : float, default=inf
        What is promised of the largest error of an answer; inf is no promise.
    """

    n_queries: int
    rounds: int
    sampled: int
    tolerance: int
    margin: int
    choice: Fraction
    steps: tuple
    reach: float = inf
    bound: float = inf

    def choice_share(self, t):
        """Return the share of one draw of round t = 2, 3, ..."""
        return self.choice * (t - 1) ** 2


def boosting_rounds(n_queries, alpha, eta):
    """Return the least number of rounds of the theorem.

    Parameters
    ----------
    n_queries : int
    alpha : float
    eta : float
        The base is right on a mass of 1/2 + eta, 0 < eta < 1/2.
    """
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

    Notes
    -----
    Few draws suffice in theory, if a synopsis that is right on a sample is right on most of D_t;
    that takes samples larger than the number of bits of a synopsis, and no real table is so large.
    With k draws the mass that is not measured is at most |Q| / (e k) in the mean, as
    ``x (1 - x)^k <= 1 / (e k)``: .12 by default, where the base has nothing to guess.
    """
    sampled = 3 * n_queries if sampled is None else sampled
    if budget.unit != "zcdp":
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
    """Return ``b = clip(errors - tolerance, 0, margin)``: it moves no more than the error does.

    Parameters
    ----------
    errors : ndarray of int
    tolerance, margin : int
    """
    return np.clip(errors - tolerance, 0, margin)


def _squares(rounds):
    """Return the sum of (t - 1)^2 over rounds."""
    return (rounds - 1) * rounds * (2 * rounds - 1) // 6
