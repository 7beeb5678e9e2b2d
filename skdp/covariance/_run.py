"""One run of the private covariance: the rows, and everything that has been released about them."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from skdp.chunks import ArrayRows
from skdp.covariance._columns import column_units
from skdp.covariance._denoise import denoised, floored
from skdp.covariance._frame import Frame
from skdp.covariance._moments import release_moments
from skdp.covariance._release import CovarianceRelease
from skdp.covariance._sampled import MOST_ENTRIES, DrawnRows, draw_rows
from skdp.covariance._spread import release_size, release_spread
from skdp.location._locate import draw_sample
from skdp.location._mean import private_mean
from skdp.scales import count_rows

__all__ = ["CENTRE", "ROUNDS", "CovarianceRun"]

CENTRE = 0.04, 0.25  # least and largest share
ROUNDS = 60
CLEAR = 2.0  # largest noise eigenvalues above which a direction counts as resolved
FINEST = 2.0**34  # directions thinner than this part of the columns' units are null
CHEAP = 0.05  # share of a round that larger radii are not taken for
THINNEST = 2.0**-60  # direction of a start, part of the columns' units
STEP = 2.0**20  # largest factor of one round
NOTHING = "nothing found: too few rows to tell how they vary"
COLUMNS = "directions were not told apart: too few rows"
NULL = "directions in which nothing varies were dropped"


@dataclass
class CovarianceRun:
    """The state of one run; everything but the rows is released."""

    rows: object
    curator: object
    assume_centered: bool = False
    denoise: bool = True
    start: np.ndarray | None = None
    n: float = 0.0
    frame: Frame = field(default=None)

    def __post_init__(self):
        self.d = self.rows.n_features
        self.mu = self.curator.budget.mu

    @property
    def left(self):
        """Share that is left."""
        return float(self.curator.remaining)

    def count(self):
        """Release the number of rows."""
        exact = [count_rows(self.rows)]
        release = self.curator.gaussian(exact, sensitivity=1, share=0.01, label="row count")
        self.n = max(float(release.value[0]), 4 * release.scale, 2.0)

    def find_columns(self):
        """Find the scales of the columns, unless they are known, and a centre."""
        ring = math.sqrt(5 * self.d) / self.mu
        wanted = max(1000.0, 2500 * ring)
        size = max(1000.0, min(wanted, MOST_ENTRIES / self.d))
        sample = draw_sample(self.rows, self.curator.coins, self.n, size)
        if self.start is None:
            share = max(
                float(np.clip((26 * ring / sample.n) ** 2, 0.003, 0.1)),
                float(np.clip((137 * ring / sample.n) ** 2, 0.003, 0.02)),
            )
            units = column_units(sample, self.curator, share=share, label="column scales")
        else:
            units = np.hypot.reduce(self.start, axis=1)
        self.found = units is not None
        units = np.ones(self.d) if units is None else units
        center = np.zeros(self.d)
        if not self.assume_centered:
            share = float(np.clip((100 / (self.n * self.mu)) ** 2, *CENTRE))  # what a core asks for
            child = self.curator.child("centre", share)
            center = private_mean(self.rows, child, scale=units).location
        self.frame = Frame.identity(center, units)
        if self.start is not None:
            V, scales, _ = np.linalg.svd(self.start / units[:, None])
            self.frame = self.frame.turned(V, np.maximum(scales, THINNEST))
        self.sample = DrawnRows(ArrayRows(sample.Z), sample.n)

    def whiten(self):
        """Find coordinates in which the rows are about spherical; drop those that are null."""
        size = 250 * self.d**1.5 / self.mu  # a round costs a thousandth of the budget then
        rows = draw_rows(self.rows, self.curator.coins, size, n=self.n, use="whitening")
        for number in range(ROUNDS):
            clip = self._affordable(rows.n, first=number == 0) if self.left > 0.5 else None
            if clip is None or self._round(rows, *clip):
                break

    def _affordable(self, n, *, first):
        """Return the clip radius and the share of a round of n rows, None if it costs too much."""
        spread = release_spread(
            self.sample,
            self.curator,
            self.frame,
            per_octave=4,
            share=self._size_share(60, 0.0005),
            label="spread",
        )
        if spread.empty:
            return None
        radius, share = self._clip(spread, n)
        if first and share > 1.2 * CHEAP:
            self.curator.decide(COLUMNS)
            return None
        share = float(np.clip(share, 0.001, 0.15))
        return (radius, share) if self.left - 1.2 * share > 0.4 else None

    def _size_share(self, units, least, at_most=0.02):
        """Return the share of a histogram in which a part 1 / units of the rows is one sd."""
        return float(np.clip((units / (self.sample.n * self.mu)) ** 2, least, at_most))

    def _clip(self, spread, n):
        """Return a clip radius and the share that resolves a typical direction with it."""
        k = self.frame.dims
        edges = spread.distances.edges
        low, high = max(spread.quantile(0.5), edges[0] or edges[1]), spread.quantile(0.1)
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
            self.curator,
            self.frame,
            radius=radius,
            share=share,
            sum_share=0 if self.assume_centered else 0.2 * share,
            labels=("shape", "shape centre"),
        )
        C, mean = moments.covariance(n)
        tau = moments.largest_noise(n)
        values, V = np.linalg.eigh(C)
        resolved = values > CLEAR * tau
        frame = self.frame.moved(mean)
        scales = np.sqrt(np.where(resolved, values, 1.0))
        rest = np.flatnonzero(~resolved)
        null = False
        if rest.size:
            directions = frame.turned(V[:, rest], np.ones(rest.size))
            size = release_size(
                self.sample,
                self.curator,
                directions,
                share=self._size_share(60, 0.0005),
                label="rest",
            )
            typical = math.sqrt(tau)
            if size is not None:
                typical = min(size / math.sqrt(rest.size), typical)
            null = size == 0.0
            scales[rest] = typical
        scales = np.clip(scales, 1 / STEP, STEP)
        turned = frame.turned(V, scales)
        if rest.size and rest.size < k:
            thin = np.linalg.norm(turned.A[rest], axis=1) > FINEST
            if null or thin.all():
                self.curator.decide(NULL)
                turned = frame.without(V[:, rest], V[:, resolved], scales[resolved])
        if turned.ordinary:
            self.frame = turned
        return not rest.size or not turned.ordinary

    def measure(self):
        """Release the moments once more with everything that is left."""
        curator, k, n = self.curator, self.frame.dims, self.n
        spread = release_spread(
            self.sample,
            curator,
            self.frame,
            per_octave=16 if n * self.mu > 3000 else 8 if n * self.mu > 1000 else 4,
            share=self._size_share(120, 0.002, at_most=0.05),
            label="final spread",
        )
        if spread.empty:
            return self.nothing()
        noise = math.sqrt(k * (k + 1) / 2 / self.left) / (n * self.mu)
        clip = spread.best_radius(noise, k**-0.25)
        sum_share = 0 if self.assume_centered else Fraction(3, 100) * curator.remaining
        moments = release_moments(
            DrawnRows(self.rows, n),
            curator,
            self.frame,
            radius=clip.radius,
            share=curator.remaining - sum_share,
            sum_share=sum_share,
            labels=("final Gram", "final sum"),
        )
        C, mean = moments.covariance(n)
        noise = moments.noise(n)
        values = np.linalg.eigvalsh(C)
        return CovarianceRelease(
            location=self.frame.moved(mean).center,
            basis=self.frame.basis,
            root=floored(denoised(C, noise) if self.denoise else C),
            noise=noise,
            mean_noise=moments.total_sd / n,
            clipping=clip.excess,
            rank=int(np.count_nonzero(values > CLEAR * moments.largest_noise(n))),
            n_rows=n,
        )

    def nothing(self):
        """Answer with the scales of the columns, if any: finite, and said to be worth nothing."""
        self.curator.decide(NOTHING)
        frame = Frame.identity(self.frame.center, self.frame.unit)
        root = np.eye(self.d) * float(self.found)
        unknown = dict.fromkeys(("noise", "mean_noise", "clipping"), math.inf)
        return CovarianceRelease(frame.center, frame.basis, root, rank=0, n_rows=self.n, **unknown)
