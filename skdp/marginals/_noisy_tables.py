"""What a release says of sets of columns: shares of the rows, their noise, how far they depend."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import chndtr

from skdp.kernel._layout import largest_tables
from skdp.marginals._residuals import helmert, noise_scale, table_of
from skdp.scales._column_noise import onto_simplex

# --- how much of the energy of noisy vectors is not noise: empirical Bayes over many of them

GRID = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])  # in sds of the noise's own energy
CERTAIN = 30.0  # above which no prior is needed
ROUNDS = 60
WIDTH = 0.05  # of an interval, in sds of the noise's own energy


class EnergyPrior:
    """A prior of the energies ``|x|^2`` of vectors that are seen with noise.

    Notes
    -----
    ``|x + z|^2`` has the noncentral chi-square law of ``free`` degrees of freedom and noncentrality
    ``|x|^2``. A prior on a few multiples of ``sqrt(2 free)``, zero among them, is fitted to all
    vectors by maximum likelihood (Kiefer and Wolfowitz 1956; the EM algorithm, whose steps lose
    nothing). If most vectors are noise, zero gets most of the prior, and a vector must stand out
    among as many others to count.
    """

    def __init__(self, seen, free):
        self.prior = np.full(len(GRID), 1 / len(GRID))
        unsure = (seen - free) < CERTAIN * np.sqrt(2 * free)
        if not unsure.any():
            return
        chances = _likelihood(seen[unsure], free[unsure])
        for _ in range(ROUNDS):
            parts = chances * self.prior
            self.prior = np.mean(parts / parts.sum(axis=1, keepdims=True), axis=0)

    def energy(self, seen, free):
        """Return the expected ``|x|^2`` of one vector, given what is seen of it."""
        unit = np.sqrt(2.0 * free)
        if seen - free >= CERTAIN * unit:
            return float(seen - free)
        parts = _likelihood(np.array([seen]), np.array([free]))[0] * self.prior
        return float(unit * (parts @ GRID) / parts.sum())


def _likelihood(seen, free):
    """Return the probability of a narrow interval around what is seen, for every grid point."""
    unit = np.sqrt(2.0 * free)[:, None]
    seen, free, center = seen[:, None], free[:, None], np.maximum(GRID * unit, 1e-9)
    ends = (np.maximum(seen + side * WIDTH * unit, 0.0) for side in (-1, 1))
    low, high = (np.nan_to_num(chndtr(end, free, center)) for end in ends)
    return np.maximum(high - low, 0.0) + 1e-300


RARE = 1e-7  # share of a level that is never taken for impossible
LEAST = 0.3  # energy, in its noise, below which a table is left out
CLEAR_CELL, EMPTY = 4.0, 1e-9  # noises of a cell that stands out; ridge of one without rows
STRONGEST = 2.0  # standard deviation of the logarithm of (cell / what it is if independent)


@dataclass(frozen=True, eq=False)
class TableLaw:
    """What is known of the shares of one table."""

    # ndarray with one axis per column: as released, but with proper shares of single columns; cells
    # may be negative
    shares: np.ndarray
    # ndarray of the same shape: share that a cell gives up per unit of its logarithmic weight, see
    # `NoisyTables`
    ridge: np.ndarray
    # estimated standard deviation of the logarithms of cells over their independent shares
    strength: float

    def with_zeros(self, shares, independent, variance, clear):
        """Return a law whose cells are empty where a release tells of no rows, but would of some.

        If columns were independent the cell would stand out, and less than the noise is in it.
        """
        sd = np.sqrt(variance)
        empty = (shares < sd) & (independent - shares > clear * sd)
        if not (self.strength > 0 and empty.any()):
            return self
        return replace(
            self, shares=np.where(empty, 0.0, self.shares), ridge=np.where(empty, EMPTY, self.ridge)
        )


def ridge_of(gap, independent, variance, strength, clear):
    """Return the ridge of every cell; one that stands out of the noise has a t of its own size."""
    own = np.where(np.square(gap) > clear**2 * variance, np.square(gap) - variance, 0.0)
    with np.errstate(divide="ignore"):
        return variance * independent / np.maximum((strength * independent) ** 2, own)


class NoisyTables:
    """The tables of a release and what they are worth.

    Notes
    -----
    A cell c of a table of columns S is modelled as ``y_c = p_c (1 + t_c) + noise``, with p_c the
    product of the shares of its levels, t_c of mean zero and variance tau^2, and noise of known
    variance v. The energy ``sum (p t)^2``, of mean ``tau^2 sum p^2``, is estimated table by table
    from ``sum (y - p)^2``, with a prior that all tables share (:class:`EnergyPrior`); and the best
    linear estimate of t_c moves towards zero as a ridge of ``v / (tau^2 p_c)`` does. So cells that
    noise could have made are not chased, while those of columns that clearly depend are met; and
    tables that are like noise say nothing. A cell that stands out of its noise, as of a rare level,
    has a variance of its own, ``((y_c - p_c)^2 - v) / p_c^2``; one that would stand out, and in
    which there is nothing, is empty (:meth:`TableLaw.with_zeros`).

    The shares of single columns are put onto the simplex first. All of this is computed from
    released values: post-processing.
    """

    _clear = CLEAR_CELL

    def __init__(self, measurement):
        layout, values = measurement.layout, measurement.values.copy()
        self.levels = layout.levels
        self.n_rows = max(float(values[0]), 1.0)
        values /= self.n_rows
        values[0] = 1.0
        self.singles = [np.full(n, 1 / n) for n in self.levels]
        for (place,) in layout.subsets[1].tolist() if len(layout.subsets) > 1 else ():
            shares = onto_simplex(table_of(layout, values, [place]))
            start = layout.starts[layout.position[place,]]
            values[start : start + len(shares) - 1] = helmert(len(shares)) @ shares
            self.singles[place] = shares
        sd = np.where(layout.orders < 2, 0.0, measurement.sd / self.n_rows)
        self._measurement = replace(measurement, values=values, sd=sd)
        self._laws = {}

    @cached_property
    def sets(self):
        tables = largest_tables(self._measurement.layout)
        return [tuple(row) for _, rows in tables for row in rows.tolist()]

    def law(self, columns):
        """Return the TableLaw of a set of at least two columns, increasing, within one table."""
        if columns not in self._laws:
            shares, independent, variance = self._read(columns)
            seen, free, unit = self._energy(shares, independent, variance)
            energy = self._prior.energy(seen, free) * unit / np.sum(independent**2)
            strength = min(float(np.sqrt(energy)), STRONGEST)
            told = energy > 0 and strength**2 * np.sum(independent**2) > LEAST * unit * free**0.5
            gap = shares - independent
            ridge = ridge_of(gap, independent, variance, strength, self._clear)
            law = TableLaw(shares, ridge, strength if told else 0.0)
            self._laws[columns] = law.with_zeros(shares, independent, variance, self._clear)
        return self._laws[columns]

    @cached_property
    def _prior(self):
        found = [self._energy(*self._read(s))[:2] for s in self.sets if len(s) > 1]
        return EnergyPrior(*np.array(found, dtype=float).reshape(-1, 2).T)

    def _read(self, columns):
        shares = table_of(self._measurement.layout, self._measurement.values, columns)
        independent = np.ones(())
        for place in columns:
            independent = np.multiply.outer(independent, np.maximum(self.singles[place], RARE))
        variance = noise_scale(self._measurement, columns) ** 2
        return shares, independent, variance

    def _energy(self, shares, independent, variance):
        """Return ``|y - p|^2`` over the variance of a free entry, the number of these, and it."""
        free = shares.size - 1 - sum(n - 1 for n in shares.shape)
        unit = shares.size * variance / free
        return np.sum((shares - independent) ** 2) / unit, free, unit


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


def shared_directions(tables):
    """Return the directions of the rows of matrices with noise of sd 1 that stand out of it.

    Shapes: each table (m, n_k); directions (m, r), orthonormal.

    Notes
    -----
    Singular values of ``m`` rows and ``K = sum n_k`` columns of noise are below
    ``sqrt(m) + sqrt(K)``. A direction that all of k tables have stands out where it is fainter by
    ``k^(1/4)`` than what one table would tell of it: its singular value is the root of their sum of
    squares, and must be about ``(m K)^(1/4)``.
    """
    beside = np.concatenate(tables, axis=1)
    if len(beside) > beside.shape[1]:
        U, s, _ = np.linalg.svd(beside, full_matrices=False)
    else:
        squares, U = np.linalg.eigh(beside @ beside.T)
        s = np.sqrt(np.maximum(squares, 0.0))
    return U[:, s > np.sqrt(beside.shape).sum()]


def shrunk_inside(R, sd, left, right):
    """Return what :func:`shrunk_singular_values` does, of the part of R inside two subspaces.

    Shapes: R (m, n); left (m, r), right (n, q), orthonormal. What is outside of them is lost, and
    its squared length is estimated without bias: they must not depend on R.
    """
    inside = left.T @ R @ right
    found, rank, risk = shrunk_singular_values(inside, sd)
    lost = np.sum(np.square(R)) - np.sum(np.square(inside)) - (R.size - inside.size) * sd**2
    return left @ found @ right.T, rank, max(risk + float(lost), 0.0)


class DenoisedTables(NoisyTables):
    """The tables of a release whose pairs were chosen, each denoised by the best of three rules.

    Notes
    -----
    What a pair has beyond independence, ``R = H_i (table - p_i p_j) H_j'``, has independent noise
    of one sd. Few factors make most of it as a rule: then shrunk singular values are nearer to the
    truth than the ridge of :class:`NoisyTables`. Dependence of full rank, as of columns that are
    nearly equal, is better left to the ridge: where it stands out and the estimated risk of low
    rank is above 1.5 times that of the ridge. A column has the same few factors in most of its
    pairs, as of an order of its levels. So R is also shrunk inside the directions that stand out in
    all other pairs of both columns, where less noise is. Their noise is independent of that of R,
    so Stein's estimate is as unbiased as without them; where the ridge is not taken, the smaller
    one decides. Where no singular value stands out, the ridge is taken where rows are many, else
    the pair says nothing; and there alone cells that stand out by themselves have a ridge of their
    own. The constants were chosen on Adult, diamonds and yrbss, that of the target on rwm5yr and
    nlswork, the rule of shared directions on nassCDS, TV16 and diamonds (``doc/synthetic.rst``).
    """

    def __init__(self, measurement, strength, target=None):
        super().__init__(measurement)
        self._target = target
        cells = [np.prod([self.levels[c] for c in pair]) for pair in self.sets if len(pair) > 1]
        d = len(self.levels)
        usual = float(np.median(cells)) if cells else 1.0
        self._rich = self.n_rows * strength > RICH * usual * np.sqrt(d * (d - 1) / 2)
        self._clear = CLEAR_CELL if self._rich else np.inf

    def law(self, columns):
        if columns not in self._laws:
            self._laws[columns] = self._better(columns, super().law(columns))
        return self._laws[columns]

    def _dependence(self, pair):
        """Return what a pair has beyond independence, and the sd of its noise."""
        shares, independent, _ = self._read(pair)
        left, right = (helmert(self.levels[c]) for c in pair)
        sd = self._measurement.sd[self._measurement.layout.position[pair]]
        return left @ (shares - independent) @ right.T, sd

    @cached_property
    def _beside(self):
        """For every column, by the other one of a pair: its dependence over its noise."""
        found = [{} for _ in self.levels]
        for i, j in (pair for pair in self.sets if len(pair) == 2):
            R, sd = self._dependence((i, j))
            found[i][j], found[j][i] = R / sd, R.T / sd
        return found

    def _low_rank(self, pair, R, sd):
        """Return what :func:`shrunk_singular_values` does, or what does better inside of R.

        The error told is that of the former: the smaller of two estimates is too small.
        """
        plain, spaces = shrunk_singular_values(R, sd), []
        for column, other in (pair, pair[::-1]):
            tables = [T for place, T in self._beside[column].items() if place != other]
            spaces.append(shared_directions(tables) if tables else np.empty((0, 0)))
        sizes = [space.shape[1] for space in spaces]
        if not 0 < np.prod(sizes) < R.size:
            return plain
        found, rank, risk = shrunk_inside(R, sd, *spaces)
        return (found, rank, plain[2]) if rank and risk < plain[2] else plain

    def _better(self, columns, plain):
        if len(columns) != 2:
            return plain
        shares, independent, variance = self._read(columns)
        left, right = (helmert(self.levels[c]) for c in columns)
        R, sd = self._dependence(columns)
        energy = np.sum(np.square(R)) / (R.size * sd**2) - 1
        ridge = plain.ridge * (HIGH if energy >= TELLS else 1.0)
        plain = replace(plain, ridge=ridge)
        found, rank, risk = self._low_rank(columns, R, sd)
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
