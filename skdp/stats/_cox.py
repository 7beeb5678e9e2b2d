"""A proportional hazards model by three private Newton steps on the Poisson form of Cox."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from skdp.accounting import Step
from skdp.kernel._columns import EdgeCells
from skdp.kernel._coordinates import Design, FeatureBox, Frame, SomeColumns
from skdp.kernel.applied._hazards import CURVATURE, HazardStep
from skdp.linear._front import front_plan, release_preprocessing, unseen_columns, weighted_gram
from skdp.linear._newton import LARGEST, floored
from skdp.location._release import ROW_COUNT, release_count
from skdp.scales._column_noise import onto_simplex
from skdp.stats._result import FEW
from skdp.stats._survival_input import COUNTS, find_edges, release_counts
from skdp.stats._survival_laws import SurvivalCurve

NODES, POINTS = 40, 400  # of the law of scores, and of the curve of a hazard
SMALL_HAZARD = 1e-3  # of the last sum of hazards: steps of derivatives
SMALLEST_HAZARD, LARGEST_HAZARD = 1e-6, 50.0  # sums of hazards
MOST = 2.5  # deviation of scores: the hazards of a twentieth are 60 times those of another
Z, WEIGHTS = np.polynomial.hermite_e.hermegauss(NODES)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
CELLS = np.arange(-5.0, 5.25, 0.25)  # edges of cells of scores, in their deviations


@dataclass(frozen=True)
class ScoreLaw:
    """Rows with scores around 0, whose survival curve all together was released.

    Scores are ``size`` times ``z``, with ``weights``: of a normal law before any is released.
    """

    marginal: np.ndarray  # (L + 1,): sums of hazards of all rows at the edges of bins
    observed: np.ndarray  # (L,): parts of the rows without an event that are still observed
    z: np.ndarray = field(default_factory=Z.copy)
    weights: np.ndarray = field(default_factory=WEIGHTS.copy)

    @classmethod
    def of(cls, curve):
        """Return those of a :class:`skdp.stats._survival_laws.SurvivalCurve`."""
        H = np.append(0.0, np.where(curve.known, curve.hazard(True), 0.0))
        H = np.maximum.accumulate(H)
        middle = np.exp(-(H[1:] + H[:-1]) / 2)
        observed = np.clip(curve.at_risk / max(curve.n_rows, 1.0) / middle, 0, 1)
        return cls(H, np.where(curve.known, np.minimum.accumulate(observed), 0.0))

    def of_counts(self, counts, sd):
        """Return the same for released numbers of rows in :data:`CELLS`, with noise of ``sd``.

        They are moved towards a normal law by the part of their distance from it that noise is.
        """
        normal = np.diff(ndtr(np.concatenate([[-np.inf], CELLS[1:-1], [np.inf]])))
        n = max(float(counts.sum()), 1.0)
        apart = counts / n - normal
        part = max(0.0, 1 - len(counts) * (sd / n) ** 2 / max(float(apart @ apart), 1e-300))
        return replace(
            self, z=(CELLS[1:] + CELLS[:-1]) / 2, weights=onto_simplex(normal + part * apart)
        )

    def hazard(self, size):
        """Return the sums of hazards of a row with the score 0, if scores have a deviation."""
        L = np.geomspace(SMALLEST_HAZARD, LARGEST_HAZARD, POINTS)
        marginal = -np.log(np.exp(-np.outer(L, np.exp(size * self.z))) @ self.weights)
        return np.interp(self.marginal, np.append(0.0, marginal), np.append(0.0, L))

    def step(self, size, start, hazard, part):
        """Return where a step leads: a deviation, from ``start``, for rows that have ``size``.

        The step is that of the likelihood with a sum of hazards, of rows until their own is 1, and
        of second derivatives that are a ``part`` of its own, the rest those of a mean row.
        """
        true, ratio, own = self.hazard(size), np.exp(size * self.z), np.exp(start * self.z)
        middle, own_middle = ((x[1:] + x[:-1])[:, None] / 2 for x in (true, hazard))
        here = (
            np.exp(-middle * ratio) * self.observed[:, None] * self.weights * (own_middle * own < 1)
        )
        expected = here * np.diff(hazard)[:, None] * own
        missed = (here * np.diff(true)[:, None] * ratio - expected).sum(axis=0)
        expected = expected.sum(axis=0)
        V = np.stack([self.z, np.ones(len(self.z))])
        H = part * (V * expected) @ V.T + (1 - part) * expected.sum() * np.eye(2)
        if not np.linalg.det(H) > 0:
            return start
        return start + float(np.linalg.solve(H, V @ missed)[0])

    def slopes(self, size, part):
        """Return by how much a step ends elsewhere for each of the sums of hazards, (L,)."""
        true, told = self.hazard(size), []
        for j in range(1, len(self.marginal)):
            moved = self.marginal.copy()
            moved[j] += SMALL_HAZARD * max(moved[-1], SMALL_HAZARD)
            moved = replace(self, marginal=moved).hazard(size)
            told.append(self.step(size, size, moved, part) - self.step(size, size, true, part))
        return np.array(told) / (SMALL_HAZARD * max(self.marginal[-1], SMALL_HAZARD))

    def size_of(self, seen, start, hazard, part):
        """Return the deviation of the scores of rows for which a step has led to one."""

        def gap(size):
            return self.step(size, start, hazard, part) - seen

        if gap(MOST) <= 0:
            return min(max(seen, 0.0), MOST)
        return 0.0 if gap(0.0) >= 0 else float(brentq(gap, 0.0, MOST))


EVENTS = replace(COUNTS, at_most=0.1)
STEP = Step("Newton step", times=3, of=(HazardStep,))
SCORES = Step("scores", times=2, of=(EdgeCells,))
GRAM = 0.1  # share of the Gram matrix, of what is left
FIRST, SECOND = 0.15, 0.2  # of two steps, each of what is left then: the third one ends it
SCORES_SHARE = 0.05  # of the histogram of scores after a step, of what is left then
BINS = 32
CLEAR = 3.0  # noises that the least curvature stands clear by
SMALL = 1e-3  # of scores: a step of a derivative
FARTHEST = 1e300  # beyond all scores
LINEAR = 2.0  # deviation of a score from one end of a range to the other: more is no small step
DEPARTURE = 0.4  # of second derivatives from those of a mean row, as a part of them


@dataclass(frozen=True)
class CoxRelease:
    """What is released of a model, in the coordinates of its design."""

    design: Design
    b: np.ndarray  # (K,): the last is that of the hazard itself
    noise: np.ndarray  # (K, K)
    sampling: np.ndarray
    edges: np.ndarray  # of bins of time
    hazard: np.ndarray  # sums of hazards of a row in the middle of the columns
    n_events: float

    @np.errstate(all="ignore")
    def in_units(self):
        """Return slopes, and deviations of noise and of both, in the units of the table.

        NaN and infinite of columns that are not seen to vary, and beyond the range of floats.
        """
        frame = self.design.frame
        T = frame.A.T / frame.unit[:, None]
        k = frame.dims
        both = self.noise + self.sampling
        sds = [np.sqrt(np.einsum("ij,jk,ik->i", T, S[:k, :k], T)) for S in (self.noise, both)]
        slopes = T @ self.b[:k]
        seen = (self.design.edges[0] < self.design.edges[1]) & ~unseen_columns(frame)
        seen &= np.isfinite([slopes, *sds]).all(axis=0) & (sds[1] > 0)
        seen &= sds[1] * (self.design.edges[1] - self.design.edges[0]) <= LINEAR
        return np.where(seen, slopes, np.nan), *(np.where(seen, sd, np.inf) for sd in sds)


def cox_plan(budget, steps):
    """Return the plan of :func:`private_cox`, with more steps."""
    plan = front_plan(budget)
    return replace(plan, steps=(*plan.steps, EVENTS, STEP, SCORES, *steps))


def private_cox(table, known, edges):
    """Release the number of rows, and a model, None if too little is told.

    Rows are (x, time, event). ``known``: (2, d + 1), public ranges or NaN; ``edges``: public ones
    of bins of time, a horizon, or None.
    """
    d = table.n_features - 2
    rows = table.map(SomeColumns(np.array([*range(d), d + 1])))
    times = table.map(SomeColumns(np.array([d, d + 1])))
    count = release_count(table, ROW_COUNT)
    if edges is None:
        edges = find_edges(times, count.n, BINS)
    front = release_preprocessing(rows, count=count, known=known, target=False)
    if edges is None or not front.found:
        table.doubt(FEW)
        return count.told, None
    frame, _ = front.whitened(rows)
    design = Design(frame, np.stack([front.low, front.high]), True)
    counts = release_counts(times.split(None, 1), 1, edges, 1, EVENTS, EVENTS.at_most)
    curve = SurvivalCurve.of(counts, 0)
    gram = weighted_gram(rows, design, n=count.n, share=GRAM * float(table.remaining))
    fit = _Newton(table, design, gram, count.n, edges, curve)
    fit.step(FIRST * float(table.remaining), rows)
    fit.step(SECOND * float(table.remaining), rows)
    fit.step(table.remaining)
    if not fit.told or not curve.known[0]:
        table.doubt(FEW)
        return count.told, None
    noise, sampling = fit.law()
    middle = math.exp(np.clip(fit.b[-1], -LARGEST, LARGEST))
    hazard = fit.hazard * middle
    law = noise, sampling, edges, hazard
    return count.told, CoxRelease(design, fit.b, *law, curve.n_events)


class _Newton:
    """Coefficients after some steps, and what the last of these told of second derivatives."""

    def __init__(self, table, design, gram, n, edges, curve):
        self.table, self.design, self.n, self.edges = table, design, n, edges
        self.gram, self.radius = floored(gram.gram, 0.0), gram.radius
        self.scores, self.curve = ScoreLaw.of(curve), curve
        self.b, self.hazard, self.size = np.zeros(design.dims), self.scores.marginal, 0.0

    def step(self, share, rows=None):
        """Release a gradient and second derivatives; move the coefficients.

        With ``rows`` (x, event) the law of their scores is released, too.
        """
        times, first = np.unique(self.edges, return_index=True)
        asked = HazardStep(
            self.design, self.radius, self.b[:, None], times, self.hazard[first], self.n
        )
        told = self.table.ask(asked, STEP, share=share)
        self.sd = float(told.sd)
        # in the unit of a row times a row
        unit = self.radius * math.sqrt(1 - CURVATURE) / math.sqrt(CURVATURE)
        curvature, sd = told.real[:, 1:] * unit, self.sd * unit
        self._weigh((curvature + curvature.T) / 2, sd * math.sqrt(2 * len(self.b)))
        move = np.linalg.solve(self.curvature, told.real[:, 0])
        size = math.sqrt(max(move @ self.gram @ move, 0.0))
        self.b = self.b + move * min(1.0, LARGEST / max(size, 1e-300))
        if rows is not None:
            self._release_scores(rows)
        self._calibrate()

    def _release_scores(self, rows):
        """Release how many rows have which score."""
        mean, seen = self._spread()
        if not seen > 0:
            return
        frame, k = self.design.frame, len(self.b) - 1
        A = self.b[None, :k] @ frame.A
        line = Frame(frame.center, frame.unit, A, A.T / max(float(A[0] @ A[0]), 1e-300))
        edges = mean + seen * CELLS
        edges[[0, -1]] = -FARTHEST, FARTHEST
        scores = rows.map(FeatureBox(self.design.edges)).map(line)
        told = scores.ask(
            EdgeCells(np.array([0]), (edges,)),
            SCORES,
            share=SCORES_SHARE * float(self.table.remaining),
        )
        self.scores = self.scores.of_counts(told.real, told.sd)

    def _spread(self):
        """Return the mean and the deviation of scores."""
        k = len(self.b) - 1
        whole = max(self.gram[-1, -1], 1e-300)
        mean = float(self.gram[-1, :k] @ self.b[:k]) / whole
        var = float(self.b[:k] @ self.gram[:k, :k] @ self.b[:k]) / whole - mean**2
        return mean, math.sqrt(max(var, 0.0))

    def _weigh(self, released, noise):
        """Keep the second derivatives, positive, and the largest eigenvalue of their noise.

        Beside the released ones those of a mean row, a number times the Gram matrix: both count by
        how far they may be off.
        """
        size = max(np.trace(self.gram), 1e-300) * self.n
        mean = max(np.trace(released) / size, 0.0)
        apart = DEPARTURE * mean * self.n
        self.part = apart**2 / (apart**2 + noise**2)
        both = self.part * released + (1 - self.part) * mean * self.n * self.gram
        self.noise = self.part * noise
        self.told = bool(np.linalg.eigvalsh(both)[0] > CLEAR * self.noise)
        self.curvature = floored(both, max(self.noise, 1e-300))

    def _calibrate(self):
        """Make the scores as large as rows must have them for which a step leads here.

        Then take the hazard for which rows with such scores have the released curve. Both take the
        released law of scores: for the form of the hazard, and for what the steps leave to go.
        """
        k = len(self.b) - 1
        mean, seen = self._spread()
        self.stretch = self.gain = 1.0
        if seen > 0:
            given = self.size, self.hazard, self.part
            size, more = (self.scores.size_of(x, *given) for x in (seen, seen * (1 + SMALL)))
            self.stretch, self.gain = size / seen, (more - size) / (seen * SMALL)
            self.size = size
        self.b[:k] *= self.stretch
        self.hazard = self.scores.hazard(self.size)
        self.b[-1] = -mean * self.stretch

    def law(self):
        """Return the covariances of noise and of sampling.

        What makes the scores larger or smaller, the noise of the released curve too, is moved by
        the calibration as its derivative says.
        """
        inverse, known = np.linalg.inv(self.curvature), self.curve.known
        noise = self.sd**2 * inverse @ inverse
        if not self.size > 0:
            return noise, inverse
        along = self.gram @ self.b
        along = np.outer(self.b, along) / max(float(self.b @ along), 1e-300)
        moved = self.stretch * (np.eye(len(self.b)) - along) + self.gain * along
        slopes = self.gain * self.scores.slopes(self.size, self.part)[known]
        cov = self.curve.covariance(True, sampling=False)[np.ix_(known, known)]
        of_curve = slopes @ cov @ slopes / self.size**2 * np.outer(self.b, self.b)
        return moved @ noise @ moved.T + of_curve, self.stretch * inverse
