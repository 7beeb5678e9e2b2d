"""From noisy moments to the next mixture: every release counts for what it can tell."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.kernel._mixtures import MixtureFrame
from skdp.mixture._normal import Clipped, lower_root

STEEPEST = 20.0  # factor by which a variance may change in one round
EMPTIEST = 1000.0  # factor by which it may shrink where the noise does not hide what is left
LOUDEST = 2.0  # times the spectral norm of the noise: below a variance
TOLD = 3.0  # noise sds of a variance
FREE, TINIEST = 2.0, 1e-100  # variances so far above their floors can fall; smallest floor
FEWEST = 0.02  # smallest number of rows of a component, of a mean one


@dataclass(frozen=True)
class Estimate:
    """A mixture and how sure it is of itself. Everything is released.

    ``numbers`` (k,) of rows. Variances of their noise, in the frame of the component: ``number_v``
    (k,) of the number, ``mean_v`` (k,) per coordinate, ``scale_v`` (c,) of the logarithm of the
    mean variance, ``axis_v`` and ``angle_v`` (c,) of the entries of the shape on and beside the
    diagonal, for c = k covariances or the one of "tied".
    ``falling``: whether a variance fell as fast as it may, clear of the noise, and can fall more.
    """

    frame: MixtureFrame
    n_rows: float
    numbers: np.ndarray
    number_v: np.ndarray
    mean_v: np.ndarray
    scale_v: np.ndarray
    axis_v: np.ndarray
    angle_v: np.ndarray
    falling: bool = False

    @classmethod
    def start(cls, kind, centers, sd, n_rows):
        """Return equal spheres around centres; nothing is known but that they are round."""
        k, d = centers.shape
        c = 1 if kind == "tied" else k
        matrices = kind in ("full", "tied")
        roots = np.broadcast_to(np.eye(d) * sd, (c, d, d)) if matrices else np.full((k, d), sd)
        frame = MixtureFrame(kind, np.full(k, 1 / k), centers, roots)
        of_means, of_roots = np.full(k, np.inf), np.full(c, np.inf)
        numbers = np.full(k, n_rows / k)
        return cls(frame, n_rows, numbers, of_means, of_means, of_roots, np.zeros(c), np.zeros(c))

    def of_kind(self, kind):
        """Return the same mixture with covariances of another kind: what is not told is shared."""
        frame = self.frame
        if kind == frame.kind:
            return self
        k, d = frame.means.shape
        roots = frame.roots if frame.roots.ndim == 3 else frame.roots[:, :, None] * np.eye(d)
        spread = (self.scale_v, self.axis_v, self.angle_v)
        if kind == "tied" and len(roots) > 1:
            C = np.einsum("k,kij,klj->il", frame.weights, roots, roots)
            roots = lower_root(C[None])
            spread = (np.array([np.sum(np.square(frame.weights) * v)]) for v in spread)
        elif kind != "tied":
            roots = np.broadcast_to(roots, (k, d, d))
            spread = (np.broadcast_to(v, k) for v in spread)
        if kind in ("diag", "spherical"):
            roots = np.sqrt(np.square(roots).sum(axis=2))
        if kind == "spherical":
            roots = np.repeat(np.sqrt(np.square(roots).mean(axis=1, keepdims=True)), d, axis=1)
        frame = MixtureFrame(kind, frame.weights, frame.means, roots)
        return Estimate(frame, self.n_rows, self.numbers, self.number_v, self.mean_v, *spread)

    def with_one(self, one, which):
        """Return the mixture with the Gaussian of all rows for some components."""
        frame, means, roots = self.frame, self.frame.means.copy(), np.array(self.frame.roots)
        means[which] = one.means[0]
        if frame.kind != "tied":
            roots[which] = one.roots[0]
        return replace(self, frame=MixtureFrame(frame.kind, frame.weights, means, roots))


def gain(x, v, v0):
    """Weigh noisy differences to the present estimate: prior / (prior + noise).

    Shapes: x (k, m); v, v0 (k,); gain (k,).
    """
    k, m = x.shape
    if not m:
        return np.zeros(k)
    known = np.where(np.isfinite(v0), v0, 0.0)
    squares, noise = np.square(x).mean(axis=1), v + known
    own = squares - noise * (1 + math.sqrt(2 / m))
    pooled = squares.mean() - noise.mean() * (1 + math.sqrt(2 / (m * k)))
    prior = known + np.maximum(np.maximum(own, pooled), 0.0)
    return np.where(np.isfinite(v0), prior / np.maximum(prior + v, 1e-300), 1.0)


def updated(estimate, moments, reach, floor):
    """Return the estimate after a release of moments: post-processing."""
    numbers, number_v = _numbers(estimate, moments)
    shifts, mean_v = _shifts(estimate, moments, reach, numbers)
    change = _change if estimate.frame.kind in ("full", "tied") else _axis_change
    S, *root_v = change(estimate, moments, reach, numbers, np.sqrt(number_v))
    least = np.clip(TOLD * np.sqrt(root_v[1]), 1 / EMPTIEST, 1 / STEEPEST)
    frame, falling = _moved(estimate.frame, numbers, shifts, S, least, floor)
    quiet = LOUDEST * np.sqrt(2 * S.shape[1] * root_v[1]) < 1
    falling = bool((falling & quiet).any())
    return Estimate(frame, estimate.n_rows, numbers, number_v, mean_v, *root_v, falling)


def _numbers(estimate, moments):
    v = np.full(len(estimate.numbers), moments.number_sd**2)
    step = moments.numbers - estimate.numbers
    G = gain(step[:, None], v, estimate.number_v)
    least = max(FEWEST * estimate.n_rows / len(step), 1.0)
    return np.maximum(estimate.numbers + G * step, least), G * v


def _shifts(estimate, moments, reach, numbers):
    """Return how far the means move in their frames, and the variance of their noise."""
    unit = reach / (Clipped(moments.vectors.shape[1], reach).mean * numbers)
    shifts, v = moments.vectors * unit[:, None], np.square(moments.vector_sd * unit)
    G = gain(shifts, v, estimate.mean_v)
    shifts *= G[:, None]
    longest = reach / np.maximum(np.sqrt(np.square(shifts).sum(axis=1)), reach)
    return shifts * longest[:, None], G * v


def _scales(estimate, traces, trace_sd, number_sd, clipped):
    """Return the mean variances (c,) in the frames and the variance of their logarithms."""
    logs = np.log([clipped.variance(trace) for trace in traces])
    answer = clipped.trace
    v = (np.square(trace_sd) + np.square(clipped.second() * number_sd)) / answer**2
    G = gain(logs[:, None], v, estimate.scale_v)
    return np.exp(G * logs), G * v, np.exp(logs)


def _change(estimate, moments, reach, numbers, number_sd):
    """Return the covariances in their frames, for full matrices, and the variances of the noise."""
    kind, d = estimate.frame.kind, moments.vectors.shape[1]
    if kind == "tied":
        number_sd, numbers = np.array([np.hypot.reduce(number_sd)]), np.array([numbers.sum()])
    M, sd = moments.matrices / numbers[:, None, None], moments.matrix_sd / numbers
    traces = np.einsum("kii->k", M)
    clipped = Clipped(d, reach)
    scales, scale_v, seen = _scales(estimate, traces, sd * np.sqrt(d), number_sd / numbers, clipped)
    answers = [Clipped(d, reach / np.sqrt(s)) for s in seen]
    shape = np.array([a.shape for a in answers])
    power = np.array([a.second() for a in answers]) / (d * shape)
    E = (M - traces[:, None, None] / d * np.eye(d)) / shape[:, None, None]
    v = np.square(sd / shape)
    axes = np.einsum("kii->ki", E)
    upper = E[:, *np.triu_indices(d, 1)]
    axis_gain = gain(axes, v * (1 - 1 / d), estimate.axis_v)
    angle_gain = gain(upper, v / 2, estimate.angle_v)
    E = E * angle_gain[:, None, None]
    np.einsum("kii->ki", E)[:] = axes * axis_gain[:, None]
    values, vectors = np.linalg.eigh(E)
    values = _shaped(values, power) * scales[:, None]
    S = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1)
    return S, scale_v, axis_gain * v, angle_gain * v / 2


def _axis_change(estimate, moments, reach, numbers, number_sd):
    """Return the same for diagonal and spherical covariances, vectors (k, d)."""
    k, d = moments.vectors.shape
    M, sd = moments.matrices / numbers[:, None], moments.matrix_sd / numbers
    clipped, traces = Clipped(d, reach), M.sum(axis=1)
    trace_sd = sd * np.sqrt(M.shape[1])
    scales, scale_v, seen = _scales(estimate, traces, trace_sd, number_sd / numbers, clipped)
    if estimate.frame.kind == "spherical":
        return np.repeat(scales[:, None], d, axis=1), scale_v, np.zeros(k), np.zeros(k)
    answers = [Clipped(d, reach / np.sqrt(s)) for s in seen]
    shape = np.array([a.shape for a in answers])
    power = np.array([a.second() for a in answers]) / (d * shape)
    E, v = (M - traces[:, None] / d) / shape[:, None], np.square(sd / shape)
    G = gain(E, v * (1 - 1 / d), estimate.axis_v)
    S = _shaped(E * G[:, None], power) * scales[:, None]
    return S, scale_v, G * v, np.zeros(k)


def _shaped(values, power):
    """Return positive eigenvalues of mean 1 for a traceless change; 1 + values for small ones.

    What clipping makes of a variance has a derivative below one, and a power of it undoes that: of
    two columns clipped at 0, the square, exactly.
    """
    base = np.maximum(1 + values / power[:, None], 0.001)
    values = base ** power[:, None]
    return values / values.mean(axis=1, keepdims=True)


def _moved(frame, numbers, shifts, S, least, floor):
    """Move the means, and change the roots by the covariances S in their frames."""
    weights = numbers / numbers.sum()
    if frame.roots.ndim == 2:
        means = frame.means + shifts * frame.roots
        if frame.kind == "spherical":
            floor = np.full_like(floor, floor.mean())
        squares = np.square(frame.roots) * np.clip(S, least[:, None], STEEPEST)
        falling = ((least[:, None] > S) & (squares > FREE * floor)).any(axis=1)
        return MixtureFrame(frame.kind, weights, means, np.sqrt(squares + floor)), falling
    means = frame.means + (frame.roots @ shifts[:, :, None])[:, :, 0]
    values, vectors = np.linalg.eigh(S)
    axes = frame.roots @ (vectors * np.sqrt(np.clip(values, least[:, None], STEEPEST))[:, None])
    C = axes @ axes.transpose(0, 2, 1)
    above = np.square(axes / np.sqrt(np.maximum(floor, TINIEST))[:, None]).sum(axis=1) > FREE * len(
        floor
    )
    falling = ((values < least[:, None]) & above).any(axis=1)
    np.einsum("kii->ki", C)[:] += floor
    return MixtureFrame(frame.kind, weights, means, lower_root(C)), falling
