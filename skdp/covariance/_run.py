"""One run of the private covariance: the rows, and everything that has been released about them."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from skdp.accounting import Step
from skdp.covariance._distance_histogram import (
    COLUMN_SCALES,
    SPARSE_ROWS,
    SPARSE_SCALES,
    column_units,
    release_distance_histogram,
    release_size,
)
from skdp.covariance._release import CLEAR, CovarianceRelease, denoised, floored, release_moments
from skdp.kernel._coordinates import Frame
from skdp.kernel._sums import BallProducts, BallTotal, Count, Distances, LengthsNear
from skdp.kernel._table import Table
from skdp.kernel._totals import HELD_ENTRIES
from skdp.location._mean import private_mean
from skdp.location._release import ROW_COUNT

# --- frames of a covariance moved, turned and reduced: computed from released numbers alone


def basis(frame):
    """Return the vectors of the coordinates in units of the table, shape (d, k), finite."""
    return np.nan_to_num(frame.unit[:, None] * frame.P)


def identity_frame(center, unit):
    """Return the frame that divides the columns by their units."""
    d, limits = len(center), np.finfo(np.float64)
    unit = np.clip(np.nan_to_num(unit, nan=1.0), limits.smallest_subnormal, limits.max)
    return Frame(np.nan_to_num(center), unit, np.eye(d), np.eye(d))


def squared_slopes(frame):
    """Return Q, shape (k, k), such that |slopes of the table|^2 = b Q b."""
    rows = frame.A / frame.unit
    with np.errstate(all="ignore"):
        return np.nan_to_num(rows @ rows.T, nan=0.0, posinf=1e100, neginf=-1e100)


def is_ordinary(frame):
    """Return whether the entries of a frame are ordinary numbers."""
    return bool(max(np.abs(frame.A).max(), np.abs(frame.P).max()) < 2.0**100)


def moved(frame, step):
    """Return the frame with its centre moved by ``step``, shape (k,), in its coordinates."""
    center = frame.center + basis(frame) @ step
    largest = np.finfo(np.float64).max
    center = np.nan_to_num(center, posinf=largest, neginf=-largest)
    return Frame(center, frame.unit, frame.A, frame.P)


def turned(frame, V, scales):
    """Return the frame of the columns of V, shape (k, l), each divided by its scale."""
    A, P = (V / scales).T @ frame.A, (frame.P @ V) * np.asarray(scales)
    return Frame(frame.center, frame.unit, A, P)


def without(frame, null, V, scales):
    """Return the frame of the columns of V, divided by scales, on rows where others vanish.

    Shapes: null (k, m); V (k, l); scales (l,).
    """
    rows = null.T @ frame.A
    N = np.linalg.qr((rows / np.linalg.norm(rows, axis=1)[:, None]).T)[0]
    P = (frame.P @ V) * scales
    P = P - N @ (N.T @ P)
    Q, R = np.linalg.qr(P)
    return Frame(frame.center, frame.unit, solve_triangular(R, Q.T), P)


ROUNDS = 60
SPREAD = Step("spread", at_most=0.02, times=ROUNDS, of=(Distances,))
SHAPE = Step("shape", at_most=0.15, times=ROUNDS, of=(BallProducts,))
REST = Step("rest", at_most=0.02, times=2 * ROUNDS, of=(LengthsNear,))
FINAL_SPREAD = Step("final spread", at_most=0.05, of=(Distances,))
FINAL_GRAM = Step("final Gram", of=(BallProducts,))
LOOKS = COLUMN_SCALES, SPARSE_ROWS, SPARSE_SCALES
RUN_STEPS = ROW_COUNT, *LOOKS, SPREAD, SHAPE, REST, FINAL_SPREAD, FINAL_GRAM
CENTRE = Step("centre", "child", at_most=0.25)
LEAST_CENTRE = 0.04  # share
SHAPE_CENTRE = Step("shape centre", at_most=0.03, times=ROUNDS, of=(BallTotal,))
FINAL_SUM = Step("final sum", at_most=0.03, of=(BallTotal,))
CENTRE_STEPS = CENTRE, SHAPE_CENTRE, FINAL_SUM
FINEST = 2.0**34  # directions thinner than this part of the columns' units are null
CHEAP = 0.05  # share of a round that larger radii are not taken for
THINNEST = 2.0**-60  # direction of a start, part of the columns' units
STEP = 2.0**20  # largest factor of one round
POINT, HELD = 1 / 3, 0.2  # of the length that scales of columns tell, and of the squares
DROWNING = 0.5  # noise of the final matrix, in units of that of the bulk, which no row is worth
SPARSE = 3.0  # times what most rows tell: few rows make the variance
NOTHING = (
    "nothing found: too few rows to tell how they vary. Use a larger epsilon, more rows or bounds"
)
COLUMNS = (
    "directions were not told apart: too few rows. Use a larger epsilon, more rows or fewer columns"
)
NULL = "directions in which nothing varies were dropped"
DROWNED = "no direction exceeds the noise: too few rows. Use a larger epsilon, more rows or bounds"
FAR = (
    "rows far beyond the others were clipped: the matrix is that of the bulk. Take logarithms "
    "of long tails, or pass bounds"
)
TAIL = (
    "clipping may have taken any amount: rows reach far beyond the visible ones. Take "
    "logarithms of long tails, or pass bounds"
)


@dataclass
class CovarianceRun:
    """The state of one run; everything but the rows is released."""

    table: Table
    assume_centered: bool = False
    denoise: bool = True
    start: np.ndarray | None = None
    n: float = 0.0
    n_sd: float = 0.0
    frame: Frame = field(default=None)
    dropped: np.ndarray | None = None
    apart: bool = True  # whether rows are enough to tell directions apart

    def __post_init__(self):
        self.d, self.mu = self.table.n_features, self.table.budget.mu

    @property
    def left(self):
        """Share that is left."""
        return float(self.table.remaining)

    def count(self):
        """Release the number of rows."""
        release = self.table.ask(Count(), ROW_COUNT)
        self.n = max(float(release.value[0]), 4 * release.scale, 2.0)
        self.n_sd = release.scale

    def find_columns(self):
        """Find the scales of the columns, unless they are known, and a centre."""
        ring = math.sqrt(5 * self.d) / self.mu
        wanted = max(1000.0, 2500 * ring)
        size = max(1000.0, min(wanted, HELD_ENTRIES / self.d))
        sample = self.table.sample(size, self.n)
        if self.start is None:
            share = max(
                float(np.clip((26 * ring / sample.n) ** 2, 0.003, 0.1)),
                float(np.clip((137 * ring / sample.n) ** 2, 0.003, 0.02)),
            )
            units = column_units(sample, COLUMN_SCALES, share=share)
        else:
            units = np.hypot.reduce(self.start, axis=1)
        self.found = units is not None
        units = np.ones(self.d) if units is None else units
        center = np.zeros(self.d)
        if not self.assume_centered:
            share = float(
                np.clip((100 / (self.n * self.mu)) ** 2, LEAST_CENTRE, CENTRE.at_most)
            )  # what a core asks for
            child = self.table.child(CENTRE.label, share)
            center = private_mean(child, scale=units).location
        self.frame = identity_frame(center, units)
        if self.start is not None:
            V, scales, _ = np.linalg.svd(self.start / units[:, None])
            self.frame = turned(self.frame, V, np.maximum(scales, THINNEST))
        self.sample = DrawnRows(sample, sample.n)

    def whiten(self):
        """Find coordinates in which the rows are about spherical; drop those that are null."""
        size = 250 * self.d**1.5 / self.mu  # a round costs a thousandth of the budget then
        rows = draw_rows(self.table, size, n=self.n, use="whitening")
        for number in range(ROUNDS):
            clip = self._affordable(rows.n, first=number == 0) if self.left > 0.5 else None
            if clip is None or self._round(rows, *clip):
                break

    def _affordable(self, n, *, first):
        """Return the clip radius and the share of a round of n rows, None if it costs too much."""
        spread = release_distance_histogram(
            self.sample, self.frame, per_octave=4, share=self._size_share(60, 0.0005), step=SPREAD
        )
        if spread.empty:
            return None
        radius, share = self._clip(spread, n, first=first)
        if first and share > 1.2 * CHEAP:
            self.apart = False
            return None
        share = float(np.clip(share, 0.001, 0.15))
        return (radius, share) if self.left - 1.2 * share > 0.4 else None

    def _size_share(self, units, least, at_most=0.02):
        """Return the share of a histogram in which a part 1 / units of the rows is one sd."""
        return float(np.clip((units / (self.sample.n * self.mu)) ** 2, least, at_most))

    def _clip(self, spread, n, *, first):
        """Return a clip radius and the share that resolves a typical direction with it.

        Most rows lie within. But if half of them are far nearer than the scales of the columns
        say, all columns are sparse, and the radius must hold a good part of the squares seen.
        """
        k = self.frame.dims
        edges = spread.distances.edges
        low, high = max(spread.quantile(0.5), edges[0] or edges[1]), spread.quantile(0.1)
        if first and low < POINT * math.sqrt(k):
            squares = spread.mean_square(np.minimum(edges, self._most(k)))
            low = max(low, float(edges[np.argmax(squares >= HELD * squares[-1])]))
        radii = edges[(edges >= low) & (edges <= max(low, high))]
        trace = np.maximum(spread.mean_square(radii), 1e-300)
        shares = np.square(4 * k * math.sqrt(2 * k) * np.square(radii) / (trace * n * self.mu))
        best = np.flatnonzero(shares <= max(CHEAP, shares.min()))[-1]
        return float(radii[best]), float(shares[best])

    def _round(self, rows, radius, share):
        """Whiten what a small Gram matrix resolves, scale up the rest; return whether to stop."""
        n, k = rows.n, self.frame.dims
        moments = release_moments(
            rows,
            self.frame,
            radius=radius,
            share=share,
            sum_share=0 if self.assume_centered else 0.2 * share,
            steps=(SHAPE, SHAPE_CENTRE),
        )
        C, mean = moments.covariance(n)
        tau = moments.largest_noise(n)
        values, V = np.linalg.eigh(C)
        resolved = values > CLEAR * tau
        frame = moved(self.frame, self._clear(mean, moments.total_sd / n, V[:, ~resolved]))
        scales = np.sqrt(np.where(resolved, values, 1.0))
        rest = np.flatnonzero(~resolved)
        null = sparse = False
        if rest.size:
            size, sparse = self._size(turned(frame, V, scales), rest, tau)
            typical = math.sqrt(tau)
            if size is not None:
                typical = size if sparse else min(size, typical)
            null = size == 0.0
            scales[rest] = typical
        scales = np.clip(scales, 1 / STEP, STEP)
        new = turned(frame, V, scales)
        if rest.size and rest.size < k:
            thin = np.linalg.norm(new.A[rest], axis=1) > FINEST
            if null or thin.all():
                self.table.decide(NULL)
                self._drop(frame, V[:, rest])
                new = without(frame, V[:, rest], V[:, resolved], scales[resolved])
        if is_ordinary(new):
            self.frame = new
        return not rest.size or sparse or not is_ordinary(new)

    def _size(self, frame, rest, tau):
        """Return the root mean square of the coordinates ``rest``, and if few rows make it.

        They are not resolved: with clipped rows, their variances are at most CLEAR tau. If much
        more is seen, few rows reach far, and to scale up what most rows do there would lose those
        few. If far less is seen, all rows are looked at, with more of the budget.
        """

        def look(rows, share):
            size = release_size(rows, frame, among=rest, share=share, step=REST)
            return size and size / math.sqrt(rest.size)

        size = look(self.sample, self._size_share(60, 0.0005))
        if size is None:
            return None, False
        if size * size > SPARSE * CLEAR * tau:
            return size, rest.size < frame.dims
        if 4 * size * size > tau:
            return size, False
        share = float(np.clip((2000 / (self.n * self.mu)) ** 2, 0.0005, 0.005))
        closer = look(DrawnRows(self.table, self.n), share)
        return (size, False) if closer is None else (closer, closer > SPARSE * size)

    @staticmethod
    def _clear(mean, sd, rest):
        """Return a released mean without what is noise in directions that are not resolved."""
        parts = rest.T @ mean
        return mean - rest @ np.where(np.abs(parts) < CLEAR * sd, parts, 0.0)

    def _most(self, k):
        """Return the clip radius beyond which the noise of k coordinates would drown the bulk."""
        noise = math.sqrt(k * (k + 1) / 2 / self.left) / (self.n * self.mu)
        return math.sqrt(DROWNING * math.sqrt(k) / noise)

    def _drop(self, frame, null):
        """Keep the vectors of directions that are dropped, as long as the columns' units."""
        rows = null.T @ frame.A
        N = np.linalg.qr((rows / np.linalg.norm(rows, axis=1)[:, None]).T)[0]
        vectors = frame.unit[:, None] * N
        earlier = () if self.dropped is None else (self.dropped,)
        self.dropped = np.hstack([*earlier, vectors])

    def measure(self):
        """Release the moments once more with everything that is left."""
        table, k, n = self.table, self.frame.dims, self.n
        rows = DrawnRows(self.table, n)
        spread = release_distance_histogram(
            rows,
            self.frame,
            per_octave=16 if n * self.mu > 3000 else 8 if n * self.mu > 1000 else 4,
            share=self._size_share(120, 0.01, at_most=0.05),
            step=FINAL_SPREAD,
        )
        if spread.empty:
            return self.nothing()
        noise = math.sqrt(k * (k + 1) / 2 / self.left) / (n * self.mu)
        most = self._most(k)
        clip = spread.best_radius(noise, k**-0.25, most)
        sum_share = 0 if self.assume_centered else Fraction(3, 100) * table.remaining
        moments = release_moments(
            rows,
            self.frame,
            radius=clip.radius,
            share=table.remaining - sum_share,
            sum_share=sum_share,
            steps=(FINAL_GRAM, FINAL_SUM),
        )
        C, mean = moments.covariance(n)
        noise = moments.noise(n)
        values = np.linalg.eigvalsh(C)
        rank = int(np.count_nonzero(values > CLEAR * moments.largest_noise(n)))
        loss = spread.largest_loss(clip.radius)
        self._doubt(spread, max(most, clip.radius), rank, loss)
        return CovarianceRelease(
            location=moved(self.frame, mean).center,
            basis=basis(self.frame),
            root=floored(denoised(C, noise) if self.denoise else C),
            noise=noise,
            mean_noise=moments.total_sd / n,
            clipping=_of_covariance(loss, clip.radius, float(np.linalg.norm(mean))),
            rank=rank,
            n_rows=n,
            count_noise=self.n_sd,
            dropped=self.dropped,
            taken=clip.excess,
        )

    def _doubt(self, spread, most, rank, loss):
        """Note what is worth little in the final matrix."""
        if not rank:
            self.table.doubt(DROWNED)
        if spread.reaches(most):
            self.table.doubt(FAR)
        if math.isinf(loss):
            self.table.doubt(TAIL)

    def nothing(self):
        """Answer with the scales of the columns, if any: finite, and said to be worth nothing."""
        self.table.doubt(NOTHING)
        frame = identity_frame(self.frame.center, self.frame.unit)
        root = np.eye(self.d) * float(self.found)
        unknown = dict.fromkeys(("noise", "mean_noise", "clipping"), math.inf)
        told = {"rank": 0, "n_rows": self.n, "count_noise": self.n_sd}
        return CovarianceRelease(frame.center, basis(frame), root, **told, **unknown)


def _of_covariance(loss, radius, length):
    """Return what a loss of the mean squared distance can do to the covariance, in any norm.

    The second moments lose a positive matrix of that trace. The mean moves by delta <= loss / (2
    radius), as x^2 - r^2 >= 2 r (x - r); its square, of length ``length`` as released, moves by
    delta^2 + 2 delta ``length`` at most.
    """
    delta = loss / (2 * radius)
    return loss + delta * (delta + 2 * length)


class DrawnRows(NamedTuple):
    """A Table, and the released number of its rows."""

    table: Table
    n: float


def draw_rows(table, size, *, n, use):
    """Draw about ``size`` of about ``n`` rows; all of them if that saves less than half."""
    if 2 * size > n:
        return DrawnRows(table, n)
    return DrawnRows(table.thinned(size, n, use=use), size)
