"""How far two matrices are apart, for audits."""

import numpy as np

__all__ = ["matrix_distance", "matrix_factor"]

FAR = 2.0**500  # for what is not positive definite


def matrix_distance(a, b):
    """Return max(l, 1 / l) - 1 over the eigenvalues l of a^-1 b, for rational matrices.

    Computed from the exact difference, so that its relative error is near 2^-53 times the root of
    the condition number, times d; and lowered by a millionth, which tells faults from rounding.
    """
    units = np.sqrt([float(x) for x in np.diag(a)])
    units = units[:, None] * units
    try:
        root = np.linalg.inv(np.linalg.cholesky(a.astype(np.float64) / units))
        change = np.linalg.eigvalsh(root @ ((b - a).astype(np.float64) / units) @ root.T)
    except (np.linalg.LinAlgError, ZeroDivisionError):
        return FAR
    low, high = change[0], change[-1]
    distance = max(0.0, high, -low / (1 + low)) if low > -1 else FAR
    return min(float(distance), FAR) * (1 - 1e-6)


def matrix_factor(S):
    """Return the Cholesky factor of a matrix of Fractions."""
    units = np.sqrt([float(x) for x in np.diag(S)])
    return np.linalg.cholesky(S.astype(np.float64) / units[:, None] / units) * units[:, None]
