"""Log-densities of a mixture of Gaussians, each row by an arithmetic that sees that row alone."""

import math

import numpy as np

NAMES = ("covariance_type", "means_", "precisions_cholesky_", "weights_")


def is_mixture(model):
    """Tell whether a fitted model has the released parameters of a mixture of Gaussians."""
    return all(hasattr(model, name) for name in NAMES)


def mixture_log_density(model, X):
    """Return the log-density of every row, an array of shape (n,).

    Notes
    -----
    **Privacy**: products and sums are elementwise, in an order fixed by the model; exp and log are
    taken number by number. So a row's result has the same bits whatever the other rows are, which
    a product of matrices does not promise.
    """
    k, d = model.means_.shape
    logs = np.empty((k, len(X)))
    with np.errstate(all="ignore"):
        for j in range(k):
            root = _root(model, j, d)
            weight = model.weights_[j]
            constant = (math.log(weight) if weight > 0 else -math.inf) - d / 2 * math.log(
                2 * math.pi
            )
            constant += math.fsum(math.log(x) for x in np.diag(root))
            logs[j] = constant - _squares(X - model.means_[j], root) / 2
        top = logs.max(axis=0)
        total = np.zeros(len(X))
        for j in range(k):
            total += np.fromiter(map(math.exp, logs[j] - top), dtype=np.float64, count=len(X))
    return top + np.fromiter(map(math.log, total), dtype=np.float64, count=len(X))


def _root(model, j, d):
    roots = model.precisions_cholesky_
    if model.covariance_type == "full":
        return roots[j]
    return {"tied": lambda: roots, "diag": lambda: np.diag(roots[j])}.get(
        model.covariance_type, lambda: np.eye(d) * roots[j]
    )()


def _squares(gaps, root):
    """Return ``|gap @ root|^2`` of every row; ``root`` is triangular, or diagonal."""
    total = np.zeros(len(gaps))
    for j in range(len(root)):
        entry = np.zeros(len(gaps))
        for i in np.flatnonzero(root[:, j]):
            entry += gaps[:, i] * root[i, j]
        total += np.square(entry)
    return total
