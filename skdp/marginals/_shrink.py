"""Shrinkage order by order: towards what smaller sets of attributes say about larger ones."""

import numpy as np

from skdp.denoising._base import Noise
from skdp.denoising._shrinkers import james_stein
from skdp.marginals._layout import set_numbers

__all__ = ["row_count", "shrunk"]

LEAST_ROWS = 10.0  # a smaller released count of rows is taken for this one


def row_count(values):
    """Return the number of rows to divide by: the released one, at least 10.

    It is fixed before anything is projected. Were it free, noise would inflate it: every
    projection becomes feasible when there are enough rows.
    """
    return max(float(values[0]), LEAST_ROWS)


def shrunk(measurement, known=None):
    """Return residuals shrunk towards predictions from smaller sets, and the estimated loss.

    Notes
    -----
    Single attributes are shrunk towards equal levels, larger sets towards the span of
    :func:`predictions`, by James and Stein's rule (for unequal variances, Bock 1975) on residuals
    times the square root of their weight, whose squared length is the loss. The predictions are
    made from smaller sets. The noise of larger sets is independent of them, so that, given the
    smaller sets, Stein's estimate of the loss holds exactly, however the predictions are made.
    """
    layout, n = measurement.layout, row_count(measurement.values)
    known = measurement.values[:1] if known is None else known
    metric = np.sqrt(layout.spread(measurement.weights))
    noise = metric * layout.spread(measurement.sd)
    order = layout.spread(layout.orders)
    values, risk = measurement.values.copy(), float(noise[0] ** 2)
    values[: len(known)] = known
    for level in range(order[len(known) - 1] + 1, len(layout.subsets)):
        here = order == level
        law, y = Noise(noise[here]), metric[here] * values[here]
        basis = predictions(layout, values, n, level)
        rule = james_stein(y, law, basis=None if basis is None else basis * metric[here][:, None])
        values[here] = rule.value / metric[here]
        risk += float(np.sum(np.square(rule.value - y) + law.variance * (2 * rule.slope - 1)))
    return values, risk


def predictions(layout, values, n, order):
    """Return predictions of the residuals of all sets of one order, as columns, or None.

    The first is the product of single residuals, which independence predicts. Binary sets of three
    have two to five more, see :func:`_triples`. None for order 1.
    """
    if order < 2:
        return None
    d = len(layout.subsets[1])
    if order == 3 and layout.binary and len(layout.subsets[2]) == d * (d - 1) // 2:
        return _triples(layout, values, n)
    first, end = layout.starts[layout.firsts[order : order + 2]]
    product = np.empty(end - first)
    for _, sets, numbers in layout.groups:
        if sets.shape[1] == order and len(sets):
            cells = np.full((len(sets), 1), n)
            for column in sets.T:
                single = values[layout.places(set_numbers(layout, column[:, None]))] / n
                cells = (cells[:, :, None] * single[:, None, :]).reshape(len(sets), -1)
            product[layout.places(numbers) - first] = cells
    return product[:, None]


def _triples(layout, values, n):
    """Return what moments m and covariances c of pairs say about sets of three.

    With central third moments zero, ``m_i c_jk + m_j c_ik + m_k c_ij + m_i m_j m_k``. If i and k
    are independent given j, the central third moment is ``-2 m_j c_ij c_jk / (1 - m_j^2)``: as
    ``E (x_j - m_j)^3 = -2 m_j (1 - m_j^2)``, and the regressions on x_j are linear. The columns
    are both terms of the first, the second for the j opposite the least correlated pair, and its
    sum over all three.
    """
    columns, d = layout.subsets[1][:, 0], len(layout.subsets[1])
    m = values[1 : d + 1] * np.sqrt(2) / n
    c = np.zeros((d, d))
    pairs = np.searchsorted(columns, layout.subsets[2]).T
    c[*pairs] = values[d + 1 : d + 1 + pairs.shape[1]] * 2 / n - m[pairs[0]] * m[pairs[1]]
    c += c.T
    v = np.maximum(1 - m * m, 0.02)
    correlation = np.abs(c) / np.sqrt(np.outer(v, v))
    i, j, k = np.searchsorted(columns, layout.subsets[3]).T
    turns = ((i, j, k), (j, i, k), (k, i, j))
    lines = np.stack([-2 * m[a] * c[a, b] * c[a, e] / v[a] for a, b, e in turns])
    middle = np.argmin([correlation[b, e] for _, b, e in turns], axis=0)
    linear = sum(m[a] * c[b, e] for a, b, e in turns)
    between = np.take_along_axis(lines, middle[None], axis=0)[0]
    return n / 2**1.5 * np.column_stack([linear, m[i] * m[j] * m[k], between, lines.sum(axis=0)])
