"""What any guarantee costs a ledger that composes Gaussian fits, for one step or for several.

*Nearly Gaussian* with (mu, f) are two laws, each within total variation f of one of a pair that is
mu-GDP in both directions. That is what theorem 4 of the user guide "Accounting" adds up; what
stands here is proved by its theorems 5 and 6.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from skdp.accounting._budget import exp_up
from skdp.accounting._composition import group_privacy
from skdp.accounting._conversions import zcdp_delta
from skdp.mechanisms._exact import sqrt_down

MARGIN = 1e-9  # relative, of corners and of quantiles: far more than their rounding errors
EPSILONS = np.geomspace(1 / 8, 2, 24)  # where a curve is read, in parts of the claimed epsilon


def compose_basic(epsilon, delta, steps):
    """Return (epsilon, delta) of several steps, exact: ``group_privacy`` in Fractions."""
    more = sum(exp_up(j * epsilon) for j in range(1, steps)) if delta else 0
    return steps * epsilon, delta * (1 + more)


def lines_of(budget, steps=1):
    """Return pairs (epsilon, delta), floats, all of which a fit keeps at once, for several steps.

    The claim is one. A part of zCDP has a curve, and so has a search (``budget.curve``).
    """
    pairs = [(_float_up(budget.epsilon), _float_up(budget.delta)), *budget.curve]
    if budget.measure in ("zcdp", "mixed"):
        rho = _float_up(budget.amount)
        pairs += curve_at(float(budget.epsilon), budget.failure, lambda e: zcdp_delta(rho, e))
    return [group_privacy(epsilon, delta, steps) for epsilon, delta in pairs if delta < 1]


def curve_at(epsilon, failure, delta):
    """Return pairs (epsilon_i, delta_i) of a curve around the epsilon of a claim."""
    told = ((e, Fraction(delta(e)) + (1 + exp_up(e)) * failure) for e in epsilon * EPSILONS)
    return tuple((float(e), _float_up(d)) for e, d in told if d < 1)


def gaussian_price(lines, amount, failure):
    """Return (mu^2, f) such that whoever keeps all lines is nearly Gaussian with these.

    Notes
    -----
    **Privacy**: theorem 5. Laws whose events have ``P(S) <= f + Phi(Phi^-1(Q(S) + f) + mu)`` are
    nearly Gaussian with (mu, f). The left side lies below the least of the lines and of their
    mirror images, a concave polygon; the right side is concave, so the corners decide.
    """
    q, p = _corners([(epsilon, delta) for epsilon, delta in lines if epsilon < 700])
    low, high = 0.0, sqrt_down(amount)

    def covers(mu):
        part = float(failure * Fraction(mu) ** 2 / amount) * (1 - MARGIN)
        with np.errstate(all="ignore"):
            needed = ndtri(np.maximum(p - part, 0)) - ndtri(np.minimum(q + part, 1))
        return bool(np.all(needed * (1 + MARGIN) + MARGIN * mu <= mu))

    if not covers(high):
        return None
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    price = Fraction(high) ** 2
    return price, failure * price / amount


def _corners(lines):
    """Return corners (q, p) of the polygon above ``P(S)`` as a function of ``Q(S)``, left half.

    ``P <= e^eps Q + delta``, and the same of complements with the tables changed:
    ``P <= e^-eps Q + 1 - e^-eps (1 - delta)``.
    """
    told = [(math.exp(e), d) for e, d in [*lines, (0.0, 1.0)]]
    told += [(1 / g, 1 - (1 - d) / g) for g, d in told]
    hull = []
    for g, d in sorted(set(told), reverse=True):
        while hull and (d <= hull[-1][1] or (len(hull) > 1 and _line_is_useful(hull, g, d))):
            hull.pop()
        hull.append((g, d))
    q = np.array([0.0, *(_line_intersection(*a, *b) for a, b in pairwise(hull))])
    p = np.array([hull[0][1], *(g * x + d for (g, d), x in zip(hull, q[1:], strict=False))])
    left = q <= 1 - p + MARGIN
    return q[left] * (1 - MARGIN), p[left] * (1 + MARGIN)


def _line_intersection(g, d, slope, height):
    return (height - d) / (g - slope)


def _line_is_useful(hull, g, d):
    """Return whether the last line is nowhere the least once (g, d) is there."""
    return _line_intersection(*hull[-1], g, d) <= _line_intersection(*hull[-2], *hull[-1])


def _float_up(q):
    x = float(q)
    return x if Fraction(x) >= q else math.nextafter(x, math.inf)
