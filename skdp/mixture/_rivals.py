"""Rival mixtures compared by what they say of the rows: one released number for each."""

import math

import numpy as np
from scipy.linalg import solve_triangular

from skdp.accounting import Step
from skdp.chunks import weighed_sum
from skdp.kernel._lattice import Lattice
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._norms import fold
from skdp.mixture._frame import Frame, lower_root
from skdp.mixture._moments import exponential
from skdp.mixture._normal import quantile

__all__ = ["ball", "lead", "one_gaussian", "rival_share", "rival_step", "sharp", "stray_cost"]

SHARES = 0.005, 0.08
NOISE = 0.15  # nats per row that the noise of a comparison should have
CLIPS = 8, 64  # nats by which a row can speak for or against a mixture
STRAY = 1.0  # nats per row that rows which nobody can see may cost
STEPS = 2**8  # of a nat
FINE = 64  # steps of the logarithm of a sum of densities, in a nat


def rival_step():
    """Return the planned step of :func:`lead`."""
    return Step("rivals", at_most=SHARES[1])


def rival_share(n_rows, mu):
    """Return the share of a comparison of mixtures of a released number of rows."""
    wanted = 2 * CLIPS[0] / (NOISE * n_rows * mu)
    return min(max(wanted**2, SHARES[0]), SHARES[1])


def ball(located, kind, k):
    """Return the round Gaussian of the located ball, k times: what is known without a search."""
    d = len(located.center)
    sd = located.balls[0].typical / located.radius / math.sqrt(quantile(d, 0.5))
    roots = np.full((k, d), sd)
    if kind in ("full", "tied"):
        roots = np.repeat(sd * np.eye(d)[None], 1 if kind == "tied" else k, axis=0)
    return Frame(kind, np.full(k, 1 / k), np.zeros((k, d)), roots)


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
    return Frame(frame.kind, np.full(k, 1 / k), np.repeat(mean[None], k, axis=0), same)


def sharp(frame, one, rows):
    """Tell which components are all but constant in a direction in which the rows are not.

    Rows that do not stand out, about as many as one noise standard deviation of a count, may lie
    r of its standard deviations away from a component, if the rows as a whole are r times as wide.
    Each of them costs ``r^2 / 2`` nats, shared by all rows.

    Parameters
    ----------
    frame, one : Frame
    rows : float
        Released number of rows in noise standard deviations.

    Returns
    -------
    sharp : ndarray of bool of shape (k,)
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

    Parameters
    ----------
    frame : Frame
    located : Located or Places
    rows : float
        Released number of rows in noise standard deviations.

    Returns
    -------
    cost : float
    """
    roots = frame.roots
    thinnest = (
        roots.min(axis=1) if roots.ndim == 2 else np.linalg.svd(roots, compute_uv=False)[:, -1]
    )
    reach = max(place.reach for place in located.balls)
    widest = float((thinnest / located.units(frame.means)).max()) / reach
    return 1 / (2 * rows * max(widest, 1e-100) ** 2)


def lead(rows, curator, located, frames, against, *, share):
    """Release by how much the log-density of the rows is larger for mixtures than for another.

    Parameters
    ----------
    rows : ArrayRows
    curator : Curator
    located : Located
    frames : list of m Frame
        Released.
    against : Frame
        Released.
    share : float

    Returns
    -------
    lead : ndarray of shape (m,)
        Nats per row.
    noise : float
        Standard deviation of each of them.

    Notes
    -----
    **Privacy** (add or remove one row): the difference of two log-densities is a function of the
    row (exact products, elementwise arithmetic, a table), clipped to at most c and cut to an
    integer in steps of a nat, so the m sums move by at most ``sqrt(m) c steps`` in l2. How large c
    is depends on the released number of rows.
    """
    mu = curator.budget.mu
    views = [located.view(p) for p in range(len(located.balls))]
    seen = [[frame.seen_from(*view).ready() for frame in (against, *frames)] for view in views]
    clip = round(min(max(NOISE * located.n_rows * mu * math.sqrt(share), CLIPS[0]), CLIPS[1]))

    def statistic(start, block):
        total = np.zeros(len(frames), dtype=np.int64)
        for _, p, Q in Lattice(located).placed(block):
            base = log_density(seen[p][0], Q)
            for i, frame in enumerate(seen[p][1:]):
                gain = np.nan_to_num(log_density(frame, Q) - base, nan=0.0)
                total[i] += np.trunc(np.clip(gain, -clip, clip) * STEPS).astype(np.int64).sum()
        return total

    exact = weighed_sum(rows, statistic)
    sensitivity = sqrt_up(len(frames) * (clip * STEPS) ** 2)
    release = curator.gaussian(exact, sensitivity=sensitivity, share=share, label="rivals")
    return release.value / (STEPS * located.n_rows), release.scale / (STEPS * located.n_rows)


def log_density(frame, Q):
    """Return the log-densities of lattice vectors, up to a constant, to a sixty-fourth of a nat.

    Notes
    -----
    **Privacy**: as for :func:`skdp.mixture._moments.integer_shares`; the logarithm of the sum over
    components is looked up in a table.
    """
    logits = [
        w - 0.5 * fold(np.square(z).T)
        for w, z in zip(frame.log_weights, frame.whitened(Q), strict=True)
    ]
    top = logits[0]
    for x in logits[1:]:
        top = np.maximum(top, x)
    parts = [exponential(x - top) for x in logits]
    levels = np.exp(np.arange(1, math.ceil(FINE * math.log(len(logits))) + 1) / FINE)
    return top + np.searchsorted(levels, sum(parts[1:], parts[0]), side="right") / FINE
