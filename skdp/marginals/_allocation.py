"""How to divide the budget between the residuals."""

import numpy as np

__all__ = ["EMPTY_SHARE", "expected_loss", "noise_sd", "optimal_shares", "uniform_shares"]

EMPTY_SHARE = 0.05  # of the budget, at least, for the number of rows


def optimal_shares(layout, loss_weights, empty=EMPTY_SHARE):
    """Return the part of the budget for each set that makes the expected loss smallest.

    Parameters
    ----------
    layout : Layout
    loss_weights : ndarray of shape (n_sets,)
        v_T, see :func:`workload_layout`.
    empty : float, default=0.05
        Least share of the empty set, the number of rows; the others shrink in proportion.

    Returns
    -------
    shares : ndarray of shape (n_sets,)
        Positive, sum 1.

    Notes
    -----
    Noise of variance s_T in every coordinate of r_T costs c_T / s_T of mu^2. By Cauchy and Schwarz
    the loss ``sum of v_T length_T s_T`` is at least
    ``(sum of sqrt(c_T v_T length_T))^2 / mu^2``, with equality for shares in proportion to the
    summands. (This is the ResidualPlanner of Xiao, He, Zhang, Kifer, NeurIPS 2023.)
    """
    ideal = np.sqrt(layout.row_lengths * loss_weights * layout.lengths)
    return _with_empty(ideal / ideal.sum(), empty)


def uniform_shares(layout):
    """Return equal shares for a ``layout``: of binary ones the same noise in every parity.

    This makes the largest noise of a parity smallest, as the shares ``1 / s_T`` sum to a constant.
    """
    return np.full(len(layout.lengths), 1 / len(layout.lengths))


def noise_sd(layout, shares, mu=1.0):
    """Return the standard deviation of the noise in a coordinate of every residual.

    Of a ``layout`` whose sets have ``shares`` of a release that costs ``mu^2``.
    """
    return np.sqrt(layout.row_lengths / shares) / mu


def expected_loss(layout, loss_weights, sd):
    """Return the loss of noisy residuals as released, ``sum of v_T length_T sd_T^2``.

    The ``loss_weights`` v_T are those of the ``layout``, as :func:`workload_layout` returns both;
    ``sd`` is that of :func:`noise_sd`.
    """
    return float(np.sum(loss_weights * layout.lengths * np.square(sd)))


def _with_empty(shares, empty):
    """Return the shares with at least ``empty`` for the first set."""
    if shares[0] >= empty or len(shares) == 1:
        return shares
    raised = shares * ((1 - empty) / (1 - shares[0]))
    raised[0] = empty
    return raised
