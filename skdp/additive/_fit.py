"""The fit of terms: cells and cycles of classes and of numbers; means of levels by one cycle."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.additive._cycles import (
    CELLS_COUNTED,
    MOST,
    Model,
    NewtonStep,
    counted_cells,
    false_alarm_bound,
    run_cycle,
)
from skdp.additive._rules import (
    CELL_COUNTS,
    CLASS_COUNTS,
    CURVATURE,
    FEW,
    FLOOR_OF_CLASSES,
    FLOOR_OF_NUMBERS,
    INTERCEPT,
    UNLIKELY,
    TermPrior,
    cycle_shares,
    has_own_curvature,
    numbers_first,
    share_of_calibration,
    share_of_counts,
    share_of_look,
    term_priors,
)
from skdp.kernel._cells import Binned, Codes, n_cells
from skdp.kernel._terms import (
    FARTHEST,
    FIRST,
    STEP,
    Calibration,
    ClassCounts,
    Clipped,
    FeatureCells,
    Logistic,
    ResidualLengths,
    ResidualSum,
    Softmax,
)
from skdp.scales._column_noise import RESIDUALS

CLEAR = 3  # sd of the noise of a curvature, below which no step is divided by it
FACTORS, BOUNDS = (0.5, 2.0), (-2.0, 2.0)  # least and largest of a calibration
COUNTED = Step("class counts", at_most=CLASS_COUNTS[1], of=(ClassCounts,))
CALIBRATED = Step("calibration", times=10**4, of=(Calibration,))
CLASS_STEPS = COUNTED, CALIBRATED

MEAN_RESIDUAL = Step("mean residual", times=101, of=(ResidualSum,))
RESIDUAL_LENGTHS = Step("residual lengths", at_most=0.1, times=100, of=(ResidualLengths,))
NUMBER_STEPS = RESIDUAL_LENGTHS, MEAN_RESIDUAL
MOVES = 2  # of a term that smoothing leaves

BELOW, ABOVE = 5, 16  # octaves around the last radius
LARGEST = 2**30  # radius in steps of a score: sums of a block stay exact
GROWS = 2  # of a radius, from cycle to cycle at most
# Of 400 fits to tables that nothing was tuned on, 161 are reliable; 5 of them are worse than a
# constant, by less than 5 % of the variance.
HIDDEN = 1.0  # noise sds of the rows that the octave beyond may hold without being seen
NOISES = 2.0  # noise sds by which a mean may be off
ROOM = 2.0  # units that rows may be away where none is seen farther: most are there as a rule
MEANS = 3  # times the share of a look that the last mean takes, on which all predictions rest
ALIGNED = 0.3  # part of what clipping takes that moves scores one way

SUMS = Step("level sums", times=10**6, of=(ResidualSum,))
CLASS_MEANS, NUMBER_MEANS = (COUNTED, CELLS_COUNTED, SUMS), (*NUMBER_STEPS, CELLS_COUNTED, SUMS)
COUNTS = 0.1  # share of the counts of levels
SHOWN = 4.0  # noises: a number of rows that is clear of them


def count_classes(table, n_classes, strength=math.inf):
    """Release the number of rows of every class, at least two sd."""
    told = table.ask(ClassCounts(n_classes), COUNTED, share=share_of_counts(strength))
    return np.maximum(told.value.astype(float), 2 * told.scale)


def prior_model(number, sizes):
    """Return the Model that gives every row the frequencies of the classes."""
    logs = np.log(number / number.sum())
    start = [logs[1] - logs[0]] if len(logs) == 2 else logs
    return Model.start(np.rint(np.array(start) / STEP), sizes)


def link_of(number):
    """Return the link of classes, and the second derivative of a row under their frequencies."""
    prior = number / number.sum()
    link = Logistic() if len(prior) == 2 else Softmax(len(prior))
    return link, CURVATURE * (prior * (1 - prior))[: link.outputs]


def class_strength(number, mu):
    """Return n mu times 4 p (1 - p), the mean of the outputs."""
    _, of_row = link_of(number)
    return number.sum() * mu * 4 * of_row.mean() / CURVATURE


def fit_classes(table, *, edges, ordered, number, n_cycles, priors_of=term_priors):
    """Return the Model of classes.

    The released cell counts, and whether the terms tell anything.
    """
    cells = table.map(Binned(tuple(edges), Codes(len(number))))
    counts = counted_cells(cells, share=CELL_COUNTS, floor=FLOOR_OF_CLASSES)
    link, of_row = link_of(number)
    priors = priors_of(counts, ordered)
    told = class_strength(number, table.budget.mu)
    own = has_own_curvature(told, len(counts))
    order = numbers_first(ordered)
    most = MOST if own else math.inf
    curvature = NewtonStep(counts, priors, of_row, of_row, order, released=own, most=most)
    start = prior_model(number, cells.shape.sizes)
    model, left = start, float(table.remaining)
    last = share_of_calibration(told)
    shares = cycle_shares((1 - 2 * last - INTERCEPT * (n_cycles - 1)) * left, n_cycles)
    for cycle, share in enumerate(shares):
        if cycle:
            model = calibrated(model, cells, link, start, share=INTERCEPT * left, slope=False)
        run_cycle(model, cells, link, curvature, share=share)
    model = calibrated(model, cells, link, start, share=last * left, slope=True)
    model = calibrated(model, cells, link, start, share=cells.remaining, slope=False)
    return model, counts, false_alarm_bound(model, curvature) < UNLIKELY


def calibrated(model, cells, link, start, *, share, slope):
    """Return the model after a Newton step of its intercepts, and of the size of its terms.

    A step of intercepts alone is as short as its noise makes likely, of a move of about one.
    """
    question = Calibration(model.scores, link, start.intercept, slope)
    told = cells.ask(question, CALIBRATED, share=share)
    # how many times larger the unit of a second derivative of intercepts is
    to_second, sums, sd = question.longest / (FIRST * link.gain), told.real, told.sd
    gradients, second = sums[:, :, 0], to_second * sums[:, :, 1:]
    second = (second + second.transpose(0, 2, 1)) / 2
    if link.outputs > 1:  # diag(p) - p p^T is at most twice its diagonal
        gradients, second = gradients - gradients.mean(axis=0), 2 * second
    steps = []
    for g, S in zip(gradients, second, strict=True):
        values, V = np.linalg.eigh(S)
        values = np.maximum(values, CLEAR * sd * to_second)
        if not slope:
            values += sd**2 / values
        steps.append(V @ (V.T @ g / values))
    moves, factors = np.transpose(steps)
    factors = np.clip(1 + slope * factors / (FIRST * STEP), *FACTORS)
    return model.stretched(start.intercept, np.clip(moves, *BOUNDS) / STEP, factors)


# --- the fit of numbers: cells, and cycles of a clip radius, a mean, and Newton steps


def fit_numbers(table, place, *, n, edges, ordered, n_cycles, priors_of=term_priors):
    """Return the Model of numbers.

    The released cell counts, and whether the terms tell anything.
    """
    cells = table.map(Binned(tuple(edges), place.steps(Clipped.one)))
    sizes = cells.shape.sizes
    left = float(table.remaining)
    counts = counted_cells(cells, share=CELL_COUNTS * left, floor=FLOOR_OF_NUMBERS)
    priors = priors_of(counts, ordered)
    model, mu = Model.start([0], sizes), table.budget.mu
    left = float(table.remaining)
    look, around = min(share_of_look(n * mu), left / (8 * n_cycles)), int(1 / Clipped.step)
    moves = sum(min(size, MOVES) for size in sizes)
    means = [look] * (n_cycles - 1) + [min(MEANS * look, left / 8)]
    shares = cycle_shares(left - look * n_cycles - sum(means), n_cycles)
    for cycle, (share, of_mean) in enumerate(zip(shares, means, strict=True)):
        lengths = release_lengths(
            cells, model.scores, around=around, share=look, least=place.least(Clipped.one)
        )
        noise = math.sqrt(moves * len(sizes)) / (mu * math.sqrt(share))
        around = next_radius(lengths.radius(noise), around if cycle else None)
        link = Clipped(around)
        spread = np.full(1, lengths.mean_square(around) * Clipped.step**2)
        curvature = NewtonStep(counts, priors, np.ones(1), spread, numbers_first(ordered))
        move_to_mean(model, cells, lengths, n=n, share=of_mean)
        run_cycle(model, cells, link, curvature, share=share)
    informative = false_alarm_bound(model, curvature) < UNLIKELY
    return model if informative else model.without_terms(), counts, informative


def known_mean(table, place, *, n, edges):
    """Return a Model without terms, of the mean of targets that lie in a public place, and counts.

    If the place has no unit, its centre is all that is known.
    """
    edges = tuple(edges)
    sizes = n_cells(edges).tolist()
    model = Model.start([0], sizes)
    if place.unit:
        cells = table.map(Binned(edges, place.steps(Clipped.one)))
        link = Clipped(int(1 / Clipped.step))
        model.intercept += mean_step(model, cells, link, n=n, share=cells.remaining)
    return model, [np.ones(size) for size in sizes]


def move_to_mean(model, cells, lengths, *, n, share):
    """Move the intercept by the mean of the residuals, and note how far off it may be.

    Clipped are those beyond a radius of its own: a step of a term may be short, the mean may not.
    """
    noise = 1 / (cells.budget.mu * math.sqrt(share))
    radius = lengths.radius(noise, aligned=1.0)
    model.intercept += mean_step(model, cells, Clipped(radius), n=n, share=share)
    model.off = (lengths.most_cut(radius) + NOISES * noise * radius) / n


def mean_step(model, cells, link, *, n, share):
    """Release the mean of the clipped residuals, in steps of a score."""
    told = cells.ask(ResidualSum(model.scores, link), MEAN_RESIDUAL, share=share)
    return int(np.clip(round(told.value[0] / n), -link.radius, link.radius))


@dataclass(frozen=True)
class Lengths:
    """A released histogram: ``counts`` of integers up to each of the ``edges``, by octaves."""

    counts: np.ndarray
    edges: np.ndarray
    sd: float
    around: int  # the radius that is believed where nothing is seen
    least: int  # radius: rows are known to lie there

    @property
    def top(self):
        """Place of the highest cell that is seen, or of ``around``; at least 1."""
        seen = np.flatnonzero(self.counts > RESIDUALS * self.sd)
        return max(1, int(seen[-1] if seen.size else np.searchsorted(self.edges, self.around)))

    @property
    def middles(self):
        """Lengths of the rows of every cell that is seen, about."""
        edges = self.edges[: self.top + 1].astype(float)
        return np.sqrt(np.maximum(np.append(0.0, edges[:-1]), edges / 2) * edges)

    def mean_square(self, radius):
        """Return the mean square of the lengths that are seen, clipped to a radius."""
        counts = np.maximum(self.counts[: self.top + 1], 0).astype(float)
        lengths = np.minimum(self.middles, radius)
        return float(counts @ np.square(lengths) / max(counts.sum(), 1.0))

    def beyond(self, cuts):
        """Return the sums of what lengths that are seen have beyond cuts, of shape (n,)."""
        lost = np.maximum(self.middles - np.asarray(cuts)[:, None], 0)
        return np.maximum(lost @ self.counts[: self.top + 1], 0)

    def most_cut(self, radius):
        """Return what clipping takes off all lengths, with rows that noise hides beyond the top."""
        top = max(float(self.edges[self.top]), ROOM * self.least)
        return float(self.beyond([radius])[0]) + HIDDEN * self.sd * (2 * top - min(radius, top))

    def radius(self, noise, aligned=ALIGNED):
        """Return the edge C at which noise of sd ``noise * C`` and the loss by clipping balance.

        ``aligned`` is the part of what clipping takes off lengths that counts.
        """
        edges = self.edges[: self.top + 1].astype(float)
        lost = np.maximum.accumulate(self.beyond(edges)[::-1])[::-1]
        return max(int(edges[np.argmin(np.hypot(noise * edges, aligned * lost))]), self.least)


def next_radius(radius, last):
    """Return a radius that is at most twice the last: residuals become shorter, noise does not."""
    return radius if last is None else min(radius, GROWS * last)


def release_lengths(cells, scores, *, around, share, least):
    """Release how many rows have residuals of which length: see :class:`Lengths`."""
    question = ResidualLengths(scores, Clipped(FARTHEST), _edges(around))
    told = cells.ask(question, RESIDUAL_LENGTHS, share=share)
    return Lengths(told.value, question.edges, told.scale, around, least)


def _edges(around):
    edges = np.clip(np.ceil(around * 2.0 ** np.arange(-BELOW, ABOVE + 1)), 1, LARGEST)
    return np.unique(edges.astype(np.int64))


# --- means of a target by level, of all columns: released together, and smoothed


@dataclass(frozen=True)
class LevelMeans:
    """A released mean of all rows, shape (n_outputs,), and of every column what levels differ."""

    mean: np.ndarray
    moves: list  # each of shape (n_outputs, n_levels): means of levels less that of all
    noise: list  # of the same shapes: standard deviations
    # each of shape (n_levels,): released numbers of rows, infinite where a level is as the mean
    counts: list
    spread: np.ndarray  # shape (n_outputs,): standard deviation of the targets

    @classmethod
    def alone(cls, mean, sizes):
        """Return a mean that all levels have."""
        shapes = [(len(mean), size) for size in sizes]
        zeros, unknown = map(np.zeros, shapes), (np.full(shape, math.inf) for shape in shapes)
        counts = [np.full(size, math.inf) for size in sizes]
        return cls(mean, list(zeros), list(unknown), counts, np.full(len(mean), math.inf))

    def smoothed(self, smooth):
        """Return the means of levels, pulled to that of all."""
        return [self.mean[:, None] + self._pulled(j, smooth) for j in range(len(self.moves))]

    def _pulled(self, j, smooth):
        moves, counts = self.moves[j], self.counts[j]
        if smooth != "auto":
            return moves / (1 + smooth / counts)
        seen = np.isfinite(counts)
        if not seen.any():
            return moves
        unit = np.maximum(self.spread, np.finfo(float).tiny)[:, None]
        variances = np.square(self.noise[j][:, seen] / unit) + 1 / counts[seen]
        prior, pulled = TermPrior(counts[seen], ordered=False), np.zeros(moves.shape)
        pulled[:, seen] = unit * np.array(prior.means(moves[:, seen] / unit, variances))
        return pulled


def number_means(table, sizes, place, n):
    """Release the LevelMeans of numbers in a place, public or released; alone if it has no unit.

    ``sizes``: the number of levels of every column of a table of codes.
    """
    sizes, step = tuple(sizes), Clipped.step
    if not place.unit or n * table.budget.mu < FEW:
        model, _ = known_mean(table, place, n=n, edges=sizes)
        return LevelMeans.alone(place.centre + place.unit * step * model.intercept[:, 0], sizes)
    cells = table.map(Binned(sizes, place.steps(Clipped.one)))
    left, mu = float(table.remaining), table.budget.mu
    counts = _level_counts(cells, COUNTS * left)
    model, look = Model.start([0], sizes), min(share_of_look(n * mu), left / 8)
    lengths = release_lengths(
        cells, model.scores, around=Clipped.one, share=look, least=place.least(Clipped.one)
    )
    moves = sum(min(size, MOVES) for size in sizes)
    noise = math.sqrt(moves * len(sizes)) / (mu * math.sqrt(left - 2 * look))
    link = Clipped(lengths.radius(noise))
    spread = np.full(1, math.sqrt(lengths.mean_square(link.radius)) * step)
    model.intercept += mean_step(model, cells, link, n=n, share=look)
    means, noise = _level_sums(cells, model, link, counts)
    mean = place.centre + place.unit * step * model.intercept[:, 0]
    means, noise = ([place.unit * one for one in some] for some in (means, noise))
    return LevelMeans(mean, means, noise, counts, place.unit * spread)


def class_means(table, sizes, n_classes):
    """Release the LevelMeans of classes: rates, of two classes that of the second."""
    sizes = tuple(sizes)
    if n_classes < 2:
        return LevelMeans.alone(np.ones(n_classes), sizes)
    number = count_classes(table, n_classes)
    first = 1 if n_classes == 2 else 0
    if class_strength(number, table.budget.mu) < FEW:
        return LevelMeans.alone((number / number.sum())[first:], sizes)
    cells = table.map(Binned(sizes, Codes(n_classes)))
    counts = _level_counts(cells, COUNTS * float(table.remaining))
    model, (link, _) = prior_model(number, sizes), link_of(number)
    of_first = link.residuals(model.intercept, np.zeros(1, dtype=np.int64))[: link.outputs, 0]
    mean = (np.arange(first, n_classes) == 0) - of_first / link.one
    means, noise = _level_sums(cells, model, link, counts)
    return LevelMeans(mean, means, noise, counts, np.sqrt(mean * (1 - mean)))


def _level_counts(cells, share):
    """Release the number of rows in every level; infinite where it is not clear of its noise."""
    sizes = cells.shape.sizes
    told = cells.ask(FeatureCells(sizes), CELLS_COUNTED, share=share)
    counts = np.where(told.value > SHOWN * told.scale, told.value, np.inf)
    return np.split(counts, np.cumsum(sizes)[:-1])


def _level_sums(cells, model, link, counts):
    """Release sums of residuals in all levels; return means of levels, and their noise.

    **Privacy** (add or remove one row): a row is in one level of a column, so that all levels of it
    cost what one costs; columns divide what is left.
    """
    share = float(cells.remaining) / len(counts)
    asked = [(ResidualSum(model.scores, link, j), share, SUMS.label) for j in range(len(counts))]
    means, noise = [], []
    for told, n in zip(cells.ask_all(*asked), counts, strict=True):
        means.append(told.real[: link.outputs] / n)
        sd = np.where(np.isfinite(n), told.sd / n, np.inf)
        noise.append(np.broadcast_to(sd, means[-1].shape))
    return means, noise
