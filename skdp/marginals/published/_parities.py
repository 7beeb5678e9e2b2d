"""Parities of binary attributes, the queries of the paper, in place of residuals."""

import numpy as np

from skdp.marginals._residuals import transform

__all__ = ["from_parities", "to_parities", "uniform_shares", "walsh_hadamard"]


def uniform_shares(layout):
    """Return equal shares for a ``layout``: of binary ones the same noise in every parity.

    This makes the largest noise of a parity smallest, as the shares ``1 / s_T`` sum to a constant.
    """
    return np.full(len(layout.lengths), 1 / len(layout.lengths))


def walsh_hadamard(arrays):
    """Return sums of entries with the signs of parities, over all axes but the first.

    Of tables of shape (m, 2, ..., 2) these are the parities of all subsets of the axes (index 1:
    in the set), for x = 1 - 2 bit; of parities, 2^k times the tables. Exact for integers, and for
    arrays of Python integers or Fractions.
    """
    signs = np.array([[1, 1], [1, -1]], dtype=arrays.dtype)
    return transform(arrays, [signs] * (arrays.ndim - 1))


def to_parities(layout, values):
    """Return the parities of a binary ``layout`` from residuals: ``values`` times 2^(|T| / 2)."""
    return values * np.sqrt(2.0**layout.orders)


def from_parities(layout, parities):
    """Return the residuals of a binary ``layout`` from ``parities``, by :func:`to_parities`."""
    return parities / np.sqrt(2.0**layout.orders)
