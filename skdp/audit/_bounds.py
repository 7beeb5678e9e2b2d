"""Lower bounds on privacy parameters, from how often an event was seen under two tables.

Let an event have the probabilities p and q under two neighbouring tables. Two intervals that
contain p and q bound every parameter of the mechanism from below, at once: for any number of
deltas, for mu and for rho, for the event and its complement, in both directions. So one
confidence, that of the intervals, covers all bounds taken from them.
"""

import numpy as np
from scipy.special import betaincinv, ndtri, xlog1py, xlogy

_ROUNDING = 1e-9  # relative error that is granted to betaincinv; the tests find 1e-13
_ORDERS = 1 + np.exp2(np.arange(-10.0, 7.0))


def clopper_pearson(hits, runs, error):
    """Return bounds on a probability, each of them wrong with probability at most ``error``.

    Parameters
    ----------
    hits : int or array-like of int
        How often the event was seen.
    runs : int
        In how many independent runs.
    error : float
        In (0, 1/2), per side.

    Returns
    -------
    low, high : floats or ndarrays
        The interval holds the probability with confidence ``1 - 2 error``.

    See Also
    --------
    epsilon_lower_bound, mu_lower_bound

    Notes
    -----
    For ``hits = k``, ``low`` is the p with ``P(Bin(runs, p) >= k) = error``. This tail increases
    in p, so ``low > p`` means that the number of hits has a tail of less than ``error`` under p,
    which happens with less than that probability (Clopper and Pearson 1934). The tail equals
    ``I_p(k, runs - k + 1)``, the incomplete beta function.

    **Privacy**: computes from counts of runs on tables made for the audit: none is needed.

    Examples
    --------
    >>> from skdp.audit import clopper_pearson
    >>> low, high = clopper_pearson(50, 100, error=0.025)
    >>> round(float(low), 3), round(float(high), 3)
    (0.398, 0.602)
    """
    hits = np.asarray(hits)
    if not 0 < error < 0.5:
        raise ValueError(f"error must be in (0, 1/2). Got {error!r} instead.")
    if np.any((hits < 0) | (hits > runs)):
        raise ValueError("hits must be between 0 and runs.")

    def low(k):
        inside = betaincinv(np.maximum(k, 1), runs - np.maximum(k, 1) + 1, error)
        return np.where(k > 0, inside * (1 - _ROUNDING), 0.0)

    high = np.minimum(1 - low(runs - hits) * (1 - 2 * _ROUNDING), 1.0)
    return low(hits)[()], high[()]


def epsilon_between(p, q, delta):
    """Return the largest epsilon that intervals for two probabilities prove at ``delta``.

    (epsilon, delta)-DP means ``P(E) <= e^epsilon Q(E) + delta`` for all events and both orders of
    the tables, hence ``epsilon >= log((P(E) - delta) / Q(E))``, for E and for its complement.
    """
    (p_low, p_high), (q_low, q_high) = p, q
    pairs = ((p_low, q_high), (q_low, p_high), (1 - p_high, 1 - q_low), (1 - q_high, 1 - p_low))
    with np.errstate(divide="ignore"):
        bounds = [np.log(np.maximum(more - delta, 0)) - np.log(less) for more, less in pairs]
    return np.maximum(np.max(bounds, axis=0), 0.0)


def mu_between(p, q, failure=0.0):
    """Return the largest mu that intervals for two probabilities prove.

    mu-GDP means ``Phi^-1(P(E)) - Phi^-1(Q(E)) <= mu`` for all events and both orders (Dong, Roth
    and Su 2022, Definition 2.6); the complement of E says the same again. If the laws are only
    within total variation ``failure`` of a mu-GDP pair, as in the claim
    ``delta_gauss(mu, epsilon) + (1 + e^epsilon) failure``, it holds for ``P(E) - failure`` and
    ``Q(E) + failure``.
    """
    return np.maximum(*_both_orders(_probit_gap, p, q, failure))


def rho_between(p, q, failure=0.0):
    """Return the largest rho that intervals for two probabilities prove.

    rho-zCDP bounds the Rényi divergences of the two Bernoulli variables "E or not" (they are a
    post-processing) by ``alpha rho`` for every order alpha > 1. A divergence increases in p and
    decreases in q where p >= q, so the nearest corner is the least. For ``failure`` as above.
    """
    return np.maximum(*_both_orders(_renyi, p, q, failure))


def _both_orders(bound, p, q, failure):
    (p_low, p_high), (q_low, q_high) = p, q
    for more, less in ((p_low, q_high), (q_low, p_high)):
        more, less = np.maximum(more - failure, 0.0), np.minimum(less + failure, 1.0)
        yield np.where(more > less, bound(more, less), 0.0)


