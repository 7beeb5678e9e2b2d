"""How near synthetic rows are to released tables, beside what their noise explains."""

from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np

__all__ = ["TableAgreement", "table_agreements"]


@dataclass(frozen=True)
class TableAgreement:
    """Rows beside one released table.

    Parameters
    ----------
    columns : tuple of int
        Places of its columns in the domain.
    distance : float
        Half the sum of the absolute differences of the shares of all cells: the total variation
        distance, but for the noise of the release.
    noise : float
        What the noise of the release adds to it on average, if the rows were the exact ones.
    """

    columns: tuple
    distance: float
    noise: float


def table_agreements(tables, codes):
    """Return a TableAgreement for every largest table of a release.

    Parameters
    ----------
    tables : NoisyTables
    codes : ndarray of int of shape (n_rows, n_columns)
        At least one row.

    Notes
    -----
    The noise of a cell is normal of a known standard deviation s, so that its absolute value has
    the mean ``s sqrt(2 / pi)``. Distances far above the noise are of what the rows have missed;
    below it, the rows are nearer to the release than the truth is.
    """
    found = []
    for columns in tables.sets:
        shares, sd = tables.released(columns)
        keys = np.ravel_multi_index(tuple(codes[:, c] for c in columns), shares.shape)
        made = np.bincount(keys, minlength=shares.size).reshape(shares.shape) / len(codes)
        distance = float(np.abs(made - shares).sum() / 2)
        found.append(TableAgreement(columns, distance, prod(shares.shape) * sd / sqrt(2 * pi)))
    return tuple(found)
