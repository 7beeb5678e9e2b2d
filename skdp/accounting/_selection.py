"""The cost of publishing the best of a random number of runs, from the profile of one run.

Let K be the number of runs, f its generating function and ``a(u) = f'(1 - u)``. Runs are mu-GDP,
``h(u) = Phi(Phi^-1(u) + mu)``. Order outcomes by their score. If an outcome has likelihood ratio
l, and better ones have probability u under one table, it is published with the density
``l a(u)``; under the other one they have probability at most h(u), and the density is at least
``a(h(u))``. So, for all g > 0,

    H_g <= E[sup_u (l a(u) - g a(h(u)))_+] <= sum_j w_j delta_gauss(log g + t_j; mu):

the supremum of lines in l is convex, and for convex functions Gaussian l is the worst; ``w_j`` and
``e^t_j`` are the steps and the slopes of the convex hull of ``{(0, 0)} + {(a(u), a(h(u)))}``
(user guide "Private search", theorem 1). Gaussian releases before the runs raise the mu of
``delta_gauss``, and that of h not (theorem 2).
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import erfcx, logsumexp, ndtr

from skdp.accounting._gaussian import LOG_SQRT_2PI, _largest_mu, exp_up, real, smallest
from skdp.accounting._report import Charge

STEP, FARTHEST = 1e-3, 5.0  # grid of z = Phi^-1(u)
TINY = 1e-100  # of E[K]: abscissae that are left out
MARGIN = 1e-11  # of the law of K, of ndtr, and of the hull


def selection_delta(trials, mu, epsilon, *, before=0.0):
    """Return a delta at ``epsilon`` of the best of a random number of Gaussian runs.

    Notes
    -----
    **Privacy**: see the module. Beyond this delta, runs that fail with probability f each cost
    ``(1 + e^epsilon) E[K] f``.
    """
    mu = real(mu, "mu")
    return exp_up(_log_delta(_mixture(trials, _of_a_run(mu, before)), mu, real(epsilon, "epsilon")))


def selection_epsilon(trials, mu, delta, *, before=0.0):
    """Return the smallest epsilon of :func:`selection_delta` at ``delta``."""
    mu, goal = real(mu, "mu"), math.log(real(delta, "delta"))
    mixture = _mixture(trials, _of_a_run(mu, before))
    return smallest(lambda epsilon: _log_delta(mixture, mu, epsilon) <= goal, 0.0, mu * (1 + mu))


@lru_cache(maxsize=64)
def selection_mu(trials, epsilon, delta, *, before=0.0):
    """Return the largest mu, to 1e-4, that :func:`selection_delta` certifies; 0 if below 1e-9."""
    goal = math.log(real(delta, "delta"))
    high = _largest_mu(real(epsilon, "epsilon", "(0, 1e6]"), delta)
    low = high
    while low > 1e-9 and _log_delta(_run(trials, low, before), low, epsilon) > goal:
        low, high = low / 2, low
    while low > 1e-9 and high > low * (1 + 1e-4):
        middle = (low + high) / 2
        fits = _log_delta(_run(trials, middle, before), middle, epsilon) <= goal
        low, high = (middle, high) if fits else (low, middle)
    return low if low > 1e-9 else 0.0


def log_profile(epsilon, mu):
    """Return upper bounds of ``log delta_gauss`` for an array of epsilons of any sign."""
    a = epsilon / mu - mu / 2
    with np.errstate(all="ignore"):
        low, high = (math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2)) for x in (a, a + mu))
        ratio = low * (1 + 1e-14) - high * (1 - 1e-14)
        value = np.log(ratio) - a * a / 2 - LOG_SQRT_2PI + 1e-12 + 4e-15 * (a * a + mu * mu)
    return np.where(a < -5, 0.0, np.minimum(value, 0.0))


def _of_a_run(mu, before):
    return mu * math.sqrt(1 - before) * (1 + 1e-15)


def _run(trials, mu, before):
    return _mixture.__wrapped__(trials, _of_a_run(mu, before))


def _log_delta(mixture, mu, epsilon):
    weights, shifts = mixture
    return float(logsumexp(log_profile(epsilon + shifts, mu), b=weights))


@lru_cache(maxsize=64)
def _mixture(trials, mu):
    """Return the ``w_j`` and ``t_j``, t_j rounded down.

    The hull is that of points of the curve, which may bend below their chords, but little: with
    ``D >= |d log a / dz|``, ``|a''| <= (2 D + |z|) |a'|`` in each cell of ``z = Phi^-1(u)``, and so
    for ``a(h(u))`` at ``z + mu``. A chord then lies above the curve by at most
    ``step^2 / 4 (2 D + |z| + mu) D`` of its height, times ``e^(3 (2 D + |z| + mu) step) < 4`` for
    the changes within a cell. Points below 1e-100 E[K] make room for one with the least height of
    all, which is below them: the hull sinks, and delta grows by at most 1e-100 E[K].
    """
    steep = trials.steepness(FARTHEST)
    step = min(STEP, 0.02 / steep)
    bend = (2 * steep + FARTHEST + mu) * steep * step**2  # of the curve below its chords
    z = np.arange(-FARTHEST, FARTHEST, step)
    a, b = trials.slope(ndtr(z)), trials.slope(ndtr(z + mu))
    first, last = trials.slope(np.array([1.0, 0.0]))  # u beyond the grid: the safe ends
    a = np.concatenate([a[-1:], a[::-1], [last]]) * (1 + MARGIN)
    b = np.concatenate([[first], b[::-1], b[:1]]) * (1 - MARGIN - bend)
    seen, least = a > TINY * last, TINY * last  # products of smaller numbers would be zero
    a, b = np.concatenate([[least], a[seen]]), np.concatenate([b[:1], b[seen]])
    x, y = [0.0], [0.0]
    for p, q in zip(a.tolist(), b.tolist(), strict=True):
        while len(x) > 1 and (y[-1] - y[-2]) * (p - x[-1]) >= (q - y[-1]) * (x[-1] - x[-2]):
            del x[-1], y[-1]
        if p > x[-1]:
            x.append(p)
            y.append(q)
    steps, rises = np.diff(x), np.diff(y)
    with np.errstate(all="ignore"):
        shifts = np.log(np.maximum(rises - MARGIN * b[0], 0) / steps)
        shifts = np.maximum(shifts, np.log(rises[0] / steps[0])) - MARGIN  # convex: none is smaller
    return np.append(steps, trials.none), np.append(shifts, 0.0)


def search_charge(label, mu):
    """Return the line of a search in a report: the noise is that of one run."""
    return Charge(label, "repeat", Fraction(1), 1.0, 1 / mu)
