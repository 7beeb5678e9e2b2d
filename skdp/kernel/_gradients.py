"""Gradients and second derivatives of linear models, row by row."""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np

from skdp.kernel._coordinates import Coordinates, Design
from skdp.kernel._plain import Vector, public, refuse, within
from skdp.kernel._statistic import Statistic
from skdp.kernel._sums import GRID
from skdp.mechanisms import _compiled, ball_rows, row_norms
from skdp.mechanisms._norms import TINY, products
from skdp.mechanisms._rows import Ball

STEPS = 1024  # of the table, per unit of a score
LARGEST = 2.0**40  # score, so that differences are finite
FARTHEST = 32  # units below the best class that are told apart
EXP = np.array([math.exp(-i / STEPS) for i in range(FARTHEST * STEPS + 1)])


def probabilities(scores):
    """Return the softmax of scores of K classes; of one score, the logistic function.

    **Privacy**: vectorised exponentials may differ in the last bit with the place of a row in a
    block. Here a score becomes an integer, its distance below that of the best class in steps of
    2^-10, and the exponential is read from a public table; sums go over the classes in order.
    """
    single = scores.shape[1] == 1
    S = np.zeros((scores.shape[1] + single, len(scores)))  # row by row: a class each
    np.clip(np.nan_to_num(scores.T), -LARGEST, LARGEST, out=S[int(single) :])
    below = (S.max(axis=0) - S) * STEPS
    E = EXP[np.rint(np.minimum(below, FARTHEST * STEPS)).astype(np.intp)]
    total = E[0].copy()
    for of_class in E[1:]:
        total += of_class
    return ((E[1:] if single else E) / total).T


class Gradients(Coordinates):
    """Of rows (x, y) in a ``design``, at coefficients ``b``; NaN of rows that are not finite.

    **Privacy**: a score adds its K terms in a fixed order, entry by entry: a gradient is a function
    of its row and of releases to the last bit.
    """

    def check(self, shape):
        super().check(shape)
        refuse(len(self.b) != self.design.dims, "a coefficient for every coordinate")

    @property
    def dims(self):
        return self.design.dims

    def __call__(self, block):
        """Return the gradients of a block."""
        gradients = np.empty((len(block), self.dims))
        with np.errstate(all="ignore"):
            for part, v, y in self.design.pairs(block):
                gradients[part] = self._of(v, y)
        return gradients


@public
class LineGradients(Gradients):
    """Of weighted squares: w v (y - b.v), w = min(1, radius / |v|)^2."""

    design: Design
    b: Vector
    # of the target; b.v is in units
    center: float
    unit: float
    edges: Annotated[np.ndarray, "2"]  # range to which targets are clipped, maybe infinite
    radius: float | None = None  # none: all rows weigh 1

    def __call__(self, block):
        if _compiled.loops is None:
            return super().__call__(block)
        return self.design(block, line=self)

    @property
    def _radius(self):
        return math.inf if self.radius is None else self.radius

    @property
    def b_and_numbers(self):
        """The coefficients, and the numbers that a compiled loop takes."""
        return self.b, (*self.edges, self.center, self.unit, self._radius, TINY)

    def _of(self, v, y):
        radius = self._radius
        root = np.minimum(1.0, radius / row_norms(v))
        residual = ((y.clip(*self.edges) - self.center) / self.unit - products(v, self.b)) * root
        v *= (root * residual)[:, None]
        return v


@public
class LogitGradients(Gradients):
    """Of the log-likelihood of two classes: v (y - p), p from a table; all rows weigh 1."""

    design: Design
    b: Vector

    def _of(self, v, y):
        v[~np.isfinite(row_norms(v))] = np.nan
        p = probabilities(products(v, self.b)[:, None])
        v *= (y[:, None] == 1.0) - p
        return v


MODEL_BITS = 37  # with rows of length 2^15, every partial sum of a score stays below 2^53
SHRINK = 1 - 2.0**-40  # outweighs every rounding of a norm and of a product
ONE = 2**15  # a probability of one
THIN = math.sqrt(2 / 3)  # of curvatures in a calibration
GAINS = 3.33, 2.0  # of curvatures beside gradients, of two classes and of more


