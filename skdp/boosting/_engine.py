"""The fit with pairs: cycles of features, two looks at all pairs, and cycles of all that stays."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.additive._cycles import (
    KEPT,
    MOST,
    Model,
    NewtonStep,
    counted_cells,
    false_alarm_bound,
    run_cycle,
)
from skdp.additive._fit import (
    calibrated,
    link_of,
    move_to_mean,
    next_radius,
    prior_model,
    release_lengths,
)
from skdp.additive._rules import (
    CELL_COUNTS,
    FLOOR_OF_CLASSES,
    FLOOR_OF_NUMBERS,
    UNLIKELY,
    cycle_shares,
    numbers_first,
    share_of_look,
)
from skdp.boosting._pairs import (
    AT_ONCE,
    FIRST,
    FIRST_CYCLES,
    INTERCEPT,
    LAST,
    LAST_CYCLES,
    LEAST_PART,
    SCOUTS,
    STAYS,
    UNLIKELY_PAIR,
    Spike,
    disjoint_groups,
    most_features,
    pair_of,
    parts_of_tables,
    sides,
)
from skdp.kernel._cells import Binned, Codes
from skdp.kernel._terms import Clipped, HalfCircle

LARGEST_RADIUS = 2**26  # of a HalfCircle
LEAST_SEEN = 0.1  # of the square of a radius, that rows leave of it
LEAST_ROWS = 0.3  # of those of independent features: rows that are clipped are not counted
MOVES = 2  # of a term that smoothing leaves


@dataclass
class PairStep(NewtonStep):
    """Newton steps of features, and of pairs by released second derivatives."""

    n_features: int = 0
    kept: float = KEPT  # weight of those of a pair, from cycle to cycle
    floor: float = 0.0  # of those of a pair, of what counts alone would tell
    parts: dict | None = None  # of a cycle, by table; None for even ones

    def share_of(self, j, share):
        return super().share_of(j, share) if self.parts is None else self.parts[j] * share

    def weights(self, j, sums, sd):
        if j < self.n_features:
            return super().weights(j, sums, sd)
        weights = self.released_weights(j, sums, sd, self.kept)
        weights = np.maximum(weights, self.floor * self.counts[j])
        return weights, (1.0 if self.released else self.spread[:, None]) / weights

    def add(self, counts, priors):
        """Take pairs, with the numbers of rows that independent features would have."""
        self.counts = [*self.counts, *counts]
        self.priors = [*self.priors, *priors]
        self._sums += [0.0] * len(counts)
        self._precisions += [0.0] * len(counts)


class _Fit:
    """A model that cycles change, and how they do."""

    def __init__(self, table, edges, target):
        self.table, self.edges, self.target = table, tuple(edges), target
        self.cells = table.map(Binned(self.edges, target))
        self.ran = False

    def look_at(self, pairs):
        """Give every one of some pairs a table."""
        self.cells = self.table.map(Binned(self.edges, self.target, tuple(pairs)))
        self.model = self.model.with_pairs(pairs)

    def cycles(self, order, share, times=1):
        """Take Newton steps of the tables of an order, some cycles of them."""
        if not any(order):
            return
        n_tables = sum(map(len, order))
        self.step.order = order
        beside = self.beside(share / times)
        for part in cycle_shares(share - times * beside, times):
            self.cycle(part, beside, n_tables)
            self.ran = True


class _Classes(_Fit):
    def __init__(self, table, edges, number):
        super().__init__(table, edges, Codes(len(number)))
        self.number = number

    def begin(self, counts, priors, ordered):
        self.link, of_row = link_of(self.number)
        self.start = self.model = prior_model(self.number, self.cells.shape.sizes)
        self.step = PairStep(
            counts,
            priors,
            of_row,
            of_row,
            numbers_first(ordered),
            released=True,
            most=MOST,
            n_features=len(counts),
        )

    def beside(self, share):
        """Return the share of an intercept in that of a cycle."""
        return INTERCEPT * share

    def cycle(self, share, beside, n_tables):
        if self.ran:
            self._calibrate(beside, slope=False)
        else:
            share += beside
        run_cycle(self.model, self.cells, self.link, self.step, share=share)

    def _calibrate(self, share, *, slope):
        self.model = calibrated(
            self.model, self.cells, self.link, self.start, share=share, slope=slope
        )

    def end(self, left):
        """Mend the sizes of the terms and the intercepts."""
        self._calibrate(LAST[0] * left, slope=True)
        self._calibrate(self.cells.remaining, slope=False)


class _Numbers(_Fit):
    def __init__(self, table, edges, place, n):
        super().__init__(table, edges, place.steps(Clipped.one))
        self.n, self.least = n, place.least(Clipped.one)

    def begin(self, counts, priors, ordered):
        self.model = Model.start([0], self.cells.shape.sizes)
        self.around = int(1 / Clipped.step)
        order, one = numbers_first(ordered), np.ones(1)
        self.step = PairStep(
            counts, priors, one, one, order, n_features=len(counts), kept=1.0, floor=LEAST_ROWS
        )

    def beside(self, share):
        """Return the share of a histogram and of a mean in that of a cycle."""
        return min(2 * share_of_look(self.n * self.table.budget.mu), share / 8)

    def cycle(self, share, beside, n_tables):
        lengths = release_lengths(
            self.cells, self.model.scores, around=self.around, share=beside / 2, least=self.least
        )
        left = float(self.cells.remaining)
        noise = math.sqrt(MOVES / left) * n_tables / self.table.budget.mu
        radius = next_radius(lengths.radius(noise), self.around if self.ran else None)
        self.around = radius = min(radius, LARGEST_RADIUS)
        square = lengths.mean_square(radius)
        self.step.spread = np.full(1, square * Clipped.step**2)
        self.step.most = radius * Clipped.step
        self.step.gain = math.sqrt(max(radius**2 - square, LEAST_SEEN * radius**2)) / Clipped.one
        link = HalfCircle(radius)
        move_to_mean(self.model, self.cells, lengths, n=self.n, share=beside / 2)
        run_cycle(self.model, self.cells, link, self.step, share=share)

    def end(self, left):
        pass


def fit_pairs_of_classes(table, *, edges, ordered, number, strength, wanted, monotone):
    """Return the Model of classes, the released cell counts, and whether terms tell anything."""
    fit = _Classes(table, edges, number)
    counts = counted_cells(fit.cells, share=CELL_COUNTS, floor=FLOOR_OF_CLASSES)
    return _fitted(fit, counts, ordered, strength, wanted, monotone, float(number.sum()))


def fit_pairs_of_numbers(table, place, *, n, edges, ordered, strength, wanted, monotone):
    """Return the Model of numbers, the released cell counts, and whether terms tell anything."""
    fit = _Numbers(table, edges, place, n)
    share = CELL_COUNTS * float(table.remaining)
    counts = counted_cells(fit.cells, share=share, floor=FLOOR_OF_NUMBERS)
    return _fitted(fit, counts, ordered, strength, wanted, monotone, n)


def _fitted(fit, counts, ordered, strength, wanted, monotone, n):
    left, n_features = float(fit.table.remaining), len(counts)
    singles = numbers_first(ordered)
    fit.begin(counts, monotone.of_features(counts, ordered), ordered)
    fit.cycles(singles, FIRST * left, FIRST_CYCLES)
    share = sum(SCOUTS) * left
    named = not isinstance(wanted, int) and wanted is not None
    if named:
        chosen = wanted
    else:
        at = most_features(strength, n_features, share, isinstance(fit, _Classes))
        gains = [_gain(fit.model, j) for j in range(n_features)]
        best = sorted(np.argsort(gains, kind="stable")[::-1][:at].tolist())
        chosen = list(itertools.combinations(best, 2))
    chosen = sorted(chosen, key=lambda pair: sum(not ordered[j] for j in pair))
    spike, side = Spike(), sides(strength)
    made = [pair_of(pair, counts, ordered, side, spike) for pair in chosen]
    pairs, expected, pair_priors = zip(*made, strict=True)
    fit.step.add(
        [n * parts for parts in expected],
        monotone.of_pairs(pairs, pair_priors, expected, ordered),
    )
    fit.look_at(pairs)
    numbers = list(range(n_features, n_features + len(pairs)))

    def ordered_groups(stay):
        return disjoint_groups([(j, chosen[j - n_features]) for j in stay], AT_ONCE)

    def prior(j):
        return pair_priors[j - n_features]

    stay, had = numbers, np.append(np.full(n_features, FIRST / n_features), np.zeros(len(pairs)))
    for at, (scout, bound) in enumerate(zip(SCOUTS, UNLIKELY_PAIR, strict=True)):
        if not stay:
            break
        fit.cycles(ordered_groups(stay), scout * left)
        had[stay] += scout / len(stay)
        if not named:
            stay = [j for j in stay if prior(j).log_odds > bound]
            most = math.ceil(STAYS * len(numbers)) if at == 0 else wanted
            ranked = sorted(stay, key=lambda j: -prior(j).evidence)[:most]
            stay = [j for j in stay if j in ranked]
    rest = float(fit.table.remaining) - (sum(LAST) * left if isinstance(fit, _Classes) else 0.0)
    if stay:
        parts = _parts(fit, had, [*range(n_features), *stay], rest / left)
        stay = [j for j in stay if named or parts[j] > LEAST_PART / len(parts)]
        kept = {j: max(parts[j], LEAST_PART / len(parts)) for j in [*range(n_features), *stay]}
        fit.step.parts = {j: part / sum(kept.values()) for j, part in kept.items()}
    fit.cycles([*singles, *ordered_groups(stay)], rest, LAST_CYCLES)
    fit.end(left)
    return fit.model, counts, _tells(fit.model, fit.step, pair_priors)


def _gain(model, j):
    """Return by how much a term has lowered the loss, about."""
    return float((model.weights[j] * np.square(model.tables[j])).sum())


def _parts(fit, had, tables, left):
    """Return the part of what is left that every table takes, by what its noise costs now.

    That is half of the squares of the noise, weighted by curvature, in as many cells as move.
    """
    model, losses = fit.model, []
    for j in tables:
        squares = (model.weights[j] * np.square(model.noise[j])).mean(axis=1)
        losses.append(float(squares @ fit.step.priors[j].moves) / 2)
    taken = parts_of_tables(losses, had[tables], left)
    return dict(zip(tables, taken / taken.sum(), strict=True))


def _tells(model, step, pair_priors):
    """Return whether features, or a pair, tell what noise does with a chance of .05 at most.

    The expectation of a Bayes factor is one where noise is all there is, so one of k pairs exceeds
    ``k / p`` with a chance of p at most.
    """
    alone = len(step.counts) - len(pair_priors)
    parts = {name: getattr(model, name)[:alone] for name in ("seen", "noise", "sampling")}
    if false_alarm_bound(replace(model, **parts), step) < UNLIKELY / 2:
        return True
    best = max(prior.evidence for prior in pair_priors)
    return best > math.log(2 * len(pair_priors) / UNLIKELY)
