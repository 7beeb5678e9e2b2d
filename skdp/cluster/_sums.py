"""The one release of a step of Lloyd: sizes, sums and squares of all clusters at once."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.chunks import weighed_sum
from skdp.cluster._lattice import Lattice
from skdp.kernel._grid_bits import unit_bits
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._rows import Ball

__all__ = ["ClusterSums", "cluster_sums", "nearest_to"]

MOST_BITS = 20  # a row of the length of its clip radius is 2^20 grid units long
NOISE_BITS = 40  # noise stays below 2^40 grid units
MOST_ROOM = 20  # bits that weights may add to it


@dataclass(frozen=True)
class ClusterSums:
    """Released ``counts`` (k,), ``sums`` (k, d) of differences to the centres, total ``squares``.

    Lengths are in units of the largest clip radius. ``count_sd``, ``sum_sd`` (k,), of every entry
    of a sum, and ``square_sd`` are standard deviations of the noise. Without squares both are 0.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: float
    count_sd: float
    sum_sd: np.ndarray
    square_sd: float

    def scaled(self, unit):
        """Return the same with lengths multiplied by ``unit``."""
        return ClusterSums(
            self.counts, self.sums * unit, self.squares * unit**2,
            self.count_sd, self.sum_sd * unit, self.square_sd * unit**2,
        )  # fmt: skip


def nearest_to(located, y):
    """Return the rule that labels rows by the nearest of the centres ``y``, in located units."""
    lattice = Lattice(located)
    C = lattice.points(y)
    return lambda block: lattice.labels(block, C)[0]


def cluster_sums(
    rows, curator, assign, centers, *, radii, weight, share, label, squares=1.0, halvings=2
):
    """Release the size of every cluster, the sum of its rows around its centre, and all squares.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        Noise is Laplace for a pure budget, else Gaussian.
    assign : callable
        Maps a block of rows to their labels in {-1, 0, ..., k - 1}, each row by itself; -1 leaves
        a row out.
    centers : ndarray of shape (k, d)
    radii : ndarray of shape (k,)
        Public or released clip radii, > 0: differences to a centre are clipped to its radius.
    weight : float
        Weight a > 0 of a row in the count, against length 1 in the sum.
    share : float or Fraction
    label : str
    squares : float, default=1.0
        Release the sum of the squared lengths of all differences as well, clipped to so many
        radii; 0 for not.
    halvings : int, default=2
        A squared length weighs ``2^-halvings`` against length 1 in the sum.

    Returns
    -------
    sums : ClusterSums

    Notes
    -----
    **Privacy** (add or remove one row). A row belongs to one cluster j or to none, by its own exact
    arithmetic. It adds A to the count of j; an integer vector q with ``|q| <= 2^b``, checked in
    integers, to the sum of j (its radius r_j becomes 2^b); and to the one total of squares the
    integer ``floor(l^2 M_j)``, where l <= 1 is its distance, clipped to ``squares * r_j`` and
    divided by that, elementwise, and ``M_j = floor(2^t (r_j / max r)^2) <= 2^t`` with t = b -
    halvings. Nothing else moves, so the l2 sensitivity is at most ``sqrt(A^2 + 4^b + 4^t)`` and
    the l1 sensitivity ``A + sqrt(d) 2^b + 2^t``, as ``|q|_1 <= sqrt(d) |q|``: for every k and all
    radii. All sums are exact.

    With two halvings the squares cost ``sqrt(1 + 1/16)`` of noise at most, 3 %. They are one total,
    in units of the largest radius: k totals with noise ``r_j^2`` each would be worth less, added
    up, as ``sum r_j^4 >= max r_j^4``.
    """
    k, d = centers.shape
    pure = curator.budget.unit == "pure"
    room = NOISE_BITS + min(0, MOST_ROOM - unit_bits(rows.unit))
    bits = _bits(float(curator.budget.amount) * float(share), d, pure, room)
    one, top = max(1, round(weight * 2**bits)), max(bits - halvings, 0)
    unit = float(np.max(radii))
    parts = np.floor(np.square(np.minimum(radii / unit, 1.0)) * 2.0**top).astype(np.int64)

    def statistic(start, block):
        labels = assign(block)
        total = np.zeros((k, d + 2), dtype=np.int64)
        for j in range(k):
            mine = block[labels == j]
            q = np.empty(mine.shape)
            ball = Ball(max(len(mine), 1), d, center=centers[j], radius=float(radii[j]), bits=bits)
            if not len(mine):
                continue
            lengths = ball.map(mine, out=q)
            total[j, 0] = np.count_nonzero(lengths >= 0)  # NaN for a row that is not finite
            total[j, 1:-1] = q.sum(axis=0)  # integers below 2^53 in every order
            if squares:
                part = np.fmin(lengths / (squares * 2.0**bits), 1.0)
                part[~(lengths >= 0)] = 0.0
                total[j, -1] = np.floor(np.square(part) * parts[j]).astype(np.int64).sum()
        return total

    exact = weighed_sum(rows, statistic)
    cells = exact[:, :-1] * np.array([one] + [1] * d)
    value = np.append(cells.ravel(), exact[:, -1].sum()) if squares else cells.ravel()
    square = 2**top if squares else 0
    if pure:
        sensitivity, draw = one + Fraction(sqrt_up(Fraction(d))) * 2**bits + square, curator.laplace
    else:
        sensitivity, draw = sqrt_up(one**2 + 4**bits + square**2), curator.gaussian
    release = draw(value, sensitivity=sensitivity, share=share, label=label)
    sd = release.scale * (math.sqrt(2) if pure else 1)
    area = squares**2 / square if squares else 0.0  # of a step of the squares
    cells = release.value[: k * (d + 1)].reshape(k, d + 1)
    lengths = np.asarray(radii) / unit / 2.0**bits
    return ClusterSums(
        counts=cells[:, 0] / one,
        sums=cells[:, 1:] * lengths[:, None],
        squares=float(release.value[-1]) * area,
        count_sd=sd / one,
        sum_sd=sd * lengths,
        square_sd=sd * area,
    )


def _bits(cost, d, pure, room):
    """Return a resolution at which the noise stays below 2^room grid units, at most 20 bits."""
    noise = (2 + 2 * math.sqrt(d)) / cost if pure else 2 / math.sqrt(cost)
    return min(MOST_BITS, max(1, room - math.ceil(math.log2(noise))))
