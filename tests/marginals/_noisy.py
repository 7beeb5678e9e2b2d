"""Tables of a random tree of attributes, and noisy residuals of them."""

import numpy as np

from skdp.accounting import gaussian_mu
from skdp.marginals._residuals import Measurement, helmert, transform, workload_layout


def tree_rows(levels, n, rng):
    """Every attribute depends on one of the four before it; for two levels p ~ Beta(.7, .7)."""
    X = np.zeros((n, len(levels)), dtype=int)
    for i, size in enumerate(levels):
        parent = X[:, i - 1 - rng.integers(min(i, 4))] if i else np.zeros(n, dtype=int)
        law = rng.dirichlet(np.full(size, 0.7), max(levels))
        X[:, i] = (rng.random(n)[:, None] > np.cumsum(law, axis=1)[parent, :-1]).sum(axis=1)
    return X


def residuals(layout, X):
    """Exact residuals, through tables, or through sums of products for binary attributes."""
    if layout.binary and len(layout.subsets) <= 4:
        return _parities(layout, 1.0 - 2.0 * X)
    values = np.full(layout.starts[-1], float(len(X)))
    for shape, sets, numbers in layout.groups[1:]:
        for attributes, number in zip(sets, numbers, strict=True):
            table = np.zeros(shape)
            np.add.at(table, tuple(X[:, attributes].T), 1.0)
            inner = residuals_of(table)[(slice(1, None),) * len(shape)]
            values[layout.starts[number] : layout.starts[number + 1]] = inner.ravel()
    return values


def _parities(layout, signs):
    parts = [np.array([float(len(signs))])]
    for order, sets in enumerate(layout.subsets[1:], start=1):
        sums = np.empty(len(sets))
        if order == 1:
            sums = signs.sum(axis=0)[sets[:, 0]]
        elif order == 2:
            sums = (signs.T @ signs)[sets[:, 0], sets[:, 1]]
        else:
            for i in np.unique(sets[:, 0]):
                here = sets[:, 0] == i
                products = (signs * signs[:, [i]]).T @ signs
                sums[here] = products[sets[here, 1], sets[here, 2]]
        parts.append(sums / 2 ** (order / 2))
    return np.concatenate(parts)


def measured(X, levels, sets, epsilon, rng):
    """Return the Measurement of optimal noise at delta = 1e-6, and the truth."""
    layout, weights = workload_layout(levels, sets)
    cost = np.concatenate([np.prod(1 - 1 / np.array(levels)[s], axis=1) for s in layout.subsets])
    share = np.sqrt(cost * weights * layout.lengths)
    share /= share.sum()
    if share[0] < 0.05:
        share *= 0.95 / (1 - share[0])
        share[0] = 0.05
    sd = np.sqrt(cost / share) / gaussian_mu(epsilon, 1e-6)
    truth = residuals(layout, X)
    noisy = truth + rng.normal(size=truth.size) * layout.spread(sd)
    return Measurement(layout, noisy, sd, weights), truth


def noisy_tree(d, k, n, epsilon, seed, levels=2):
    rng = np.random.default_rng(seed)
    levels = (levels,) * d if isinstance(levels, int) else levels
    return measured(tree_rows(levels, n, rng), levels, k, epsilon, rng)


def loss(measurement, values, truth):
    """The summed squared error of all cells."""
    return float(measurement.layout.spread(measurement.weights) @ np.square(values - truth))


def values_of(layout, joint):
    """Return the flat vector of residuals of a table of all attributes.

    Parameters
    ----------
    layout : Layout
    joint : ndarray of shape ``layout.levels``

    Returns
    -------
    values : ndarray of shape (n_coordinates,)
    """
    residuals, values = residuals_of(joint).ravel(), np.empty(layout.starts[-1])
    strides = np.cumprod((1, *layout.levels[:0:-1]), dtype=np.int64)[::-1]
    for shape, sets, numbers in layout.groups:
        at = np.zeros((len(sets), 1), dtype=np.int64)
        for levels, column in zip(shape, sets.T, strict=True):
            step = strides[column][:, None, None] * np.arange(1, levels)
            at = (at[:, :, None] + step).reshape(len(sets), -1)
        values[layout.places(numbers)] = residuals[at]
    return values


def analysis(levels):
    """Return the square matrix of a sum (row 0) and the Helmert rows."""
    return np.vstack([np.ones(levels), helmert(levels)])


def residuals_of(table):
    """Return the residuals of a table and of all its margins, in an array of its shape.

    Parameters
    ----------
    table : ndarray of shape (L_1, ..., L_k)

    Returns
    -------
    residuals : ndarray of shape (L_1, ..., L_k)
        Index 0 along an axis stands for the sum over that attribute, 1..L - 1 for the rows of H:
        the residual of a set T of axes is the block of indices 1.. along T, 0 elsewhere.
    """
    table = np.asarray(table, dtype=float)
    return transform(table[None], [analysis(number) for number in table.shape])[0]
