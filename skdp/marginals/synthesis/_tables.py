"""What a release says of sets of columns: shares of the rows, their noise, how far they depend."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import chndtr

from skdp.marginals._layout import largest_tables
from skdp.marginals._noise_scale import noise_scale
from skdp.marginals._residuals import helmert, table_of
from skdp.scales._column_noise import onto_simplex

__all__ = ["NoisyTables", "TableLaw", "ridge_of"]

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
CLEAR, EMPTY = 4.0, 1e-9  # noises of a cell that stands out; ridge of one without rows
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
            self,
            shares=np.where(empty, 0.0, self.shares),
            ridge=np.where(empty, EMPTY, self.ridge),
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

    _clear = CLEAR

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
