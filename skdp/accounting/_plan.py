"""The plan of a fit, made from parameters alone, and parts of a budget under one total."""

from dataclasses import dataclass, field
from fractions import Fraction

from skdp.accounting._budget import FAILURE_PART, Budget, as_delta, as_epsilon, exp_up
from skdp.accounting._composition import group_epsilon
from skdp.accounting._conversions import pure_gaussian_delta, zcdp_epsilon
from skdp.exceptions import PlanError
from skdp.mechanisms._exact import exact, sqrt_down, sqrt_up
from skdp.show._report import PlanView
from skdp.utils._renamed import Renamed, keeps_old_names

SMALLEST = Fraction(1, 10**240)  # noise for less would leave the range of floats


def mixed_budget(epsilon, delta, *, gaussian, pure):
    """Return the budget of steps some of which are Gaussian and some pure.

    Parameters
    ----------
    epsilon : float, > 0
    delta : float, in (0, 1)
    gaussian : Fraction
        Share of all Gaussian steps together.
    pure : sequence of Fraction
        Shares of the pure steps.

    Returns
    -------
    budget : Budget
        Of unit ``"mixed"`` and amount R: a share s stands for ``mu^2 = 2 s R`` of a Gaussian step
        and for ``epsilon = sqrt(2 s R)`` of a pure one, as in zCDP.

    See Also
    --------
    Budget, part_of, pure_gaussian_delta

    Notes
    -----
    **Privacy**: shares are public and fixed before the fit. The Gaussian steps together are
    mu-GDP, the pure ones together epsilon_0-DP, whatever the order and however each depends on
    earlier releases. All together are R-zCDP too, whatever their shares, as those sum to at most
    one. R is the largest at which the curve of the pair, :func:`pure_gaussian_delta`, or zCDP,
    which is better for many pure steps, stays below .95 delta, up to 2^-40.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skdp.accounting import mixed_budget
    >>> half = Fraction(1, 2)
    >>> budget = mixed_budget(1.0, 1e-6, gaussian=half, pure=[half])
    >>> budget.measure, float(budget.epsilon)
    ('mixed', 1.0)
    """
    epsilon, delta = as_epsilon(epsilon), as_delta(delta)
    if delta == 0:
        raise ValueError("mixed plans need 0 < delta < 1, got delta=0. Pass for instance 1e-6.")
    fits = lambda amount: _fits(amount, gaussian, pure, epsilon, delta)  # noqa: E731
    low, high = Fraction(0), Fraction(1)
    while fits(high):
        low, high = high, 4 * high
    while high - low > high / 2**40:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Budget("mixed", low, FAILURE_PART * delta / (1 + exp_up(epsilon)), epsilon, delta)


def _fits(amount, gaussian, pure, epsilon, delta):
    """Return whether such steps stay below .95 delta at the amount R: their curve, or R-zCDP."""
    total = sum(sqrt_up(2 * exact(share) * amount) for share in pure) * (1 + 1e-14)
    curve = pure_gaussian_delta(total, sqrt_up(2 * exact(gaussian) * amount), float(epsilon))
    goal = float((1 - FAILURE_PART) * delta)
    return curve <= goal or zcdp_epsilon(float(amount), goal) <= epsilon


def is_affordable(budget, steps):
    """Return whether a mixed budget pays for shares as large as those of a plan's children.

    One that is a part of zCDP pays for all: its claim is that of R-zCDP.
    """
    named = [s for s in steps if s.unit]
    tops = [s for s in named if not any(s.label.startswith(f"{c.label}/") for c in named)]
    gaussian = sum(exact(s.at_most) * int(s.times) for s in tops if s.unit == "gdp")
    pure = [exact(s.at_most) for s in tops if s.unit != "gdp" for _ in range(int(s.times))]
    return _fits(budget.amount, gaussian, pure, budget.epsilon, budget.delta)


def part_of(whole, share, unit):
    """Return the budget in ``unit`` that a share of ``whole`` pays for.

    Parameters
    ----------
    whole : Budget
    share : Fraction
    unit : {"gdp", "zcdp", "pure", "mixed"}
        That of ``whole``, or any if ``whole`` is zCDP, or gdp or pure if it is mixed.

    Returns
    -------
    budget : Budget
        With the (epsilon, delta) that it stands for by itself, delta in proportion to the share.

    See Also
    --------
    Budget, mixed_budget

    Notes
    -----
    mu-GDP implies mu^2/2-zCDP, and pure epsilon-DP implies epsilon^2/2-zCDP (Bun, Steinke 2016,
    Propositions 1.4 and 1.6), so rho pays for mu^2 = 2 rho and for epsilon = sqrt(2 rho). A mixed
    budget of amount R, whose share s stands for either of these with rho = s R, is R-zCDP.

    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skdp.accounting import Budget, part_of
    >>> float(part_of(Budget.pure(1.0), Fraction(1, 4), "pure").epsilon)
    0.25
    """
    share = exact(share, name="share")
    amount = whole.amount * share
    if unit not in (whole.measure, "mixed"):
        amount = Fraction(sqrt_down(2 * amount)) if unit == "pure" else 2 * amount
    failure, delta = whole.failure * share, whole.delta * share
    if unit == "pure":
        failure, delta, epsilon = Fraction(0), Fraction(0), amount
    elif unit == "gdp":
        epsilon = group_epsilon(sqrt_up(amount), failure, 1, float(delta))
    else:
        epsilon = zcdp_epsilon(float(amount), float((1 - FAILURE_PART) * delta))
    part = Budget(unit, amount, failure, Fraction(epsilon), delta)
    if amount < SMALLEST or convert_cost(part, whole.measure) > whole.amount * share:
        raise PlanError(f"a share of a {whole.measure} budget cannot pay for a {unit} budget.")
    return part


