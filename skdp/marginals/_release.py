"""One release of a workload, what is made of it, and how noisy it is."""

from dataclasses import dataclass

import numpy as np

from skdp.kernel._residuals import Residuals, residual_gains, residual_units
from skdp.marginals._allocation import expected_loss, optimal_shares, shares_for
from skdp.marginals._domain import Tables
from skdp.marginals._layout import Measurement
from skdp.marginals._noise_scale import noise_promise
from skdp.marginals._postprocess import Processed, postprocess
from skdp.marginals._ranges import RESIDUALS, measure_ranges, range_errors

__all__ = ["RESIDUALS", "Released", "measure", "release_ranges", "release_tables", "released"]

# --- the one release: all residuals of a workload, on an integer grid, with Gaussian noise


def measure(table, layout, weights, share, *, shares=None, step=RESIDUALS):
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
    told = table.ask(Residuals(layout, parts), step, share=share)
    units = residual_units(layout, residual_gains(layout, parts, told.bits))
    sd = told.scale / units * (1 + 2.0**-50)  # outweighs the roundings
    return Measurement(
        layout=layout,
        values=told.value / units,
        sd=np.maximum.reduceat(sd, layout.starts[:-1]),
        weights=weights,
    )


@dataclass(frozen=True, eq=False)
class Released:
    """A release of a workload."""

    tables: Tables  # the workload
    measurement: Measurement
    processed: Processed
    noise: float  # root mean square of the noise of a cell, or of a range
    bound: float  # what no cell, or range, is off by, with probability 0.95
    singles: Measurement | None = None  # an earlier release of single columns


def release_tables(rows, tables, *, error, how, nonnegative):
    """Release tables for all that is left of the budget."""
    shares, share = shares_for(tables, error), rows.remaining
    measurement = measure(rows, tables.layout, tables.loss, share, shares=shares)
    # what makes errors small on average may make the worst one larger
    how = "none" if (error, how) == ("worst", "auto") else how
    processed = postprocess(measurement, how, nonnegative=nonnegative)
    return released(tables, measurement, processed)


def released(tables, measurement, processed, singles=None):
    """Return a Released with the noise of its tables."""
    loss = expected_loss(tables.layout, tables.loss, measurement.sd)
    noise = float(np.sqrt(loss / tables.cells))
    promise = noise_promise(tables, measurement.sd)
    return Released(tables, measurement, processed, noise, promise, singles)


def release_ranges(rows, tables, kind):
    """Release ranges, or prefixes, for all that is left of the budget, without post-processing."""
    measurement = measure_ranges(rows, tables, kind, rows.remaining)
    noise, bound = range_errors(measurement, kind)
    processed = Processed(measurement.values, tables.cells * noise**2, "none")
    return Released(tables, measurement, processed, noise, bound)
