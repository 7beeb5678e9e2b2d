"""Better marginals from the same release: free of privacy cost, chosen by estimated risk."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.marginals._cones import LARGEST_ORDER, moments_order
from skdp.marginals._pairs import PairSpectrum, all_pairs, eigenvalue_debiasing, spectral_shrinkage
from skdp.marginals._projection import Cones, Elliptope, Polytope, Simplices
from skdp.marginals._shrink import shrunk
from skdp.utils._public import public_words

__all__ = [
    "HOW",
    "Processed",
    "has_small_domain",
    "nearest_joint",
    "postprocess",
    "postprocessing_methods",
    "require_current",
    "require_way",
]

HOW = ("auto", "none", "james-stein", "projection", "spectral", "spiked", "exact")
STEP = 0.05  # of the difference quotient, in standard deviations
SMALL_DOMAIN = 4096  # cells
FAST = 40  # attributes up to which all candidates are tried on sets of three or more
REASONS = {
    "james-stein": "they have no attributes",
    "projection": "they have no attributes",
    "spectral": "it needs all pairs of the attributes, of at most 600 levels together",
    "spiked": "it needs all pairs of columns of two levels, and no larger tables",
    "exact": "the whole domain has more than 4096 combinations of levels",
}

PUBLISHED = {
    "boosting": "error='worst' promises a smaller largest error at the same price. Boosting as it "
    "was published is the function skdp.marginals.published.boosted_answers",
    "frank-wolfe": "postprocess='projection' is nearer and faster. Frank-Wolfe as it was published "
    "is the function skdp.marginals.published.published_projection, of measurement_",
}


@dataclass(frozen=True, eq=False)
class Processed:
    """Residuals after post-processing."""

    values: np.ndarray  # shape (n_coordinates,): residuals, in rows
    risk: float  # estimate of the loss, the weighted squared error of all cells of the workload
    chosen: str  # how they were made
    # ndarray of shape levels or None: a table of nonnegative cells over the whole domain that has
    # these residuals
    joint: np.ndarray | None = None


def postprocess(measurement, how="auto", *, nonnegative=False):
    """Return residuals nearer to the truth than released ones, on average.

    Notes
    -----
    The loss of a rule x of ``y = theta + z``, z with standard deviations s, is estimated
    without bias by Stein's identity, ``sum w ((x - y)^2 - s^2 + 2 s^2 D x)``. The divergence is
    found from one more run, on ``y + h s b`` with h = 0.05 and b of entries -1 and 1: as ``E b b' =
    1``, ``sum w s b (x(y + h s b) - x(y)) / h`` has the right mean. b is a public sequence, from a
    hash, and has nothing to do with the noise. The least of a few estimates is a little
    optimistic.

    **Privacy**: post-processing of a release; free.

    References
    ----------
    .. [1] Dwork, Nikolov, Talwar. "Efficient algorithms for privately releasing marginals via
       convex relaxations". Discrete & Computational Geometry 2015.
    """
    candidates = require_way(measurement, how)
    if how == "auto":
        names = [name for name in candidates if not _left_out(measurement.layout, name)]
        made = min((candidates[name]() for name in names), key=lambda found: found.risk)
    else:
        made = candidates[how]()
    if nonnegative and made.joint is None:
        return replace(made, values=_nonnegative(measurement)(made.values))
    return made


def postprocessing_methods(m):
    """Return functions of no arguments that make a Processed, by name, the safest first."""
    layout, found = m.layout, {"none": lambda: _raw(m)}
    if len(layout.subsets) == 1:
        return found
    found["james-stein"] = lambda: Processed(*shrunk(m), "james-stein")
    found["projection"] = lambda: _judged(m, _body(m), "projection")
    if all_pairs(layout) and moments_order(layout) <= LARGEST_ORDER:
        found["spectral"] = lambda: _judged(m, _Spectral(m, eigenvalue_debiasing), "spectral")
        if layout.binary and len(layout.subsets) == 3:
            found["spiked"] = lambda: _judged(m, _Spectral(m, spectral_shrinkage), "spiked")
    if has_small_domain(layout):
        found["exact"] = lambda: _judged(m, Polytope(m), "exact")
    return found


def require_current(error, how):
    """Raise ValueError for a parameter that is a function by now."""
    for value in (error, how):
        if value in PUBLISHED:
            raise ValueError(f"{value!r} is no longer a parameter: {PUBLISHED[value]}.")


def require_way(m, how):
    """Return :func:`postprocessing_methods`, or raise ValueError if ``how`` is none of them."""
    candidates = postprocessing_methods(m)
    if how != "auto" and how not in candidates:
        raise ValueError(
            f"postprocess={how!r} is not possible for this workload: {REASONS.get(how)}. "
            f"Pass one of {('auto', *candidates)}."
        )
    return candidates


def has_small_domain(layout):
    """Return whether all combinations of levels fit into one table."""
    return math.prod(layout.levels) <= SMALL_DOMAIN


def nearest_joint(m, values):
    """Return the table of a small domain, nonnegative, whose residuals are nearest to given ones.

    ``m`` is the Measurement, ``values`` has shape (n_coordinates,), the table one axis a column.
    """
    body = Polytope(m)
    body(values)
    return body.joint


def _left_out(layout, name):
    """Whether "auto" passes over a candidate: where it takes long and hardly ever wins."""
    slow = len(layout.subsets) > 3 and len(layout.subsets[1]) > FAST
    return name == "projection" and (slow or has_small_domain(layout))


def _body(m):
    """Return the projection onto the body that ``how="projection"`` stands for."""
    if Elliptope.fits(m.layout):
        return Elliptope(m)
    return Simplices(m) if len(m.layout.subsets) == 2 else Cones(m)


def _nonnegative(m):
    """Return the projection onto nonnegative tables, in the metric of the loss."""
    return Simplices(m) if len(m.layout.subsets) == 2 else Cones(m, nonnegative=True)


class _Spectral:
    """Corrected eigenvalues of pairs, shrunk larger sets, then a projection."""

    def __init__(self, m, rule):
        self.m, self.pairs = m, PairSpectrum(m.layout, m.sd, rule)
        self.body = Polytope(m) if has_small_domain(m.layout) else _body(m)

    def __call__(self, values):
        known = self.pairs(values)
        return self.body(shrunk(replace(self.m, values=values), known)[0])


def _raw(m):
    risk = m.layout.spread(m.weights) @ np.square(m.layout.spread(m.sd))
    return Processed(m.values, float(risk), "none")


def _judged(m, rule, name):
    """Apply a rule and estimate its loss by Stein's identity, the divergence from one probe."""
    weight, sd = m.layout.spread(m.weights), m.layout.spread(m.sd)
    value = rule(m.values)
    joint = _joint(rule)
    words = public_words(-(-value.size // 64), "marginals")
    probe = sd * (np.unpackbits(words.view(np.uint8))[: value.size] * 2.0 - 1.0)
    slope = (rule(m.values + STEP * probe) - value) / STEP
    risk = weight @ (np.square(value - m.values) - np.square(sd) + 2 * probe * slope)
    return Processed(value, float(risk), name, joint)


def _joint(rule):
    """Return the joint table that a rule has made with its last answer, or None."""
    return getattr(getattr(rule, "body", rule), "joint", None)
