"""Friends among ordered tuples and covariance matrices, and by any function of two rows."""

from dataclasses import dataclass

import numpy as np

from skdp.friendly._matching import as_tuples
from skdp.kernel.pairs._distance import DistancePredicate, real

PAIRS = 2**14  # pairs decided together


def count_by_matrix(predicate, A, B=None):
    """Count friends from a predicate's `matrix(A, B)`, block by block."""
    B = A if B is None else B
    counts = np.zeros(len(A), dtype=np.int64)
    step = max(1, int(PAIRS**0.5))
    for i in range(0, len(A), step):
        for j in range(0, len(B), step):
            related = predicate.matrix(A[i : i + step], B[j : j + step])
            counts[i : i + step] += np.count_nonzero(related, axis=1)
    return counts


@dataclass(frozen=True)
class TupleDistance:
    """Two ordered tuples are friends if their i-th points are at most `radii[i]` apart, for all i.

    Parameters
    ----------
    radii : sequence of k floats
        Each as for :class:`DistancePredicate`.

    See Also
    --------
    skdp.friendly.DistancePredicate, skdp.friendly.MatchPredicate

    Notes
    -----
    The rule of :class:`DistancePredicate` for each pair of points. Tuples with NaN, infinity or an
    entry beyond 2^500 are nobody's friends, not even their own. Friends of friends are at most
    twice the certified radii apart, point by point.

    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly.published import TupleDistance
    >>> tuples = np.array([[[0.0], [5.0]], [[0.5], [5.5]], [[5.0], [0.0]]])
    >>> TupleDistance((1.0, 1.0)).friends(tuples).tolist()
    [2, 2, 1]
    """

    radii: tuple

    def __post_init__(self):
        radii = tuple(real(r) for r in self.radii)
        if not radii:
            raise ValueError("radii must name at least one radius. Got none.")
        for radius in radii:
            DistancePredicate(radius)
        object.__setattr__(self, "radii", radii)

    def implies(self, d):
        """Return k radii that the real distances of friends' points do not exceed."""
        return np.array([DistancePredicate(r).certified_radius(d) for r in self.radii])

    def matrix(self, A, B):
        """Tell for all pairs of small sets, (n, k, d) and (m, k, d), whether they are friends."""
        A, B = as_tuples(A), as_tuples(B)
        if not len(self.radii) == A.shape[1] == B.shape[1] or A.shape[2] != B.shape[2]:
            raise ValueError(
                f"tuples must have {len(self.radii)} points, one per radius, of equal length. "
                f"Got shapes {A.shape} and {B.shape}."
            )
        related = np.ones((len(A), len(B)), dtype=bool)
        with np.errstate(all="ignore"):
            for i, near in enumerate(map(DistancePredicate, self.radii)):
                related &= near.rule_for_all(near.rows(A[:, i]), near.rows(B[:, i]))
        return related

    def friends(self, A, B=None):
        """Count for each tuple of A its friends in B (None: in A), shape (n,), int64."""
        return count_by_matrix(self, A, B)


