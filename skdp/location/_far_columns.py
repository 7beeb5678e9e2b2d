"""Which columns the rows beyond a joint clip radius are far in, and what clipping takes of them.

One column with a heavy tail among light ones hardly shows in the lengths of rows. What clipping
takes off its rows is nearly all taken off that column, though, and not off all of them alike.
"""

import math

import numpy as np
from scipy.special import logsumexp

from skdp.accounting import Step
from skdp.kernel._sums import FarthestEntry
from skdp.location._release import LARGEST, bounded
from skdp.scales import LogBins

FAR_COLUMNS = Step("far columns", at_most=0.1, of=(FarthestEntry,))
PART = 0.1  # of what is left
MOST_COLUMNS = 1000
ENOUGH = 2000  # rows of a column, times mu, from which on lengths tell: doc/private_mean.rst
TINY = float(np.finfo(np.float64).tiny)
OCTAVES = 12
EDGES = np.exp2(np.append(-0.5, np.arange(OCTAVES)))  # of clip radii
BINS = LogBins(2, -1, OCTAVES)
STARTS = np.append(2, np.arange(3, BINS.n_bins - 1, 2))  # where bins begin at the edges
MIDDLE = EDGES[1:] * 1.5  # of the cells beyond the radius
# Laws of the rows of one column beyond the first edge: N (t / t0)^-a, and rows of one cell alone.
POWERS = np.array([1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 12.0, 20.0, 40.0])
HEAVY = POWERS <= 5
LEAST, MOST = 0.3, 1 / 8  # rows of a law, and part of all of them
PRIOR = 0.1, 0.05  # probabilities of a heavy column, and of one with rows apart
MANY = 16  # columns, of which no more are heavy in larger tables
TOLD, BOUND = 0.25, 0.95  # probability of either that is told, and quantile of what is clipped off
SPREAD = 1.5  # standard deviations of what rows of one law have beyond the radius
NEAR = 0.7  # of a radius: what rows apart, in the first cell beyond it, have at most as a rule


def with_far_columns(counted, where, clip):
    """Return a Clip with the excess of every column, by a release of where far rows are far.

    Notes
    -----
    **Privacy** (add or remove one row): of :class:`skdp.kernel._sums.FarthestEntry`, around a
    released centre, in released scales: a row is in one cell of all columns together, as a function
    of itself. So the sensitivity is 1, whatever the number of columns.
    """
    many = counted.n * counted.table.budget.mu > ENOUGH * counted.d
    if counted.d > MOST_COLUMNS or clip.hidden or many:
        return clip
    scale = np.clip(where.scale * bounded(clip.radius), TINY, LARGEST)
    asked = FarthestEntry(where.origin, BINS, scale, STARTS)
    release = counted.table.ask(asked, FAR_COLUMNS, share=PART * counted.left)
    counts = np.reshape(release.value, (counted.d, EDGES.size)).astype(float)
    own = column_excess(counts, release.scale, counted.n) * clip.radius / counted.n
    return clip._replace(excess=np.maximum(clip.excess, own))


def column_excess(counts, sd, n):
    """Return what clipping takes of the sums of columns, at most as a rule, in radii; 0 if light.

    Notes
    -----
    A posterior of laws. Light columns have rows that fall off by a power of 8 or more. Heavy ones
    have a power of 5 or less, with the price of heavier ones as in the law of columns, and others
    have rows apart in one octave, a third as likely an octave farther. Numbers of rows are even in
    their logarithms. A row that is ``t > C`` far in one column, near in others, loses ``t - C``.
    """
    rows, excess = _power_laws(n)
    fit = (counts @ rows.T - np.square(rows).sum(axis=1) / 2) / sd**2
    heavy = np.tile(HEAVY, len(rows) // len(POWERS))
    light = logsumexp(fit[:, ~heavy], axis=1) - math.log(np.count_nonzero(~heavy))
    amounts, over = _apart(n, sd)
    apart = (amounts * counts[:, None, 1:] - np.square(amounts) / 2) / sd**2
    apart = apart.reshape(len(counts), -1) + light[:, None]
    dear = np.tile(np.square(np.minimum(POWERS[HEAVY] / 3, 1.0)), len(rows) // len(POWERS))
    rare = np.tile(3.0 ** -np.arange(len(MIDDLE)), len(amounts))
    parts = np.multiply(PRIOR, min(1.0, MANY / len(counts)))
    prior = [part * w / w.sum() for part, w in zip(parts, (dear, rare), strict=True)]
    log = np.concatenate([fit[:, heavy], apart], axis=1) + np.log(np.concatenate(prior))
    excess = np.concatenate([excess[heavy], over.ravel()])
    order = np.argsort(excess)
    total = logsumexp(log, axis=1)
    mass = np.cumsum(np.exp(log[:, order] - total[:, None]), axis=1)
    most = excess[order][np.minimum((mass < BOUND).sum(axis=1), len(order) - 1)]
    odds = total - light - math.log(1 - parts.sum())
    return np.where(odds > math.log(TOLD / (1 - TOLD)), most, 0.0)


def _apart(n, sd):
    """Return numbers of rows in one cell, and what lies beyond the radius of each in every cell."""
    amounts = np.geomspace(sd / 4, max(MOST * n, sd), 20)[:, None]
    return amounts, amounts * np.append(NEAR, MIDDLE[1:] - 1)


def _power_laws(n):
    """Return the rows of every law in every cell, and an upper bound of what lies beyond C = 1."""
    amount = np.geomspace(LEAST, max(MOST * n, 1.0), 40)[:, None]
    share = (EDGES / EDGES[0]) ** -POWERS[:, None]
    share = share - np.append(share[:, 1:], np.zeros((len(POWERS), 1)), axis=1)
    rows = amount[..., None] * share
    beyond = amount * EDGES[0] ** POWERS
    last = np.maximum(2 * beyond, 1.0) ** (1 / POWERS)
    length = _integral(last, POWERS)
    square = 2 * np.maximum(_integral(last, POWERS - 1) - length, 0.0)
    excess = beyond * length + SPREAD * np.sqrt(beyond * square)
    return rows.reshape(-1, EDGES.size), excess.ravel()


def _integral(last, power):
    """Return the integral of t^-power from 1 to the end."""
    slope = np.where(power == 1, 1e-9, power - 1)
    return (1 - last**-slope) / slope
