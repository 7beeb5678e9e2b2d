"""Noisy Lloyd steps in all coordinates, every cluster with a clip radius of its own."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.chunks import map_merge
from skdp.cluster._lattice import Lattice
from skdp.cluster._locate import LIMIT
from skdp.cluster._radii import bought_radii, synopsis_radii
from skdp.mechanisms import ball_sum
from skdp.mechanisms._exact import sqrt_up

__all__ = ["Refined", "cluster_sums", "refine", "refine_steps"]

MOST_STEPS = 12
ADAPTIVE = 300.0  # noise sds of a cluster from which steps are cheap: go on until they are small
LOW = 60.0  # below, one step in many columns
EXPLORE = 0.04  # part of the budget of a step that is not the last
SETTLED = 0.003  # of the radius: a centre that moved by less has arrived
SUM_BITS = 20
RADII_SHARE = 0.06
GROWTH = 1.85  # of the shares from step to step
PULLED, WIDER = 0.6, 4.0  # a mean residual so long, in radii: the rows lie beyond the ball
CERTAIN = 3.0  # noise sds of the number of rows, below which centres are guesses
FEW = "the number of rows does not stand out of its noise: the centres are guesses"
TINY = 2.0**-20  # smallest clip radius, in located radii


@dataclass(frozen=True)
class Refined:
    """Centres after private Lloyd steps. Everything is released.

    ``centers`` (k, d) in units of the table, ``counts`` (k,): estimated numbers of rows,
    ``noise_scale`` (k,): standard deviation of the noise per coordinate, infinite where nothing
    but noise was found; ``radii`` (k,): clip radii, ``n_refused``: how many clusters kept their
    centre in the last step because the step was noise, ``n_steps``: how many steps were taken.
    """

    centers: np.ndarray
    counts: np.ndarray
    noise_scale: np.ndarray
    radii: np.ndarray
    n_refused: int
    n_steps: int


def refine_steps():
    """Return the planned steps of :func:`refine`, a tuple of Step."""
    return (Step("radii", times=MOST_STEPS), Step("clusters", times=MOST_STEPS))


def refine(
    rows, curator, located, centers, *, synopsis=None, subspace=None, share=None, n_steps=None
):
    """Move centres to the means of their clusters by private sums in small balls.

    Parameters
    ----------
    rows : ArrayRows
    curator : Curator
        With the steps of :func:`refine_steps`.
    located : Located
    centers : ndarray of shape (k, d)
        Public or released, in units of the table.
    synopsis : Synopsis, default=None
        Released cells in all d coordinates; without one the radii are bought.
    subspace : Subspace, default=None
        Where the centres came from; the parts of small steps outside it are shrunk.
    share : float or Fraction, default=None
        Everything that may be spent here; None is all that remains.
    n_steps : int, default=None
        At most 12; None decides by the size of a cluster in noise standard deviations, and where
        that is large by the length of the last step: all of them released.

    Returns
    -------
    refined : Refined

    Notes
    -----
    **Privacy**: of :func:`skdp.cluster._radii.bought_radii` and :func:`cluster_sums`; the moves
    are post-processing.
    """
    left = curator.remaining if share is None else min(Fraction(share), curator.remaining)
    k, d = centers.shape
    signal = located.n_rows * curator.budget.mu * math.sqrt(left) / k
    steady = n_steps is None and signal > ADAPTIVE
    run = _Run(rows, curator, located, synopsis, subspace)
    run.start(located.to_units(centers))
    if steady:
        for _ in range(MOST_STEPS - 1):
            run.step(Fraction(EXPLORE) * left, new_radii=run.radii is None, last=left / 2)
            if run.settled():
                break
        run.step(left - run.spent)
    else:
        if n_steps is None:
            n_steps = 1 if signal < LOW and d > 3 else 2
        for part in _parts(n_steps):
            run.step(part * left)
    scale = np.sqrt(run.variance) * located.radius
    if located.n_rows < CERTAIN * located.n_sd:
        curator.doubt(FEW)
        scale = np.full(k, math.inf)
    radii = run.radii * located.radius
    centers = located.inside(located.to_data(run.y))
    return Refined(centers, run.counts, scale, radii, run.n_refused, run.n_steps)


def _parts(n_steps):
    """Return shares that grow from step to step and sum to one."""
    parts = [Fraction(GROWTH) ** t for t in range(n_steps)]
    return [part / sum(parts) for part in parts]


class _Run:
    """Centres ``y`` in units of the located radius, and the variance of their noise."""

    def __init__(self, rows, curator, located, synopsis, subspace):
        self.rows, self.curator, self.located = rows, curator, located
        self.synopsis = synopsis
        lifted = subspace is not None and subspace.W is not None and not subspace.mapped
        self.W = subspace.W if lifted else None

    def start(self, y):
        """Begin at centres that nothing is known about."""
        self.y, self.variance, self.radii = y, np.full(len(y), np.inf), None
        self.spent, self.moved, self.n_steps = Fraction(0), np.zeros(len(y)), 0
        self.wider = np.ones(len(y))

    def step(self, share, *, new_radii=True, last=None):
        """Take one noisy Lloyd step.

        ``share`` pays for new radii as well. With ``last``, the share of a later step, radii suit
        the smaller noise of that step, and are paid for in addition.
        """
        self.n_steps += 1
        d = self.y.shape[1]
        weight = 0.3 if d <= 8 else 0.15
        buy = new_radii and self.synopsis is None
        radii_share = Fraction(RADII_SHARE) * (last or share) if buy else Fraction(0)
        share -= 0 if last else radii_share
        self.spent += share + radii_share
        noise = math.sqrt((1 + weight**2) / float(last or share)) / self.curator.budget.mu
        known = None
        if buy:
            self.radii = bought_radii(
                self.rows, self.curator, self.located, self.y, noise=noise, share=radii_share
            )
        elif self.synopsis is not None:
            self.radii, known = synopsis_radii(self.synopsis, self.y, noise=noise)
        units = self.located.units(self.y)
        self.radii = np.clip(self.radii * self.wider, TINY * units, LIMIT * units)
        counts, sums, noise = cluster_sums(
            self.rows,
            self.curator,
            _nearest_to(self.located, self.y),
            self.located.to_data(self.y),
            radii=self.radii * self.located.radius,
            weight=weight,
            share=share,
        )
        counts = counts if known is None else (counts + known) / 2
        self._move(np.maximum(counts, 1.0), sums, noise)

    def _move(self, counts, sums, noise):
        """Move every centre by its mean residual, unless that is noise."""
        d = self.y.shape[1]
        sd = noise * self.radii / counts
        step = sums * (self.radii / counts)[:, None]
        v, v0 = sd**2, self.variance
        length = np.sqrt(np.square(step).sum(axis=1))
        pulled = length - 3 * sd * math.sqrt(d) > PULLED * self.radii
        self.wider = np.where(pulled, WIDER, 1.0)
        refused = sd * math.sqrt(d) > (1.0 if d <= 3 else 1.5) * self.radii
        small = np.square(step).sum(axis=1) <= d * (v0 + v) * (1 + 3 * math.sqrt(2 / d))
        again = np.isfinite(v0) & small  # both releases tell where the centre is
        gain = np.where(again, np.divide(v0, v0 + v, where=again, out=np.ones_like(v)), 1.0)
        gain[refused] = 0.0
        self.y = self.y + gain[:, None] * step
        self.variance = np.where(refused, v0, gain * v)
        self.counts, self.n_refused = counts, int(np.count_nonzero(refused))
        self.moved = np.square(gain[:, None] * step).sum(axis=1)
        if self.W is not None:
            self.y = _shrunk(self.y, self.variance, self.W)

    def settled(self):
        """Whether no centre has moved by more than noise and a small part of its radius."""
        known = np.where(np.isfinite(self.variance), self.variance, 0)
        noise = self.y.shape[1] * known
        return bool(np.all(self.moved <= noise + np.square(SETTLED * self.radii)))


def _nearest_to(located, y):
    lattice = Lattice(located)
    C = lattice.points(y)
    return lambda block: lattice.labels(block, C)[0]


def cluster_sums(rows, curator, assign, centers, *, radii, weight, share, label="clusters"):
    """Release the size of every cluster and the sum of its rows around its centre.

    Parameters
    ----------
    rows : ArrayRows
    curator : Curator
    assign : callable
        Maps a block of rows to their labels in {-1, 0, ..., k - 1}, each row by itself; -1 leaves
        a row out.
    centers : ndarray of shape (k, d)
    radii : ndarray of shape (k,)
        Clip radii, > 0.
    weight : float
        Weight of a row in the count, against length 1 in the sum.
    share : Fraction
    label : str, default="clusters"

    Returns
    -------
    counts : ndarray of shape (k,)
    sums : ndarray of shape (k, d)
        Sums of the clipped differences to the centre, in units of the radii.
    noise : float
        Standard deviation of the noise of ``sums``.

    Notes
    -----
    **Privacy** (add or remove one row): a row is in at most one cluster j, by its own exact
    arithmetic, and adds the integer w to its count and an integer vector of length at most 2^bits,
    checked in integers, to its sum (radius r_j becomes 2^bits, whatever r_j is). The l2 sensitivity
    of everything together is ``sqrt(w^2 + 4^bits)``, for every k.
    """
    k, d = centers.shape
    bits = _bits(curator, share)
    one = max(1, round(weight * 2**bits))

    def statistic(start, block):
        labels = assign(block)
        total = np.zeros((k, d + 1), dtype=np.int64)
        for j in range(k):
            mine = block[labels == j]
            if len(mine):
                total[j, 1:], total[j, 0] = ball_sum(
                    mine, center=centers[j], radius=float(radii[j]), bits=bits
                )
        return total

    exact = map_merge(rows, statistic, np.add) * np.array([one] + [1] * d)
    sensitivity = sqrt_up(one**2 + 4**bits)
    release = curator.gaussian(exact, sensitivity=sensitivity, share=share, label=label)
    unit = 2.0**-bits
    return release.value[:, 0] / one, release.value[:, 1:] * unit, release.scale * unit


def _bits(curator, share):
    """Return a resolution at which the noise stays below 2^40 grid units, at most 20 bits."""
    octaves = math.floor(math.log2(curator.budget.mu * math.sqrt(share)))
    return min(SUM_BITS, max(1, 40 + octaves))


def _shrunk(y, variance, W):
    """Shrink the parts of centres outside a subspace towards it (James and Stein)."""
    moved = np.isfinite(variance)
    d, p = W.shape
    if d - p < 3 or not moved.any():
        return y
    inside = (y @ W) @ W.T
    outside = y - inside
    v = variance[moved]
    tau = max(float(np.mean(np.square(outside[moved]).sum(axis=1) / (d - p) - v)), 0.0)
    outside[moved] *= (tau / np.maximum(tau + v, 1e-300))[:, None]
    return inside + outside
