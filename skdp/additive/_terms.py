"""What a fitted model tells: centred tables, and the intercept that takes the rest."""

import numpy as np

__all__ = ["centred_terms"]


def centred_terms(model, counts, step):
    """Return terms of mean zero under released counts, their noise, and the intercept.

    Parameters
    ----------
    model : Model
    counts : list of ndarrays of shape (n_cells,)
        Released number of rows in each cell, > 0.
    step : float
        Of a score.

    Returns
    -------
    terms, noise : lists of ndarrays of shape (n_cells,), or (n_cells, n_outputs) if there are many
    intercept : ndarray of shape (n_outputs,)
    """
    intercept = model.intercept[:, 0] * step
    terms = []
    for table, number in zip(model.tables, counts, strict=True):
        values = table * step
        mean = values @ (number / number.sum())
        terms.append(_plain((values - mean[:, None]).T))
        intercept = intercept + mean
    return terms, [_plain(noise.T) for noise in model.noise], intercept


def _plain(values):
    return np.ascontiguousarray(values[:, 0] if values.shape[1] == 1 else values)
