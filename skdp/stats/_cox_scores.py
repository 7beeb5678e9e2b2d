"""What a Newton step from a released curve leads to, for scores of a known law. No rows."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from skdp.scales._column_noise import onto_simplex

__all__ = ["CELLS", "ScoreLaw"]

NODES, POINTS = 40, 400  # of the law of scores, and of the curve of a hazard
SMALL = 1e-3  # of the last sum of hazards: steps of derivatives
SMALLEST, LARGEST = 1e-6, 50.0  # sums of hazards
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
        L = np.geomspace(SMALLEST, LARGEST, POINTS)
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
            moved[j] += SMALL * max(moved[-1], SMALL)
            moved = replace(self, marginal=moved).hazard(size)
            told.append(self.step(size, size, moved, part) - self.step(size, size, true, part))
        return np.array(told) / (SMALL * max(self.marginal[-1], SMALL))

    def size_of(self, seen, start, hazard, part):
        """Return the deviation of the scores of rows for which a step has led to one."""

        def gap(size):
            return self.step(size, start, hazard, part) - seen

        if gap(MOST) <= 0:
            return min(max(seen, 0.0), MOST)
        return 0.0 if gap(0.0) >= 0 else float(brentq(gap, 0.0, MOST))
