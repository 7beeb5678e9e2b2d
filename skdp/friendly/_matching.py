"""Matching tuples by passes over panels of pairs: most decided from products, with error bounds."""

import numpy as np

LARGEST = 2.0**500  # entries beyond have no friends: squares cannot overflow
TINY = 2.0**-900  # squared distances to wrong partners below it make no friends
SLACK = 2.0**-20
CELLS = 2**18  # distances held at a time: 2 MB
PANEL = 2**14  # pairs of tuples decided together
REFERENCES = 16  # tuples of which one lends its order
CLEAR = 2.0**-30  # outweighs the roundings of a comparison


def count_aligned(A, B, gamma, limits):
    """Count for each tuple of A those of B (None: of A) that match within several distances.

    Shapes: A, B (n, k, d), (m, k, d).

    Notes
    -----
    The rule does not see the order of points, so all tuples are first put in the order of one of
    them. Then matrix products with error bounds settle almost all pairs, see :func:`_certified`;
    the rule itself is computed for the others.
    """
    whole, limits = B is None, np.asarray(limits, dtype=np.float64)
    A = _planes(A)
    B = A if whole else _planes(B)
    if A.shape[:2] != B.shape[:2]:
        raise ValueError(f"tuples must have (k, d) alike. Got {A.shape[:2]} and {B.shape[:2]}.")
    counts = np.zeros((A.shape[2], len(limits) + 1), dtype=np.int64)
    own = np.flatnonzero(np.isfinite(A[0, 0]))  # others have no friends
    others = own if whole else np.flatnonzero(np.isfinite(B[0, 0]))
    if own.size == 0 or others.size == 0:
        return counts[:, :-1]
    A, B = A[:, :, own], B[:, :, others]
    order = _common_order(A, gamma)
    A = _Points(order(A))
    B = A if whole else _Points(order(B), A.origin)
    step = max(1, int(min(PANEL, CELLS // len(A.planes) ** 2) ** 0.5))
    for i in range(0, own.size, step):
        rows = slice(i, i + step)
        for j in range(i if whole else 0, others.size, step):
            columns = slice(j, j + step)
            first = _first_limits(A.part(rows), B.part(columns), gamma, limits)
            counts[own[rows]] += _histogram(first, counts.shape[1])
            if whole and j > i:
                counts[own[columns]] += _histogram(first.T, counts.shape[1])
    return np.cumsum(counts, axis=1)[:, :-1]


def aligned_squares(A, B, gamma):
    """Return the largest squared distance of partners, shape (n, m); infinity without a match."""
    return _aligned(_planes(A)[:, :, :, None], _planes(B)[:, :, None], gamma)


def as_tuples(X):
    """Return tuples as float64, (n, k, d); those that can have no friends hold NaN alone."""
    X = np.asarray(X)
    if X.ndim != 3 or 0 in X.shape[1:] or X.dtype.kind not in "fiub":
        raise ValueError(
            f"tuples must be real numbers of shape (n, k, d). Got {X.dtype} of shape {X.shape}."
        )
    X = X.astype(np.float64)
    X[~(np.abs(X) <= LARGEST).all(axis=(1, 2))] = np.nan
    return X


def _planes(X):
    return np.ascontiguousarray(as_tuples(X).transpose(1, 2, 0))


class _Points:
    """Tuples in planes (k, d, n), and factors of their squared distances around an origin."""

    def __init__(self, planes, origin=None):
        k, d, n = planes.shape
        self.planes = planes
        self.origin = planes[:, :, 0].mean(axis=0) if origin is None else origin
        x = planes - self.origin[:, None]
        squares = np.square(x).sum(axis=1, keepdims=True)
        one = np.ones((k, 1, n))
        self.left = np.concatenate([x, squares, one], axis=1).transpose(0, 2, 1).copy()
        self.right = np.concatenate([-2 * x, one, squares], axis=1)
        self.error = 8 * (d + 4) * 2.0**-53 * squares[:, 0].max(axis=0) + 2.0**-1000

    def part(self, index):
        """Return planes, left and right factors, errors of some tuples."""
        left = self.left[:, index]
        return self.planes[:, :, index], left, self.right[:, :, index], self.error[index]


def _common_order(A, gamma):
    """Return a map that orders the points of tuples as the most befriended of a few has them."""
    from scipy.optimize import linear_sum_assignment

    n = A.shape[2]
    trial = np.linspace(0, n - 1, min(n, REFERENCES)).astype(int)
    friends = [np.isfinite(_aligned(A[:, :, [i]], A, gamma)).sum() for i in trial]
    reference = A[:, :, trial[np.argmax(friends)]]

    def order(X):
        D = np.stack([_squares(point, X.swapaxes(0, 1)) for point in reference])
        nearest = D.argmin(axis=1)
        improper = np.sort(nearest, axis=0) != np.arange(len(X))[:, None]
        for t in np.flatnonzero(improper.any(axis=0)):
            nearest[:, t] = linear_sum_assignment(D[:, :, t])[1]
        return np.take_along_axis(X, nearest[:, None], axis=0)

    return order


def _first_limits(own, others, gamma, limits):
    """Return for all pairs the index of the first limit that partners do not exceed."""
    A, left, _, error_a = own
    B, _, right, error_b = others
    first = _certified(left, right, error_a[:, None] + error_b, gamma, limits)
    a, b = np.nonzero(first < 0)
    if 8 * a.size > first.size:
        return np.searchsorted(limits, _aligned(A[:, :, :, None], B[:, :, None], gamma))
    first[a, b] = np.searchsorted(limits, _aligned(A[:, :, a], B[:, :, b], gamma))
    return first


def _certified(left, right, error, gamma, limits):
    """Return the first limits from approximate squared distances, -1 where they do not tell.

    The D_ij below are within E, `error`, of those of the rule: a sum of d + 2 products, the
    squares in it, the translation and the rule itself err by less than u (5 d + 12) (|x|^2 + |y|^2)
    together. Let m_i be the smallest D_ij and D_ji with j != i. If D_ii + E < g (m_i - E) for all
    i, the tuples match, i with i. Let l and h be the smaller and larger of D_ii and m_i: in that
    row or column the smallest entry of the rule is at least l - E, the second at most h + E. So if
    l - E >= g (h + E) for some i, they do not match. And if all i but one are partners for certain,
    the last would have to be, which D_ii - E >= g (m_i + E) excludes.
    """
    k, g = len(left), (gamma * (1 - SLACK)) ** 2
    with np.errstate(all="ignore"):
        D = np.matmul(left[:, None], right)
        partners, wide = np.zeros(D.shape[2:], dtype=np.int64), np.zeros(D.shape[2:])
        apart, never = np.zeros((2, *D.shape[2:]), dtype=bool)
        for i in range(k):
            own, other = D[i, i], np.full(D.shape[2:], np.inf)
            for j in range(k):
                if j != i:
                    np.minimum(other, D[i, j], out=other)
                    np.minimum(other, D[j, i], out=other)
            least = other - error
            partners += (own + error < g * (1 - CLEAR) * least) & (least > 2 * TINY)
            low, high = np.minimum(own, other), np.maximum(own, other)
            apart |= low - error >= g * (1 + CLEAR) * (high + error)
            never |= own - error >= g * (1 + CLEAR) * (other + error)
            np.maximum(wide, own, out=wide)
        first = np.searchsorted(limits, wide - error)
        first[first != np.searchsorted(limits, wide + error)] = -1
    first[partners < k] = -1
    first[apart | (never & (partners == k - 1))] = len(limits)
    return first


def _aligned(A, B, gamma):
    """Return the largest squared distances of partners for tuples in planes (k, d, ...)."""
    D = np.stack([_squares(x, B.swapaxes(0, 1)) for x in A])
    match, lowest = np.ones(D.shape[2:], dtype=bool), []
    with np.errstate(all="ignore"):
        for line in (*D, *D.swapaxes(0, 1)):
            first, second = _two_smallest(line)
            match &= (first < (gamma * (1 - SLACK)) ** 2 * second) & (second >= TINY)
            lowest.append(first)
    for i in range(len(A) if match.any() else 0):
        mutual = np.zeros_like(match)
        for j in range(len(A)):
            mutual |= (D[i, j] == lowest[i]) & (D[i, j] == lowest[len(A) + j])
        match &= mutual
    return np.where(match, np.max(lowest[: len(A)], axis=0), np.inf)


def _squares(x, y):
    """Add (x_c - y_c)^2 in the order of c, the first axis of both."""
    with np.errstate(all="ignore"):
        total = np.subtract(x[0], y[0])
        total *= total
        square = np.empty_like(total)
        for a, b in zip(x[1:], y[1:], strict=True):
            np.subtract(a, b, out=square)
            np.multiply(square, square, out=square)
            total += square
    return total


def _two_smallest(planes):
    first, second = planes[0].copy(), np.full(planes.shape[1:], np.inf)
    for plane in planes[1:]:
        np.minimum(second, np.maximum(first, plane), out=second)
        np.minimum(first, plane, out=first)
    return first, second


def _histogram(index, bins):
    rows = np.arange(len(index))[:, None] * bins
    return np.bincount((rows + index).ravel(), minlength=len(index) * bins).reshape(-1, bins)
