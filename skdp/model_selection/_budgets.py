"""Budgets of a search, and what its runs cost."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral

import numpy as np
from sklearn import model_selection as splitters
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from skdp.accounting import Budget, gaussian_delta, gaussian_epsilon, group_epsilon, group_privacy
from skdp.accounting._budget import as_delta, curve_at
from skdp.accounting._selection import selection_delta, selection_epsilon, selection_mu
from skdp.mechanisms._exact import sqrt_down, sqrt_up
from skdp.utils._renamed import Renamed

CLAIMED = 0.95  # of delta is for the Gaussian releases, the rest for failure events
EXACT = 2.0**-36  # relative error of the law of the number of runs in epsilon, and much more
ALONE = (
    "too few rows for a search: the estimator as it is, of all rows, with best_index_ -1; "
    "min_rows=0 always searches"
)
OF_ALONE = Fraction(9, 10)  # of delta: of one fit in place of a search, which has many more rows
COUNT = 0.001  # share of the number of rows, where it decides whether there is a search
PAYS = 12000.0  # rows times mu from which a search pays: benchmarks/search.py
PER_ROW = 0.2  # milliseconds of a score of one row: measured, of additive and linear models


@dataclass(frozen=True)
class SearchBudgets:
    """The budget of a search, of each of its runs, and of what comes before them (or None)."""

    total: Budget
    run: Budget
    reference: Budget | None
    mu: float  # of one run; epsilon for a pure one
    together: str  # what n published runs would cost
    count: Budget | None = None  # of the number of rows that decides whether there is a search
    alone: Budget | None = None  # of the one fit in its place

    def notes(self, n_candidates, trials, holdout):
        """Return the notes of a plan: what a run costs, how many there are, how long they take."""
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
        seconds = trials.mean * holdout * PER_ROW * 10
        texts.append(
            f"expected time: {trials.mean:g} fits on {1 - holdout:g} of the rows, one after the "
            f"other, and their scores, row by row: about {seconds:.2g} s for every 10,000 rows"
        )
        return tuple(texts)

    def alone_note(self, least):
        """Return the note of a plan on what few rows are given in place of a search."""
        budget = f"(epsilon={float(self.alone.epsilon):g}, delta={float(self.alone.delta):g})"
        return (
            f"fewer than about {least:.0f} rows, by a noisy count: no search, but one fit of the "
            f"estimator as it is, of all rows: {budget}"
        )


@lru_cache(maxsize=256)
def search_budgets(epsilon, delta, trials, n_candidates, share, counted=False):
    """Return the budgets of a search of (epsilon, delta), ``counted`` if rows may be too few.

    Notes
    -----
    **Privacy**: pure runs of epsilon_0 make a search of ``(2 + eta) epsilon_0`` (Papernot & Steinke
    2022, Corollary 3), and the reference adds its own. Gaussian runs: ``selection_delta`` at
    .95 delta; a run may fail with a probability f, the reference as well, and ``(1 + e^epsilon)
    (E[K] + 1) f <= .05 delta`` (user guide "Private search"). The same holds at every
    other epsilon, which gives the curve that a ledger with Gaussian composition reads a price off.

    Where a count decides whether there is a search or one fit, the search and the fit, each of them
    with the count, have parts of delta: their deltas add up (theorem 3).
    """
    if delta == 0:
        return _pure(epsilon, trials, n_candidates, share, counted)
    reference_share, share = share, share + COUNT * counted
    claim = as_delta(delta)
    whole = Budget.gaussian(epsilon, claim * (1 - OF_ALONE * counted))
    delta = float(whole.delta)
    mu = selection_mu(trials, float(epsilon), CLAIMED * delta, before=share)
    if mu < 2.0**-20:
        raise ValueError(
            f"epsilon={epsilon!r} with delta={delta!r} is too small for a search. Pass a larger "
            "epsilon, or a smaller mean_trials."
        )
    failure = whole.failure / (Fraction(trials.mean * (1 + 1e-9)) + 1 + counted)
    run = _within(mu * math.sqrt(1 - share), failure, delta)
    of = reference_share
    reference = _within(mu * math.sqrt(of), failure, delta) if of else None
    count = alone = other = None
    if counted:
        other = Budget.gaussian(epsilon, claim * OF_ALONE)
        count = _within(mu * math.sqrt(COUNT), failure, delta)
        left = sqrt_down(other.amount - count.amount)
        alone = _within(left, other.failure - count.failure, float(other.delta))
    all_mu = math.sqrt(n_candidates) * run.mu
    naive = gaussian_epsilon(1 / all_mu, CLAIMED * float(delta))
    exact = selection_epsilon(trials, mu, CLAIMED * float(delta), before=share)

    def delta_at(e):
        of_alone = gaussian_delta(1 / other.mu, e) if counted else 0.0
        return selection_delta(trials, mu, e, before=share) + of_alone

    failures = whole.failure + (other.failure if counted else 0)
    curve = curve_at(float(epsilon), failures, delta_at)
    total = Budget("approx", whole.epsilon, Fraction(0), whole.epsilon, claim, curve)
    together = f"epsilon = {naive:.4g} (the search: {exact:.4g})"
    return SearchBudgets(total, run, reference, run.mu, together, count, alone)


def least_rows(epsilon, delta):
    """Return from how many rows on a search is no worse than one fit of the estimator."""
    mu = float(Budget.pure(epsilon).amount) if delta == 0 else Budget.gaussian(epsilon, delta).mu
    return math.ceil(PAYS / mu)


def _pure(epsilon, trials, n_candidates, share, counted):
    total = Budget.pure(epsilon)
    if trials.eta == math.inf:
        raise ValueError(
            'a search with delta=0 needs n_trials="geometric", "logarithmic" or a number: Poisson '
            "numbers of runs have no pure guarantee of this kind. Or pass a positive delta."
        )
    usable = total.amount * (1 - Fraction(EXACT))
    before = Fraction(share) + Fraction(COUNT) * counted
    run = Budget.pure(_text(usable * (1 - before) / Fraction(2 + trials.eta)))
    reference = Budget.pure(_text(usable * Fraction(share))) if share else None
    count = Budget.pure(_text(usable * Fraction(COUNT))) if counted else None
    alone = Budget.pure(_text(usable * (1 - Fraction(COUNT)))) if counted else None
    naive = f"epsilon = {n_candidates * float(run.amount):.4g} (the search: {float(epsilon):.4g})"
    return SearchBudgets(total, run, reference, float(run.amount), naive, count, alone)


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


PARTITIONS = (
    splitters.KFold,
    splitters.StratifiedKFold,
    splitters.GroupKFold,
    splitters.StratifiedGroupKFold,
    splitters.LeaveOneOut,
    splitters.LeaveOneGroupOut,
)
REPEATED = (splitters.RepeatedKFold, splitters.RepeatedStratifiedKFold)


@dataclass(frozen=True)
class Total:
    """What fits cost together: every number is a sum by itself.

    It is no Budget: amounts and failures add up by one rule, epsilons and deltas by another, and
    neither follows from the other.
    """

    measure: str
    amount: Fraction
    failure: Fraction
    epsilon: Fraction
    delta: Fraction

    unit = Renamed("measure")

    @property
    def mu(self):
        """The GDP parameter sqrt(amount), rounded up (measure "gdp" only)."""
        return sqrt_up(self.amount)


def private_steps(estimator):
    """Return the parts of an estimator that have a plan, and the names of those that have none."""
    if hasattr(estimator, "plan"):
        return [estimator], []
    if isinstance(estimator, Pipeline):
        parts = estimator.steps
    elif isinstance(estimator, FeatureUnion):
        parts = estimator.transformer_list
    elif isinstance(estimator, ColumnTransformer):
        parts = [*(part[:2] for part in estimator.transformers), ("rest", estimator.remainder)]
    else:
        given = estimator.get_params() if hasattr(estimator, "get_params") else {}
        if any(hasattr(value, "plan") for value in given.values()):
            raise ValueError(
                f"{type(estimator).__name__} holds private estimators and may fit them any number "
                "of times: their cost is not known. Search over them directly, or in a Pipeline, "
                "FeatureUnion or ColumnTransformer."
            )
        return [], [type(estimator).__name__]
    pairs = [
        private_steps(part) for _, part in parts if not (part is None or isinstance(part, str))
    ]
    return [x for found, _ in pairs for x in found], [x for _, rest in pairs for x in rest]


def fits_with_a_row(cv, n_splits):
    """Return the largest number of training sets of a candidate that hold the same row."""
    if isinstance(cv, REPEATED):
        return n_splits - cv.n_repeats
    tests_all = isinstance(cv, splitters.PredefinedSplit) and np.all(cv.test_fold >= 0)
    if cv is None or isinstance(cv, (Integral, *PARTITIONS)) or tests_all:
        return n_splits - 1
    return n_splits


def plan_budget(plan):
    """Return the budget of a plan, with no more failure probability than its events have."""
    return plan.budget.with_failure(sum((p for _, p in plan.failure_events), Fraction(0)))


def composed(budgets):
    """Return the sum of (budget, times) pairs, as one Total.

    If all are Gaussian, mu^2 and failure probabilities add up (user guide "Accounting", theorem 1);
    otherwise epsilons and deltas do.
    """

    def total(name):
        return sum((times * getattr(budget, name) for budget, times in budgets), Fraction(0))

    units = {budget.measure for budget, _ in budgets}
    epsilon, delta = total("epsilon"), total("delta")
    if units <= {"gdp"}:
        return Total("gdp", total("amount"), total("failure"), epsilon, delta)
    return Total("pure" if units == {"pure"} else "approx", epsilon, Fraction(0), epsilon, delta)


def most_expensive(budgets):
    """Return a Total that costs no less than any of these, in whatever way they are added up."""
    epsilon, delta = (max(getattr(b, name) for b in budgets) for name in ("epsilon", "delta"))
    if {budget.measure for budget in budgets} == {"gdp"}:
        amount, failure = (max(getattr(b, x) for b in budgets) for x in ("amount", "failure"))
        return Total("gdp", amount, failure, epsilon, delta)
    return Total("pure" if delta == 0 else "approx", epsilon, Fraction(0), epsilon, delta)


def composed_epsilon(budget, delta=None, group_size=1):
    """Return the smallest epsilon of a sum at ``delta``, by both ways of adding up; inf if none."""
    delta = float(budget.delta) if delta is None else delta
    whole, summed = float(budget.epsilon), float(budget.delta)
    epsilon, needed = group_privacy(whole, min(1.0, summed), group_size)
    found = epsilon if needed <= delta else math.inf
    if budget.measure == "gdp" and 0 < delta < 1:
        found = min(found, group_epsilon(budget.mu, budget.failure, group_size, delta))
    return found if delta < 1 else math.inf


def composed_guarantee(budget, group_size=1):
    """Return (epsilon, delta), at the first delta that admits a finite epsilon."""
    claimed = float(budget.delta)
    for delta in (claimed, 10 * claimed, 100 * claimed, 1000 * claimed):
        epsilon = composed_epsilon(budget, delta, group_size)
        if math.isfinite(epsilon):
            return epsilon, delta
    return math.inf, delta
