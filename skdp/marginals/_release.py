"""One release of a workload, what is made of it, and how noisy it is."""

from dataclasses import dataclass

import numpy as np

from skdp.marginals._allocation import expected_loss, shares_for
from skdp.marginals._layout import Measurement
from skdp.marginals._measure import measure
from skdp.marginals._noise_scale import noise_promise
from skdp.marginals._postprocess import Processed, postprocess
from skdp.marginals._ranges import measure_ranges, range_errors

__all__ = ["Released", "release_ranges", "release_tables"]


@dataclass(frozen=True, eq=False)
class Released:
    """A release of a workload."""

    measurement: Measurement
    processed: Processed
    noise: float  # root mean square of the noise of a cell, or of a range
    bound: float  # what no cell, or range, is off by, with probability 0.95


def release_tables(rows, tables, *, error, how, nonnegative):
    """Release tables for all that is left of the budget."""
    shares, share = shares_for(tables, error), rows.remaining
    measurement = measure(rows, tables.layout, tables.loss, share, shares=shares)
    loss = expected_loss(tables.layout, tables.loss, measurement.sd)
    # what makes errors small on average may make the worst one larger
    how = "none" if (error, how) == ("worst", "auto") else how
    processed = postprocess(measurement, how, nonnegative=nonnegative)
    noise = float(np.sqrt(loss / tables.cells))
    return Released(measurement, processed, noise, noise_promise(tables, measurement.sd))


def release_ranges(rows, tables, kind):
    """Release ranges, or prefixes, for all that is left of the budget, without post-processing."""
    measurement = measure_ranges(rows, tables, kind, rows.remaining)
    noise, bound = range_errors(measurement, kind)
    processed = Processed(measurement.values, tables.cells * noise**2, "none")
    return Released(measurement, processed, noise, bound)
