"""From the budget of a search to that of one run."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from skdp.accounting import Budget, gaussian_epsilon
from skdp.accounting._nearly_gaussian import curve_at
from skdp.accounting._selection import selection_delta, selection_epsilon, selection_mu
from skdp.mechanisms._exact import sqrt_down, sqrt_up

__all__ = ["SearchBudgets", "search_budgets"]

CLAIMED = 0.95  # of delta is for the Gaussian releases, the rest for failure events
EXACT = 2.0**-36  # relative error of the law of the number of runs in epsilon, and much more


@dataclass(frozen=True)
class SearchBudgets:
    """The budget of a search, of each of its runs, and of the reference before them (or None)."""

    total: Budget
    run: Budget
    reference: Budget | None
    mu: float  # of one run; epsilon for a pure one
    together: str  # what n published runs would cost

    def notes(self, n_candidates, trials, holdout):
        """Return the notes of a plan: what a run costs, and how many there are."""
        law = {0: "logarithmic", 1: "geometric", math.inf: "Poisson"}.get(trials.eta)
        law = law or f"negative binomial (eta = {trials.eta:g})"
        budget = f"(epsilon={float(self.run.epsilon):g}, delta={float(self.run.delta):g})"
        texts = [
            f"one run: {budget}, a fit on {1 - holdout:g} of the rows and its score on the rest",
            f"number of runs: {law}, {trials.mean:g} on average, at most {trials.most}",
            f"candidates: {n_candidates}, drawn uniformly; only the best run is published",
            f"fitting and publishing every candidate with such a budget: {self.together}",
        ]
        texts.append("memory: a few numbers for each row: where it belongs, its key, its score")
        if self.reference is not None:
            budget = f"(epsilon={float(self.reference.epsilon):g}, "
            budget += f"delta={float(self.reference.delta):g})"
            texts.insert(1, f"reference for the scores, once before the runs: {budget}")
        return tuple(texts)


@lru_cache(maxsize=256)
def search_budgets(epsilon, delta, trials, n_candidates, share):
    """Return the budgets of a search of (epsilon, delta).

    Notes
    -----
    **Privacy**: pure runs of epsilon_0 make a search of ``(2 + eta) epsilon_0`` (Papernot & Steinke
    2022, Corollary 3), and the reference adds its own. Gaussian runs: ``selection_delta`` at
    .95 delta; a run may fail with a probability f, the reference as well, and ``(1 + e^epsilon)
    (E[K] + 1) f <= .05 delta`` (user guide "Private search"). The same holds at every
    other epsilon, which gives the curve that a ledger with Gaussian composition reads a price off.
    """
    if delta == 0:
        return _pure(epsilon, trials, n_candidates, share)
    whole = Budget.gaussian(epsilon, delta)
    mu = selection_mu(trials, float(epsilon), CLAIMED * float(delta), before=share)
    if mu < 2.0**-20:
        raise ValueError(
            f"epsilon={epsilon!r} with delta={delta!r} is too small for a search. Pass a larger "
            "epsilon, or a smaller mean_trials."
        )
    failure = whole.failure / (Fraction(trials.mean * (1 + 1e-9)) + 1)
    run = _within(mu * math.sqrt(1 - share), failure, float(delta))
    reference = _within(mu * math.sqrt(share), failure, float(delta)) if share else None
    all_mu = math.sqrt(n_candidates) * run.mu
    naive = gaussian_epsilon(1 / all_mu, CLAIMED * float(delta))
    exact = selection_epsilon(trials, mu, CLAIMED * float(delta), before=share)
    curve = curve_at(
        float(epsilon), whole.failure, lambda e: selection_delta(trials, mu, e, before=share)
    )
    total = Budget("approx", whole.epsilon, Fraction(0), whole.epsilon, whole.delta, curve)
    together = f"epsilon = {naive:.4g} (the search: {exact:.4g})"
    return SearchBudgets(total, run, reference, run.mu, together)


def _pure(epsilon, trials, n_candidates, share):
    total = Budget.pure(epsilon)
    if trials.eta == math.inf:
        raise ValueError(
            'a search with delta=0 needs n_trials="geometric", "logarithmic" or a number: Poisson '
            "numbers of runs have no pure guarantee of this kind. Or pass a positive delta."
        )
    usable = total.amount * (1 - Fraction(EXACT))
    run = Budget.pure(_text(usable * (1 - Fraction(share)) / Fraction(2 + trials.eta)))
    reference = Budget.pure(_text(usable * Fraction(share))) if share else None
    naive = f"epsilon = {n_candidates * float(run.amount):.4g} (the search: {float(epsilon):.4g})"
    return SearchBudgets(total, run, reference, float(run.amount), naive)


def _within(mu, failure, delta):
    """Return a Gaussian budget of at most ``mu`` that fails with at most ``failure``."""
    low, high = -300.0, math.log10(delta)
    for _ in range(40):
        middle = (low + high) / 2
        fits = _at(mu, 10.0**middle).failure <= failure
        low, high = (middle, high) if fits else (low, middle)
    return _at(mu, float(_text(Fraction(10.0**low), digits=3)), failure)


def _at(mu, delta, failure=None):
    """Return the budget with this delta and the largest epsilon of six digits within ``mu``."""
    epsilon = gaussian_epsilon(1 / mu, float(CLAIMED * delta))
    while True:
        budget = Budget.gaussian(_text(Fraction(epsilon)), delta)
        if sqrt_up(budget.amount) <= mu:
            return (
                budget
                if failure is None or budget.failure <= failure
                else _at(mu, delta / 2, failure)
            )
        epsilon *= 1 - 1e-6


def _text(x, digits=6):
    """Return the float below x whose decimal text has few digits."""
    step = Fraction(10) ** (math.floor(math.log10(sqrt_down(x * x))) - digits + 1)
    return float(x // step * step)
