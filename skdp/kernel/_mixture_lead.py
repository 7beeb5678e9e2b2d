"""What rows say for one mixture against another, and how far they lie from its centres."""

import math
from functools import cached_property
from typing import Annotated

import numpy as np

from skdp.kernel._ball_cover import BallCover, LocatedBall
from skdp.kernel._lattice import Lattice
from skdp.kernel._mixtures import MixtureFrame, densities, seen_frames
from skdp.kernel._plain import made_of, public, within
from skdp.kernel._statistic import Statistic
from skdp.mechanisms._norms import fold

STEPS = 2**8  # of a nat
FINE = 64  # steps of the logarithm of a sum of densities, in a nat
MOST = 2**20  # nats


@public
class Lead(Statistic):
    """By how much the log-density of the rows is larger for mixtures than for another, in steps.

    **Privacy** (add or remove one row): the difference of two log-densities is a function of the
    row (exact products, elementwise arithmetic, a table), clipped to at most c and cut to an
    integer in steps of a nat, so the m sums move by at most ``sqrt(m) c steps`` in l2.
    """

    located: LocatedBall | BallCover
    frames: Annotated[tuple, "m", made_of(MixtureFrame)]
    against: MixtureFrame
    # nats by which a row can speak for or against a mixture
    clip: Annotated[int, within(1, MOST)]
    step = 1 / STEPS

    def check(self, shape):
        super().check(shape)
        for frame in (self.against, *self.frames):
            for seen in seen_frames(frame, self.located):
                seen.fits(shape.n_features)

    @property
    def squared_l2(self):
        return len(self.frames) * (self.clip * STEPS) ** 2

    @property
    def l1(self):
        return len(self.frames) * self.clip * STEPS

    @cached_property
    def _frames(self):
        return [seen_frames(frame, self.located) for frame in (self.against, *self.frames)]

    @np.errstate(all="ignore")
    def total(self, block):
        """Return the sums, shape (m,)."""
        total = np.zeros(len(self.frames), dtype=np.int64)
        against, *frames = self._frames
        for _, p, Q in Lattice(self.located).placed(block):
            base = log_density(against[p], Q)
            for i, seen in enumerate(frames):
                gain = np.nan_to_num(log_density(seen[p], Q) - base, nan=0.0)
                gain = np.clip(gain, -self.clip, self.clip)
                total[i] += np.trunc(gain * STEPS).astype(np.int64).sum()
        return total


def log_density(frame, Q):
    """Return the log-densities of lattice vectors, up to a constant, to a sixty-fourth of a nat.

    **Privacy**: as for :func:`skdp.kernel._mixtures.integer_shares`; the logarithm of the
    sum over components is looked up in a table.
    """
    squares = (fold(np.square(z).T) for z in frame.whitened(Q))
    top, parts = densities(frame.log_weights, squares)
    levels = np.exp((np.arange(math.ceil(FINE * math.log(len(parts)))) + 1) / FINE)
    return top + np.searchsorted(levels, sum(parts[1:], parts[0]), side="right") / FINE
