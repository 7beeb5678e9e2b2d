"""The mean of FriendlyCore, with the diameter known or searched for."""

from fractions import Fraction

from skdp.accounting import Plan, Step
from skdp.friendly._average import friendly_average
from skdp.friendly._core import MOST_UNSAMPLED, friendly_core, friendly_core_plan, row_bound
from skdp.friendly._diameter import diameter_radii, diameter_tests, find_diameter
from skdp.friendly._distance import DistancePredicate
from skdp.friendly._groups import group_bits

__all__ = ["core_and_average", "friendly_mean", "friendly_mean_plan"]

DIAMETER, SIZE = Fraction(1, 10), Fraction(3, 100)  # shares


def friendly_mean_plan(budget, *, radius=None, r_min=None, r_max=None):
    """Return the plan of :func:`friendly_mean` from public numbers; failure in equal parts.

    Parameters
    ----------
    budget : Budget
    radius, r_min, r_max : float, default=None
        As for :func:`friendly_mean`.

    Returns
    -------
    plan : Plan
    """
    steps, events = friendly_core_plan()
    events = (*events, "core size")
    steps = (*steps, Step("core size"), Step("core average"))
    if radius is None:
        tests = diameter_tests(diameter_radii(r_min, r_max))
        steps = (Step("diameter", times=tests), *steps) if tests else steps
    return Plan(budget, steps, tuple((name, budget.failure / len(events)) for name in events))


def friendly_mean(
    X,
    *,
    curator,
    radius=None,
    r_min=None,
    r_max=None,
    level=Fraction(1, 2),
    slack=Fraction(1, 10),
    most=MOST_UNSAMPLED,
):
    """Release the mean of rows most of which are within a radius of each other: FC_Avg.

    Parameters
    ----------
    X : array of shape (n, d) or ArrayRows
        Rows with NaN or infinity are as if absent.
    curator : Curator
        With the plan of :func:`friendly_mean_plan` for the same public numbers.
    radius : float, default=None
        Public: two typical rows are at most this far apart. None searches between r_min and r_max.
    r_min, r_max : float
        Public, for ``radius=None``.
    level : float or Fraction in (0, 1/2], default=1/2
        Core rows have fewer than level * n non-friends.
    slack : float or Fraction, default=1/10
        See :func:`find_diameter`.
    most : int, default=20000
        See :func:`friendly_core`.

    Returns
    -------
    mean : NoisyVector or None
        None if too few rows are friends of most others.

    Notes
    -----
    **Privacy**: a row count (1 %), a search for the diameter (10 %), a filter, a core size (3 %)
    and an average for all that remains, each a Gaussian step or proved next to its code; shares
    depend on earlier releases only.
    """
    n_up = row_bound(X, curator)
    if radius is None:
        radius = find_diameter(
            X,
            diameter_radii(r_min, r_max),
            curator,
            share=DIAMETER,
            label="diameter",
            slack=slack,
            bits=group_bits(n_up, most / 2),
        )
    return core_and_average(X, radius, curator, n_up=n_up, level=level, most=most)


def core_and_average(X, radius, curator, *, n_up, level=Fraction(1, 2), most=MOST_UNSAMPLED):
    """Release the average of the core at a known radius: the end of :func:`friendly_mean`.

    Parameters
    ----------
    X, radius, curator, level, most
        As for :func:`friendly_mean`; the radius may have been released.
    n_up : int
        What :func:`row_bound` has released.

    Returns
    -------
    mean : NoisyVector or None
    """
    core = friendly_core(X, DistancePredicate(radius), curator, n_up=n_up, level=level, most=most)
    return friendly_average(
        X,
        core,
        curator=curator,
        count_share=SIZE,
        share=curator.remaining - SIZE,
        labels=("core size", "core average"),
        event="core size",
    )
