"""Pairs of attributes as a noisy matrix of second moments, and what makes it a better one."""

from dataclasses import dataclass

import numpy as np

from skdp.denoising._base import Noise
from skdp.denoising._shrinkers import james_stein
from skdp.kernel._layout import Layout, set_numbers
from skdp.marginals._cones import MomentBlock

LEAST_ROWS = 10.0  # a smaller released count of rows is taken for this one
CLOSE = 1e-10  # of a projection: relative gap of the two sides of its duality


def row_count(values):
    """Return the number of rows to divide by: the released one, at least 10.

    It is fixed before anything is projected. Were it free, noise would inflate it: every
    projection becomes feasible when there are enough rows.
    """
    return max(float(values[0]), LEAST_ROWS)


def shrunk(measurement, known=None):
    """Return residuals shrunk towards predictions from smaller sets, and the estimated loss.

    Notes
    -----
    Single attributes are shrunk towards equal levels, larger sets towards the span of
    :func:`predictions`, by James and Stein's rule (for unequal variances, Bock 1975) on residuals
    times the square root of their weight, whose squared length is the loss. The predictions are
    made from smaller sets. The noise of larger sets is independent of them, so that, given the
    smaller sets, Stein's estimate of the loss holds exactly, however the predictions are made.
    """
    layout, n = measurement.layout, row_count(measurement.values)
    known = measurement.values[:1] if known is None else known
    metric = np.sqrt(layout.spread(measurement.weights))
    noise = metric * layout.spread(measurement.sd)
    order = layout.spread(layout.orders)
    values, risk = measurement.values.copy(), float(noise[0] ** 2)
    values[: len(known)] = known
    for level in range(order[len(known) - 1] + 1, len(layout.subsets)):
        here = order == level
        law, y = Noise(noise[here]), metric[here] * values[here]
        basis = predictions(layout, values, n, level)
        rule = james_stein(y, law, basis=None if basis is None else basis * metric[here][:, None])
        values[here] = rule.value / metric[here]
        risk += float(np.sum(np.square(rule.value - y) + law.variance * (2 * rule.slope - 1)))
    return values, risk


def predictions(layout, values, n, order):
    """Return predictions of the residuals of all sets of one order, as columns, or None.

    The first is the product of single residuals, which independence predicts. Binary sets of three
    have two to five more, see :func:`_triples`. None for order 1.
    """
    if order < 2:
        return None
    d = len(layout.subsets[1])
    if order == 3 and layout.binary and len(layout.subsets[2]) == d * (d - 1) // 2:
        return _triples(layout, values, n)
    first, end = layout.starts[layout.firsts[order : order + 2]]
    product = np.empty(end - first)
    for _, sets, numbers in layout.groups:
        if sets.shape[1] == order and len(sets):
            cells = np.full((len(sets), 1), n)
            for column in sets.T:
                single = values[layout.places(set_numbers(layout, column[:, None]))] / n
                cells = (cells[:, :, None] * single[:, None, :]).reshape(len(sets), -1)
            product[layout.places(numbers) - first] = cells
    return product[:, None]


def _triples(layout, values, n):
    """Return what moments m and covariances c of pairs say about sets of three.

    With central third moments zero, ``m_i c_jk + m_j c_ik + m_k c_ij + m_i m_j m_k``. If i and k
    are independent given j, the central third moment is ``-2 m_j c_ij c_jk / (1 - m_j^2)``: as
    ``E (x_j - m_j)^3 = -2 m_j (1 - m_j^2)``, and the regressions on x_j are linear. The columns
    are both terms of the first, the second for the j opposite the least correlated pair, and its
    sum over all three.
    """
    columns, d = layout.subsets[1][:, 0], len(layout.subsets[1])
    m = values[1 : d + 1] * np.sqrt(2) / n
    c = np.zeros((d, d))
    pairs = np.searchsorted(columns, layout.subsets[2]).T
    c[*pairs] = values[d + 1 : d + 1 + pairs.shape[1]] * 2 / n - m[pairs[0]] * m[pairs[1]]
    c += c.T
    v = np.maximum(1 - m * m, 0.02)
    correlation = np.abs(c) / np.sqrt(np.outer(v, v))
    i, j, k = np.searchsorted(columns, layout.subsets[3]).T
    turns = ((i, j, k), (j, i, k), (k, i, j))
    lines = np.stack([-2 * m[a] * c[a, b] * c[a, e] / v[a] for a, b, e in turns])
    middle = np.argmin([correlation[b, e] for _, b, e in turns], axis=0)
    linear = sum(m[a] * c[b, e] for a, b, e in turns)
    between = np.take_along_axis(lines, middle[None], axis=0)[0]
    return n / 2**1.5 * np.column_stack([linear, m[i] * m[j] * m[k], between, lines.sum(axis=0)])


