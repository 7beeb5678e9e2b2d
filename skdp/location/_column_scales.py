"""Scales of columns of which few rows tell: whether they are unlike, and laws of differences."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import erf

from skdp.accounting import Step
from skdp.kernel._bins import HIGHEST_OCTAVE, LOWEST_OCTAVE, LogBins
from skdp.kernel._columns import ColumnBins
from skdp.kernel._friends import RingColumns, SparseRing
from skdp.kernel.applied._likeness import ABOVE, PER_OCTAVE, RingLikeness

# Cells are octaves of the sizes of differences, counted down from a released largest one: cell 0
# holds zero and all below, cell i the octave that ends at 2^(i - OCTAVES) of the largest.
OCTAVES = 127
OF_OCTAVE = 3  # scales that are looked at
WIDTHS = 0.0, 1.0, 2.5  # octaves: deviation of the scale within a column, 0 of a normal one
EQUAL = 0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95  # parts of the differences that are zero
LIKELY_WIDTHS, PLAIN = (0.9, 0.08, 0.02), 0.93  # prior: of a width, and that none are zero
MANY_EQUAL = 0.3  # from which on a column is no plain one
BACKGROUND, SMOOTH, SWEEPS = 0.02, 0.6, 60  # of the prior that the columns make themselves
SLACK = 0.03  # part of the rows: what no law tells of a count
SEEN, CLEAR = 2.0, 3.0  # standard deviations
NEAR = 1.01  # octaves around the mode, of whose scales the mean is taken
PAIRED, CENTRED = 2.0, 2.0**0.5  # of differences of two rows, and of distances from the centre
THETA = np.arange(4, OCTAVES, 1 / OF_OCTAVE) - OCTAVES + 1  # log2 of deviations over the largest

LIKENESS = Step("likeness", at_most=0.04, of=(RingLikeness,))
SCALE_LOOKS = Step("scale looks", at_most=0.3, times=7, of=(RingColumns, SparseRing))
SCALES_AGAIN = Step("scales again", at_most=0.05, of=(ColumnBins,))
ALIKE, COSTS, NEXT = 1.15, (14, 15), 0.02  # of unlike scales, in what their search takes
FEWEST_COLUMNS, MANY_COLUMNS = 8, 25  # whose laws come first; that a cheap look may show alike
MOST_ROWS = 120  # in noise units of one of d sums, for which laws of fewer, or likeness, pay
NORMAL = 2 / math.pi, 0.4549  # of a normal entry: mean^2 and median^2 over the mean square
LEAST_UNITS, LEAST_ROWS = 300, 30  # rows in noise units of a sum, and of one of d sums
SURE, AGAIN = 0.125, 0.07  # noise in a count, part of the rows
UNSURE, MAY_BE_ODD = 0.8, 0.5  # octaves of a scale, and probability, that are looked at again
# A short look at all columns and a longer one, then at those that are still unsure.
LOOKS = 2 * SURE, 1.15 * SURE, SURE, SURE / 2, SURE / 2
MOST_LOOKS, FIRST_LOOK, LEAST_LOOK = 0.3, 0.01, 0.004  # shares
TIES, CERTAIN = 0.1, 0.999  # part of equal entries, probability of an odd column
# How many columns may be called odd that are not, of ten and more.
FALSE_ODD, FEW = 1.0, 10
UPWARDS = 0.4, 0.5  # octaves from which on a scale is taken larger, and by what part of them


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
        window = np.ones(2 * OF_OCTAVE + 1)
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
        bell = np.exp(-0.5 * np.square(np.arange(-5, 6) / OF_OCTAVE / SMOOTH))
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
            reach = int(3 * width * OF_OCTAVE)
            steps = np.arange(-reach, reach + 1)
            bell = np.exp(-0.5 * np.square(steps / OF_OCTAVE / width))
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


# --- scales of columns of which few rows tell: whether they are unlike, and laws of differences


def are_alike(sample):
    """Release how unlike the columns of a Sampled table are; return whether one noise serves all.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel.applied._likeness.RingLikeness`.

    One noise for all columns costs ``mean s^2 mean s^-2`` of what noise in proportion to their
    deviations s does, in squares. Of normal columns the two ratios tell ``mean(s)^2 / mean s^2``
    and ``1 / sqrt(mean s^2 mean s^-2)``, the latter for log-normal s; their mean is compared with
    what the search for scales takes off the budget.
    """
    units = sample.n * sample.budget.mu
    rows = units / math.sqrt(sample.n_features)
    if sample.n_features < MANY_COLUMNS or rows > MOST_ROWS:
        return False
    share = float(np.clip((90 / units) ** 2, 0.002, LIKENESS.at_most))
    told = sample.ask(RingLikeness(), LIKENESS, share=share).value
    u, v = (_middle(one) / ratio for one, ratio in zip(told, NORMAL, strict=True))
    price = 1 - sum((cost / rows) ** 2 for cost in COSTS) - NEXT
    return (1 / u + 1 / v**2) / 2 < ALIKE / max(price, 0.05)


def _middle(counts):
    """Return the median of the ratios that are counted in quarter octaves."""
    mass = np.cumsum(np.append(0, counts))
    at = int(np.argmax(mass[1:] >= mass[-1] / 2)) if mass[-1] > 0 else len(counts) - 1
    part = np.clip((mass[-1] / 2 - mass[at]) / max(counts[at], 1), 0, 1)
    return 2.0 ** ((ABOVE - at - part) / PER_OCTAVE)


def laws_tell(units, d):
    """Return whether so many rows, in noise units of a sum, tell laws of d columns."""
    return units >= LEAST_UNITS and units >= LEAST_ROWS * math.sqrt(d)


def scale_share(units, d):
    """Return the share that buys scales of d columns, each read off one histogram."""
    return (22 * math.sqrt(5 * d) / units) ** 2


def scales_are_dear(units, d):
    """Return whether that is too much."""
    return scale_share(units, d) > 0.08


def laws_come_first(units, d):
    """Return whether the search for laws costs less than the first look at columns."""
    few = d >= FEWEST_COLUMNS and units < MOST_ROWS * math.sqrt(d)
    return laws_tell(units, d) and scales_are_dear(units, d) and (few or d >= MANY_COLUMNS)


@dataclass(frozen=True)
class ScaleLaws:
    """What differences of rows have told of the scales of columns."""

    laws: ColumnLaws
    bins: LogBins

    def scales(self):
        """Return the scales, those that are unsure somewhat larger, (d,)."""
        theta, sd, _ = self.laws.read()
        theta = theta + np.where(sd > UPWARDS[0], UPWARDS[1] * np.minimum(sd, 1.0), 0.0)
        return np.exp2(np.clip(theta + self.bins.high, LOWEST_OCTAVE + 60, HIGHEST_OCTAVE - 60))

    @property
    def odd(self):
        """Whether a column may well be no normal one."""
        if self.laws.ties() > TIES:
            return True
        odd = self.laws.read()[2]
        return bool((odd > 1 - FALSE_ODD / max(FEW, len(odd))).any())

    def odd_surely(self):
        """Return whether no further look is needed to call a column odd."""
        return self.laws.ties() > TIES or bool((self.laws.read()[2] > CERTAIN).any())

    def unsure(self):
        """Return the columns that are to be looked at again."""
        _, sd, odd = self.laws.read()
        return np.flatnonzero((sd > UNSURE) | (odd > MAY_BE_ODD))

    def look(self, sample, *, most, columns=None, sure=SURE):
        """Release the differences in some columns, all by default; return the share.

        Notes
        -----
        **Privacy**: of :class:`skdp.kernel._friends.RingColumns`, and of ``SparseRing`` for k
        columns: a difference has at most k entries in them.
        """
        units, d = sample.n * sample.budget.mu, sample.n_features
        k = d if columns is None else len(columns)
        share = float(np.clip(5 * k / (sure * units) ** 2, min(FIRST_LOOK * k / d, most), most))
        if k == d:
            asked, columns = RingColumns(self.bins, d), np.arange(d)
        else:
            asked = SparseRing(tuple(int(j) for j in columns), k, self.bins)
        told = sample.ask(asked, SCALE_LOOKS, share=share)
        self.laws.add(_octaves(told.value), told.scale, columns=columns, zeros=k == d)
        return share

    def look_again(self, table, center, *, n, left):
        """Release the distances of the rows from a released centre, and take them in.

        Notes
        -----
        **Privacy**: of :class:`skdp.kernel._columns.ColumnBins`, around a released centre.
        """
        d = len(center)
        share = float(np.clip((1 / (AGAIN * n * table.budget.mu)) ** 2 * d, 0.01, 0.05))
        if share < 0.3 * left:
            asked = ColumnBins(center, np.ones(d), self.bins)
            told = table.ask(asked, SCALES_AGAIN, share=share)
            part = self.laws.n / n
            self.laws.add(_octaves(told.value) * part, told.scale * part, centred=True)


def release_scale_laws(sample, largest):
    """Release the ScaleLaws of the columns of a Sampled table, no difference beyond ``largest``.

    Columns whose scale is unsure are looked at again, the few that are left then longer.

    Notes
    -----
    **Privacy**: of :meth:`ScaleLaws.look`; which columns are looked at is told by releases.
    """
    octave = math.frexp(min(max(largest, 2.0**-900), 2.0**1000))[1]
    low = int(np.clip(octave + 1 - OCTAVES, LOWEST_OCTAVE, HIGHEST_OCTAVE - OCTAVES))
    laws = ColumnLaws(sample.n_features, sample.n)
    found = ScaleLaws(laws, LogBins(1, low, low + OCTAVES))
    left, columns = MOST_LOOKS, None
    for look, sure in enumerate(LOOKS):
        if left < LEAST_LOOK or (columns is not None and not len(columns)):
            break
        left -= found.look(sample, most=left, columns=columns, sure=sure)
        if found.odd_surely():
            break
        columns = found.unsure() if look else None
    return found


def _octaves(counts):
    """Return released counts with what lies beyond all octaves in the last of them."""
    counts = counts.astype(np.float64)
    counts[:, -2] += counts[:, -1]
    return counts[:, :-1]


def shape_weights(scale, accuracy):
    """Return the noise of every column per unit of one noise, sum (scale / weight)^2 = d.

    Notes
    -----
    With a radius R in units of the weights w the noise of a column is R w, and R^2 is in proportion
    to sum (s / w)^2. The least sum of squared errors, of weight c_j each, ``sum c w^2``, has by the
    inequality of Cauchy and Schwarz ``w^2 ~ s / sqrt(c)`` and is ``(sum s sqrt(c))^2``. "alike" has
    c = 1 / s^2, "total" c = 1. "both" has the sum of both, each over its least value:

        c = 1/2 / (sum s)^2 + 1/2 / (d s)^2.

    Its value is ``(sum sqrt(p^2 / 2 + 1 / (2 d^2)))^2 <= 2`` with p = s / sum s, and the mean of
    both inefficiencies, neither below 1; so each is at most 3, in squares: sqrt(3).
    """
    d, s = len(scale), scale / scale.max()
    if isinstance(accuracy, str):
        total, alike = 1 / s.sum() ** 2, 1 / np.square(d * s)
        parts = {"alike": (0, 1), "total": (1, 0), "both": (0.5, 0.5)}[accuracy]
        cost = parts[0] * total + parts[1] * alike
    else:
        cost = np.asarray(accuracy, dtype=np.float64)
    weight = np.sqrt(s) / cost**0.25
    weight *= math.sqrt(np.square(s / weight).sum() / d)
    return weight * scale.max()


def effective_columns(scale, weight):
    """Return as many columns of one size as have rows whose lengths scatter as much."""
    square = np.square(scale / weight)
    return float(square.sum() ** 2 / np.square(square).sum())
