"""Curves of a score by class from two releases: cells, then the sums that metrics rest on."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from skdp.accounting import Step
from skdp.kernel.applied._scores import GAIN, PrefixCells, ScoreCells, prefix_matrix

LOGIT_END = 10.0  # scores beyond these logits share a bin on either side
SMALLEST = 1e-300  # scores below stay in one bin


def logit_edges(n_bins):
    """Return edges of bins of probabilities: equal steps of the logit, 0.5 an edge if n is even.

    A bin on either side is for scores that are no probabilities.
    """
    inner = expit(np.linspace(-LOGIT_END, LOGIT_END, n_bins - 1))
    return np.concatenate([[-1.0, 0.0], inner, [np.nextafter(1.0, 2.0), 2.0]])


def finer_edges(edges, masses):
    """Return edges of twice as many bins: those with many rows are cut into equal parts.

    Returns
    -------
    edges : ndarray of shape (2 bins + 1,)
    of : ndarray of shape (2 bins,)
        The old bin that each is a part of.
    """
    bins = len(masses)
    masses = np.maximum(masses, 0.0) / max(np.maximum(masses, 0.0).sum(), 1e-300)
    parts = 1 + np.floor(bins * masses).astype(int)
    parts[np.argmax(masses)] += 2 * bins - parts.sum()
    of = np.repeat(np.arange(bins), parts)
    first = np.cumsum(parts) - parts
    at = (np.arange(2 * bins) - first[of]) / parts[of]
    low, high = edges[of], edges[of + 1]
    cuts = low * (1 - at) + high * at
    by_log = (at > 0) & (low == 0.0)  # of the bins at the ends equal steps of the logarithm
    cuts[by_log] = high[by_log] * (SMALLEST / high[by_log]) ** (1 - at[by_log])
    by_log = (at > 0) & (low < 1) & (high > 1)
    rest = 1 - low[by_log]
    nearest = np.maximum(parts[of][by_log] / 8, 1) * 2.0**-53  # edges differ as floats
    cuts[by_log] = 1 - rest * (nearest / rest) ** at[by_log]
    return np.append(cuts, edges[-1]), of


@lru_cache(maxsize=8)
def prefix_strategy(n):
    """Return the integer matrix C, to which a row of bin b adds column b, and its inverse.

    All prefix sums together are nearly least off.
    """
    C = prefix_matrix(n)
    return C, np.linalg.inv(C.astype(float))


FIRST = 0.3  # share of the cells: benchmarks/metrics.py
REST = 0.02  # part of a squared row that measures the losses inside of bins
SURE = 5.0  # that scores are no probabilities: noise says so once in 3 million fits
CLEAR = 3.0  # standard deviations of its noise that a class has rows
CELLS = Step("cells", at_most=FIRST, of=(PrefixCells,))
FINER = Step("finer cells", at_most=0.25, of=(PrefixCells,))  # if scores lie in few bins
PLACES = Step("places", of=(ScoreCells,))
TIED = 8.0  # times an even part of both classes in a bin, which no cut leaves of scores apart
CROWDED = 4.0  # deviations of the area by noise that the order of scores in bins may add to it
CLOSE = "scores lie in few bins, which were cut into parts"


@dataclass
class Curves:
    """Released numbers of rows by class in bins of a score, with the law of their noise."""

    edges: np.ndarray  # (bins + 1,): of the bins of scores
    sums: np.ndarray  # (2, bins + 1): negatives and positives below each edge, unbiased
    upto: np.ndarray  # the same, made to rise: nearer to the truth as a curve, biased at its ends
    cov: np.ndarray  # (2, bins + 1, bins + 1): of their noise
    losses: np.ndarray  # (2,): mean squared and logarithmic loss
    losses_sd: np.ndarray  # (2,): of their noise
    losses_var: np.ndarray  # (2,): variances of the losses of single rows
    auc: float
    auc_sd: float  # of its noise
    told: bool  # whether both classes have rows beyond doubt, and scores are probabilities
    outside: bool  # whether scores are below 0 or above 1, beyond doubt

    @property
    def n(self):
        """Numbers of negatives and positives, at least 1."""
        return np.maximum(self.upto[:, -1], 1.0)

    @property
    def below(self):
        """Parts of negatives and positives whose scores are below each edge, (2, bins + 1)."""
        return np.clip(self.upto / self.n[:, None], 0, 1)

    @property
    def placements(self):
        """Of each class the part of the other one on the right side of the middle of a bin."""
        middle = (self.below[:, 1:] + self.below[:, :-1]) / 2
        return np.array([1 - middle[1], middle[0]])

    @property
    def auc_var(self):
        """Variance of the area by the choice of rows (DeLong, DeLong and Clarke-Pearson 1988)."""
        f = np.diff(self.below, axis=1)
        spread = (f * np.square(self.placements - self.auc)).sum(axis=1)
        return float((spread / self.n).sum())


def release_curves(table, edges, positives, used, *, second, one_sided=False):
    """Release the Curves of the columns ``used`` of scores: a list.

    Notes
    -----
    **Privacy** (add or remove one row): the answers to one :class:`PrefixCells`, or two, and to one
    :class:`ScoreCells` that is made of these; all else is post-processing.

    The first gives the numbers of rows in bins with the least error of prefix sums. With F the
    curves made of it and A their area, the area moves with a positive of score s by
    ``F_0(s) - A`` over the number of positives, with a negative by ``1 - F_1(s) - A`` over that of
    negatives. The second asks the sums of these, piecewise linear, and of the losses beside those
    of the middles of bins. Both answers together are one linear model with normal noise, whose mean
    and covariance are exact. The area is then off by ``-int (F_0^ - F_0) d(F_1^ - F_1)``, of second
    order in the noise of the first: ties inside of a bin count half, whatever the bin.
    """
    m, bins = len(edges), edges.shape[1] - 1
    C, inverse = prefix_strategy(bins)
    y, sd = _prefix_cells(table, edges, positives, used, CELLS)
    pairs = zip(used, y, strict=True)
    starts = [_Start.of(edges[j], one @ inverse.T, sd * inverse, one_sided) for j, one in pairs]
    if any(start.crowded(sd * np.sqrt(CELLS.at_most / second)) for start in starts):
        table.decide(CLOSE)
        starts, edges = _finer(table, positives, used, starts, (C, y, sd))
        second -= FINER.at_most
        bins = 2 * bins
    left, right = (np.zeros((m, 4, 2, bins), dtype=np.int64) for _ in range(2))
    for j, start in zip(used, starts, strict=True):
        left[j], right[j] = start.questions
    told = table.ask(ScoreCells(edges, positives, left, right), PLACES, share=second)
    y, sd = told.real.reshape(m, 4) / GAIN, float(np.max(told.sd)) / GAIN
    return [start.curves(y[j], sd) for j, start in zip(used, starts, strict=True)]


def bytes_of_a_column(n_bins):
    """Return the size of what the longest question, PLACES, may hold of one column of scores."""
    finer = 2 * (n_bins + 2)  # crowded bins are cut: edges, and ends of 4 sums by class and bin
    return 8 * (finer + 1 + 2 * 4 * 2 * finer)


def _prefix_cells(table, edges, positives, used, step):
    """Return the measured numbers of rows by class and bin, (len(used), 2, bins), and their sd."""
    told = table.ask(PrefixCells(used, edges[used], [positives[j] for j in used]), step)
    return told.real.reshape(len(used), 2, -1), float(np.max(told.sd))


def _finer(table, positives, used, starts, first):
    """Cut crowded bins into parts and ask once more; return starts of both releases, and edges."""
    C_first, y_first, sd_first = first
    m, bins = len(positives), len(C_first)
    C, _ = prefix_strategy(2 * bins)
    cut = [finer_edges(one.edges, np.diff(one.below, axis=1).sum(axis=0)) for one in starts]
    edges = np.tile(cut[0][0], (m, 1))
    edges[used] = [own for own, _ in cut]
    y, sd = _prefix_cells(table, edges, positives, used, FINER)
    finer = []
    for i, ((own, of), start) in enumerate(zip(cut, starts, strict=True)):
        coarse = C_first[:, of] / sd_first
        inverse = np.linalg.inv(coarse.T @ coarse + C.T @ (C / sd**2))
        h = (y_first[i] / sd_first) @ coarse + y[i] @ (C / sd**2)
        noise = np.linalg.cholesky((inverse + inverse.T) / 2)
        finer.append(_Start.of(own, h @ inverse, noise, start.one_sided, is_finer=True))
    return finer, edges


@dataclass
class _Start:
    """What the first release tells of one column of scores."""

    edges: np.ndarray
    h: np.ndarray  # (2, bins): numbers of negatives and positives, unbiased
    noise: np.ndarray  # (bins, bins): what multiplies standard normal numbers in it
    upto: np.ndarray  # (2, bins + 1): rising
    told: bool
    outside: bool
    one_sided: bool  # whether negatives have no logarithmic loss: of one class of several
    is_finer: bool = False  # whether bins with many rows have been cut

    @classmethod
    def of(cls, edges, h, noise, one_sided, *, is_finer=False):
        sums = np.cumsum(h, axis=1)
        sd = float(np.linalg.norm(noise.sum(axis=0)))
        beyond = np.flatnonzero((edges[1:] <= 0) | (edges[:-1] > 1))
        beyond_sd = float(np.linalg.norm(noise[beyond].sum(axis=0))) * np.sqrt(2)
        outside = bool(h[:, beyond].sum() > SURE * beyond_sd)
        told = bool(sums[:, -1].min() > CLEAR * sd) and not outside
        return cls(edges, h, noise, rising(sums), told, outside, one_sided, is_finer)

    def crowded(self, sd):
        """Return whether the order of scores inside of bins may be most of the area's error.

        ``sd`` is that of the noise to come, of a row. Half of all pairs in a bin may be wrong.
        """
        pairs = np.diff(self.below, axis=1).prod(axis=0).sum() / 2
        noise = self._reach * sd / GAIN * np.sqrt(np.square(1 / self.n).sum())
        return self.told and pairs > CROWDED * noise

    @property
    def n(self):
        return np.maximum(self.upto[:, -1], 1.0)

    @property
    def below(self):
        return self.upto / self.n[:, None]

    @property
    def area(self):
        """The area under the rising curves."""
        f1, f0 = np.diff(self.below[1]), (self.below[0, 1:] + self.below[0, :-1]) / 2
        return float(f1 @ f0)

    @property
    def tied(self):
        """Which bins have many rows, although those were cut: their scores are ties, (bins,)."""
        masses = np.diff(self.below, axis=1).sum(axis=0)
        return self.is_finer & (masses > TIED / len(masses))

    @property
    def questions(self):
        """Integers at the left and the right end of bins, (4, 2, bins) each, of length GAIN.

        Ties have the placement of the middle, wherever they lie in a bin: so what is not known of
        the number of rows there does not move the area.
        """
        right_side = np.array([1 - self.below[1], self.below[0]]) - self.area
        middle = (right_side[:, 1:] + right_side[:, :-1]) / 2
        gain = GAIN * np.sqrt(1 - 2 * REST) / self._reach
        ends = []
        for cut in (slice(None, -1), slice(1, None)):
            asked = np.zeros((4, 2, len(self.h[0])))
            asked[0, 0], asked[1, 1] = gain * np.where(self.tied, middle, right_side[:, cut])
            asked[2:] = GAIN * np.sqrt(REST) * (self._losses(self.edges[cut]) - self._middle)
            asked[2:] /= self._inside[:, None, None]
            ends.append(np.trunc(asked).astype(np.int64))
        return ends

    @property
    def _reach(self):
        """The largest size of a centred placement."""
        return max(self.area, 1 - self.area)

    def _losses(self, p):
        return losses(p) * np.array([[1, 1], [not self.one_sided, 1]])[..., None]

    @property
    def _middle(self):
        return self._losses(middles(self.edges))

    @property
    def _inside(self):
        """How far a loss is from that of the middle of its bin at most, (2,)."""
        ends = [self._losses(self.edges[cut]) for cut in (slice(None, -1), slice(1, None))]
        return np.abs(np.array(ends) - self._middle).max(axis=(0, 2, 3))

    def curves(self, y, sd):
        """Return the Curves that both releases tell, from the answer to the second."""
        left, right = (end / GAIN for end in self.questions)
        q = (left + right)[[0, 1], [0, 1]] / 2
        cov = self.noise @ self.noise.T
        scale = self._reach / np.sqrt(1 - 2 * REST) / self.n
        known = np.einsum("cb,cb->c", q, self.h)
        known_var = np.einsum("cb,cb->c", q @ cov, q) @ np.square(scale)
        asked_var = sd**2 * np.square(scale).sum()
        part = known_var / (
            known_var + asked_var
        )  # one for both classes: ties inside of bins cancel
        shift = scale * (part * y[:2] + (1 - part) * known)
        area = self.area + shift.sum()
        # the number of rows of a class is off, and with it what its rows move the area by
        lost = np.linalg.norm(shift / self.n) * np.linalg.norm(self.noise.sum(axis=0))
        var = part * asked_var + self._second_order() + lost**2
        h, covs = self._corrected(q, y, sd, np.abs(right - left)[[0, 1], [0, 1]])
        inside = y[2:] * self._inside / np.sqrt(REST)
        inside_sd = sd * self._inside / np.sqrt(REST)
        loss = _Losses.of(self._middle, h, covs, inside, inside_sd)
        return Curves(
            self.edges,
            np.pad(np.cumsum(h, axis=1), [(0, 0), (1, 0)]),
            rising(np.cumsum(h, axis=1)),
            covs,
            loss.mean,
            loss.sd,
            loss.var,
            float(np.clip(area, 0, 1)),
            float(np.sqrt(var)),
            self.told,
            self.outside,
        )

    def _corrected(self, q, y, sd, width):
        """Return numbers of rows in bins that agree with the second release, and their covariance.

        The mean of a normal law, and that of prefix sums. Rows of one bin may all have one score,
        anywhere in it, by which their sum of placements is off by that of a uniform number.
        """
        cov = self.noise @ self.noise.T
        h, covs = np.empty_like(self.h), []
        for c in range(2):
            unknown = np.square(np.maximum(np.diff(self.upto[c]), 1.0) * width[c]).sum() / 12
            gain = cov @ q[c]
            gain /= q[c] @ gain + sd**2 + unknown
            h[c] = self.h[c] + gain * (y[c] - q[c] @ self.h[c])
            covs.append(cov - np.outer(gain, q[c] @ cov))
        return h, np.cumsum(np.cumsum(np.pad(covs, [(0, 0), (1, 0), (1, 0)]), axis=1), axis=2)

    def _second_order(self):
        """Return the variance of the area by products of the noise of both curves."""
        upto = np.cumsum(self.noise, axis=0)
        sums, cells = upto @ upto.T, self.noise @ self.noise.T
        return float((sums * cells).sum() / np.prod(np.square(self.n)))


@dataclass
class _Losses:
    mean: np.ndarray
    sd: np.ndarray
    var: np.ndarray

    @classmethod
    def of(cls, middle, h, cov, inside, inside_sd):
        """Return mean losses of rows in bins, whose losses there are those of the middle."""
        n = max(h.sum(), 1.0)
        mean = ((middle * h).sum(axis=(1, 2)) + inside) / n
        away = middle - mean[:, None, None]
        var = np.maximum((np.square(away) * h).sum(axis=(1, 2)) / n, 0)
        # the sum over bins of a_b h_b is that over edges of prefix sums times differences of a
        at_edges = np.zeros((2, 2, h.shape[1] + 1))
        at_edges[..., 1:] += away
        at_edges[..., :-1] -= away
        noise = np.einsum("lci,cij,lcj->l", at_edges, cov, at_edges, optimize=True)
        return cls(mean, np.sqrt(noise + np.square(inside_sd)) / n, var)


def losses(p):
    """Return squared and logarithmic losses of negatives and positives, (2, 2, len(p))."""
    end = expit(LOGIT_END)
    p = np.clip(p, 0, 1)
    q = np.clip(p, 1 - end, end)
    return np.array([[p**2, (1 - p) ** 2], [-np.log1p(-q), -np.log(q)]])


def middles(edges):
    """Return the middles of bins of probabilities: of their logits, but for those at the ends."""
    p = np.clip(edges, 0, 1)
    with np.errstate(divide="ignore"):
        at = np.log(p) - np.log1p(-p)
    inside = np.isfinite(at[1:]) & np.isfinite(at[:-1])
    middle = (p[1:] + p[:-1]) / 2
    middle[inside] = expit((at[1:][inside] + at[:-1][inside]) / 2)
    return middle


def rising(sums):
    """Return prefix sums with a 0 before, between their running maximum and minimum."""
    up = np.maximum.accumulate(sums, axis=1)
    down = np.minimum.accumulate(sums[:, ::-1], axis=1)[:, ::-1]
    total = np.maximum(sums[:, -1:], 1.0)
    upto = np.clip((up + down) / 2, 0, total)
    upto[:, -1:] = total
    return np.concatenate([np.zeros((2, 1)), upto], axis=1)
