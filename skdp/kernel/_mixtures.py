"""Released mixtures, and exact moments of the rows of every component."""

import math
from dataclasses import replace
from functools import cached_property, reduce
from typing import Annotated

import numpy as np
from scipy.linalg import solve_triangular

from skdp.kernel._lattice import BITS, UNIT, BallCover, Lattice, LocatedBall
from skdp.kernel._plain import Checked, made_of, positive, public, refuse, within
from skdp.kernel._statistic import Statistic, grid_bits
from skdp.mechanisms._norms import fold

KINDS = "full", "tied", "diag", "spherical"
LONGEST = 2.0**29  # of integer vectors whose products with lattice points are exact


@public
class MixtureFrame(Checked):
    """Components ``N(means_k, roots_k roots_k^T)`` in units of the located ball."""

    kind: str  # {"full", "tied", "diag", "spherical"}
    weights: np.ndarray  # (k,): positive
    means: np.ndarray  # (k, d)
    # lower triangular of shape (k, d, d), (1, d, d) for "tied"; positive of shape (k, d) for "diag"
    # and "spherical"
    roots: np.ndarray

    def check(self, shape):
        super().check(shape)
        self.fits(shape.n_features)

    @np.errstate(all="ignore")
    def fits(self, n_features):
        """Raise ValueError for what is no mixture, or has no exact maps of lattice vectors."""
        k = len(self.weights)
        refuse(self.kind not in KINDS or not k, "a kind of covariances, and components")
        refuse(self.weights.shape != (k,) or self.means.shape != (k, n_features), "means of rows")
        matrices = self.kind in ("full", "tied")
        size = (1 if self.kind == "tied" else k, *[n_features] * (1 + matrices))
        refuse(self.roots.shape != size, "roots of covariances of rows")
        diagonal = np.einsum("kii->ki", self.roots) if matrices else self.roots
        refuse(not (self.weights > 0).all() or not (diagonal > 0).all(), "weights, positive roots")
        refuse(not np.isfinite(self.roots).all(), "roots of moderate size")
        if matrices:
            integer = np.where(np.isfinite(self._maps[0]), self._maps[0], 0.0)  # else no row counts
            refuse((np.square(integer).sum(axis=1) > LONGEST**2).any(), "roots with exact maps")

    @property
    def log_weights(self):
        """Logarithms of weight over root of the determinant, up to a constant, shape (k,)."""
        diagonal = np.einsum("kii->ki", self.roots) if self.roots.ndim == 3 else self.roots
        return np.log(self.weights) - np.log(diagonal).sum(axis=1)

    def seen_from(self, center, radius):
        """Return the same mixture in units of another ball, given in units of this one."""
        return replace(self, means=(self.means - center) / radius, roots=self.roots / radius)

    @cached_property
    def _maps(self):
        """Integer matrices (c, d, d), units (c, d) and images of the means (k, d)."""
        eye = np.eye(self.means.shape[1])
        inverse = np.stack([solve_triangular(root, eye, lower=True) for root in self.roots])
        unit = np.sqrt(np.square(inverse).sum(axis=2)) * 2.0 ** (BITS - 52)
        integer = np.rint(inverse / unit[:, :, None]).transpose(0, 2, 1)
        unit = unit / UNIT
        images = ((self.means * UNIT)[:, None] @ integer)[:, 0] * unit
        return integer, unit, images

    def whitened(self, Q):
        """Yield for every component the lattice vectors in its frame, a column each: (d, m).

        **Privacy**: a function of each row. The product is one of integers with partial sums of at
        most ``2^24 (2^28 + sqrt(d))`` (:class:`skdp.kernel._lattice.Lattice`), so BLAS does not
        round; the rest is elementwise.
        """
        if self.roots.ndim == 2:
            columns = np.ascontiguousarray(Q.T)
            for mean, root in zip(self.means, self.roots, strict=True):
                Y = columns - (mean * UNIT)[:, None]
                Y *= (1 / (root * UNIT))[:, None]
                yield Y
            return
        integer, unit, images = self._maps
        if self.kind == "tied":
            Y = integer[0].T @ Q.T
            Y *= unit[0][:, None]
            for image in images:
                yield Y - image[:, None]
            return
        for matrix, step, image in zip(integer, unit, images, strict=True):
            Y = matrix.T @ Q.T
            Y *= step[:, None]
            Y -= image[:, None]
            yield Y


