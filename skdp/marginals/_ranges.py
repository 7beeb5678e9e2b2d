"""One release for all ranges, or all prefixes, of the levels of ordered columns."""

import math

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.kernel._residuals import RangeResiduals, Residuals
from skdp.marginals._allocation import with_empty
from skdp.marginals._layout import Measurement
from skdp.marginals._noise_scale import CONFIDENCE
from skdp.marginals._residuals import helmert, squared_lengths
from skdp.marginals._strategy import range_strategy, ranges_of

__all__ = ["RESIDUALS", "measure_ranges", "range_errors"]

RESIDUALS = Step("residuals", of=(Residuals, RangeResiduals))
BITS = 24  # of the length of a row's integer vector
ROUNDING = 2.0**-30


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
