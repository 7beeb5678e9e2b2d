"""The paper's mechanism: project noisy parities on the relaxed body by Frank-Wolfe.

Let y = q + w, where q in n L are the exact parities and w is noise that is independent of n. For
f(v) = 1/2 |P^1/2 (v - y)|^2 and v in n L the *gap* ``g(v) = max <P(y - v), s - v>`` over s in n L
bounds ``f(v) - min f`` by convexity. With s = q it reads ``<P(v - y), v - q> <= g(v)``, hence

    |P^1/2 (v - q)|^2 <= <P w, v - q> + g(v)                                                   (1)

    E |P^1/2 (v - q)|^2 <= n c l* + E g(v),    l* = E max over s in P^1/2 L of <s, gaussian>   (2)

for noise of standard deviation c / sqrt(p_S) on the parity of S, as <P w, q> has mean zero. This is
Theorem 4.5 with constants. An inexact oracle makes the certified gap larger and (2) no less true.
"""

from dataclasses import dataclass
from math import ceil, comb, log, pi, sqrt

import numpy as np

from skdp.marginals._pairs import row_count
from skdp.marginals.published._relaxation import (
    bilinear_maximum,
    bilinear_maximum_by_cvxpy,
    from_parities,
    relaxed_body,
    to_parities,
)

TOLERANCE, STEPS = 0.3, 300
GROTHENDIECK = pi / (2 * log(1 + sqrt(2)))  # Krivine's bound, 1.7823


@dataclass(frozen=True, eq=False)
class Projection:
    """A point of n L and how far from the best it can be.

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.
    """

    values: np.ndarray  # shape (m,): projected parities: of the step with the smallest gap
    gap: float  # the objective at `values` exceeds its minimum by at most this number
    gaps: np.ndarray  # shape (steps + 1,): the same for every step
    # shape (N, N) or: the matrix over n that `values` is read off, if it was asked for
    gram: np.ndarray | None = None


