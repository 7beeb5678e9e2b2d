"""A released line in the units of its table: coefficients, and how sure they are."""

import numpy as np

__all__ = ["coefficients"]


def coefficients(line, n_features):
    """Return slopes and an intercept, and the standard deviations of their errors.

    Parameters
    ----------
    line : Line
        Released.
    n_features : int

    Returns
    -------
    values, noise, sampling : ndarray of shape (n_features + 1,)
        The intercept is last. ``noise``: of what privacy has done; ``sampling``: of that and of the
        choice of rows. Infinite for the slopes of a flat line, finite otherwise.
    """
    if line.design is None:
        values = np.append(np.zeros(n_features), line.center)
        sd = np.append(np.full(n_features, np.inf), np.sqrt(line.covariance[0, 0]))
        return values, sd, np.full(n_features + 1, np.inf)
    frame, unit = line.design.frame, line.unit
    with np.errstate(all="ignore"):
        T = np.zeros((n_features + 1, line.design.dims))
        T[:-1, : frame.dims] = frame.A.T * (unit / frame.unit)[:, None]
        T[-1, : frame.dims] = -frame.center @ T[:-1, : frame.dims]
        T[-1, frame.dims :] = unit
        T = np.nan_to_num(T)
        values = T @ line.b
        values[-1] += line.center
        noise, sampling = (
            np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", T, C, T), 0.0))
            for C in (line.covariance, line.sampling)
        )
    return tuple(map(np.nan_to_num, (values, noise, sampling)))
