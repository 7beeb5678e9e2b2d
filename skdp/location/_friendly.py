"""FriendlyCore's mean without bounds: the diameter from a ring, then the core and its average."""

import math
from fractions import Fraction

import numpy as np

from skdp.accounting import Plan, Step
from skdp.friendly import (
    DistancePredicate,
    diameter_tests,
    find_diameter,
    friendly_mean,
    friendly_mean_plan,
)
from skdp.friendly._average import AVERAGE, core_average
from skdp.kernel._table import Table, annex
from skdp.location._locate import RING, ring_scale, scale_sample_size
from skdp.location._release import NOTHING, MeanRelease

BASE, BELOW, ABOVE = 1.5, 4, 3  # candidates for the diameter around the scale of the ring
TESTED = 5000.0  # rows
DIAMETER = Fraction(1, 10)  # share
OUT_OF_REACH = "nothing found: a column lies too many friend radii off zero; location_ is a start"
SMALLEST, LARGEST = 2.0**-990, 2.0**990  # candidates around it are radii of a predicate


def friend_radius_steps():
    """Return the steps of :func:`find_friend_radius`."""
    tests = diameter_tests(range(BELOW + ABOVE + 1))
    return RING, Step("diameter", at_most=DIAMETER, times=tests)


def find_friend_radius(rows, curator, *, n_rows):
    """Release a radius within which most pairs of rows are friends, without bounds.

    Notes
    -----
    **Privacy**: the scale of a ring of random differences (:func:`ring_scale`), then a bisection of
    8 radii around it (:func:`skdp.friendly.find_diameter`); both on samples by the coins of rows.
    """
    size = scale_sample_size(curator.budget.mu, rows.n_features)
    sample = Table(rows, curator).sample(size, n_rows)
    scale = ring_scale(sample)
    if scale is None:
        return None
    scale = min(max(scale, SMALLEST), LARGEST)
    radii = [scale * BASE**i for i in range(-BELOW, ABOVE + 1)]
    tested, _ = annex(sample.fewer(TESTED))  # the mean number of friends is no sum over rows
    return find_diameter(tested, radii, curator, share=DIAMETER, label="diameter")


class RingSearch:
    """The search of :func:`find_friend_radius`, for :func:`skdp.friendly.friendly_mean`."""

    steps = friend_radius_steps()

    @staticmethod
    def find(rows, curator, *, n_up, most):
        """Release a radius, or None."""
        return find_friend_radius(rows, curator, n_rows=_at_least_two(n_up))


def friendly_location_plan(budget):
    """Return the plan of :func:`friendly_location`."""
    return friendly_mean_plan(budget, radius=RingSearch)


def friendly_location(table, *, diameter=None):
    """Release the mean of the rows as FriendlyCore does.

    Notes
    -----
    **Privacy**: that of :func:`skdp.friendly.friendly_mean`, with the diameter as released by
    :func:`find_friend_radius`; the level of the core is a function of the released row bound.
    """
    rows, curator = annex(table)  # rows are in the core or not by noise of their own
    amount = float(table.budget.amount)
    mean = friendly_mean(
        rows,
        curator=curator,
        radius=diameter or RingSearch,
        level=lambda n_up: core_level(_at_least_two(n_up) * amount),
    )
    return _released(mean, table)


def core_location_plan(budget):
    """Return the plan of :func:`core_location`."""
    events = (("core size", budget.failure),)
    return Plan(budget, AVERAGE, events)


def core_location(table, *, core):
    """Release the mean of a core that a filter before has made.

    Notes
    -----
    **Privacy**: :func:`skdp.friendly.friendly_average`, which is private for neighbours whose cores
    are friends in their union: what the filter before has paid for.
    """
    mean = None
    if core.predicate is not None:
        rows, curator = annex(table)  # the core is a Local
        mean = core_average(rows, core, curator)
    return _released(mean, table)


def _released(mean, table):
    if mean is None:
        table.doubt(NOTHING)
        return MeanRelease.unknown(np.zeros(table.n_features))
    known = np.isfinite(mean.value)  # at the largest radii noise may leave the floats
    table.doubt(OUT_OF_REACH, columns=~known)
    told = MeanRelease.unknown(np.where(known, mean.value, 0.0))
    told.noise_scale[known], told.clipping_bound[:, known] = mean.noise_scale, 0.0
    return told


def _at_least_two(n_up):
    return max(float(n_up), 2.0)


def core_level(strength):
    """Return the level of a core that gives least noise: rows times mu^2 tell what is affordable.

    Noise is in proportion to 1 + level, and the filter's share to 1 / level^2.
    """

    def noise(level):
        share = max(60 / (strength * level * level), 0.03)
        return (1 + level) / math.sqrt(1 - share) if share <= 0.5 else 2 + level

    return min((Fraction(k, 10) for k in (5, 4, 3)), key=lambda level: noise(float(level)))


def check_friendly(mean, diameter):
    """Raise ValueError for parameters that the average of a core cannot honour."""
    if mean.center is not None or not isinstance(mean.scale, str):
        raise ValueError(
            'method="friendly" takes neither center nor scale: it finds the rows by their '
            "distances. Leave them out, or divide the columns by public scales first."
        )
    if mean.trim:
        raise ValueError(
            'method="friendly" takes no trim: its core leaves out the rows that are far from '
            'most others as it is. Leave trim out, or use method="auto".'
        )
    if mean.radius is not None and mean.diameter is not None:
        raise ValueError(
            'method="friendly" takes a diameter, or a radius, which stands for half of it, and '
            "both were given. Give one."
        )
    if diameter is not None:
        DistancePredicate(diameter)
