"""A released line in the units of its table: coefficients, and how sure they are."""

import numpy as np

LOST = 2.0**-10  # of a column, in directions that were dropped: rounding is far smaller


def coefficients(line, n_features):
    """Return slopes and an intercept, and the standard deviations of their errors."""
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
    noise[_unsupported_slopes(line)] = sampling[_unsupported_slopes(line)] = np.inf
    return np.nan_to_num(values), *(np.nan_to_num(sd, posinf=np.inf) for sd in (noise, sampling))


def from_least_squares(line, n_features):
    """Return how far least squares are from slopes and intercept, as far as it was released."""
    if line.squares is None or not line.squares.told:
        nothing = np.full(n_features + 1, np.inf)
        return np.zeros(n_features + 1), nothing, nothing, nothing
    shift, *sizes = line.squares.beside(_in_units(line, n_features))
    return shift, *(np.where(_unsupported_slopes(line), np.inf, size) for size in sizes)


def spread(line):
    """Return released units of the features, over that of the target: near standard deviations."""
    return line.design.frame.unit / line.unit


def unseen_columns(frame):
    """Tell of which slopes nothing is told, as of a column that is not seen to vary.

    Rows lie near the range of P. What a slope is alone, and not beside others, is told by rows
    that move along its column: if that lies in the range, P A leaves it as it is.
    """
    lost = np.linalg.norm(np.eye(len(frame.unit)) - frame.P @ frame.A, axis=0)
    return (lost > LOST) & (frame.dims < len(frame.unit))


def _unsupported_slopes(line):
    """Tell the same of slopes and the intercept, which a slope that is not told would move."""
    still = unseen_columns(line.design.frame)
    return np.append(still, still.any())


def _in_units(line, n_features):
    """Return the matrix that makes slopes, and an intercept less the centre, of coefficients."""
    frame, unit = line.design.frame, line.unit
    T = np.zeros((n_features + 1, line.design.dims))
    T[:-1, : frame.dims] = frame.A.T * (unit / frame.unit)[:, None]
    T[-1, : frame.dims] = -frame.center @ T[:-1, : frame.dims]
    T[-1, frame.dims :] = unit
    return np.nan_to_num(T)
