"""A workload divided among residuals, its one release, what is made of it, and how noisy it is."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.kernel._layout import set_numbers
from skdp.kernel._residual_sums import squared_lengths
from skdp.kernel._residuals import RangeResiduals, Residuals, helmert_squares, residual_gains
from skdp.marginals._domain import Tables
from skdp.marginals._postprocess import Processed, postprocess
from skdp.marginals._residuals import (
    CONFIDENCE,
    Measurement,
    helmert,
    margins,
    noise_promise,
    range_strategy,
    ranges_of,
    transform,
)

EMPTY_SHARE = 0.05  # of the budget, at least, for the number of rows
EXHAUSTIVE = 16  # attributes up to which all subsets are tried
TOLERANCE, MOST_ITER = 1e-3, 1000  # of the search for shares that are best for the worst table


def shares_for(tables, error):
    """Return the part of the budget for every residual, for the "mean" or the "worst" error."""
    if error == "mean" or (len(tables.sets) == 1 and _one_noise(tables)):
        return optimal_shares(tables.layout, tables.loss)
    return minimax_shares(tables.layout, [tuple(row) for rows in tables.sets for row in rows])


def _one_noise(tables):
    """Whether all tables of one size are there, and alike: then all cells have one noise."""
    levels, sets = tables.layout.levels, tables.sets[0]
    every = math.comb(len(levels), sets.shape[1])
    return len(set(levels)) == 1 and len(sets) == len(tables.layout.subsets[-1]) == every


def optimal_shares(layout, loss_weights, empty=EMPTY_SHARE):
    """Return the part of the budget for each set that makes the expected loss smallest.

    Notes
    -----
    Noise of variance s_T in every coordinate of r_T costs c_T / s_T of mu^2. By Cauchy and Schwarz
    the loss ``sum of v_T length_T s_T`` is at least
    ``(sum of sqrt(c_T v_T length_T))^2 / mu^2``, with equality for shares in proportion to the
    summands. (This is the ResidualPlanner of Xiao, He, Zhang, Kifer, NeurIPS 2023.)
    """
    ideal = np.sqrt(layout.row_lengths * loss_weights * layout.lengths)
    return with_empty(ideal / ideal.sum(), empty)


def minimax_shares(layout, sets):
    """Return the shares that make the largest noise of a cell smallest, over all listed tables.

    Notes
    -----
    All cells of a table have the variance ``V_S = sum over T in S of a_ST sd_T^2`` and a residual
    costs ``c_T / sd_T^2``. For weights p of the tables, of sum 1, the least ``sum of p_S V_S`` is
    a lower bound of the least maximum, and for the best p it is equal to it (V is convex in the
    shares, so minimum and maximum may be exchanged). It is taken at shares in proportion to
    ``sqrt(c_T sum of p_S a_ST)``. The weights of noisy tables grow, ``p_S <- p_S V_S / mean``,
    until the maximum meets the bound. For all tables of k columns with the same number of levels
    it does at once: what is best for the mean is best for the worst. Public numbers only.
    """
    cost = _cell_costs(layout, sets)
    p = np.full(len(sets), 1 / len(sets))
    for _ in range(MOST_ITER):
        shares = np.sqrt(cost.T @ p)
        shares /= shares.sum()
        variance = cost @ (1 / shares)
        mean = p @ variance
        if variance.max() <= (1 + TOLERANCE) * mean:
            break
        p = p * variance / mean
        p /= p.sum()
    return with_empty(shares)


def _cell_costs(layout, sets):
    """Return the matrix ``a_ST c_T``: variance of a cell of S, times the share of T, at cost 1."""
    inverse, lengths = 1 / np.array(layout.levels), layout.row_lengths
    entries, tables, numbers = [], [], []
    for which, inside, outside in margins(sets):
        numbers.append(set_numbers(layout, inside))
        tables.append(which)
        entries.append(lengths[numbers[-1]] ** 2 * np.prod(inverse[outside] ** 2, axis=1))
    place = np.concatenate(tables), np.concatenate(numbers)
    return csr_array((np.concatenate(entries), place), shape=(len(sets), len(lengths)))


def with_empty(shares, empty=EMPTY_SHARE):
    """Return the shares with at least ``empty`` for the first set."""
    if shares[0] >= empty:
        return shares
    raised = shares * ((1 - empty) / (1 - shares[0]))
    raised[0] = empty
    return raised


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


def replace_one_factor(layout, sd):
    """Return what replacing one row costs, over what adding or removing one costs (both mu^2).

    Notes
    -----
    Let two rows differ in the attributes A. The inner product of their residuals in T is the
    product over T of ``delta - 1 / L_i``, delta telling whether they agree, against ``c_T`` for the
    square of either. With f_T = c_T / sd_T^2 over its sum the ratio of costs is

        2 * sum over T of f_T (1 - product over i in T and A of -1 / (L_i - 1))

    For two levels: 4 times the sum of f_T over the T that have an odd number of attributes in A.
    """
    whole = layout.row_lengths / np.square(sd)
    whole = whole / whole.sum()
    parts = np.split(whole, layout.firsts[1:-1])
    opposite = -1 / (np.array(layout.levels) - 1.0)
    if len(layout.levels) <= EXHAUSTIVE:
        factor = 2 - 2 * _set_sums(layout, parts, opposite).min()
    elif _symmetric(layout, parts):
        factor = 2 - 2 * _alike_by_size(len(layout.levels), parts, opposite[0]).min()
    else:
        nearest = [np.max(-opposite[sets], axis=1, initial=-1) for sets in layout.subsets]
        factor = 2 * np.sum(whole * (1 + np.concatenate(nearest)))
    return min(4.0, float(factor) * (1 + (0 if layout.binary else 1e-3)))


def _set_sums(layout, parts, opposite):
    """Return the sum of f_T times the product over T and A, for all A."""
    d = len(layout.levels)
    whole = np.zeros((1, *(2,) * d))
    for sets, part in zip(layout.subsets, parts, strict=True):
        member = np.zeros((d + 1, len(sets)), dtype=np.int64)
        for column in sets.T:
            member[column + 1, np.arange(len(sets))] = 1
        whole[tuple(member)] = part
    return transform(whole, [np.array([[1, 1], [1, entry]]) for entry in opposite])


def _alike_by_size(d, parts, opposite):
    """Return the same for sets A of 0..d attributes, when all sets of one order are alike."""
    total = np.zeros(d + 1)
    for order, part in enumerate(parts):
        for size in range(d + 1):
            total[size] += part[0] * sum(
                math.comb(size, odd) * math.comb(d - size, order - odd) * opposite**odd
                for odd in range(order + 1)
            )
    return total


def _symmetric(layout, parts):
    d = len(layout.levels)
    return len(set(layout.levels)) == 1 and all(
        len(part) == math.comb(d, order) and np.ptp(part) == 0 for order, part in enumerate(parts)
    )


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


def range_errors(measurement, kind):
    """Return the root mean squared error of the queries, and a number that none is off by.

    The mean is over the queries of a column, and then over columns. With M queries and s the
    largest of their standard deviations, none is off by more than z s but with probability
    ``2 M Phi(-z)``, which is 1 - CONFIDENCE.
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
    z = -ndtri((1 - CONFIDENCE) / (2 * queries))
    return float(np.sqrt(np.mean(mean))), float(z * math.sqrt(largest))


def _of_all(levels, kind):
    """Return the mean square of the part of all levels that a query counts."""
    gram, n_queries = ranges_of(levels, kind)
    return float(gram.sum()) / (n_queries * levels**2)
