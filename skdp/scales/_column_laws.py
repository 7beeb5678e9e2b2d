"""Scales of columns by laws of their differences: a posterior over laws of few rows' evidence."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import erf

# Cells are octaves of the sizes of differences, counted down from a released largest one: cell 0
# holds zero and all below, cell i the octave that ends at 2^(i - OCTAVES) of the largest.
OCTAVES = 127
PER_OCTAVE = 3  # scales that are looked at
WIDTHS = 0.0, 1.0, 2.5  # octaves: deviation of the scale within a column, 0 of a normal one
EQUAL = 0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95  # parts of the differences that are zero
LIKELY_WIDTHS, PLAIN = (0.9, 0.08, 0.02), 0.93  # prior: of a width, and that none are zero
MANY_EQUAL = 0.3  # from which on a column is no plain one
BACKGROUND, SMOOTH, SWEEPS = 0.02, 0.6, 60  # of the prior that the columns make themselves
SLACK = 0.03  # part of the rows: what no law tells of a count
SEEN, CLEAR = 2.0, 3.0  # standard deviations
NEAR = 1.01  # octaves around the mode, of whose scales the mean is taken
PAIRED, CENTRED = 2.0, 2.0**0.5  # of differences of two rows, and of distances from the centre
THETA = np.arange(4, OCTAVES, 1 / PER_OCTAVE) - OCTAVES + 1  # log2 of deviations over the largest


class ColumnLaws:
    """The posterior of the law of every column, by released histograms of octaves.

    Notes
    -----
    **Privacy**: computes from released and public values alone.

    A law has a scale, a width of its mixture of normal columns of different scale, and a part of
    equal entries. Counts are normal around those of a law, with the variance of their noise and of
    what no law tells. The prior of the scales is that of all columns together: the histograms,
    averaged, are as sure as one column of d times the rows is.
    """

    def __init__(self, d, n):
        self.n, self._read = n, None
        self._told = [np.zeros((d, OCTAVES + 1)) for _ in (PAIRED, CENTRED)]
        self._weight = [np.zeros((d, OCTAVES + 1)) for _ in (PAIRED, CENTRED)]

    def add(self, counts, sd, *, columns=slice(None), centred=False, zeros=True):
        """Take the histograms of columns in: of differences, or of distances from the centre.

        Without ``zeros`` the first cell tells nothing.
        """
        weight = np.full(OCTAVES + 1, sd**-2.0)
        weight[0] *= zeros
        self._read = None
        self._told[centred][columns] += counts * weight
        self._weight[centred][columns] += weight

    def read(self):
        """Return log2 of the scales in units of the largest, their deviations, P(no plain column).

        All of shape (d,).
        """
        if self._read is None:
            self._read = self._reading()
        return self._read

    def _reading(self):
        posterior = self._posterior()
        what = _laws()
        odd = posterior[:, what.odd].sum(axis=1)
        kept = np.where(what.odd & (odd[:, None] < 0.9), 1e-9 * posterior, posterior)
        kept /= kept.sum(axis=1, keepdims=True)
        shapes = len(WIDTHS) * len(EQUAL)
        scales = kept.reshape(len(kept), shapes, THETA.size).sum(axis=1)
        window = np.ones(2 * PER_OCTAVE + 1)
        mode = THETA[[np.convolve(one, window, "same").argmax() for one in scales]]
        near = scales * (np.abs(THETA - mode[:, None]) <= NEAR)
        theta = near @ THETA / near.sum(axis=1)
        sd = np.sqrt((scales * np.square(THETA - theta[:, None])).sum(axis=1))
        return theta, sd, odd

    def ties(self):
        """Return the part of entries of two rows that are equal, at least: noise may hide more."""
        weight = self._weight[0][:, 0]
        part = self._told[0][:, 0].sum() / weight.sum() / self.n
        return float(part - CLEAR / math.sqrt(weight.sum()) / self.n)

    def _posterior(self):
        what = _laws()
        log = np.log(np.tile(self._prior(), len(WIDTHS) * len(EQUAL)) * what.prior)
        log = np.tile(log, (len(self._told[0]), 1))
        slack = (SLACK * self.n) ** 2
        for told, weight, laws in zip(self._told, self._weight, what.counts, strict=True):
            with np.errstate(divide="ignore"):
                precision = np.where(weight > 0, 1 / (1 / weight + slack), 0.0)
            counts = told / np.where(weight > 0, weight, 1.0)
            cross = self.n * (precision * counts) @ laws.T
            log += cross - self.n**2 / 2 * precision @ np.square(laws).T
        log -= log.max(axis=1, keepdims=True)
        posterior = np.exp(log)
        return posterior / posterior.sum(axis=1, keepdims=True)

    def _prior(self):
        """Return the prior of THETA: the mixture of normal columns that the average tells."""
        background = 1 / np.square(1 + np.abs(THETA - THETA[-1]) / 8)
        background /= background.sum()
        weight = self._weight[0]
        d = len(weight)
        told = self._told[0].sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        sd = 1 / np.sqrt(np.maximum(weight.sum(axis=0), 1e-300))
        seen = np.where(told > SEEN * sd, told, 0.0)
        seen[0] = 0.0
        if d < 4 or not seen.any():
            return background
        base = _normal(PAIRED)
        seen /= seen.sum()
        mixture = np.full(THETA.size, 1 / THETA.size)
        for _ in range(SWEEPS):
            mixture = mixture * (base @ (seen / np.maximum(mixture @ base, 1e-12)))
            mixture /= mixture.sum()
        bell = np.exp(-0.5 * np.square(np.arange(-5, 6) / PER_OCTAVE / SMOOTH))
        mixture = np.convolve(mixture, bell / bell.sum(), "same")
        return BACKGROUND * background + (1 - BACKGROUND) * mixture


class _Laws:
    """The laws that columns are compared with: first those of one width and part of zeros."""

    def __init__(self):
        shapes = [(w, z) for w in range(len(WIDTHS)) for z in range(len(EQUAL))]
        self.counts = [self._all(unit, shapes) for unit in (PAIRED, CENTRED)]
        equal = (1 - PLAIN) / (len(EQUAL) - 1)
        prior = [LIKELY_WIDTHS[w] * (equal if z else PLAIN) for w, z in shapes]
        self.prior = np.repeat(prior, THETA.size)
        odd = [bool(w) or EQUAL[z] > MANY_EQUAL for w, z in shapes]
        self.odd = np.repeat(odd, THETA.size)

    @staticmethod
    def _all(unit, shapes):
        base = {0.0: _normal(unit)}
        for width in WIDTHS[1:]:
            reach = int(3 * width * PER_OCTAVE)
            steps = np.arange(-reach, reach + 1)
            bell = np.exp(-0.5 * np.square(steps / PER_OCTAVE / width))
            at = np.clip(np.arange(THETA.size)[:, None] + steps, 0, THETA.size - 1)
            base[width] = np.einsum("ijk,j->ik", base[0.0][at], bell / bell.sum())
        laws = np.concatenate([(1 - EQUAL[z]) * base[WIDTHS[w]] for w, z in shapes])
        laws[:, 0] += np.repeat([EQUAL[z] for _, z in shapes], THETA.size)
        return laws


_laws = lru_cache(maxsize=1)(_Laws)


@lru_cache(maxsize=2)
def _normal(unit):
    """Return the parts of a normal column in every cell: |x - x'|, or |x - c|."""
    edges = 2.0 ** (np.arange(OCTAVES + 1) - OCTAVES - THETA[:, None])
    part = np.diff(np.concatenate([np.zeros((THETA.size, 1)), erf(edges / unit)], axis=1), axis=1)
    part[:, -1] += 1 - erf(edges[:, -1] / unit)
    return part
