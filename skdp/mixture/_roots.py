"""Roots of covariances of released mixtures."""

import numpy as np

__all__ = ["lower_root"]

FLATTEST = 1e-13  # smallest eigenvalue of a covariance of columns of variance one


def lower_root(C):
    """Return lower triangular roots of covariances (c, d, d), made positive where floats fail."""
    try:
        return np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        C = np.nan_to_num(C)
        scale = np.sqrt(np.maximum(np.einsum("kii->ki", C), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(C / scale[:, :, None] / scale[:, None])
        values = np.maximum(values, FLATTEST)
        upper = np.linalg.qr((vectors * np.sqrt(values)[:, None]).transpose(0, 2, 1), mode="r")
        signs = np.where(np.einsum("kii->ki", upper) < 0, -1.0, 1.0)
        return scale[:, :, None] * (upper * signs[:, :, None]).transpose(0, 2, 1)
