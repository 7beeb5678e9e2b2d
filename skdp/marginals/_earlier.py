"""Tables of this year and of an earlier release of the same source, joined by precision."""

import numpy as np
from scipy.special import chdtri

from skdp.marginals._layout import Measurement, workload_layout

__all__ = ["joined"]

FAR = 1e-3  # probability with which a residual that has drifted like others is left out
ROUNDS = 60  # of a bisection


def joined(measurement, earlier):
    """Return the Measurement of all sets of two releases, the earlier one as far as it holds.

    Notes
    -----
    A residual of the earlier release, times the ratio of the numbers of rows, tells that of this
    one up to a drift. Its variance t, one for all sets of one size, is estimated from sets that
    both have: ``sum |y - y'|^2 / (v + v' + t)`` is their number of coordinates (Paule and Mandel
    1982). Then both are averaged by precision, v against v' + t. A set whose difference is beyond
    the 0.999 quantile of this law has drifted by more, and takes this year's value alone. So what
    has changed is not smoothed away, and what has not gains a second measurement. Released numbers
    alone: post-processing.
    """
    new, old = measurement.layout, earlier.layout
    ratio = max(float(measurement.values[0]), 1.0) / max(float(earlier.values[0]), 1.0)
    values, variance = {}, {}
    for layout, m, scale in ((old, earlier, ratio), (new, measurement, 1.0)):
        for name, number in layout.position.items():
            here = slice(*layout.starts[number : number + 2])
            which = m is measurement
            values[name, which] = scale * m.values[here]
            variance[name, which] = (scale * m.sd[number]) ** 2
    drift = {
        order: _drift(values, variance, new, old, order) for order in range(1, len(old.subsets))
    }
    sets = [name for name in new.position if name]
    sets += [
        name for name in old.position if name and name not in new.position and drift[len(name)] >= 0
    ]
    layout, weights = workload_layout(new.levels, sets)
    made, sd = np.empty(layout.starts[-1]), np.empty(len(layout.lengths))
    for name, number in layout.position.items():
        y, v = _best(name, values, variance, drift.get(len(name), -1.0))
        made[layout.starts[number] : layout.starts[number + 1]], sd[number] = y, v**0.5
    known = layout.starts[-1] == new.starts[-1]
    return Measurement(layout, made, sd, measurement.weights if known else weights)


def _drift(values, variance, new, old, order):
    """Return the variance of the drift of the sets of one size, -1 if none is in both."""
    both = [name for name in new.position if len(name) == order and name in old.position]
    if not both:
        return -1.0
    gaps = [np.sum(np.square(values[name, True] - values[name, False])) for name in both]
    noise = [variance[name, True] + variance[name, False] for name in both]
    free = sum(len(values[name, True]) for name in both)
    gaps, noise = np.array(gaps), np.array(noise)
    low, high = 0.0, float(gaps.sum()) + 1e-12
    if np.sum(gaps / noise) <= free:
        return 0.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(gaps / (noise + middle)) > free else (low, middle)
    return high


def _best(name, values, variance, drift):
    """Return the joined residual of a set and its variance."""
    mine, other = (name, True), (name, False)
    if mine not in values:
        return values[other], variance[other] + drift
    if other not in values or drift < 0:
        return values[mine], variance[mine]
    y, v, told, w = values[mine], variance[mine], values[other], variance[other] + drift
    gap = np.sum(np.square(y - told)) / (v + w)
    if gap > chdtri(len(y), FAR):
        return y, v
    return (y / v + told / w) / (1 / v + 1 / w), 1 / (1 / v + 1 / w)