WIDTH = 1.2  # in standard deviations of an entry


def all_pairs(layout):
    """Whether all pairs of the attributes that are there are there, at least one."""
    if len(layout.subsets) < 3:
        return False
    d = len(layout.subsets[1])
    return len(layout.subsets[2]) == d * (d - 1) // 2


def pair_precision(layout, sd):
    """Return numbers p with ``p_i p_j = 1 / sd_ij^2``, of the empty set (number 0) and attributes.

    Where all pairs, and all single attributes, have the same noise, this is exact; otherwise
    log p is the least squares fit of the logarithms. Needs all pairs, order 2.
    """
    columns = layout.subsets[1][:, 0]
    N = len(columns) + 1
    logs = np.zeros((N, N))
    logs[0, 1:] = -2 * np.log(sd[1:N])
    i, j = 1 + np.searchsorted(columns, layout.subsets[2]).T
    logs[i, j] = -2 * np.log(sd[N:])
    sums = (logs + logs.T).sum(axis=1)
    return np.exp((sums - sums.sum() / (2 * (N - 1))) / (N - 2))


class PairMatrix:
    """Second moments ``E v v'`` of ``v = (1, x)``, x of entries -1 and 1, from residuals.

    Notes
    -----
    A parity is ``2^(|T|/2)`` times its residual.
    """

    def __init__(self, layout, sd):
        columns = layout.subsets[1][:, 0]
        self.size = len(columns) + 1
        self.first, self.second = 1 + np.searchsorted(columns, layout.subsets[2]).T
        self.scale = 2.0 ** (layout.orders / 2)
        self.precision = pair_precision(layout, sd * self.scale)

    def moments(self, values):
        """Return the matrix of moments and the number of rows."""
        n = row_count(values)
        parities, X = values * self.scale / n, np.eye(self.size)
        X[0, 1:] = X[1:, 0] = parities[1 : self.size]
        X[self.first, self.second] = X[self.second, self.first] = parities[self.size :]
        return X, n

    def residuals(self, X, n):
        """Return the residuals of a matrix of moments of n rows."""
        parities = np.concatenate([[1.0], X[0, 1:], X[self.first, self.second]])
        return n * parities / self.scale


@dataclass(frozen=True)
class Nearest:
    """A matrix of the elliptope and the proof that hardly any other is nearer."""

    matrix: np.ndarray  # shape (N, N): positive semidefinite, with ones on the diagonal
    objective: float  # its squared distance, half of `sum_ij w_i w_j (X_ij - Y_ij)^2` over i != j
    gap: float  # no matrix of the elliptope has a squared distance below `objective - gap`
    dual: np.ndarray  # shape (N,): where a search for a matrix nearby may start


def nearest_correlation(Y, weight, start=None, *, max_evaluations=300):
    """Return the matrix X with ``X >= 0, X_ii = 1`` of least weighted squared distance to Y.

    Notes
    -----
    With ``b = w / max w`` and ``S = Diag(b)^(1/2)`` put ``A = S Y S`` off the diagonal and b on it:
    the problem is to find ``Z = S X S >= 0`` with diagonal b nearest to A in the Frobenius norm.
    For any t, ``|Z - A|^2 / 2 >= |A|^2 / 2 - theta(t)``, where::

        theta(t) = |(A + Diag t)_+|^2 / 2 - b.t,    D theta(t) = diag (A + Diag t)_+ - b

    because ``|Z - A|^2 / 2 = |Z - (A + Diag t)|^2 / 2 + |A|^2 / 2 - |A + Diag t|^2 / 2 + t.(b)``
    for Z with diagonal b, and the first term is least at ``(A + Diag t)_+``. theta is convex with
    a Lipschitz gradient, so L-BFGS minimises it; at the minimum ``(A + Diag t)_+`` has diagonal b.
    The diagonal is made exactly b by a congruence, which keeps the matrix semidefinite, and the
    gap is the difference of the two sides for that matrix.
    """
    from scipy.optimize import minimize

    b = weight / weight.max()
    scale = np.sqrt(b)
    A = Y * np.outer(scale, scale)
    np.fill_diagonal(A, b)
    half = np.sum(A * A) / 2
    best = [np.inf, None, None, None]

    def dual(t):
        positive = _positive_part(A, t)
        theta = np.sum(positive * positive) / 2 - b @ t
        gradient = np.diag(positive) - b
        if theta < best[0]:
            best[:] = theta, positive, t.copy(), gradient
        return theta, gradient

    def certified():
        theta, positive, t, _ = best
        Z = positive * np.outer(*[np.sqrt(b / np.maximum(np.diag(positive), 1e-300))] * 2)
        objective = np.sum((Z - A) ** 2) / 2
        return Z, objective, max(objective - (half - theta), 0.0), t

    def stop(_):
        _, objective, gap, _ = certified()
        if gap <= CLOSE * max(objective, 1e-3 * half):
            raise StopIteration

    t = np.zeros(len(b)) if start is None else start
    options = {"maxcor": 30, "maxfun": max_evaluations, "ftol": 0.0, "gtol": 0.0}
    minimize(dual, t, jac=True, method="L-BFGS-B", callback=stop, options=options)
    Z, objective, gap, t = certified()
    X = Z / np.outer(scale, scale)
    np.fill_diagonal(X, 1.0)
    factor = weight.max() ** 2
    return Nearest(X, objective * factor, gap * factor, t)


