"""Gradients and second derivatives of a proportional hazards model, row by row."""

import math
from typing import Annotated

import numpy as np

from skdp.kernel._coordinates import Design, FeatureBox
from skdp.kernel._gradients import LARGEST, STEPS, LogitStep, OfModel, squares
from skdp.kernel._plain import distinct, public, refuse, rising, within
from skdp.kernel._sums import BallProducts
from skdp.mechanisms import finite_rows

FARTHEST = 16  # of a score: hazards are 10^7 times larger or smaller
RATIOS = np.array([math.exp(i / STEPS) for i in range(-FARTHEST * STEPS, FARTHEST * STEPS + 1)])
CURVATURE = 0.3  # part of a squared row that its second derivatives may have


@public
class HazardStep(OfModel):
    """The sums of 2^bits q e and of m q q^T, of rows (x, time, event).

    With L the released sum of hazards, linear between ``times`` and constant beyond, m is
    L(time) exp(score), at most 1, and e the event less m. Events count while m is below 1, and
    until the last of the times: a martingale that is stopped. The first sums are the gradient of
    the log-likelihood, the others its second derivatives, with the weights of
    :class:`skdp.kernel._gradients.OfModel`.

    **Privacy** (add or remove one row): with G = 2^bits and c = CURVATURE it adds q f and u u^T, f
    and u the integer parts of sqrt(1 - c) sqrt(w) e G and of (c^(1/4)) sqrt(m) q. As |q| <= G, the
    square of the length is at most ``G^4 ((1 - c) e^2 + c m^2)``. Without an event e = -m, and with
    one e = 1 - m, which is convex in m: at most ``G^4`` as m is in [0, 1]. A row for which rounding
    has broken it adds nothing. All these are integers below 2^63. m is read from a table, by the
    score in steps of 2^-10.
    """

    design: Design
    radius: float  # R
    B: Annotated[np.ndarray, "K 1"]
    times: Annotated[np.ndarray, "t", distinct, within(0, math.inf)]
    hazard: Annotated[np.ndarray, "t", rising, within(0, math.inf)]
    n: float  # number of rows, public or released
    bits: int | None = None

    inner, at, squared_l2 = FeatureBox.inner, LogitStep.at, BallProducts.squared_l2

    def check(self, shape):
        super().check(shape)
        refuse(len(self.times) < 2, "two times")

    @property
    def step(self):
        return self.radius / 4**self.bits / math.sqrt(1 - CURVATURE)

    @np.errstate(all="ignore")
    def total(self, block):
        """Return the gradient and the second derivatives, shape (K, 1 + K)."""
        block = np.asarray(block, dtype=np.float64)
        event = block[:, -1]
        here = finite_rows(block) & (event >= 0) & (event <= 1)
        block, event = block[here], event[here]
        signed = np.copysign(np.maximum(block[:, -2], 0.0), event - 0.5)  # of events positive
        rows = np.column_stack([block[:, :-2], signed])
        grid, total = 2.0**self.bits, np.zeros((len(self.B), 1 + len(self.B)), dtype=np.int64)
        for q, root, signed, scores in self._scored(self.design.pairs(rows), self.bits):
            at = np.clip(np.nan_to_num(scores[:, 0]), -LARGEST, LARGEST) * STEPS
            at = np.clip(np.rint(at), -FARTHEST * STEPS, FARTHEST * STEPS).astype(np.intp)
            m = np.interp(np.abs(signed), self.times, self.hazard) * RATIOS[at + FARTHEST * STEPS]
            event = ~np.signbit(signed) & (m < 1) & (signed <= self.times[-1])
            m = np.clip(m, 0.0, 1.0)
            f = np.trunc((event - m) * root[:, 0] * math.sqrt(1 - CURVATURE) * grid)
            u = np.trunc(q * (CURVATURE**0.25 * np.sqrt(m))[:, None])
            of_q, of_f, of_u = (squares(one).astype(np.int64) for one in (q, f[:, None], u))
            here = of_q * of_f + of_u**2 <= self.squared_l2
            f[~here], u[~here] = 0.0, 0.0
            total[:, 0] += (f @ q).astype(np.int64)
            total[:, 1:] += (u.T @ u).astype(np.int64)
        return total
