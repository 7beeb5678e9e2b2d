"""Terms of one and of two features, each of which tells what the others do not."""

import numpy as np

from skdp.additive._base import centred_terms, plain
from skdp.boosting._rules import FIRST_CYCLES, LAST_CYCLES

__all__ = ["pair_terms"]


def pair_terms(model, counts, step):
    """Return what is displayed of a model with pairs, a dict of fitted attributes, and intercepts.

    Rows and columns of a pair have a weighted mean of zero: what they had is given to the terms of
    its features, so that predictions stay as they are. Pairs of zeros are left out.
    """
    n_features = len(counts)
    values = [table * step for table in model.tables[:n_features]]
    pairs = []
    for at, pair in enumerate(model.pairs, start=n_features):
        left, right = np.asarray(pair.left), np.asarray(pair.right)
        sizes = int(left.max()) + 1, int(right.max()) + 1
        table, weights = model.tables[at] * step, model.weights[at]
        if not table.any():
            continue
        rest = np.empty((len(table), *sizes))
        for k, (one, weight) in enumerate(zip(table, weights, strict=True)):
            rows, columns, rest[k] = purified(one.reshape(sizes), weight.reshape(sizes))
            values[pair.first][k] += rows[left]
            values[pair.second][k] += columns[right]
        weights = weights.reshape(rest.shape)
        size = _size(rest, weights / weights.sum(axis=(1, 2), keepdims=True))
        cells = np.ix_(range(len(table)), left, right)
        noise = model.noise[at].reshape(rest.shape)[cells]
        pairs.append((size, (pair.first, pair.second), rest[cells], noise))
    pairs.sort(key=lambda one: -one[0])
    terms, intercept = centred_terms(values, counts, model.intercept[:, 0] * step)
    sizes = [
        _size(np.atleast_2d(term.T), number / number.sum())
        for term, number in zip(terms, counts, strict=True)
    ]
    cycles = {"n_iter_": FIRST_CYCLES + LAST_CYCLES} if model.pairs else {}
    return cycles | {
        "terms_": terms + [plain(np.moveaxis(rest, 0, -1)) for _, _, rest, _ in pairs],
        "term_noise_scale_": [plain(noise.T) for noise in model.noise[:n_features]]
        + [plain(np.moveaxis(noise, 0, -1)) for _, _, _, noise in pairs],
        "term_features_": [(j,) for j in range(n_features)] + [pair for _, pair, _, _ in pairs],
        "importance_": np.array([*sizes, *(size for size, _, _, _ in pairs)]),
    }, intercept


def purified(table, weights):
    """Return rows and columns, the nearest sum of both to a table, and the rest of it."""
    n, m = table.shape
    A = np.zeros((n + m, n + m))
    A[:n, :n], A[n:, n:] = np.diag(weights.sum(axis=1)), np.diag(weights.sum(axis=0))
    A[:n, n:], A[n:, :n] = weights, weights.T
    weighed = weights * table
    found = np.linalg.lstsq(A, np.append(weighed.sum(axis=1), weighed.sum(axis=0)), rcond=None)[0]
    rows, columns = found[:n], found[n:]
    return rows, columns, table - rows[:, None] - columns


def _size(values, parts):
    """Return the root mean square of a term over rows, and over outputs; the first axis theirs."""
    squares = (np.square(values) * parts).reshape(len(values), -1).sum(axis=1)
    return float(np.sqrt(squares.mean()))
