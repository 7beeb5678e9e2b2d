"""What a Curator was asked, and what it answered."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

__all__ = ["NameAnswer", "Record", "RowAnswer"]


@dataclass(frozen=True)
class Record:
    """One release: what went in, under which declared sensitivity, and what came out.

    ``scale`` is the declared scale of the noise; for a choice it is 1 / rate. A release by rows or
    by parts (``by_parts``) has ``owners``, the keys of its rows or the numbers of its parts. A
    selection of names (``named``) has the names for owners, as text, and for its sensitivity the
    largest number of names that neighbours move. The law "matrix" has a matrix of Fractions for its
    value, the distance of neighbours' matrices for its sensitivity, eta for its scale and a factor
    of the noisy matrix for its answer. Integers of rows with weights have their ``unit``, which is
    in the sensitivity and the scale; the bill states both without. ``words`` are the random words
    that were taken for the noise, where it was drawn.

    Parameters
    ----------
    label, law : str
        Of the release.
    value : ndarray
        Before the noise. Private.
    sensitivity : Fraction
    scale : float
    answer : object
        What the Curator returned.
    owners : ndarray or None, default=None
    by_parts, named : bool, default=False
    unit : int, default=1
    words : tuple of int, default=()
        All as above.

    See Also
    --------
    CannedCurator

    Notes
    -----
    **Privacy**: none: for audits, on tables made or chosen for them.

    Examples
    --------
    >>> from skdp.accounting import Budget, Plan, Step
    >>> from skdp.audit import CannedCurator
    >>> curator = CannedCurator(Plan(Budget.pure(1.0), (Step("count", "laplace"),)))
    >>> _ = curator.laplace([17], sensitivity=1, share=1, label="count")
    >>> curator.records[0].label, int(curator.records[0].sensitivity)
    ('count', 1)
    """

    label: str
    law: str
    value: np.ndarray
    sensitivity: Fraction
    scale: float
    answer: object
    owners: np.ndarray | None = None
    by_parts: bool = False
    named: bool = False
    unit: int = 1
    words: tuple = ()

    @property
    def request(self):
        """Everything about a release that may depend on earlier answers only."""
        shape = self.value.shape
        if self.owners is not None:
            shape = ("parts", *shape) if self.by_parts else "names" if self.named else "rows"
        return self.label, self.law, shape, self.sensitivity, self.scale

    def strangers(self, other):
        """Return the number of rows or parts that only one of two records has an entry of."""
        if self.owners is None or self.named:
            return 0
        return len(np.setxor1d(self.owners, other.owners))

    @property
    def allowed(self):
        """The square of what neighbours' values may be apart."""
        return self.sensitivity if self.named else self.sensitivity**2

    def common(self, other):
        """Return the entries of both that neighbouring tables have in common, two arrays."""
        if self.owners is None:
            return self.value, other.value
        if self.named:  # a name that does not occur has the count 0
            names = np.union1d(self.owners, other.owners)
            return self._counts(names), other._counts(names)
        _, i, j = np.intersect1d(self.owners, other.owners, return_indices=True)
        a, b = self.value[i], other.value[j]
        if self.by_parts and len(a):
            keep = np.arange(len(a)) != np.argmax(np.abs(a - b))  # the part that differs
            a, b = a[keep], b[keep]
        return a, b

    def _counts(self, names):
        counts = np.zeros(len(names), dtype=np.int64)
        counts[np.searchsorted(names, self.owners)] = self.value
        return counts


@dataclass(frozen=True)
class NameAnswer:
    """Names that were selected, and the noisy counts of all, if they were drawn."""

    names: list
    noisy: np.ndarray


@dataclass(frozen=True)
class RowAnswer:
    """Noisy entries of a release by rows or parts, with the owners and the exact values."""

    owners: np.ndarray
    value: np.ndarray
    noisy: np.ndarray

    def for_others(self, owners, value, noisy, *, by_parts):
        """Return these answers for the owners in common, and ``noisy`` for the others.

        A part that differs keeps its noise instead.
        """
        answer = noisy.copy()
        _, i, j = np.intersect1d(self.owners, owners, return_indices=True)
        answer[j] = self.noisy[i]
        if by_parts and len(j):
            k = np.argmax(np.abs(value[j] - self.value[i]))
            answer[j[k]] += value[j[k]] - self.value[i[k]]
        return answer
