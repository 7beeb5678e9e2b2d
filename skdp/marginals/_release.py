"""One release of a workload, what is made of it, and how noisy it is."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.kernel._residuals import RangeResiduals, Residuals, helmert_squares, residual_gains
from skdp.marginals._allocation import expected_loss, optimal_shares, shares_for, with_empty
from skdp.marginals._domain import Tables
from skdp.marginals._layout import Measurement
from skdp.marginals._noise_scale import CONFIDENCE, noise_promise
from skdp.marginals._postprocess import Processed, postprocess
from skdp.marginals._residuals import helmert, squared_lengths
from skdp.marginals._strategy import range_strategy, ranges_of

__all__ = [
    "RESIDUALS",
    "Released",
    "measure",
    "measure_ranges",
    "range_errors",
    "release_ranges",
    "release_tables",
    "released",
]

RESIDUALS = Step("residuals", of=(Residuals, RangeResiduals))
BITS = 24  # of the length of a row's integer vector
ROUNDING = 2.0**-30

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
    # gain times length of the integer Helmert rows: a value over its unit is in rows
    units = residual_gains(layout, parts, told.bits) * np.sqrt(helmert_squares(layout))
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


def measure_ranges(table, tables, kind, share):
    """Release the number of rows and, of every column, what its ranges or prefixes need.

    Notes
    -----
    **Privacy**: the answer to :class:`skdp.kernel._residuals.RangeResiduals`: all of it gets noise
    of one standard deviation in a single Gaussian release.

    The rounding of M_j costs no privacy; it makes the measurement a slightly worse one than
    :func:`range_strategy` and is undone by the inverse of M_j, not of what was rounded. Columns of
    H_j are orthogonal to ones, and so are those of B_j exactly: what a column tells does not hang
    on the noise of the number of rows. The budget is divided as makes the sum over columns of mean
    squared errors of queries least.
    """
    layout, levels = tables.layout, tables.layout.levels
    strategies = [range_strategy(n, kind) for n in levels]
    ideal = np.sqrt([sum(_of_all(n, kind) for n in levels), *(s.error for s in strategies)])
    parts = np.sqrt(with_empty(ideal / ideal.sum())) * 2.0**BITS
    roots = [np.sqrt(squared_lengths(n)) for n in levels]
    matrices = [
        np.rint(part * s.matrix / root).astype(np.int64)
        for part, s, root in zip(parts[1:], strategies, roots, strict=True)
    ]
    gain = int(np.rint(parts[0]))
    question = RangeResiduals(tuple(levels), gain, tuple(matrices))
    release = table.ask(question, RESIDUALS, share=share)
    scale = float(np.max(release.scale)) * (1 + ROUNDING)
    values, factors, sd = [release.value[:1] / gain], {}, [scale / gain]
    noisy = np.split(release.value[1:], np.cumsum(layout.lengths[1:])[:-1])
    for (place,), M, root, y in zip(
        layout.subsets[1].tolist(), matrices, roots, noisy, strict=True
    ):
        inverse = np.linalg.inv(M * root)
        values.append(inverse @ y)
        factors[place] = scale * inverse
        sd.append(math.sqrt(np.mean(np.sum(np.square(factors[place]), axis=1))))
    return Measurement(
        layout=layout,
        values=np.concatenate(values),
        sd=np.array(sd),
        weights=tables.loss,
        factors=factors,
    )


def range_errors(measurement, kind, *, miss=1 - CONFIDENCE):
    """Return the root mean squared error of the queries, and a number that none is off by.

    The mean is over the queries of a column, and then over columns. With M queries and s the
    largest of their standard deviations, none is off by more than z s but with probability
    ``2 M Phi(-z)``, which is ``miss``.
    """
    mean, largest, queries = [], 0.0, 0
    for place, factor in measurement.factors.items():
        levels = measurement.layout.levels[place]
        gram, n_queries = ranges_of(levels, kind)
        noise = helmert(levels).T @ factor
        total = measurement.sd[0] ** 2
        mean.append(np.sum(noise * (gram @ noise)) / n_queries + total * _of_all(levels, kind))
        upto = np.vstack([np.zeros(levels - 1), np.cumsum(noise, axis=0)])
        inner = upto @ upto.T if kind == "ranges" else np.diag(np.sum(np.square(upto), axis=1))
        part = np.subtract.outer(np.arange(levels + 1), np.arange(levels + 1)) / levels
        own = np.diag(inner)
        apart = np.add.outer(own, own) - 2 * inner + total * np.square(part)
        largest = max(largest, float((apart if kind == "ranges" else apart[:, 0]).max()))
        queries += n_queries
    return float(np.sqrt(np.mean(mean))), float(-ndtri(miss / (2 * queries)) * math.sqrt(largest))


def _of_all(levels, kind):
    """Return the mean square of the part of all levels that a query counts."""
    gram, n_queries = ranges_of(levels, kind)
    return float(gram.sum()) / (n_queries * levels**2)