class OfModel(Statistic):
    """Of the pair (q, e) that a row has: its direction, and what a model misses.

    Fields are ``design``, ``radius`` and ``B``, of shape (K, c): c = 1 for two classes, or one
    column per class. With v the row in the coordinates of the design, and w = min(1, R / |v|)^2 its
    weight, q is sqrt(w) v in units of R / 2^bits, and e is sqrt(w) (y - p), y the vector that is 1
    at the class of the row and p the probabilities of the model.

    **Privacy**: both are functions of the row and of releases to the last bit. q is a vector of
    integers, of length at most 2^bits. Scores are products of q with coefficients on a grid: all
    partial sums are integers of at most 2^15 2^37 by Cauchy and Schwarz, so that BLAS adds them
    exactly in whatever order. Probabilities are read from a table.
    """

    def check(self, shape):
        super().check(shape)
        refuse(len(self.B) != self.design.dims, "a model has a row for every coordinate")

    @property
    def gain(self):
        """How many times its curvature a row may add beside its gradient at no price."""
        return GAINS[self.B.shape[1] > 1]

    def _grid(self, bits):
        """Return the coefficients on their grid, and the unit of scores of directions."""
        fraction, exponent = math.frexp(np.abs(self.B).max())  # whose multiples may be infinite
        shift = MODEL_BITS - exponent - math.frexp(fraction * math.sqrt(self.B.size))[1]
        return np.rint(np.ldexp(self.B, shift)), np.ldexp(self.radius, -shift - bits)

    def _scored(self, pairs, bits):
        """Yield q of shape (m, K), sqrt(w), the target, scores of finite rows, in parts."""
        model, unit = self._grid(bits)
        for _, v, codes in pairs:
            lengths = row_norms(v)
            if not (here := np.isfinite(lengths)).all():
                v, codes, lengths = v[here], codes[here], lengths[here]
            q = ball_rows(v, center=0.0, radius=self.radius, bits=bits)
            root = np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300))[:, None]
            yield q, root, codes, (q @ model) * unit / root

    def _parts(self, pairs, bits):
        """Yield q, sqrt(w), y - p, p (1 - p), scores of finite rows, in parts."""
        classes = 1.0 if self.B.shape[1] == 1 else np.arange(self.B.shape[1])
        for q, root, codes, scores in self._scored(pairs, bits):
            p = probabilities(scores)
            yield q, root, (codes[:, None] == classes) - p, p * (1 - p), scores


@public
class LogitStep(OfModel):
    """The sums of 2^bits q e^T and of gain p (1 - p) q q^T, each row brought to a ball.

    A residual is cut to the ball, and a curvature to the room that its residual leaves. The first
    are a gradient of the weighted log-likelihood, the others its second derivatives.

    **Privacy**: e becomes a vector f of integers, and sqrt(gain p_k (1 - p_k)) q an integer
    vector u_k. A row adds q f_k and u_k u_k^T, whose squares sum to
    |q|^2 |f|^2 + sum |u_k|^4. All these are integers below 2^53, their products are added and
    compared with longest^2 in 64 bits: a row moves the total by at most ``longest`` exactly.
    Sums over a part stay below 2^53.

    The second derivatives cost nothing, since a row adds little of them where its residual is
    large. With r = |y - p| of two classes and gain a, r^2 + a^2 r^2 (1 - r)^2 <= 1 for all r if
    a^2 <= ((1 + sqrt 5) / 2)^5. Of K classes, p^2 + 4 p^2 (1 - p)^2 <= p because
    4 p (1 - p) <= 1: the classes other than y sum to at most 1 - p_y, and y itself, with
    1 - p_y for p, to no more; so 2 is a bound for gain 2.
    """

    design: Design
    radius: float  # R
    B: Annotated[np.ndarray, "K c"]
    clip: Annotated[float, within(0, 1)]  # radius of the ball, in the largest length of a row
    n: float  # number of rows, public or released
    bits: int | None = None

    def at(self, offer):
        return replace(self, bits=offer.bits(**GRID, power=2, n=self.n))

    @property
    def longest(self):
        """The radius of the ball: 4^bits, times sqrt(2) of K > 2 classes, cut."""
        whole = 4**self.bits * (1.0 if self.B.shape[1] == 1 else math.sqrt(2))
        return math.ceil(self.clip * whole)

    @property
    def squared_l2(self):
        return self.longest**2

    @property
    def step(self):
        return self.radius / 4**self.bits

    def total(self, block):
        """Return the gradient and the second derivatives for each column, shape (c, K, 1 + K)."""
        c, K = self.B.shape[1], len(self.B)
        total, pairs = np.zeros((c, K, 1 + K), dtype=np.int64), self.design.pairs(block)
        if _compiled.loops is not None and c == 1:
            pairs = self._left(pairs, total)
        return self._added(pairs, total)

    def _left(self, pairs, total):
        """Add up rows of two classes by the compiled loop; yield those of no ordinary length."""
        model, unit = self._grid(self.bits)
        ball = Ball(1, len(self.B), center=0.0, radius=self.radius, bits=self.bits)
        numbers = ball.center, ball.gain, _compiled.plain(model[:, 0]), EXP, total
        of_rows = self.radius, *ball.top_and_longest, SHRINK, TINY, unit
        told = of_rows, (LARGEST, STEPS, FARTHEST * STEPS), (self.gain, self.longest, 2**self.bits)
        for _, v, codes in pairs:
            rare = np.empty(len(v), dtype=np.int64)
            if n := _compiled.loops.logit_step(v, codes, *numbers, rare, *told):
                yield None, v[rare[:n]], codes[rare[:n]]

    def _added(self, pairs, total):
        """Return the total with what rows add to it, by numpy."""
        longest = self.longest
        for q, part, e, curvature, _ in self._parts(pairs, self.bits):
            e *= part
            curvature *= self.gain
            square = squares(q)
            sizes = np.sqrt(square * squares(e)) * 2.0**self.bits
            scale = np.minimum(1.0, SHRINK * longest / np.maximum(sizes, 1e-300))
            f = np.trunc(e * (scale * 2.0**self.bits)[:, None])
            long = square.astype(np.int64) * squares(f).astype(np.int64)
            room = SHRINK * np.sqrt(np.maximum(longest**2 - long, 0).astype(float))
            sizes = square * np.sqrt(squares(curvature))
            curvature *= np.minimum(1.0, room / np.maximum(sizes, 1e-300))[:, None]
            parts = [np.trunc(q * root[:, None]) for root in np.sqrt(curvature).T]
            for u in parts:
                long += squares(u).astype(np.int64) ** 2
            here = long <= longest**2
            f[~here] = 0.0
            for sums, u, g in zip(total, parts, f.T, strict=True):
                u[~here] = 0.0
                sums[:, 0] += (g @ q).astype(np.int64)
                sums[:, 1:] += (u.T @ u).astype(np.int64)
        return total