@dataclass(frozen=True)
class PairwisePredicate:
    """Friends by any function of two rows.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` tells whether two rows, arrays of equal shape, are friends. It must be
        a function of x and y: no random numbers, no memory of earlier calls, no look at other rows.

    See Also
    --------
    skdp.friendly.Predicate, skdp.friendly.DistancePredicate

    Notes
    -----
    Rows are friends if ``function(x, y)`` *and* ``function(y, x)`` are true, hence symmetric.
    Rows with NaN or infinity are nobody's friends; the function does not see them. It gets copies,
    so it cannot change the rows. Where it raises an ArithmeticError or a ValueError (LinAlgError is
    one) the rows are no friends: an error would tell about them. Other exceptions are mistakes in
    the function itself and pass.

    **Privacy** rests on that contract alone for counting. What friends of friends have in
    common, and what an average or a median of them may cost, is for the caller to prove.

    Time is that of two calls per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly.published import PairwisePredicate
    >>> same_sign = PairwisePredicate(lambda x, y: bool((x * y > 0).all()))
    >>> same_sign.friends(np.array([[1.0], [2.0], [-3.0]])).tolist()
    [2, 2, 1]
    """

    function: object

    def __post_init__(self):
        if not callable(self.function):
            raise TypeError(
                f"function must be callable with two rows. Got {type(self.function).__name__}."
            )

    def implies(self, d):
        """Return None: the function may mean anything."""
        return None

    def matrix(self, A, B):
        """Tell for all pairs of rows of A (n, ...) and B (m, ...) whether they are friends."""
        A, B = np.asarray(A), np.asarray(B)
        related = np.zeros((len(A), len(B)), dtype=bool)
        for i in np.flatnonzero(_finite(A)):
            for j in np.flatnonzero(_finite(B)):
                related[i, j] = self._holds(A[i], B[j]) and self._holds(B[j], A[i])
        return related

    def friends(self, A, B=None):
        """Count for each row of A its friends in B (None: in A), shape (n,), int64."""
        return count_by_matrix(self, np.asarray(A), B if B is None else np.asarray(B))

    def _holds(self, x, y):
        try:
            with np.errstate(all="ignore"):
                return bool(self.function(x.copy(), y.copy()))
        except (ArithmeticError, ValueError):
            return False


def _finite(X):
    return np.isfinite(X).reshape(len(X), int(np.prod(X.shape[1:]))).all(axis=1)


CELLS = 2**18  # entries of the matrices eliminated together


