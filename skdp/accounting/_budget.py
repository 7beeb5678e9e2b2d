"""The budget of one fit: an exact amount, the guarantee it stands for, and its cost in a ledger.

*Nearly Gaussian* with (mu, f) are two laws, each within total variation f of one of a pair that is
mu-GDP in both directions. That is what theorem 4 of the user guide "Accounting" adds up; what
stands here is proved by its theorems 5 and 6.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from skdp.accounting._composition import group_privacy
from skdp.accounting._conversions import zcdp_delta, zcdp_rho
from skdp.accounting._gaussian import gaussian_mu, log_delta_up
from skdp.mechanisms._exact import as_fraction, exact, is_exact, log_of, sqrt_down, sqrt_up
from skdp.utils._renamed import Renamed, keeps_old_names

FAILURE_PART = Fraction(1, 20)
SMALLEST_MU = 2.0**-30
EPSILONS = Fraction(1, 10**60), 10**6
MEASURES = ("gdp", "zcdp", "pure", "mixed", "approx")
MOST = 10**300  # within the range of floats, sums too
ROUNDING = 2.0**-30  # part of delta: more than all rounding of a check, less than anybody's claim

MARGIN = 1e-9  # relative, of corners and of quantiles: far more than their rounding errors
PARTS = np.geomspace(1 / 8, 2, 24)  # where a curve is read, in parts of the claimed epsilon


@keeps_old_names  # pickles and copies are checked as well
@dataclass(frozen=True)
class Budget:
    """What a fit may spend, an exact rational in the privacy measure in which releases add up.

    Parameters
    ----------
    measure : {"gdp", "zcdp", "pure", "mixed", "approx"}
        ``"gdp"``: every release is Gaussian and costs (sensitivity / sigma)^2; ``"zcdp"``: rho;
        ``"pure"``: epsilon; ``"mixed"``: steps of which some are Gaussian and some pure;
        ``"approx"``: a sum of fits of different kinds, (epsilon, delta).
    amount : Fraction
        mu^2, rho or epsilon.
    failure : Fraction
        Probability, per neighbouring pair and on either side, of the events outside which the
        declared sensitivities hold.
    epsilon, delta : Fraction
        The guarantee claimed for adding or removing one row. It must follow from ``amount`` and
        ``failure``, see the notes.
    curve : tuple of (float, float), default=()
        For ``"approx"`` further pairs (epsilon, delta) that are proved as well.

    See Also
    --------
    Plan, mixed_budget, part_of

    Notes
    -----
    For ``"gdp"`` the claim is ``delta_gauss(mu, epsilon) + (1 + e^epsilon) * failure <= delta``
    (coupling argument, user guide "Accounting", theorem 1), for ``"zcdp"`` the same with
    ``zcdp_delta``, and for ``"pure"`` and ``"approx"`` it is ``amount <= epsilon`` with
    ``(1 + e^epsilon) * failure <= delta``. That is checked whenever a budget is made, copied or
    unpickled, up to a part 2^-30 of delta; a smaller amount or failure, as in a child, claims less
    than it could. The claim of ``"mixed"`` depends on shares: there the failure is checked, and a
    Plan checks the amount.

    **Privacy**: computed from public numbers alone; the claim holds for releases that go through a
    Curator with this budget.

    Examples
    --------
    >>> from skdp.accounting import Budget
    >>> Budget.pure(0.5).measure
    'pure'
    >>> Budget.gaussian(1.0, 1e-6).mu < Budget.gaussian(2.0, 1e-6).mu
    True
    """

    measure: str
    amount: Fraction
    failure: Fraction
    epsilon: Fraction
    delta: Fraction
    curve: tuple = ()
    unit = Renamed("measure")

    def __post_init__(self):
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {MEASURES}. Got {self.measure!r} instead.")
        numbers = self.amount, self.failure, self.epsilon, self.delta
        allowed = all(map(is_exact, numbers)) and min(numbers) >= 0 and self.amount > 0
        if not allowed or max(self.epsilon, self.delta) > MOST:
            raise ValueError(
                "a budget needs a positive Fraction amount, and a Fraction failure, epsilon and "
                "delta from 0 to 1e300. Make it with Budget.gaussian, Budget.zcdp or Budget.pure."
            )
        if not proves(self.measure, *numbers) or (self.curve and self.measure != "approx"):
            raise ValueError(
                f"a budget of measure {self.measure!r} claims (epsilon={float(self.epsilon):g}, "
                f"delta={float(self.delta):g}), which does not follow from its amount and failure. "
                "Make it with Budget.gaussian, Budget.zcdp or Budget.pure, which compute both."
            )

    def __repr__(self):
        return (
            f"<Budget {self.measure}: epsilon={float(self.epsilon):g}, delta={float(self.delta):g}>"
        )

    @classmethod
    def gaussian(cls, epsilon, delta):
        """Calibrate mu at (epsilon, .95 delta); .05 delta pays for failure events.

        Parameters
        ----------
        epsilon : float, > 0
        delta : float, in (0, 1)

        Returns
        -------
        budget : Budget
        """
        epsilon, delta = as_epsilon(epsilon), as_delta(delta)
        if delta == 0:
            raise ValueError(
                "delta=0 was given, but this estimator adds Gaussian noise, which needs "
                "0 < delta < 1. Pass a delta well below 1 / (number of rows), for instance 1e-6."
            )
        failure = FAILURE_PART * delta / (1 + exp_up(epsilon))
        mu = gaussian_mu(float(epsilon), float((1 - FAILURE_PART) * delta))
        if mu < SMALLEST_MU:
            raise ValueError(
                f"epsilon={float(epsilon):g} with delta={float(delta):g} is too small to answer "
                "anything: the noise would exceed 2^30 times a row. Pass a larger epsilon."
            )
        return cls("gdp", Fraction(mu) ** 2, failure, epsilon, delta)

    @classmethod
    def zcdp(cls, epsilon, delta):
        """Calibrate rho at (epsilon, .95 delta), for plans that mix kinds of noise."""
        epsilon, delta = as_epsilon(epsilon), as_delta(delta)
        if delta == 0:
            raise ValueError("zCDP needs 0 < delta < 1, got delta=0. Pass for instance delta=1e-6.")
        failure = FAILURE_PART * delta / (1 + exp_up(epsilon))
        rho = zcdp_rho(float(epsilon), float((1 - FAILURE_PART) * delta))
        return cls("zcdp", Fraction(rho), failure, epsilon, delta)

    @classmethod
    def pure(cls, epsilon):
        """Pure differential privacy: the amount is epsilon itself."""
        epsilon = as_epsilon(epsilon)
        return cls("pure", epsilon, Fraction(0), epsilon, Fraction(0))

    def with_failure(self, failure):
        """Return the same budget with a smaller failure probability."""
        failure = exact(failure, name="failure")
        if not 0 <= failure <= self.failure:
            raise ValueError(
                "the failure probability of a budget can only be lowered. Got "
                f"{float(failure):g}, it is {float(self.failure):g}."
            )
        return replace(self, failure=failure)

    @property
    def mu(self):
        """The GDP parameter sqrt(amount), rounded up (measure "gdp" only)."""
        return sqrt_up(self.amount)


def proves(measure, amount, failure, epsilon, delta):
    """Return whether a claim follows from an amount and a failure, up to rounding."""
    e = float(epsilon)
    if measure == "gdp":
        known = log_delta_up(e, math.sqrt(min(amount, 10**12)))
    elif measure == "zcdp":
        known = math.log(zcdp_delta(float(min(amount, 10**12)), e))
    elif measure == "mixed":  # what the shares have, which the plan knows
        known = log_of((1 - FAILURE_PART) * delta)
    else:
        known = -math.inf if amount <= epsilon else math.inf
    failing = log_of(failure) + e + math.log1p(math.exp(-e))
    return delta >= 1 or np.logaddexp(known, failing) <= log_of(delta) + ROUNDING


def as_epsilon(value):
    epsilon = as_fraction(value, name="epsilon")
    if not EPSILONS[0] <= epsilon <= EPSILONS[1]:
        raise ValueError(
            f"epsilon must be positive, from 1e-60 to 1e6. Got {value!r} instead. "
            "Pass for instance epsilon=1.0."
        )
    return epsilon


def as_delta(value):
    delta = as_fraction(value, name="delta")
    if not delta < 1:
        raise ValueError(
            f"delta must be in [0, 1). Got {value!r} instead. Pass a delta well below "
            "1 / (number of rows), for instance 1e-6."
        )
    return delta


def exp_up(x):
    """Return a rational >= e^x (a power of two beyond the range of floats)."""
    if x > 700:
        return Fraction(2) ** math.ceil(float(x) * 1.4427)
    return Fraction(math.exp(float(x))) * (1 + Fraction(1, 2**40))


# --- what any guarantee costs a ledger that composes Gaussian fits, for one step or for several


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
    told = ((e, Fraction(delta(e)) + (1 + exp_up(e)) * failure) for e in epsilon * PARTS)
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
