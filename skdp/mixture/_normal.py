"""How moments of clipped normal vectors answer to their mean, scale and shape.

Let z be standard normal in d dimensions, t = |z|^2, and clip z at the length rho.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import chdtr, chdtri, gammaln

from skdp.accounting import Step
from skdp.kernel._mixtures import STEPS, FirstWeight, Lead, MixtureFrame

SCALES = np.exp2(np.linspace(-6, 6, 1201))  # of sigma^2


FLATTEST = 1e-13  # smallest eigenvalue of a covariance of columns of variance one


QUANTILES = np.linspace(0.5, 0.98, 13)  # of the length of normal rows
FOREIGN = 0.02  # nats that are lost for every clipped row of components that are not normal


def quantile(d, p):
    """Return the p-quantile of the squared length of a standard normal vector."""
    return float(chdtri(d, 1 - p))


@dataclass(frozen=True)
class Clipped:
    """Normal vectors clipped at the length ``rho``."""

    d: int
    rho: float

    @property
    def mean(self):
        """Derivative of ``E[z min(1, rho/|z|)]`` by the mean.

        By Stein's identity ``P(t < rho^2) + (1 - 1/d) rho E[1/|z|; t > rho^2]``.
        """
        d, square = self.d, self.rho**2
        if d == 1:
            return float(chdtr(1, square))
        inverse = math.exp(gammaln((d - 1) / 2) - gammaln(d / 2)) / math.sqrt(2)
        tail = 1 - chdtr(d - 1, square)
        return float(chdtr(d, square) + (d - 1) / d * self.rho * inverse * tail)

    def second(self, variance=1.0):
        """Return ``E[min(s t / rho^2, 1)]`` for the variance s: the trace of the second moment."""
        d, edge = self.d, self.rho**2 / variance
        return d / edge * chdtr(d + 2, edge) + 1 - chdtr(d, edge)

    def variance(self, trace):
        """Return the variance at which the trace is as given, inside [2^-6, 2^6]."""
        return float(np.interp(trace, self.second(SCALES), SCALES))

    @property
    def trace(self):
        """Derivative of the trace by the logarithm of the variance: ``E[s t / rho^2; inside]``."""
        return float(self.d / self.rho**2 * chdtr(self.d + 2, self.rho**2))

    @property
    def shape(self):
        """Derivative of ``E[u u^T]`` by a traceless change of the covariance.

        Let ``u u^T = min(t / rho^2, 1) z z^T / t``. The score of the covariance I + E at I is
        ``z^T E z / 2`` (no trace), and on the sphere ``E[v v^T (v^T E v)] = 2 E / (d (d + 2))``.
        So the derivative is ``E[min(t^2 / rho^2, t)] / (d (d+2))``; it grows as rho shrinks, to
        ``1 / (d + 2)``.
        """
        d, edge = self.d, self.rho**2
        inside = d * (d + 2) * chdtr(d + 4, edge) / edge
        return float((inside + d * (1 - chdtr(d + 2, edge))) / (d * (d + 2)))


def lower_root(C):
    """Return lower triangular roots of covariances (c, d, d), made positive where floats fail."""
    try:
        return np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        C = np.nan_to_num(C)
        scale = np.sqrt(np.maximum(np.einsum("kii->ki", C), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(C / scale[:, :, None] / scale[:, None])
        values = np.maximum(values, FLATTEST)
        upper = np.linalg.qr((vectors * np.sqrt(values)[:, None]).transpose(0, 2, 1), mode="r")
        signs = np.where(np.einsum("kii->ki", upper) < 0, -1.0, 1.0)
        return scale[:, :, None] * (upper * signs[:, :, None]).transpose(0, 2, 1)


def design(kind, k, d, signal):
    """Return the reach and the weights for components that are close to normal.

    Notes
    -----
    Let the noise of the second moments have standard deviation s per row of a component, that of
    numbers and vectors s / a0 and s / a1; s is proportional to ``sqrt(1 + a0^2 + a1^2)``. To second
    order the loss per row is, for a component with a relative error e of its number, m of its mean,
    l of its log scale and E of its shape, ``e^2/2 + |m|^2/2 + d l^2/4 + |E|^2/4``. Its mean is
    ``(1 + a0^2 + a1^2) (A / a0^2 + B / a1^2 + C)``, least for ``a0^2 = sqrt(A/C)`` and
    ``a1^2 = sqrt(B/C)``, where it is ``(sqrt A + sqrt B + sqrt C)^2`` over the squared signal.
    Small reaches have the least noise, but what they tell of the covariance rests on the shape of a
    normal distribution: so the reach grows with the signal.
    """
    _, reach, A, B, C = _best(kind, k, d, signal)
    number, vector = (min(max((x / C) ** 0.25, 0.1), 2.0) for x in (A, B))
    return float(reach), FirstWeight(number, vector)


def noise_loss(kind, k, d, signal):
    """Return the expected loss of log-likelihood per row of :func:`design`, in nats."""
    return _best(kind, k, d, signal)[0]


def _best(kind, k, d, signal):
    choices = []
    for p in QUANTILES:
        clipped = Clipped(d, quantile(d, p) ** 0.5)
        A, B, C = _noise(kind, k, clipped)
        loss = (A**0.5 + B**0.5 + C**0.5) ** 2 / max(signal, 1.0) ** 2 + FOREIGN * (1 - p)
        choices.append((loss, clipped.rho, A, B, C))
    return min(choices)


def _noise(kind, k, clipped):
    d, entries = clipped.d, 1 if kind == "spherical" else clipped.d
    scale = d / 4 / clipped.trace**2
    free = {"spherical": 0, "diag": d - 1}.get(kind, d - 1 + d * (d - 1) / 2)
    A = 0.5 + scale * clipped.second() ** 2
    B = d / 2 * (clipped.rho / clipped.mean) ** 2
    C = entries * scale + free / 4 / clipped.shape**2
    return A, B, C / k**2 if kind == "tied" else C


SHARES = 0.005, 0.08
RIVALS = Step("rivals", at_most=SHARES[1], of=(Lead,))
NOISE = 0.15  # nats per row that the noise of a comparison should have
CLIPS = 8, 64  # nats by which a row can speak for or against a mixture
STRAY = 1.0  # nats per row that rows which nobody can see may cost


def rival_share(n_rows, mu):
    """Return the share of a comparison of mixtures of a released number of rows."""
    wanted = 2 * CLIPS[0] / (NOISE * n_rows * mu)
    return min(max(wanted**2, SHARES[0]), SHARES[1])


def isotropic_model(located, kind, k):
    """Return the round Gaussian of the located ball, k times: what is known without a search."""
    d = len(located.center)
    sd = located.balls[0].typical / located.radius / math.sqrt(quantile(d, 0.5))
    roots = np.full((k, d), sd)
    if kind in ("full", "tied"):
        roots = np.repeat(sd * np.eye(d)[None], 1 if kind == "tied" else k, axis=0)
    return MixtureFrame(kind, np.full(k, 1 / k), np.zeros((k, d)), roots)


def one_gaussian(frame):
    """Return the one Gaussian with the mean and the covariance of a mixture, k times.

    By the law of total covariance: what the components have between them is added to what they
    have inside. Of "diag" and "spherical" the variances of the columns, and their mean.
    """
    k, d = frame.means.shape
    w, mean = frame.weights, frame.weights @ frame.means
    apart = frame.means - mean
    if frame.roots.ndim == 3:
        roots = np.broadcast_to(frame.roots, (k, d, d))
        C = np.einsum("k,kij,klj->il", w, roots, roots) + np.einsum("k,ki,kj->ij", w, apart, apart)
        root = lower_root(C[None])[0]
    else:
        variances = w @ (np.square(frame.roots) + np.square(apart))
        if frame.kind == "spherical":
            variances = np.full(d, variances.mean())
        root = np.sqrt(variances)
    same = np.repeat(root[None], 1 if frame.kind == "tied" else k, axis=0)
    return MixtureFrame(frame.kind, np.full(k, 1 / k), np.repeat(mean[None], k, axis=0), same)


def nearly_singular(frame, one, rows):
    """Tell which components are all but constant in a direction in which the rows are not.

    Rows that do not stand out, about as many as one noise standard deviation of a count, may lie
    r of its standard deviations away from a component, if the rows as a whole are r times as wide.
    Each of them costs ``r^2 / 2`` nats, shared by all rows.
    """
    k, d = frame.means.shape
    lift = np.eye(d) if frame.roots.ndim == 2 else None
    roots = frame.roots if lift is None else frame.roots[:, :, None] * lift
    whole = one.roots[0] if lift is None else np.diag(one.roots[0])
    inverse = np.stack([solve_triangular(root, whole, lower=True) for root in roots])
    lengths = np.linalg.svd(inverse, compute_uv=False)  # of the whole, in units of a component
    return np.broadcast_to((np.square(lengths) / (2 * rows) > STRAY).any(axis=1), k)


def stray_cost(frame, located, rows):
    """Return what rows that nobody can see may cost a mixture, in nats per row of all.

    About as many as one noise standard deviation of a count may lie as far out as rows stand out of
    the noise: the reach of the located balls from the mean, in the thinnest direction of the
    component that is widest there. That is ``r^2 / 2`` nats each, r the reach in its standard
    deviations.
    """
    roots = frame.roots
    thinnest = (
        roots.min(axis=1) if roots.ndim == 2 else np.linalg.svd(roots, compute_uv=False)[:, -1]
    )
    reach = max(place.reach for place in located.balls)
    widest = float((thinnest / located.units(frame.means)).max()) / reach
    return 1 / (2 * rows * max(widest, 1e-100) ** 2)


def release_log_density_gain(table, located, frames, against, *, share):
    """Release by how much the log-density of the rows is larger for mixtures than for another.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._mixtures.Lead`. How large its clip is depends on the
    released number of rows.
    """
    mu = table.budget.mu
    clip = round(min(max(NOISE * located.n_rows * mu * math.sqrt(share), CLIPS[0]), CLIPS[1]))
    asked = Lead(located, tuple(frames), against, clip)
    told = table.ask(asked, RIVALS, share=share)
    return told.value / (STEPS * located.n_rows), told.scale / (STEPS * located.n_rows)
