"""What several fits guarantee together."""

import math
from fractions import Fraction

from skdp.accounting._budget import Budget, exp_up, proves
from skdp.accounting._composition import group_epsilon
from skdp.accounting._conversions import pure_gaussian_epsilon
from skdp.mechanisms._exact import sqrt_up

__all__ = ["summed"]

FOR_FAILURES = [Fraction(1, 2**k) for k in range(1, 13)]  # parts of delta that they may take


def summed(budgets):
    """Return the budget of fits together, with the smallest claim at the sum of their deltas.

    Notes
    -----
    **Privacy**: for fits whose number and budgets were fixed before the first result was seen;
    what each asked, and in which order, may depend on the results of others. Outside failure
    events, of probability f together, the Gaussian fits are mu-GDP with ``mu^2 = sum mu_i^2`` and
    the pure ones epsilon_0-DP, ``epsilon_0`` their sum (user guide "Accounting", theorems 1 and 2).
    So they are (epsilon, delta)-DP if ``delta_pure_gauss(epsilon) + (1 + e^epsilon) f <= delta``
    (:func:`pure_gaussian_delta`). Other fits, the pure ones too if that is less, add their epsilons
    and deltas to that; so do all of them: the claim is the smallest.

    Whoever chooses a budget, or stops, by looking at results may exceed that delta several times:
    the capacity of a PrivacyLedger, fixed beforehand, holds then too. A sum of pure fits alone
    bounds the likelihood ratio of whatever came out in any case, as the ratios multiply.
    """
    epsilon, delta = _total("epsilon", budgets), _total("delta", budgets)
    gaussian = [b for b in budgets if b.unit == "gdp"]
    pure = [b for b in budgets if b.unit == "pure" and b.delta == b.failure == 0]
    others = [b for b in budgets if b not in gaussian and b not in pure]
    if gaussian:
        kinds = (([], pure + others), (pure, others)) if pure else (([], others),)
        for beside, added in kinds:
            found = _smallest(gaussian, beside, _total("delta", gaussian))
            epsilon = min(epsilon, found + _total("epsilon", added))
    if len(gaussian) == len(budgets):
        claim = _total("amount", gaussian), _total("failure", gaussian), epsilon, delta
        if proves("gdp", *claim):
            return Budget("gdp", *claim)
    unit = "pure" if len(pure) == len(budgets) else "approx"
    return Budget(unit, epsilon, Fraction(0), epsilon, delta)


def _total(name, budgets):
    return sum((getattr(budget, name) for budget in budgets), Fraction(0))


def _smallest(gaussian, pure, delta):
    """Return an epsilon of Gaussian and pure fits together at ``delta``; infinity if none."""
    mu, failure = sqrt_up(_total("amount", gaussian)), _total("failure", gaussian)
    if not pure:
        return _fraction(group_epsilon(mu, failure, 1, _float_down(delta)))
    e, best = math.nextafter(float(_total("epsilon", pure)), math.inf), math.inf
    for part in FOR_FAILURES:
        epsilon = pure_gaussian_epsilon(e, mu, _float_down((1 - part) * delta))
        if (1 + exp_up(Fraction(epsilon))) * failure <= part * delta:
            best = min(best, epsilon)
    return _fraction(best)


def _float_down(delta):
    """Return a float that is no larger: what is claimed at delta holds at less."""
    return math.nextafter(float(delta), 0.0)


def _fraction(epsilon):
    return Fraction(epsilon) if math.isfinite(epsilon) else math.inf
