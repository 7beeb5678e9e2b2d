"""What a predicate is."""

from typing import Protocol, runtime_checkable

from skdp.kernel.pairs._distance import DistancePredicate

__all__ = ["Predicate", "bounds_distance"]


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
