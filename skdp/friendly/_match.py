"""What a predicate is and how one's own is tried; friends among unordered tuples of k points."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np

from skdp.friendly._matching import aligned_squares, as_tuples, count_aligned
from skdp.kernel.pairs._distance import DistancePredicate, real


def bounds_distance(predicate):
    """Tell whether a core under a predicate, or under one of a class, bounds a distance.

    :class:`DistancePredicate` does. A subclass could call other rows friends, and proofs read the
    rule: so it does not.
    """
    return predicate is DistancePredicate or type(predicate) is DistancePredicate


@runtime_checkable
class Predicate(Protocol):
    """Who is whose friend: the contract that privacy proofs rest on.

    - Whether x and y are friends depends on x and y alone, and on public numbers: not on other
      rows, positions, blocks, threads, or earlier calls.
    - It is exactly symmetric, in the arithmetic that decides it.
    - It never raises, whatever the rows hold. Rows with NaN or infinity are nobody's friends, not
      even their own. Other rows need not be their own friends either: a row's count is evaluated.
    - If x and y are friends, what `implies` states holds for them as real numbers.

    :class:`skdp.FriendlyCoreFilter` tries one of your own on made-up rows and refuses it where it
    breaks this; beyond them it is a promise, which its plan and report list.

    So adding a row moves the count of every other row by 0 or 1, replacing one by at most 1.

    See Also
    --------
    DistancePredicate, MatchPredicate, skdp.friendly.published.PairwisePredicate

    Notes
    -----
    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> from skdp.friendly import DistancePredicate
    >>> round(DistancePredicate(3.0).implies(2), 6)  # of friends of friends, two columns
    3.0
    """

    def friends(self, A, B=None):
        """Count for each row of A its friends in B, or in A: shape (n,), int64."""

    def implies(self, d):
        """Return the bound that friends with d columns are certain to meet."""


@dataclass(frozen=True)
class MatchPredicate:
    """Two tuples are friends if the points of one can be paired with those of the other, clearly.

    With s = gamma, x and y match if there is a permutation p such that for all i and all j != i

        |x_i - y_p(i)| < s |x_i - y_p(j)|    and    |x_i - y_p(i)| < s |x_j - y_p(i)| .

    Parameters
    ----------
    gamma : float, default=1/7
        In [2^-20, 1/3], else ValueError.

    See Also
    --------
    FusedMatch, friendly_tuples

    Notes
    -----
    The order of points within a tuple is irrelevant. The condition is strict: a tuple with
    two equal points has no friends, not even itself. Tuples of one point (k = 1) all match: there
    is no j. A tuple with NaN, infinity or an entry beyond 2^500 has no friends, not even itself.

    **The rule**, in float64 with rounding to nearest. D_ij adds the squares fl(fl(x_ic - y_jc)^2)
    in the order of c: bit for bit D_ji of the pair (y, x). In each row and in each column of D the
    smallest entry is less than fl(g times the second smallest), g = fl((s (1 - 2^-20))^2), which is
    at least 2^-900; and each row's smallest entry is the smallest of its column. Rows and
    columns are treated alike, so the rule is exactly symmetric, and it sees nothing but x and y.

    *It implies the definition* with s (1 - 2^-21), u = 2^-53: D_ij = (1 +- (d + 2) u) |x_i - y_j|^2
    +- d 2^-1074, so the rule bounds a ratio of distances by s (1 - 2^-20) (1 + (d + 6) u), plus
    less than 2^-60 s for what underflows, for d < 2^20.

    **Friends of friends** (proof). If x, y match with s and y, z with s, pairs put in the same
    order, let a = |x_i - y_i|, D = |x_i - z_j|, j != i. As |y_j - z_j| < s |y_i - z_j|
    <= s (a + D), a < s |x_i - y_j| <= s (D + s (a + D)), so a < s D / (1 - s), and |y_i - z_i|
    < s (a + D) < s D / (1 - s). So x and z match with 2 s / (1 - s), via the composed permutation
    (|x_j - z_i|: exchange x and z). Where that is at most 1, p(i) is *the* nearest point: unique.

    *Consistent orders.* Let S be tuples of which any two share a friend, with s <= 1/7: any two
    match with 1/3, any three via composed permutations with 1, so by uniqueness the permutations of
    S compose. With s <= 1/3 let any three tuples of S share a friend w: permutations through w
    match with 1, hence they are the unique ones, and they factor through w, so they compose.
    `least` says which part of the tuples must be certified friends: of sets of more than 1/2 any
    two intersect, of sets of more than 2/3 any three.

    *Rounding.* Matches of S hold with at most 1 - 2^-21, and their distances to wrong partners are
    at least 2/3 those between friends: floats find the same nearest points, see :meth:`order`.

    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import MatchPredicate
    >>> tuples = np.array([[[0.0], [10.0]], [[10.1], [0.1]], [[0.0], [1.0]]])
    >>> MatchPredicate().friends(tuples).tolist()
    [2, 2, 1]
    """

    gamma: float = 1 / 7

    def __post_init__(self):
        object.__setattr__(self, "gamma", real(self.gamma))
        if not 2.0**-20 <= self.gamma <= 1 / 3:
            raise ValueError(
                f"gamma must be between 2**-20 and 1/3. Got {self.gamma!r}: beyond 1/3 the order "
                "of the points is not determined."
            )

    @property
    def least(self):
        """The part of all tuples that must be friends of each core tuple, for consistent orders."""
        return Fraction(1, 2) if self.gamma <= 1 / 7 else Fraction(2, 3)

    @property
    def limit(self):
        """The largest squared distance of partners."""
        return np.finfo(np.float64).max

    def implies(self, d):
        """Return the ratio with which friends match, as real numbers."""
        return self.gamma

    def matrix(self, A, B):
        """Tell for all pairs of small sets, (n, k, d) and (m, k, d), whether they are friends."""
        return aligned_squares(A, B, self.gamma) <= self.limit

    def friends(self, A, B=None):
        """Count for each tuple of A its friends in B (None: in A), shape (n,), int64."""
        return self.friends_within(A, [self.limit], B)[:, 0]

    def friends_within(self, A, limits, B=None):
        """Count the friends with partners within several distances, by one pass over the pairs.

        Parameters
        ----------
        A : array of shape (n, k, d)
        limits : increasing sequence of m floats
            Squared distances, ``FusedMatch.limit`` of several predicates.
        B : array of shape (n', k, d), default=None
            None takes A, which takes half of the work.

        Returns
        -------
        counts : ndarray of shape (n, m), int64

        Notes
        -----
        Time is that of n n' k^2 d / 2 elementary operations for B = None; memory below 8 MB beyond
        the tuples and the counts.
        """
        return count_aligned(A, B, self.gamma, limits)

    def order(self, X, reference):
        """Put the points of each tuple in the order of their partners in a reference.

        Parameters
        ----------
        X : array of shape (n, k, d)
        reference : array of shape (k, d)

        Returns
        -------
        ordered : ndarray of shape (n, k, d)
            Position i holds the point nearest to ``reference[i]``. Tuples for which this is no
            permutation, garbage included, stay as they are.
        """
        X, reference = as_tuples(X), as_tuples(np.asarray(reference)[None])[0]
        total = np.zeros((len(X), len(reference), X.shape[1]))
        with np.errstate(all="ignore"):
            for c in range(X.shape[2]):
                squares = reference[None, :, None, c] - X[:, None, :, c]
                squares *= squares
                total += squares
        nearest = total.argmin(axis=2)
        stay = np.arange(X.shape[1])
        proper = (np.sort(nearest, axis=1) == stay).all(axis=1)
        nearest[~proper] = stay
        return np.take_along_axis(X, nearest[:, :, None], axis=1)


@dataclass(frozen=True)
class FusedMatch(MatchPredicate):
    """Two tuples are friends if they match and partners are at most `radius` apart.

    Parameters
    ----------
    gamma : float, default=1/7
    radius : float, default=1.0
        Between 2^-400 and 2^400, else ValueError.

    See Also
    --------
    MatchPredicate, friendly_tuples

    Notes
    -----
    The rule of :class:`MatchPredicate`, and D_ij <= fl(radius radius) for partners. In consistent
    order, friends of friends are at most twice the certified radius apart, point by point.

    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import FusedMatch
    >>> tuples = np.array([[[0.0], [10.0]], [[10.1], [0.1]], [[0.0], [12.0]]])
    >>> FusedMatch(radius=1.0).friends(tuples).tolist()
    [2, 2, 1]
    """

    radius: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "radius", real(self.radius))
        if not 2.0**-400 <= self.radius <= 2.0**400:
            raise ValueError(f"radius must be between 2**-400 and 2**400. Got {self.radius!r}.")

    @property
    def limit(self):
        """The largest squared distance of partners."""
        return self.radius * self.radius

    def implies(self, d):
        """Return a radius that the real distance of partners does not exceed.

        See :class:`DistancePredicate`; d 2^-1074 of underflow vanishes in the rounding.
        """
        return self.radius * (1 + (d + 5) * 2.0**-52)


LEVELS = np.array([0.0, 1.0, -1.0, 2.0, 2.0, 8.0, -100.0, 1e6, 1e150])  # their squares are finite
COUNTS = "friends(A) must be an array of shape (n,) of integers from 0 to n"
PAIRS = "one row more must move the count of every other row by 0 or 1, the same beside any rows"
SYMMETRY = "if x is a friend of y, y must be a friend of x"
REPEATED = "friends(A) must be the same in every call"


def own_predicate_note(predicate):
    """Return what a reader of a plan must know of a predicate, None of what a radius stands for."""
    if predicate is None or type(predicate) is DistancePredicate:
        return None
    return (
        f"predicate {type(predicate).__name__}: on your promise that who is whose friend depends "
        "on the two rows alone and is symmetric; tried on made-up rows alone"
    )


def check_own_predicate(predicate, n_features):
    """Raise ValueError for a predicate that breaks a promise on made-up rows.

    Notes
    -----
    **Privacy**: of public integers, always the same. Tried is what :func:`noisy_filter` and
    :func:`group_friends` rest on: there is a symmetric relation of rows such that a row's count is
    the number of rows related to it, in every set of rows. What ``implies`` returns enters no
    release of a filter. What passes may break a promise elsewhere: it stays a promise.
    """
    if own_predicate_note(predicate) is None:
        return
    try:
        with np.errstate(all="ignore"):
            told = _broken(predicate, np.outer(LEVELS, 1 + np.arange(n_features) % 3))
    except Exception as error:  # of code that is not ours, on public rows
        told = f"it raised {type(error).__name__}"
    if told is not None:
        raise ValueError(
            f"the predicate {type(predicate).__name__} breaks a promise on made-up rows: {told}. "
            "The decisions of the filter would not be private. Correct it, or pass a radius."
        )


def _broken(predicate, A):
    """Return which promise is broken on subsets of the rows A, None if none is."""

    def friends(kept):
        counts = np.asarray(predicate.friends(A[kept].copy()))
        good = counts.shape == (len(kept),) and counts.dtype.kind in "iu"
        return counts if good and np.all((counts >= 0) & (counts <= len(kept))) else None

    every = np.arange(len(A))
    subsets = [every, every, *(every[every != i] for i in every)]
    subsets += [every[::-1], *(every[:k] for k in every[1:])]
    told = [friends(kept) for kept in subsets]
    if any(counts is None for counts in told):
        return COUNTS
    if np.any(told[0] != told[1]):
        return REPEATED
    related = np.zeros((len(A), len(A)), dtype=np.int64)
    for i, without in enumerate(told[2 : 2 + len(A)]):
        related[np.delete(every, i), i] = np.delete(told[0], i) - without
    if not np.isin(related, (0, 1)).all():
        return PAIRS
    if np.any(related != related.T):
        return SYMMETRY
    own = told[0] - related.sum(1)
    np.fill_diagonal(related, own)
    sums = (related[np.ix_(kept, kept)].sum(1) for kept in subsets)
    alike = all(np.array_equal(a, b) for a, b in zip(sums, told, strict=True))
    return None if alike and np.isin(own, (0, 1)).all() else PAIRS