def _probit_gap(more, less):
    with np.errstate(invalid="ignore"):  # inf - inf where the bound is 0 anyway
        return ndtri(more) - ndtri(less)


def _renyi(more, less):
    more, less = np.asarray(more)[..., None], np.asarray(less)[..., None]
    with np.errstate(all="ignore"):
        hit = xlogy(_ORDERS, more) - xlogy(_ORDERS - 1, less)
        miss = xlog1py(_ORDERS, -more) - xlog1py(_ORDERS - 1, -less)
        divergence = np.logaddexp(hit, miss) / (_ORDERS - 1)
    return np.max(np.nan_to_num(divergence / _ORDERS), axis=-1)


def epsilon_lower_bound(hits, runs, other_hits, other_runs, delta=0.0, *, confidence=0.999):
    """Return a lower bound on epsilon from counts of one event.

    Parameters
    ----------
    hits, runs : int
        The event was seen in ``hits`` of ``runs`` independent runs on one table.
    other_hits, other_runs : int
        The same for a neighbouring table.
    delta : float, default=0.0
    confidence : float, default=0.999
        The bound holds with this probability, for an event that was fixed before the runs.

    Returns
    -------
    epsilon : float
        No (epsilon', delta)-DP mechanism with a smaller epsilon' is behind the counts.

    See Also
    --------
    mu_lower_bound, clopper_pearson, audit

    Notes
    -----
    Four one-sided Clopper-Pearson bounds, each wrong with probability ``(1 - confidence) / 4``.

    **Privacy**: computes from counts of runs on tables made for the audit: none is needed.

    Examples
    --------
    >>> from skdp.audit import epsilon_lower_bound
    >>> round(float(epsilon_lower_bound(900, 1000, 100, 1000)), 1)
    1.8
    """
    intervals = _intervals(hits, runs, other_hits, other_runs, confidence)
    return float(epsilon_between(*intervals, delta))


def mu_lower_bound(hits, runs, other_hits, other_runs, failure=0.0, *, confidence=0.999):
    """Return a lower bound on mu from counts of one event, as :func:`epsilon_lower_bound`.

    ``failure`` is a total variation distance within which the laws need to be mu-GDP only.

    Parameters
    ----------
    hits, runs, other_hits, other_runs : int
        As for :func:`epsilon_lower_bound`.
    failure : float, default=0.0
        In total variation.
    confidence : float, default=0.999

    Returns
    -------
    mu : float

    See Also
    --------
    epsilon_lower_bound, clopper_pearson

    Notes
    -----
    **Privacy**: computes from counts of runs on tables made for the audit: none is needed.

    Examples
    --------
    >>> from skdp.audit import mu_lower_bound
    >>> round(float(mu_lower_bound(900, 1000, 100, 1000)), 1)
    2.2
    """
    intervals = _intervals(hits, runs, other_hits, other_runs, confidence)
    return float(mu_between(*intervals, failure))


def _intervals(hits, runs, other_hits, other_runs, confidence):
    error = (1 - confidence) / 4
    return clopper_pearson(hits, runs, error), clopper_pearson(other_hits, other_runs, error)


def precision_attack(sampler, *, confidence=0.999):
    """Attack the low bits of released floats.

    Parameters
    ----------
    sampler : callable
        ``sampler(value)`` returns an array of independent releases of the number ``value``.
    confidence : float, default=0.999
        Probability with which the bound holds.

    Returns
    -------
    epsilon_lower : float
        Lower bound on the epsilon between the values 0 and 1. It is 0 for noise on a grid and
        limited by the number of draws alone for ``value + float_noise``.

    See Also
    --------
    audit, skdp.mechanisms.rounded_laplace

    Notes
    -----
    The event is "abs(y) < 1/4 and y is no multiple of 2^-53". Floats near 0 are finer than that,
    but 1 + noise near 0 has noise near -1, whose floats, like their sums with 1, are multiples of
    2^-53 (Mironov, "On significance of the least significant bits for differential privacy", 2012).

    **Privacy**: none: for samplers of made-up numbers alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import precision_attack
    >>> rng = np.random.default_rng(0)
    >>> bool(precision_attack(lambda value: value + rng.laplace(size=20000)) > 4)
    True
    """

    def count(value):
        y = np.asarray(sampler(value), dtype=np.float64)
        return np.sum((np.abs(y) < 0.25) & (np.rint(y * 2.0**53) != y * 2.0**53)), y.size

    return epsilon_lower_bound(*count(0.0), *count(1.0), confidence=confidence)
