"""The mean of FriendlyCore, with the diameter known or searched for."""

from dataclasses import dataclass
from fractions import Fraction

from skdp.accounting import Plan, Step
from skdp.friendly._average import friendly_average
from skdp.friendly._core import MOST_UNSAMPLED, friendly_core, friendly_core_plan, row_bound
from skdp.friendly._diameter import diameter_radii, diameter_tests, find_diameter
from skdp.friendly._groups import group_bits
from skdp.kernel.pairs._distance import DistancePredicate

__all__ = ["RadiusGrid", "core_average", "friendly_mean", "friendly_mean_plan"]

DIAMETER, SIZE = Fraction(1, 10), Fraction(3, 100)  # shares
AVERAGE = Step("core size"), Step("core place"), Step("core average")


@dataclass(frozen=True)
class RadiusGrid:
    """A search for the radius of friends among public candidates: see :func:`find_diameter`.

    Attributes
    ----------
    r_min, r_max : float
        Public: the first candidate, and what the last is not below.
    slack : float or Fraction, default=1/10
        About the part of pairs that need not be friends.

    See Also
    --------
    friendly_mean, find_diameter

    Notes
    -----
    **Privacy**: candidates are public; the search is a planned, paid step, see
    :func:`find_diameter`.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.friendly import RadiusGrid, friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=RadiusGrid(0.01, 100.0))
    >>> [step.label for step in plan.steps]
    ['diameter', 'core row count', 'core filter', 'core size', 'core place', 'core average']
    """

    r_min: float
    r_max: float
    slack: Fraction = Fraction(1, 10)

    @property
    def steps(self):
        """The planned steps of the search."""
        tests = diameter_tests(diameter_radii(self.r_min, self.r_max))
        return (Step("diameter", times=tests),) if tests else ()

    def find(self, X, curator, *, n_up, most):
        """Release a radius."""
        return find_diameter(
            X,
            diameter_radii(self.r_min, self.r_max),
            curator,
            share=DIAMETER,
            label="diameter",
            slack=self.slack,
            bits=group_bits(n_up, most / 2),
        )


def friendly_mean_plan(budget, *, radius):
    """Return the plan of :func:`friendly_mean` from public numbers; failure in equal parts.

    Parameters
    ----------
    budget : Budget
    radius : float or object
        As for :func:`friendly_mean`.

    Returns
    -------
    plan : Plan

    See Also
    --------
    friendly_mean, RadiusGrid

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.friendly import friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=10.0)
    >>> [step.label for step in plan.steps]
    ['core row count', 'core filter', 'core size', 'core place', 'core average']
    """
    steps, events = friendly_core_plan()
    events = (*events, "core size")
    steps = (*getattr(radius, "steps", ()), *steps, *AVERAGE)
    return Plan(budget, steps, tuple((name, budget.failure / len(events)) for name in events))


def friendly_mean(X, *, curator, radius, level=Fraction(1, 2), most=MOST_UNSAMPLED):
    """Release the mean of rows most of which are within a radius of each other: FC_Avg.

    Parameters
    ----------
    X : array of shape (n, d) or ArrayRows
        Rows with NaN or infinity are as if absent.
    curator : Curator
        With the plan of :func:`friendly_mean_plan` for the same radius.
    radius : float or object
        Public: two typical rows are at most this far apart. Or a search for it with ``steps`` and
        ``find(X, curator, n_up=, most=)``, which releases a radius or None: :class:`RadiusGrid`.
    level : float, Fraction in (0, 1/2] or callable, default=1/2
        Core rows have fewer than level * n non-friends. A callable is told the released bound on
        the number of rows.
    most : int, default=20000
        See :func:`friendly_core`.

    Returns
    -------
    mean : NoisyVector or None
        None if too few rows are friends of most others, or no radius was found.

    See Also
    --------
    friendly_mean_plan, RadiusGrid, skdp.PrivateMean

    Notes
    -----
    **Privacy**: a row count (1 %), a search for the diameter (10 %), a filter, a core size (3 %),
    a place and an average for all that remains, each a Gaussian step or proved next to its code;
    shares depend on earlier releases only.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget
    >>> from skdp.friendly import friendly_mean, friendly_mean_plan
    >>> plan = friendly_mean_plan(Budget.gaussian(2.0, 1e-6), radius=10.0)
    >>> X = np.random.default_rng(0).normal(loc=1e6, size=(2000, 2))
    >>> curator = CannedCurator(plan, "noise", seed=0)
    >>> mean = friendly_mean(X, curator=curator, radius=10.0)
    >>> bool(np.abs(mean.value - 1e6).max() < 0.5)
    True
    """
    n_up = row_bound(X, curator)
    if hasattr(radius, "find"):
        radius = radius.find(X, curator, n_up=n_up, most=most)
    if radius is None:
        return None
    level = level(n_up) if callable(level) else level
    near = DistancePredicate(radius)
    core = friendly_core(X, near, curator, n_up=n_up, level=level, most=most)
    return core_average(X, core, curator)


def core_average(X, core, curator):
    """Release the average of a core with all that is left: :func:`friendly_average`."""
    return friendly_average(
        X,
        core,
        curator=curator,
        count_share=SIZE,
        share=curator.remaining - SIZE,
        labels=tuple(step.label for step in AVERAGE),
        event="core size",
    )