@dataclass(frozen=True)
class CovarianceDistance:
    """Two matrices are friends if A <= (1 + gamma) B and B <= (1 + gamma) A.

    Parameters
    ----------
    gamma : float, default=1.0
        In [2^-20, 4], else ValueError.

    See Also
    --------
    skdp.covariance.published.friendly_covariance, PairwisePredicate

    Notes
    -----
    For positive definite matrices let dist(A, B) be the larger of the operator norms of
    A^-1/2 B A^-1/2 - I and B^-1/2 A B^-1/2 - I. With l the eigenvalues of A^-1 B, this is
    max(max l, 1 / min l) - 1: the larger of l - 1 and 1 / l - 1 is the larger of |l - 1| and
    |1 / l - 1|. So dist <= gamma says that (1 + gamma) A - B and (1 + gamma) B - A are positive
    semidefinite, and A <= (1 + a) B <= (1 + a) (1 + b) C shows that 1 + dist is submultiplicative:
    friends of friends have dist at most (1 + gamma)^2 - 1.

    **The rule**, in float64 with rounding to nearest. Matrices are replaced by M / 2 + M^T / 2.
    Rows and columns are multiplied by powers of two that bring A_ii B_ii near 1, alike for
    (A, B) and (B, A). Let w be the largest entry of both in absolute value, t = d (d + 8) 2^-48 w,
    g = 1 + gamma rounded down. A and B are friends if elimination of g A - B - t I and of
    g B - A - t I, entry by entry in a fixed order, finds positive pivots only. It is exactly
    symmetric and depends on A and B alone; comparisons with NaN fail.

    **It implies dist <= gamma**, with no slack. Scaling by a diagonal changes no l. Entries of the
    differences are at most 6 w and computed with errors below 3 u 6 w, u = 2^-53: norm at most
    18 d u w. With pivots p > 0, the computed l p l^T is the matrix up to errors of at most
    (3 d + 5) u sum_k |l_ik| p_k |l_jk| in entry (i, j); the sum is at most the root of the
    product of two diagonal entries, up to 1 + 4 d u, hence below 6.01 w: norm at most
    (18.1 d + 31) d u w. Both are less than t = 32 (d + 8) d u w together, which was subtracted
    (underflow, 2^-1074 an operation, vanishes in the rest). So g A - B >= 0 and g B - A >= 0;
    strictly, so (g^2 - 1) A > 0: A and B are positive definite.

    Singular and nearly singular matrices (condition after scaling beyond about 2^47 gamma / d^2),
    those with NaN or infinity, and those that are not positive definite are nobody's friends, not
    even their own.

    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly.published import CovarianceDistance
    >>> matrices = np.array([np.eye(2), 1.5 * np.eye(2), 9 * np.eye(2)])
    >>> CovarianceDistance(1.0).friends(matrices).tolist()
    [2, 2, 1]
    """

    gamma: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "gamma", real(self.gamma))
        if not 2.0**-20 <= self.gamma <= 4:
            raise ValueError(f"gamma must be between 2**-20 and 4. Got {self.gamma!r}.")

    def implies(self, d):
        """Return the distance that friends do not exceed."""
        return self.gamma

    def matrix(self, A, B):
        """Tell for all pairs, (n, d, d) and (m, d, d), whether they are friends."""
        A, B = _symmetric(A), _symmetric(B)
        if A.shape[1] != B.shape[1]:
            raise ValueError(f"matrices must be alike. Got shapes {A.shape} and {B.shape}.")
        i, j = np.divmod(np.arange(len(A) * len(B)), max(1, len(B)))
        return self._rule(A, B, i, j).reshape(len(A), len(B))

    def friends(self, A, B=None):
        """Count for each matrix of A its friends in B (None: in A, half the work), int64."""
        counts = np.zeros(len(A), dtype=np.int64)
        if B is not None:
            for i in range(len(A)):
                counts[i] = np.count_nonzero(self.matrix(A[i : i + 1], B))
            return counts
        A = _symmetric(A)
        for i in range(len(A)):
            later = np.arange(i, len(A))
            related = self._rule(A, A, np.full(len(later), i), later)
            counts[i] += np.count_nonzero(related)
            counts[i + 1 :] += related[1:]
        return counts

    def _rule(self, A, B, i, j):
        related = np.empty(len(i), dtype=bool)
        step = max(1, CELLS // A.shape[1] ** 2)
        for k in range(0, len(i), step):
            part = slice(k, k + step)
            related[part] = self._within(A[i[part]], B[j[part]])
        return related

    def _within(self, A, B):
        d, g = A.shape[1], 1 + self.gamma
        g = g if g - 1 <= self.gamma else np.nextafter(g, 0)
        with np.errstate(all="ignore"):
            A, B = _scaled(A, B)
            largest = np.maximum(np.abs(A), np.abs(B)).max(axis=(1, 2))
            t = (d * (d + 8) * 2.0**-48 * largest)[:, None, None] * np.eye(d)
            return _positive(g * A - B - t) & _positive(g * B - A - t)


def _symmetric(A):
    """Return matrices as float64, symmetric."""
    A = np.asarray(A)
    if A.ndim != 3 or A.shape[1] != A.shape[2] or A.shape[1] == 0 or A.dtype.kind not in "fiub":
        raise ValueError(
            f"matrices must be real numbers of shape (n, d, d). Got {A.dtype} of shape {A.shape}."
        )
    A = A.astype(np.float64) / 2
    with np.errstate(all="ignore"):
        return A + A.transpose(0, 2, 1)


def _scaled(A, B):
    """Multiply rows and columns of both by powers of two that bring their diagonals near 1."""
    diagonals = np.einsum("nii->ni", A), np.einsum("nii->ni", B)
    shift = -((np.frexp(diagonals[0])[1] + np.frexp(diagonals[1])[1]) // 4)
    shift = shift[:, :, None] + shift[:, None, :]
    return np.ldexp(A, shift), np.ldexp(B, shift)


def _positive(M):
    """Tell for each matrix whether its elimination finds positive pivots only; overwrites it."""
    positive = np.ones(len(M), dtype=bool)
    for k in range(M.shape[1]):
        pivot = M[:, k, k].copy()
        positive &= pivot > 0
        column = M[:, k + 1 :, k].copy()
        M[:, k + 1 :, k + 1 :] -= (column / pivot[:, None])[:, :, None] * column[:, None, :]
    return positive
