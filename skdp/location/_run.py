"""One run of the private mean: the rows, and everything that has been released about them."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.location._clip import Clip, Tail, release_distances
from skdp.location._locate import (
    Sample,
    column_scales,
    core_sample_size,
    draw_sample,
    ring_scale,
    scale_sample_size,
    soft_core_centre,
)
from skdp.location._release import MeanRelease, bounded, told_number
from skdp.location._schedule import approach_schedule, geometry
from skdp.mechanisms import row_norms
from skdp.scales import LogBins, clipped_sum, count_rows, private_median, top_scale

__all__ = ["MeanRun"]

LARGEST = float(np.finfo(np.float64).max)
NOTHING = "nothing found: too few rows to tell where they lie; location_ is no more than a start"
NORMS = "no core found: approached the rows from the scale of their norms"
MEDIAN = "no core found: started from a private median of every column"
FEW = "the number of rows does not stand out of its noise: their mean may be anywhere in the ball"
COLUMNS = "columns were divided by scales that were found privately"


@dataclass
class MeanRun:
    """The state of one run. Lengths are in units of ``scale``; everything but rows is released."""

    rows: object
    curator: object
    trim: bool
    told: float = 0.0
    n: float = 0.0
    n_sd: float = 0.0
    few: bool = False
    scale: np.ndarray = None
    center: np.ndarray = None
    noise: float = math.inf
    error: float = math.inf
    spread: float = math.inf
    clipped: float = None
    distance: float = None
    sample: Sample = None
    norms: tuple = None

    def __post_init__(self):
        self.d = self.rows.n_features
        self.mu = self.curator.budget.mu
        self.scale = np.ones(self.d)

    @property
    def c(self):
        return math.sqrt(self.d) / (self.n * self.mu)

    @property
    def origin(self):
        """The centre in units of the table."""
        return np.nan_to_num(self.center * self.scale, posinf=LARGEST, neginf=-LARGEST)

    @property
    def left(self):
        return float(self.curator.remaining)

    def count(self):
        exact = [count_rows(self.rows)]
        release = self.curator.gaussian(exact, sensitivity=1, share=0.01, label="row count")
        self.told, self.n_sd = float(release.value[0]), release.scale
        self.n, self.few = told_number(self.told, self.n_sd)

    def locate(self, radius, diameter, *, find_scales):
        """Find the centre from a soft core; return whether that was possible."""
        self._draw_sample()
        if diameter:
            self.distance = bounded(diameter)
        else:
            self.distance = ring_scale(self.sample, self.curator)
            if self.distance and find_scales:
                self._find_scales()
        self.norms = self._release_norms(np.zeros(self.d), at_most=0.03)
        if self.distance is None:
            return False
        found = soft_core_centre(
            self.sample.thinned(core_sample_size(self.mu, self.d)),
            self.curator,
            friend_radius=self.distance * (1 if diameter else geometry(self.d).friends),
            reach=top_scale(*self.norms) or 0.0,
            n_rows=self.n,
            n_sd=self.n_sd,
            spent=1 - self.left + 0.02 + 0.01 * self.trim,
        )
        if found is None:
            return False
        self.center, self.noise, steps = found
        self.error = self._length(self.noise)
        self.spread = bounded(radius or self.distance / geometry(self.d).distances)
        self.step_all(steps)
        return True

    def _draw_sample(self):
        size = scale_sample_size(self.mu, self.d)
        sample = draw_sample(self.rows, self.curator.coins, self.n, size)
        self.sample = sample.scaled(self.scale)

    def _find_scales(self):
        share = (22 * math.sqrt(5 * self.d) / (self.sample.n * self.mu)) ** 2
        if self.d == 1 or share > 0.08:
            return
        scales = column_scales(
            self.sample, self.curator, share=max(share, 0.002), largest=self.distance
        )
        if scales is not None:
            self.curator.decide(COLUMNS)
            self.scale, self.sample = scales, self.sample.scaled(scales)
            self.distance = ring_scale(self.sample, self.curator)

    def _release_norms(self, origin, *, at_most):
        """Release the histogram of the distances from ``origin`` over all floats."""
        bins = LogBins(2 if self.d >= 20 else 1)
        origin = np.nan_to_num(origin, posinf=LARGEST, neginf=-LARGEST)
        counts = bins.counts(row_norms(self.sample.Z, center=origin))
        share = min(max((30 / (self.sample.n * self.mu)) ** 2, 0.002), at_most)
        release = self.curator.gaussian(counts, sensitivity=1, share=share, label="norms")
        return release.value, release.scale, self.sample.n, bins

    def approach(self, radius):
        """Come from far away in equal clipped steps; return whether anything was found."""
        if self.sample is None:
            self._draw_sample()
        reach = None
        if self.center is None:
            self.center = np.zeros(self.d)
            if self.d <= 6 and self.sample.n * self.mu > 40 * math.sqrt(self.d):
                self.curator.decide(MEDIAN)
                share = 0.35 * self.left
                self.center = private_median(
                    self.sample.Z, self.curator, share=share, label="median"
                )
            else:
                self.curator.decide(NORMS)
                reach = top_scale(*self.norms, tail=0.05)
        if reach is None:
            norms = self._release_norms(self.center, at_most=min(0.25, self.left / 4))
            reach = top_scale(*norms, tail=0.05)
        if reach is None:
            self.curator.doubt(NOTHING)
            return False
        self.error = reach = bounded(reach)
        typical = radius or (self.distance / geometry(self.d).distances if self.distance else reach)
        self.spread = bounded(min(typical, reach))
        left = max(self.left - 0.05, self.left / 2)
        plan = approach_schedule(reach, self.spread, self.c, left)
        self.step_all((plan.step,) * plan.n_steps)
        return True

    def step_all(self, shares):
        """Move the centre by clipped means while that makes the error smaller."""
        for share in shares:
            radius = 1.05 * math.hypot(self.spread, self.error)
            total, sd, _ = self._sum(radius, share, "step")
            noise = sd / self.n
            if self._length(noise) < self.error:
                self.center = self.center + total / self.n
                self.noise, self.error = noise, self._length(noise)
                self.clipped = radius

    def measure(self, radius):
        """Sum the rows once more with everything that is left."""
        kept_share = Fraction(0.01) if self.trim else 0
        clip = self._clip(radius)
        total, sd, kept = self._sum(
            clip.radius,
            self.curator.remaining - kept_share,
            "final sum",
            drop=6.0 if self.trim else None,
        )
        n, few = self.n, self.few
        if self.trim:
            release = self.curator.gaussian(
                [kept], sensitivity=1, share=kept_share, label="rows kept"
            )
            n, few = told_number(float(release.value[0]), release.scale)
        noise = sd / n
        ratio = np.nan_to_num(np.divide(noise, self.noise))  # both releases estimate the centre
        weight = float(1 / (1 + ratio * ratio))
        step = weight * total / n
        # the step is off by the relative error of the count as well
        noise = np.hypot(noise * math.sqrt(weight), step * self.n_sd / n)
        self.center = self.center + step
        self.few = few
        noise, excess = noise * self.scale, np.tile(clip.excess * self.scale, (2, 1))
        return self.checked(MeanRelease(self.origin, noise, excess, n), clip.radius * self.scale)

    def checked(self, release, radius):
        """Return a release whose noise says so where no more is known than the ball."""
        if self.few:
            self.curator.doubt(FEW)
            release.noise_scale = np.hypot(release.noise_scale, radius)
        return release

    def _clip(self, radius):
        if radius:
            error = self.error if math.isfinite(self.error) else 0.0
            return Clip(radius + error, 0.0)
        around = bounded(math.hypot(self.spread, self.error))
        low, high = (0.02, 0.02) if self.d >= 20 else (0.05, 0.1)
        share = float(np.clip((120 / (self.n * self.mu)) ** 2, low, high))
        distances = release_distances(
            self.rows,
            self.curator,
            center=self.origin,
            scale=self.scale,
            around=around,
            share=min(share, self.left / 4),
        )
        tail = Tail(distances, self.n, near=self.trim)
        if tail.empty:
            return Clip(around, math.inf)
        # what is clipped off points half-way (in logarithms) between one direction and all of
        # them, but at least as much in one direction as the rows themselves
        alignment = max(self.d**-0.25, min(2 * self.error / around, 1.0))
        # the centre is off by what its own clipping has moved it as well
        bias = alignment * float(tail.excess(self.clipped)[0]) if self.clipped else math.inf
        self.noise = math.hypot(self.noise, bias / math.sqrt(self.d))
        return tail.best(self.c / math.sqrt(self.left), alignment)

    def nothing(self):
        """Answer with the centre that we have: finite, and said to be worth nothing."""
        unknown = np.full(self.d, math.inf)
        return MeanRelease(self.origin, unknown, np.tile(unknown, (2, 1)), self.n)

    def _sum(self, radius, share, label, drop=None):
        return clipped_sum(
            self.rows,
            self.curator,
            center=self.origin,
            radius=bounded(radius),
            scale=None if np.all(self.scale == 1) else self.scale,
            share=share,
            label=label,
            drop=drop,
        )

    def _length(self, noise):
        """Return a length that the noise vector rarely exceeds."""
        return noise * (math.sqrt(self.d) + 2)
