"""Tables of two columns whose dependence is denoised by singular values, where that is better."""

from dataclasses import replace

import numpy as np

from skdp.marginals._residuals import helmert
from skdp.marginals.synthesis._tables import CLEAR as CELL
from skdp.marginals.synthesis._tables import STRONGEST, NoisyTables, TableLaw, ridge_of

__all__ = ["DenoisedTables", "shrunk_singular_values"]

STEP = 1e-5  # of a difference quotient, in units of the largest noise
HIGH, LOW = 0.3, 0.05  # parts of the ridge where dependence stands out, and after low rank
LOW_OF_TARGET = 0.01  # the same for its pairs, which rare levels carry
TELLS, CLEAR = 1.0, 5.0  # energies over their noise, above which a table stands out
PREFERRED, HOPELESS = 1.5, 10.0  # risks of low rank over those of the ridge
RICH = 2.0  # rows of a cell in its noise, above which what is faint is kept
FAINT = {
    True: 4.0,
    False: 1.0,
}  # of the noise over the dependence, above which a table says nothing
MEAN_PART = 0.4  # of noise: the mean of the positive part


def shrunk_singular_values(R, sd):
    """Return a matrix without its noise, its rank, and the estimate of its squared error.

    Notes
    -----
    ``R = S + noise`` of one known sd. Singular values y, in units of ``sd sqrt(n)``, n the longer
    side and b = m / n, become ``sqrt((y^2 - b - 1)^2 - 4 b) / y`` above ``1 + sqrt(b)`` and 0
    below: the best rule for squared errors of matrices of low rank (Gavish and Donoho, 2017). The
    squared error is estimated without bias by Stein's identity, with the divergence of a function
    of singular values (Candes, Sing-Long and Trzasko, 2013).
    """
    U, s, V = np.linalg.svd(R, full_matrices=False)
    m, n = min(R.shape), max(R.shape)
    unit, b = sd * np.sqrt(n), m / n
    y = s / unit
    rule = _rule(y, b) * unit
    slope = np.minimum((_rule(y + STEP, b) - _rule(y - STEP, b)) / (2 * STEP), 3.0)
    gap = np.square(s)[:, None] - np.square(s)[None]
    gap[np.abs(gap) < 1e-9 * max(s[0], 1e-150) ** 2] = np.inf
    divergence = slope.sum() + (n - m) * np.sum(rule / np.maximum(s, 1e-300))
    divergence += 2 * np.sum((s * rule)[:, None] / gap)
    risk = np.sum(np.square(s - rule)) - R.size * sd**2 + 2 * sd**2 * divergence
    return (U * rule) @ V, int(np.count_nonzero(rule)), max(float(risk), 0.0)


def _rule(y, b):
    edge = 1 + np.sqrt(b)
    far = np.maximum(y, edge)
    kept = np.sqrt(np.maximum((far**2 - b - 1) ** 2 - 4 * b, 0.0)) / far
    return np.where(y > edge, kept, 0.0)


class DenoisedTables(NoisyTables):
    """The tables of a release whose pairs were chosen, each denoised by the better of two rules.

    Notes
    -----
    What a pair has beyond independence, ``R = H_i (table - p_i p_j) H_j'``, has independent noise
    of one sd. Few factors make most of it as a rule: then shrunk singular values are nearer to the
    truth than the ridge of :class:`NoisyTables`. Dependence of full rank, as of columns that are
    nearly equal, is better left to the ridge: where it stands out and the estimated risk of low
    rank is above 1.5 times that of the ridge. Where no singular value stands out, the ridge is
    taken where rows are many, else the pair says nothing; and there alone cells that stand out by
    themselves have a ridge of their own. The constants were chosen on Adult,
    diamonds and yrbss, that of the target on rwm5yr and nlswork (``doc/synthetic.rst``).
    """

    def __init__(self, measurement, strength, target=None):
        super().__init__(measurement)
        self._target = target
        cells = [np.prod([self.levels[c] for c in pair]) for pair in self.sets if len(pair) > 1]
        d = len(self.levels)
        usual = float(np.median(cells)) if cells else 1.0
        self._rich = self.n_rows * strength > RICH * usual * np.sqrt(d * (d - 1) / 2)
        self._clear = CELL if self._rich else np.inf

    def law(self, columns):
        if columns not in self._laws:
            self._laws[columns] = self._better(columns, super().law(columns))
        return self._laws[columns]

    def _better(self, columns, plain):
        if len(columns) != 2:
            return plain
        shares, independent, variance = self._read(columns)
        left, right = (helmert(self.levels[c]) for c in columns)
        layout = self._measurement.layout
        sd = self._measurement.sd[layout.position[columns]]
        R = left @ (shares - independent) @ right.T
        energy = np.sum(np.square(R)) / (R.size * sd**2) - 1
        ridge = plain.ridge * (HIGH if energy >= TELLS else 1.0)
        plain = replace(plain, ridge=ridge)
        found, rank, risk = shrunk_singular_values(R, sd)
        signal = max(plain.strength, 1e-9) ** 2 * np.square(independent)
        other = np.sum(variance * signal / (variance + signal))
        stands_out = energy > CLEAR or risk >= HOPELESS * other
        if min(R.shape) > 1 and stands_out and risk >= PREFERRED * other:
            return plain
        if rank == 0:
            lost = np.minimum(MEAN_PART * np.sqrt(variance), independent).sum()
            if lost < FAINT[self._rich] * MEAN_PART * max(plain.strength, 1e-9):
                return plain
            return TableLaw(independent, np.full_like(independent, np.inf), 0.0)
        D = left.T @ found @ right
        strength = np.sqrt(np.sum(np.square(D)) / np.sum(np.square(independent)))
        strength = min(float(strength), STRONGEST)
        free = rank * (sum(R.shape) - rank) / R.size
        low = LOW_OF_TARGET if self._target in columns else LOW
        ridge = low * free * ridge_of(D, independent, variance, strength, self._clear)
        law = TableLaw(independent + D, ridge, strength)
        return law.with_zeros(shares, independent, variance, self._clear)