def relaxed_projection(
    y, sets, d, *, n, weights=None, steps=STEPS, solver="mixing", return_gram=False
):
    """Project noisy parities on n times the relaxed body L by Frank-Wolfe. Post-processing.

    Parameters
    ----------
    y : array-like of shape (m,)
        Noisy parities of rows in {-1, 1}^d, as sums over rows.
    sets : sequence of m tuples of int
        The attributes of every parity, k in each.
    d : int
        Number of attributes.
    n : float
        Number of rows, > 0: public, or released. The bounds hold if it is not too small.
    weights : array-like of shape (m,), default=None
        The distribution p over queries, up to a factor; None is uniform. Parities of weight 0 are
        answered by the feasible point that the others lead to.
    steps : int, default=300
        Steps of Frank-Wolfe, see :func:`steps_for`.
    solver : {"mixing", "cvxpy"}, default="mixing"
        Who solves the linear problem of a step. Their gaps are certified in the same way.
        ``"cvxpy"`` needs ``skdp[published]``.
    return_gram : bool, default=False
        Whether to keep the matrix, for a synopsis.

    Returns
    -------
    projection : Projection

    See Also
    --------
    relaxed_body

    Notes
    -----
    Step: ``s = argmax <P(y - v), s>`` over n L and ``v += a (s - v)`` with
    ``a = clip(<P(y - v), s - v> / |P^1/2 (s - v)|^2, 0, 1)``, from v = 0, which is in L.

    The vectors of a step start from those of the step before, and sweeps end when one gains less
    than 0.3 of what is gained already: hasty steps are not only fast, their gap falls faster too
    (user guide "Marginals as published").

    The smallest gap of T steps is at most ``4 D^2 / (T + 2)``, D the diameter of n P^1/2 L, if the
    oracle is exact. *Proof.* Let h = f - min f. A step takes h to at most
    ``h - a g + a^2 D^2 / 2`` for every a in [0, 1]; with a = 2 / (t + 2) and g >= h, induction
    gives ``h_t <= 2 D^2 / (t + 2)`` from t = 1 on. For T >= 2 let r = floor(T / 2) and suppose that
    all gaps from r to T exceed G. If G <= D^2, each of these T - r + 1 steps takes away at least
    G^2 / (2 D^2) (a = G / D^2), so ``G^2 <= 4 D^4 / ((r + 2)(T - r + 1)) <= (4 D^2 / (T + 2))^2``.
    If G > D^2, each takes away more than G / 2 (a = 1), so G < D^2, a contradiction. (T = 1: in the
    same way, h_1 <= D^2 / 2 gives g_1 <= D^2.)

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals.published import relaxed_projection
    >>> sets = np.array([[0, 1], [0, 2], [1, 2]])
    >>> projection = relaxed_projection([20.0, 30.0, 90.0], sets, 3, n=50, steps=20)
    >>> bool(np.abs(projection.values).max() <= 50 + 1e-9)
    True
    """
    y, body = np.asarray(y, dtype=np.float64), relaxed_body(sets, d)
    m = body.left.shape[1]
    p = np.full(m, 1 / m) if weights is None else np.asarray(weights, dtype=np.float64)
    if y.shape != (m,) or p.shape != (m,) or not (p >= 0).all() or not 0 < p.sum() < np.inf:
        raise ValueError(f"y and weights need shape ({m},), weights >= 0 that are not all zero.")
    if not 0 < n < np.inf or solver not in ("mixing", "cvxpy") or steps < 1:
        raise ValueError(
            "relaxed_projection needs n > 0, steps >= 1 and solver 'mixing' or 'cvxpy'."
        )
    p = p / p.sum()
    v, gram = np.zeros(m), np.eye(sum(body.shape)) if return_gram else None
    best, gaps, V = None, [], None
    for step in range(steps + 1):
        c = p * (y - v)
        top = _maximum(body.matrix(c), V, float(c @ v) / n, solver)
        U, V = top.vectors
        gaps.append(max(0.0, n * top.bound - float(c @ v)))
        if best is None or gaps[-1] <= best.gap:
            best = Projection(v, gaps[-1], gaps, gram)
        if step == steps:
            break
        towards = n * body.values(U, V) - v
        length = float(p @ towards**2)
        if length == 0:
            break
        a = min(max(float(c @ towards) / length, 0.0), 1.0)
        v = v + a * towards
        if return_gram:
            W = np.concatenate([U, V])
            gram = (1 - a) * gram + a * (W @ W.T)
    return Projection(best.values, best.gap, np.array(gaps), best.gram)


def _maximum(A, start, level, solver):
    if solver == "mixing":
        return bilinear_maximum(A, start=start, level=level, tol=TOLERANCE)
    _, V = bilinear_maximum_by_cvxpy(A)
    return bilinear_maximum(A, start=V)  # polishes, and certifies