def seen_frames(frame, located):
    """Return a mixture as it is seen from every place, a list."""
    return [frame.seen_from(*located.view(p)) for p in range(len(located.balls))]


SHRINK = 1 - 2.0**-40  # outweighs every rounding of a norm, a root and a product
MOST_BITS, LEAST_BITS, COARSER = 15, 5, 4
LOG2E = 1 / math.log(2)
TAYLOR = tuple(math.log(2) ** i / math.factorial(i) for i in range(9))


Weight = Annotated[float, positive, within(0, 2)]


@public
class FirstWeight(Checked):
    """Real weights of numbers and vectors, against 1 for the matrices."""

    number: Weight
    vector: Weight


@public
class MixtureMoments(Statistic):
    """The numbers, the first and the second moments of all components of a mixture.

    **Privacy** (add or remove one row). The integers of a row are functions of that row: products
    are exact (:class:`skdp.kernel._lattice.Lattice`), everything else is elementwise or summed in
    an order fixed by d and k. Of b bits a row has integer shares ``s_k >= 0``, and vectors h_k and
    g_k for every component k, checked in integers, or else zeroed: ``sum_k s_k <= 2^b``,
    ``|h_k| <= 2^(b-4) s_k`` and ``|g_k|^2 <= 2^b s_k``. The matrix ``g_k g_k^T`` has Frobenius norm
    ``|g_k|^2``, its diagonal ``g_k o g_k`` and its trace have at most that. So, with the weights
    w0 of numbers and w1 of vectors, integers, the squared length of a contribution is at most

        sum_k s_k^2 (w0^2 + w1^2 4^(b-4) + 4^b) <= 4^b (w0^2 + w1^2 4^(b-4) + 4^b),

    as ``sum s_k^2 <= (sum s_k)^2``: no factor k. "tied" releases the one matrix
    ``sum_k g_k g_k^T``, whose norm is at most ``sum_k |g_k|^2 <= 2^b sum_k s_k <= 4^b``: the same
    bound. A row that belongs to one component and is clipped attains it.

    *Range.* Shares stay below ``2^b (1 - 2^-40)``, so they are at most 2^15 - 1 and entries of
    one row, with weights of at most 2^(b+1) and 2^5, at most 2^31 - 2^16. Sums of 2^31 rows are
    below 2^62, noise stays below 2^45 grid units as a rule: everything fits into 64 bits. With
    more rows sums may wrap. That costs accuracy alone: from the sums of blocks, which are exact, to
    the noise there are but sums and products of int64, so what is released is the remainder modulo
    2^64 of the exact sum with its noise, a function of it.
    """

    located: LocatedBall | BallCover
    frame: MixtureFrame  # the present mixture, in units of the located ball
    # whitened rows ``z`` longer than that are clipped; ``u = z / reach``
    reach: Annotated[float, positive]
    weight: FirstWeight
    bits: int | None = None

    def check(self, shape):
        super().check(shape)
        for frame in seen_frames(self.frame, self.located):
            frame.fits(shape.n_features)

    def at(self, offer):
        strength = offer.budget.mu * math.sqrt(offer.share)
        room = {"unit": offer.unit, "n": 4 * offer.room(self.located.n_rows)}
        bits = grid_bits(strength, noise_bits=43, most=MOST_BITS, least=LEAST_BITS, power=2, **room)
        return replace(self, bits=bits)

    @property
    def number(self):
        """What numbers are multiplied by."""
        return max(1, round(self.weight.number * 2**self.bits))

    @property
    def vector(self):
        """What vectors are multiplied by."""
        return max(1, round(self.weight.vector * 2**COARSER))

    @property
    def squared_l2(self):
        vector = self.vector * 2 ** (self.bits - COARSER)
        return 4**self.bits * (self.number**2 + vector**2 + 4**self.bits)

    @cached_property
    def _frames(self):
        return seen_frames(self.frame, self.located)

    @np.errstate(all="ignore")
    def total(self, block):
        """Return the sums, one after the other."""
        k, d = self.frame.means.shape
        total = np.zeros(k + k * d + math.prod(second_shape(self.frame)), dtype=np.int64)
        for _, p, Q in Lattice(self.located).placed(block):
            total += _contributions(Q, self._frames[p], self.reach, self.bits)
        total[:k] *= self.number
        total[k : k + k * d] *= self.vector
        return total


