"""Tables of two columns that are worth their noise: chosen by released scores, then released."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np

from skdp.accounting import Step
from skdp.kernel._residual_sums import PairDistances
from skdp.kernel._residuals import Residuals
from skdp.marginals._domain import chosen_tables
from skdp.marginals._postprocess import has_small_domain, postprocess
from skdp.marginals._release import measure, released, with_empty
from skdp.marginals._residuals import table_of, workload_layout
from skdp.scales._column_noise import onto_simplex

SINGLES = Step("singles", at_most=0.1, of=(Residuals,))
SCORES = Step("scores", at_most=0.05, of=(PairDistances,))
COUNT = 0.05, 0.005  # of the releases of single columns, and of pairs: for the number of rows
HALF = 0.4  # mean of the positive part of a standard normal number, sqrt(1 / (2 pi)), rounded
DENOISED = 0.5  # part of the noise of a table that is left after denoising
TARGET = 4.0  # weight of the pairs of the target
STARTS, ROUNDS, LEAST = 12, 60, 2e-3
LIGHTEST = 1e-9  # part of a single column, at least
FINEST, PER_OCTAVE = 30, 2  # of the grid of noise levels


def pairs_are_chosen(layout):
    """Whether pairs are chosen by scores: if there are two at least, and the domain is large."""
    return len(layout.levels) > 2 and not has_small_domain(layout)


def release_chosen(rows, tables, target=None, *, how, nonnegative):
    """Release single columns, scores of all pairs, and the tables of the pairs that pay.

    Notes
    -----
    **Privacy**. Three releases of one budget: :class:`Residuals` of single columns, 10 % of what is
    left; :class:`PairDistances` of all pairs, 5 %; :class:`Residuals` of chosen pairs and of single
    columns, the rest. What the second asks (number of rows, shares) is a function of the first
    answer, and which pairs the third asks for, and in what proportion, is one of the first two.
    So all questions are equal for neighbouring tables whose earlier answers are equal. The
    adaptive composition of Gaussian releases adds up mu^2.
    """
    levels, left = tables.layout.levels, rows.remaining
    share = {step: left * step.at_most for step in (SINGLES, SCORES)}
    first = _singles(rows, levels, share[SINGLES])
    n, shares = laws_of_singles(first)
    scores = rows.ask(PairDistances(n, tuple(shares)), SCORES, share=share[SCORES])
    noise = scores.scale / 2 / n
    distances = _dependence(np.asarray(scores.value) / 2 / n, noise, first, n, shares)
    weights = np.where([target in pair for pair in _pairs(levels)], TARGET, 1.0)
    mu = rows.budget.mu * math.sqrt(rows.remaining)
    of_singles, of_pairs = Allocation(levels, distances, shares, n * mu).best(
        first.sd[1:] / n, weights
    )
    chosen = [pair for pair, part in zip(_pairs(levels), of_pairs, strict=True) if part > 0]
    tables = chosen_tables(levels, chosen)
    parts = np.concatenate([[0.0], of_singles, of_pairs[of_pairs > 0]])
    parts = with_empty(np.maximum(parts, LIGHTEST), COUNT[1])
    left, parts = rows.remaining, parts / parts.sum()
    measurement = measure(rows, tables.layout, tables.loss, left, shares=parts)
    processed = postprocess(combined(first, measurement), how, nonnegative=nonnegative)
    return released(tables, measurement, processed, first)


def _pairs(levels):
    return list(combinations(range(len(levels)), 2))


def _singles(rows, levels, share):
    """Release single columns: parts of the budget as the roots of their free levels."""
    layout, loss = workload_layout(levels, 1)
    parts = np.concatenate([[0.0], np.sqrt(np.array(levels) - 1.0)])
    parts = with_empty(parts / parts.sum(), COUNT[0])
    return measure(rows, layout, loss, share, shares=parts, step=SINGLES)


def laws_of_singles(measurement):
    """Return the number of rows, and the shares of the levels of every column, on the simplex."""
    n, layout = max(float(measurement.values[0]), 1.0), measurement.layout
    tables = (table_of(layout, measurement.values, [j]) / n for j in range(len(layout.levels)))
    return n, [onto_simplex(table) for table in tables]


def _dependence(distances, noise, first, n, shares):
    """Return how far pairs are from independence, without what errors of single columns add."""
    sds = first.sd[1:] / n
    added = [
        np.minimum(HALF * sd, law + HALF / 2 * sd).sum()
        for sd, law in zip(sds, shares, strict=True)
    ]
    i, j = np.array(_pairs(shares)).T
    squared = np.square(np.maximum(distances, 0.0)) - np.take(np.square(added), i)
    found = np.sqrt(np.maximum(squared - np.take(np.square(added), j), 0.0))
    return np.minimum(np.where(found > noise, found, noise / 2), 1.0)


class CellErrors:
    """For some laws, the sum over cells of the smaller of noise and share, and its slope.

    Noise of a positive part t in every cell moves a law by this much in total variation: a cell
    that is below its noise is lost, and no more than it. It is a concave function of t, and is
    interpolated between grid points.
    """

    def __init__(self, laws):
        self.grid = 2.0 ** (np.arange(-FINEST * PER_OCTAVE, 1) / PER_OCTAVE)
        cells = np.concatenate([np.ravel(law) for law in laws])
        starts = np.cumsum([0, *(np.size(law) for law in laws)])[:-1]
        sums = [np.add.reduceat(np.minimum(cells, t), starts) for t in self.grid]
        self.sums = np.array(sums)

    def __call__(self, t):
        """Return the sums and the slopes times t, one for each law."""
        at = np.clip(np.searchsorted(self.grid, t), 1, len(self.grid) - 1)
        which = np.arange(len(t))
        low, high = self.sums[at - 1, which], self.sums[at, which]
        slope = (high - low) / (self.grid[at] - self.grid[at - 1])
        below = t < self.grid[0]
        slope = np.where(below, self.sums[0] / self.grid[0], slope)
        start = np.where(below, 0.0, low - slope * self.grid[at - 1])
        slope = np.where(t > 1, 0.0, slope)
        return np.where(t > 1, self.sums[-1], start + slope * t), slope * t


class Allocation:
    """Parts of the budget for single columns and pairs that make the modelled error small.

    The modelled error of a pair is ``sqrt(s_i^2 + s_j^2 + e^2 v^2 / (e^2 + v^2))``: s_i of the
    single columns, e the dependence of the pair, which is lost without its table, and v what noise
    adds to it after denoising. So a table without any budget has the error e. The sum over pairs,
    times weights, has no closed minimum. In a stationary point parts are in proportion to their
    gain, ``-part dE/dpart``; the fixed point is iterated from several starts, the pairs of the
    largest dependence, and the best is taken. Public functions of released numbers.
    """

    def __init__(self, levels, dependence, shares, strength):
        self.d, self.strength = len(levels), strength
        self.i, self.j = np.array(_pairs(levels)).T
        self.dependence = np.maximum(dependence, 1e-4)
        self.cost = 1 - 1 / np.array(levels, dtype=float)
        self.singles = CellErrors(shares)
        tables = (np.outer(shares[i], shares[j]) for i, j in _pairs(levels))
        self.pairs = CellErrors(list(tables))

    def errors(self, parts, before, weights):
        """Return the summed error of all pairs, and the gain of every part."""
        i, j, d, e = self.i, self.j, self.d, self.dependence
        new, old = parts[:d] / self.cost * self.strength**2, before**-2
        single, slope = self.singles(HALF / np.sqrt(new + old))
        slope = slope * new / (new + old)
        sd = np.sqrt(self.cost[i] * self.cost[j] / np.maximum(parts[d:], 1e-12)) / self.strength
        lost, steep = (DENOISED * x for x in self.pairs(HALF * sd))
        h = np.hypot(e, lost)
        rest = e * lost / h
        error = np.sqrt(single[i] ** 2 + single[j] ** 2 + rest**2) + 1e-12
        of_pairs = weights / error * rest * (e / h) ** 3 * steep / 2
        of_singles = np.zeros(d)
        for side in (i, j):
            gain = weights / error * single[side] * slope[side] / 2
            of_singles += np.bincount(side, gain, d)
        return float(np.sum(weights * error)), np.concatenate([of_singles, of_pairs])

    def best(self, before, weights):
        """Return the parts of single columns, and those of pairs, most of which may be zero."""
        m, d = len(self.i), self.d
        ranks, found = np.argsort(-self.dependence * weights, kind="stable"), []
        for first in sorted({max(1, m * k // STARTS) for k in range(1, STARTS + 1)}):
            parts = np.zeros(d + m)
            parts[:d], parts[d + ranks[:first]] = 0.3 / d, 0.7 / first
            for _ in range(ROUNDS):
                _, gain = self.errors(parts, before, weights)
                gain = np.where(parts > 0, gain, 0.0)
                if not gain.sum() > 0:  # noise hides everything: no pair pays
                    parts[:d], parts[d:] = 1 / d, 0.0
                    break
                parts = np.sqrt(parts * gain / gain.sum())
                parts[d:][parts[d:] < LEAST * parts.max()] = 0.0
                parts /= parts.sum()
            found.append((self.errors(parts, before, weights)[0], parts))
        _, parts = min(found, key=lambda one: one[0])
        return parts[:d], parts[d:]


def combined(first, measurement):
    """Return the Measurement with the means of both releases of single columns, by precision."""
    values, sd = measurement.values.copy(), measurement.sd.copy()
    for number in range(len(first.sd)):  # the empty set and single columns stand first in both
        here = slice(*first.layout.starts[number : number + 2])
        old, new = first.sd[number] ** -2, sd[number] ** -2
        values[here] = (old * first.values[here] + new * values[here]) / (old + new)
        sd[number] = (old + new) ** -0.5
    return replace(measurement, values=values, sd=sd)
