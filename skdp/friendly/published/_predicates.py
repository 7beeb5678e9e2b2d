"""Ordered tuples near each other, and friends by any function of two rows."""

from dataclasses import dataclass

import numpy as np

from skdp.friendly._matching import as_tuples
from skdp.kernel.pairs._distance import DistancePredicate
from skdp.kernel.pairs._public_numbers import real

__all__ = ["PairwisePredicate", "TupleDistance"]

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
