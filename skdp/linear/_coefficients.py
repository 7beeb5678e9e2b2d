"""A released line in the units of its table: coefficients, and how sure they are."""

import numpy as np

__all__ = ["coefficients", "from_least_squares"]


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
    with np.errstate(all="ignore"):
        T = _in_units(line, n_features)
        values = T @ line.b
        values[-1] += line.center
        noise, sampling = (
            np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", T, C, T), 0.0))
            for C in (line.covariance, line.sampling)
        )
    return tuple(map(np.nan_to_num, (values, noise, sampling)))


def from_least_squares(line, n_features):
    """Return how far least squares are from slopes and intercept, as far as it was released.

    Parameters
    ----------
    line : Line
        Released.
    n_features : int

    Returns
    -------
    shift, scale, excess : ndarray of shape (n_features + 1,)
        They are about ``shift`` away, with a standard deviation of at most ``scale`` of noise and
        sampling, and at most ``excess`` for what is clipped; infinite if nothing is told.
    """
    if line.squares is None or not np.isfinite(line.squares.excess):
        nothing = np.full(n_features + 1, np.inf)
        return np.zeros(n_features + 1), nothing, nothing
    with np.errstate(all="ignore"):
        T = _in_units(line, n_features)
        length = np.linalg.norm(T @ line.squares.inverse, axis=1)
        told = T @ line.squares.shift, length * line.squares.sd, length * line.squares.excess
    return tuple(map(np.nan_to_num, told))


def _in_units(line, n_features):
    """Return the matrix that makes slopes, and an intercept less the centre, of coefficients."""
    frame, unit = line.design.frame, line.unit
    T = np.zeros((n_features + 1, line.design.dims))
    T[:-1, : frame.dims] = frame.A.T * (unit / frame.unit)[:, None]
    T[-1, : frame.dims] = -frame.center @ T[:-1, : frame.dims]
    T[-1, frame.dims :] = unit
    return np.nan_to_num(T)