def published_projection(measurement):
    """Return the residuals of a release, projected order by order as published. Post-processing.

    Parameters
    ----------
    measurement : Measurement
        Of binary attributes, for instance ``measurement_`` of a fitted MarginalReleaser.

    Returns
    -------
    values : ndarray of shape (n_coordinates,)
        Residuals, in rows.

    Raises
    ------
    ValueError
        If an attribute has more than two levels.

    See Also
    --------
    relaxed_projection, skdp.MarginalReleaser

    Notes
    -----
    In the paper noise of standard deviation ``c / sqrt(p_S)`` is added to the parity of S, so the
    metric of its projection is ``p_S ~ 1 / sd_S^2``. Sets of one size are projected on n times the
    relaxed body of that size, n being the released number of rows, at least 10.

    For ``sum of p_S = 1`` the mean squared noise ``sum of p_S sd_S^2`` is the harmonic mean of the
    variances. If the certified gap is larger, what Frank-Wolfe has not finished may be more than
    the projection can take away, and parities of this size stay as released (user guide "Marginals
    as published").

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import MarginalReleaser
    >>> from skdp.marginals.published import published_projection
    >>> X = np.random.default_rng(0).integers(2, size=(1000, 3))
    >>> releaser = MarginalReleaser(domain={i: [0, 1] for i in range(3)}).fit(X)
    >>> values = published_projection(releaser.measurement_)
    >>> values.shape == releaser.measurement_.values.shape
    True
    """
    layout, n = measurement.layout, row_count(measurement.values)
    if not layout.binary:
        raise ValueError(
            "the published projection is of parities, and needs columns of two levels. Take "
            "postprocess='projection' for others."
        )
    parities, sd = (to_parities(layout, x) for x in (measurement.values, measurement.sd))
    parities[0] = n
    for k, sets in enumerate(layout.subsets[1:], start=1):
        here = layout.orders == k
        p = 1 / np.square(sd[here])
        found = relaxed_projection(parities[here], sets, len(layout.levels), n=n, weights=p)
        if found.gap <= 1 / np.mean(p):
            parities[here] = found.values
    return from_parities(layout, parities)


def width_bound(d, k):
    """Return a bound of l*, the mean width of P^1/2 L, for every distribution p.

    Parameters
    ----------
    d, k : int
        All sets have k among d attributes.

    Returns
    -------
    width : float
        ``K_G sqrt(2 log 2 (N - 1))``, N = C(d, ceil(k/2)) + C(d, floor(k/2)): O(d^(ceil(k/2)/2)).

    See Also
    --------
    average_error_bound, steps_for

    Notes
    -----
    *Proof.* L0 is the hull of at most 2^(N-1) points, as (y, z) and (-y, -z) give the same. At each
    of them <P^1/2 s, gaussian> is normal of variance at most sum p = 1. The mean of the largest of
    M such variables is at most sqrt(2 log M), by E max <= log(E sum exp(t .)) / t. Grothendieck's
    inequality bounds the maximum over L by K_G times that over L0, K_G < 1.7823.

    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.marginals.published import width_bound
    >>> round(width_bound(10, 2), 2)
    9.15
    """
    N = comb(d, (k + 1) // 2) + comb(d, k // 2)
    return GROTHENDIECK * sqrt(2 * log(2) * (N - 1))


def average_error_bound(n, c, width, *, gap=0.0):
    """Return the bound of Theorem 4.5 on the mean squared error, E sum p_S (v_S - q_S)^2.

    Parameters
    ----------
    n : float
        Number of rows.
    c : float
        Noise: the parity of S has standard deviation c / sqrt(p_S), which is c sqrt(m) if p is
        uniform.
    width : float
        A bound of l*, for instance :func:`width_bound`.
    gap : float, default=0.0
        Mean certified gap of the projection.

    Returns
    -------
    bound : float
        ``n c width + gap``. Noise without projection has mean squared error ``m c^2``.

    See Also
    --------
    width_bound, steps_for

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.marginals.published import average_error_bound, width_bound
    >>> round(average_error_bound(1000, 50, width_bound(10, 2)))
    457335
    """
    return n * c * width + gap


def steps_for(n, c, width, diameter=2.0):
    """Return a number of steps after which the gap is no larger than the other part of the bound.

    Parameters
    ----------
    n, c, width : float
        As for :func:`average_error_bound`.
    diameter : float, default=2.0
        Of P^1/2 L, at most 2.

    Returns
    -------
    steps : int
        The smallest T >= 1 with ``4 (n diameter)^2 / (T + 2) <= n c width``.

    See Also
    --------
    average_error_bound, relaxed_projection

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.marginals.published import steps_for, width_bound
    >>> steps_for(1000, 50, width_bound(10, 2))
    33
    """
    return max(1, ceil(4 * n * diameter**2 / (c * width)) - 2)