def convert_cost(budget, unit):
    """Return what a budget costs in another unit; infinity where there is no price."""
    if budget.measure == unit or (budget.measure, unit) == ("mixed", "zcdp"):
        return budget.amount
    if unit in ("zcdp", "mixed"):
        if budget.measure == "gdp":
            return budget.amount / 2
        if budget.measure == "pure":
            return budget.amount**2 / 2
    return float("inf")


MECHANISMS = "gaussian", "laplace", "select", "matrix", "child", "repeat"


@dataclass(frozen=True)
class Step:
    """One kind of release: its label, its mechanism and the largest part it may take.

    Parameters
    ----------
    label : str
    mechanism : {"gaussian", "laplace", "select", "matrix", "child", "repeat"}
    at_most : float or Fraction, default=1
        Largest share of the budget for one such release, > 0; a float is taken exactly.
    times : int, default=1
        Largest number of such releases.
    unit : {"gdp", "zcdp", "pure"}, default=None
        Of the budget of a child. None is that of the plan; a mixed plan needs one that it names.
    of : tuple of type, default=()
        The statistics of rows that are released so: a Table refuses others. Empty: any.

    See Also
    --------
    Plan, skdp.base.Curator

    Notes
    -----
    **Privacy**: made of parameters alone; a Curator refuses releases that no step plans.

    Examples
    --------
    >>> from skdp.accounting import Step
    >>> step = Step("count", "laplace", at_most=0.25, times=2)
    >>> step.label, step.times
    ('count', 2)
    """

    label: str
    mechanism: str = "gaussian"
    at_most: float | Fraction = 1
    times: int = 1
    unit: str | None = None
    of: tuple = field(default=(), repr=False)

    def __post_init__(self):
        most, times = exact(self.at_most, name="at_most"), exact(self.times, name="times")
        if not most > 0 or times < 0 or times.denominator != 1:
            raise ValueError("a step has at_most > 0 and an integer times >= 0. Correct its plan.")
        if self.mechanism not in MECHANISMS:
            raise ValueError(
                f"the mechanism of a step must be one of {', '.join(MECHANISMS)}. Got "
                f"{self.mechanism!r}."
            )


@keeps_old_names
@dataclass(frozen=True)
class Plan(PlanView):
    """A budget and the releases that may share it; the shares of a run sum to at most one.

    Parameters
    ----------
    budget : Budget
    steps : tuple of Step
    failure_events : tuple of (str, Fraction)
        Failure events and their probabilities, which sum to at most ``budget.failure``.
    assumptions : tuple of str
        Public facts that a reader of the report must know.
    problems : tuple of str
        Why this plan cannot be carried out, with the ways out.
    privacy_unit : {"row", "group"}, default="row"
        What neighbouring tables differ in: one row, or all rows with one entry of ``groups``.

    See Also
    --------
    Budget, Step, skdp.base.Curator

    Notes
    -----
    **Privacy**: made of parameters alone, before any row is read, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import Budget, Plan, Step
    >>> plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("count", at_most=0.1), Step("sum")))
    >>> [step.label for step in plan.steps], plan.problems
    (['count', 'sum'], ())
    """

    budget: Budget
    steps: tuple
    failure_events: tuple = field(default=(), repr=False)  # may have thousands of digits
    assumptions: tuple = ()
    problems: tuple = ()
    privacy_unit: str = "row"
    events = Renamed("failure_events")
    protects = Renamed("privacy_unit")

    def __post_init__(self):
        failing = [label for label, _ in self.failure_events]
        for labels in ([step.label for step in self.steps], failing):
            if len(set(labels)) < len(labels):
                twice = sorted({label for label in labels if labels.count(label) > 1})
                raise ValueError(f"the labels of a plan must differ. Got {twice} more than once.")
        chances = [exact(p, name="a probability") for _, p in self.failure_events]
        if not all(p > 0 for p in chances):
            raise ValueError("the failure events of a plan must have positive probabilities.")
        total = sum(chances, Fraction(0))
        if total > self.budget.failure:
            raise ValueError(
                f"the failure events of a plan may have a probability of "
                f"{float(self.budget.failure):.3g} together, that of the budget. They exceed it "
                f"with {float(total):.3g}: lower them."
            )
        mixed = self.budget.measure == "mixed" and not self.problems
        if mixed and not is_affordable(self.budget, self.steps):
            raise PlanError(
                "a mixed budget was made for other shares than those of this plan: mixed_budget "
                "takes the shares of its Gaussian and of its pure children."
            )


def release_mechanism(budget):
    """Return "laplace" for a pure budget, else "gaussian": the kind of step to plan."""
    return "laplace" if budget.measure == "pure" else "gaussian"
