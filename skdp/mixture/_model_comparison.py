"""Rival mixtures compared by what they say of the rows: one released number for each."""

import math

import numpy as np
from scipy.linalg import solve_triangular

from skdp.accounting import Step
from skdp.kernel._mixtures import STEPS, Lead, MixtureFrame
from skdp.mixture._normal import lower_root, quantile

__all__ = [
    "RIVALS",
    "isotropic_model",
    "nearly_singular",
    "one_gaussian",
    "release_log_density_gain",
    "rival_share",
    "stray_cost",
]

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