def _positive_part(A, t):
    """Return the positive part of ``A + Diag t``."""
    M = A.copy()
    M[np.diag_indices(len(t))] += t
    values, vectors = np.linalg.eigh(M)
    k = int(np.searchsorted(values, 0.0))
    if k <= len(t) // 2:  # fewer vectors below zero
        return M - (vectors[:, :k] * values[:k]) @ vectors[:, :k].T
    return (vectors[:, k:] * values[k:]) @ vectors[:, k:].T


class PairSpectrum:
    """Residuals of at most two attributes with the eigenvalues of their moments corrected."""

    def __init__(self, layout, sd, corrected):
        self.corrected = corrected
        self.layout = Layout(layout.levels, layout.subsets[:3])
        self.block = MomentBlock(self.layout)
        precision = pair_precision(self.layout, sd[: len(self.layout.orders)])
        precision = np.repeat(precision, np.diff(self.block.starts, prepend=0))
        self.scale = np.sqrt(np.outer(precision, precision))

    def __call__(self, values):
        """Return the leading coordinates of ``values``, of orders 0 to 2, corrected."""
        n = row_count(values)
        x = values[: self.block.size] / n
        x[0] = 1.0
        M = self.corrected(n * self.scale * self.block.forward(x)) / self.scale
        x[self.block.number[~self.block.corner]] = M[~self.block.corner]
        x[0] = n
        return x


def eigenvalue_debiasing(A):
    """Return A with its eigenvalues moved to where they are without noise, on average.

    Shapes: A (N, N); B (N, N).

    Notes
    -----
    Among all matrices with the eigenvectors ``u_i`` of ``A = M + W`` the one nearest to M has the
    eigenvalues ``u_i' M u_i = l_i - u_i' W u_i``. Integration by parts in every entry of W, with
    ``d u_i = sum_j u_j (u_j' dW u_i) / (l_i - l_j)``, gives::

        E u_i' W u_i = 2 E sum_(j != i) (1 - 2 sum_k u_ik^2 u_jk^2) / (l_i - l_j)

    of which the second term, of order 1/N, is left out. A finite matrix needs the sum smoothed:
    ``1 / x`` becomes ``x / (x^2 + h^2)`` with h = 1.2, the size of the noise in a single eigenvalue
    and a small part of the radius 2 sqrt(N) of the noise's own spectrum. As N grows this is the
    best estimate that commutes with rotations [1]_; it needs no low rank, and without noise it
    changes nothing.

    References
    ----------
    .. [1] Bun, Allez, Bouchaud, Potters. "Rotational invariant estimator for general noisy
       matrices". IEEE Transactions on Information Theory 2016.
    """
    values, vectors = np.linalg.eigh(A)
    apart = values[:, None] - values
    push = np.sum(apart / (apart * apart + WIDTH**2), axis=1)
    return (vectors * (values - 2 * push)) @ vectors.T


def spectral_shrinkage(A):
    """Return A without its diagonal, with eigenvalues kept only as far as noise has not made them.

    The noise is that of :func:`eigenvalue_debiasing`.

    Notes
    -----
    Noise alone has eigenvalues up to ``2 sqrt(N)``. A few strong directions in it are best given
    the eigenvalues ``sqrt(l^2 - 4 N)``, and all below that zero [1]_: better than
    :func:`eigenvalue_debiasing` where attributes hang together by a few common causes.

    References
    ----------
    .. [1] Gavish, Donoho. "Optimal shrinkage of singular values". IEEE Transactions on
       Information Theory 2017.
    """
    values, vectors = np.linalg.eigh(A - np.diag(np.diag(A)))
    kept = np.sign(values) * np.sqrt(np.maximum(np.square(values) - 4 * len(A), 0.0))
    return (vectors * kept) @ vectors.T