def second_shape(frame):
    """Return the shape of the second moments."""
    k, d = frame.means.shape
    return {"full": (k, d, d), "tied": (1, d, d), "diag": (k, d), "spherical": (k, 1)}[frame.kind]


def _contributions(Q, frame, reach, bits):
    """Return the sum of the integer contributions of lattice vectors, before the weights."""
    k, d = frame.means.shape
    m, second = len(Q), np.zeros(second_shape(frame), dtype=np.int64)
    Z = list(frame.whitened(Q))
    lengths = [np.sqrt(fold(np.square(z).T)) for z in Z]
    shares = integer_shares(frame.log_weights, lengths, bits)
    first, ones = np.zeros((k, d), dtype=np.int64), np.ones(m)
    for j, (z, length, s) in enumerate(zip(Z, lengths, shares, strict=True)):
        part = SHRINK / np.maximum(length, reach)
        longest, square = s * 2.0 ** (bits - COARSER), s * 2.0**bits
        h = _certified(z, part * longest, np.square(longest))
        g = _certified(z, part * np.sqrt(square), square)
        first[j] = h @ ones  # integers below 2^53 in every order of the sum
        if frame.kind in ("full", "tied"):
            second[j if frame.kind == "full" else 0] += (g @ g.T).astype(np.int64)
        elif frame.kind == "diag":
            second[j] = np.square(g) @ ones
        else:
            second[j] = (np.square(g) @ ones).sum()
    numbers = np.array([s.sum() for s in shares], dtype=np.int64)
    return np.concatenate([numbers, first.ravel(), second.ravel()])


def _certified(z, factor, most):
    """Return the integer columns trunc(z factor), zero where their squared length exceeds most."""
    g = z * factor
    np.trunc(g, out=g)
    wrong = ~(np.einsum("ij,ij->j", g, g) <= most)  # exact below 2^53, monotone beyond
    if wrong.any():
        g[:, wrong] = 0
    return g


def integer_shares(log_weights, lengths, bits):
    """Return responsibilities times 2^bits, rounded down to integers, a list of k vectors.

    **Privacy**: products, sums over components in their order, and an exponential made of them:
    no vectorised function whose last bit may depend on the place of a row. Integer shares sum to at
    most ``2^bits``, or are set to zero.
    """
    _, parts = densities(log_weights, (x * x for x in lengths))
    whole = sum(parts[1:], parts[0])
    shares = [np.floor(x / whole * (SHRINK * 2.0**bits)) for x in parts]
    wrong = ~(sum(shares[1:], shares[0]) <= 2.0**bits)
    for s in shares:
        s[wrong] = 0
    return shares


def densities(log_weights, squares):
    """Return the largest log-density of components, and the others over it, one after the other."""
    logits = [w - 0.5 * x for w, x in zip(log_weights, squares, strict=True)]
    top = reduce(np.maximum, logits)
    return top, [exponential(x - top) for x in logits]


def exponential(x):
    """Return e^x for x <= 0 to nine digits, by elementary arithmetic."""
    t = np.maximum(x * LOG2E, -200.0)
    whole = np.rint(t)
    t -= whole
    power = np.full_like(t, TAYLOR[-1])
    for coefficient in TAYLOR[-2::-1]:
        power *= t
        power += coefficient
    with np.errstate(invalid="ignore"):  # NaN stays NaN, whatever it is multiplied by
        exponent = whole.astype(np.int64)
    exponent += 1023
    exponent <<= 52
    power *= exponent.view(np.float64)  # 2^whole, in [2^-200, 1]: exact
    return power


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