@public
class LogitIntercepts(OfModel):
    """The sums of ``ONE`` (y - p) and of gain p (1 - p): of rows that weigh alike.

    **Privacy** (add or remove one row): it adds integers whose squares sum to at most ``ONE^2``,
    twice that of K > 2 classes, by the bound of :class:`LogitStep`; a row for which rounding has
    broken it adds nothing.
    """

    design: Design
    radius: float  # R
    B: Annotated[np.ndarray, "K c"]
    # scores are those of directions q on a grid of so many bits
    grid: Annotated[int, within(1, GRID["most"])]
    step, n_sums = 1 / ONE, 2

    @property
    def squared_l2(self):
        return ONE**2 * (1 if self.B.shape[1] == 1 else 2)

    @np.errstate(all="ignore")
    def total(self, block):
        """Return the sums, shape (n_sums, c)."""
        total = np.zeros((self.n_sums, self.B.shape[1]), dtype=np.int64)
        for _, _, e, curvature, scores in self._parts(self.design.pairs(block), self.grid):
            entries = np.stack(self._entries(e, self.gain * curvature, scores))
            both = np.trunc(ONE * entries).astype(np.int64)
            both[:, np.square(both).sum(axis=(0, 2)) > self.squared_l2] = 0
            total += both.sum(axis=1)
        return total

    def _entries(self, e, curvature, scores):
        return e, curvature


@public
class LogitCalibration(LogitIntercepts):
    """Gradients and second derivatives of the intercepts, and of one factor of all slopes.

    With t the score less ``start`` in units of ``width``, cut to [-1, 1], these are the sums of
    ``ONE`` times (y - p), (y - p) t, and of sqrt(2/3) gain p (1 - p) times 1, t and t^2.

    **Privacy** (add or remove one row): the squares of what it adds sum to at most ``ONE^2`` times
    (1 + t^2) r^2 + 2/3 (1 + t^2 + t^4) (gain p (1 - p))^2, summed over columns: at most twice the
    bound of :class:`LogitIntercepts`, as |t| <= 1. t is a function of the row and of releases.
    """

    start: Annotated[np.ndarray, "c"]
    width: float
    n_sums = 5

    @property
    def squared_l2(self):
        return 2 * super().squared_l2

    def _entries(self, e, curvature, scores):
        t = np.clip(np.nan_to_num((scores - self.start) / self.width), -1.0, 1.0)
        curvature = THIN * curvature
        return e, e * t, curvature, curvature * t, curvature * t * t


def squares(rows):
    """Return the squared lengths of rows."""
    return np.einsum("ij,ij->i", rows, rows)
