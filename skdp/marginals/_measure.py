"""The one release: all residuals of a workload, on an integer grid, with Gaussian noise."""

import numpy as np

from skdp.kernel._residuals import Residuals, residual_gains, residual_units
from skdp.marginals._allocation import optimal_shares
from skdp.marginals._layout import Measurement

__all__ = ["measure"]


def measure(table, layout, weights, share, label="residuals", *, shares=None):
    """Release the residuals of rows of codes.

    Notes
    -----
    **Privacy**: the answer to :class:`skdp.kernel._residuals.Residuals`, whose squared length of a
    row is bounded in exact integers. The vector gets independent noise of one standard deviation
    ``sigma >= sqrt(squared_l2 / mu^2)`` in a single release that costs ``mu^2 = share * budget``.
    The number of rows is a coordinate as all others.

    What is stated is what is paid: a row of codes x has in T the squared length
    ``u_T(x) = sum of g^2 q^2``. As ``sd_T >= sigma / (g sqrt(P))`` in each of its coordinates,

        c_T = sum of q^2 / P <= sum of g^2 q^2 sd_T^2 / sigma^2 = u_T(x) sd_T^2 / sigma^2

    so that ``sum over T of c_T / sd_T^2 <= sum of u_T(x) / sigma^2 <= mu^2``, in exact numbers.
    """
    parts = optimal_shares(layout, weights) if shares is None else shares
    told = table.ask(Residuals(layout, parts), share=share, label=label)
    units = residual_units(layout, residual_gains(layout, parts, told.bits))
    sd = told.scale / units * (1 + 2.0**-50)  # outweighs the roundings
    return Measurement(
        layout=layout,
        values=told.value / units,
        sd=np.maximum.reduceat(sd, layout.starts[:-1]),
        weights=weights,
    )
