"""Friends by distance: the rule, elementwise, and the distance that it guarantees."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.kernel.pairs._counting import count_between, count_within
from skdp.kernel.pairs._public_numbers import real
from skdp.mechanisms._norms import as_table


@dataclass(frozen=True)
class DistancePredicate:
    """Two rows are friends if their Euclidean distance is at most `radius`.

    Parameters
    ----------
    radius : float
        Between 2^-1000 and 2^1000, else ValueError.

    See Also
    --------
    friendly_core, MatchPredicate

    Notes
    -----
    **The rule**, in float64 with rounding to nearest. A row x (float32 and integers are cast first)
    is multiplied by the power of two that brings r, the radius, to [1, 2). Then x and y are friends
    if S <= fl(r r), where S adds the squares fl(fl(x_k - y_k)^2) one after the other from k = 0.
    It is symmetric and depends on x and y alone. Comparisons with NaN fail: a row that holds NaN or
    infinity, or leaves the range of float64 when multiplied, is nobody's friend, not even its own.
    Differences whose squares overflow are those of rows at least 2^511 radii apart.

    **Certified radius.** Let u = 2^-53 and D the real distance of the multiplied rows. Differences,
    squares and d - 1 additions round by factors within 1 +- u, squares below 2^-1022 by
    at most 2^-1022 each: S >= (1 - u)^(d+2) D^2 - d 2^-1022. With S <= r^2 (1 + u),

        D <= r (1 - u)^(-(d+3)/2) (1 + d 2^-1022) <= r (1 + (d + 4) u)

    as long as d < 2^50. Multiplication is exact but for entries that become subnormal, which adds
    less than sqrt(d) 2^-1021 to D: within what the last step rounded up.

    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import DistancePredicate
    >>> DistancePredicate(1.5).friends(np.array([[0.0], [1.0], [2.0], [9.0]])).tolist()
    [2, 3, 2, 1]
    """

    radius: float

    def __post_init__(self):
        object.__setattr__(self, "radius", real(self.radius))
        if not 2.0**-1000 <= self.radius <= 2.0**1000:
            raise ValueError(
                f"radius must be between 2**-1000 and 2**1000. Got {self.radius!r}: "
                "change the unit of the rows."
            )

    @property
    def unit(self):
        """The largest power of two that is at most the radius."""
        return math.ldexp(1.0, math.frexp(self.radius)[1] - 1)

    @property
    def limit(self):
        """The rounded square of the radius in units of `unit`."""
        r = self.radius / self.unit
        return r * r

    def certified_radius(self, d):
        """Return a float that the real distance of friends with d columns does not exceed.

        It is radius * (1 + (d + 5) * 2^-52), rounded: above the bound of the class whichever way.
        """
        return self.radius * (1 + (d + 5) * 2.0**-52)

    def implies(self, d):
        """Return what friends are certain to meet: :meth:`certified_radius`."""
        return self.certified_radius(d)

    def rows(self, X, out=None):
        """Return rows in units of `unit`, as float64."""
        return np.multiply(X, 1 / self.unit, out=out, dtype=np.float64)

    def rule(self, x, y):
        """Apply the rule to pairs of rows in units of `unit`: two (p, d) arrays give p bools."""
        squares = x - y
        squares *= squares
        return np.add.accumulate(squares, axis=1)[:, -1] <= self.limit

    def rule_for_all(self, x, y):
        """Apply the rule to all pairs: (p, d) and (q, d) arrays give (p, q) bools."""
        total = np.zeros((len(x), len(y)))
        for x_k, y_k in zip(x.T, y.T, strict=True):
            squares = np.subtract.outer(x_k, y_k)
            squares *= squares
            total += squares
        return total <= self.limit

    def friends(self, A, B=None):
        """Count for each row of A the rows of B that are its friends.

        Parameters
        ----------
        A : array of shape (n, d)
        B : array of shape (m, d), default=None
            None takes A, every row of which counts itself; this takes half of the work.

        Returns
        -------
        counts : ndarray of shape (n,), int64

        Notes
        -----
        **Privacy.** The counts are those of the rule, pair by pair, whatever the order, blocks or
        threads: adding a row to B adds 1 to the counts of its friends and 0 to all others.

        Memory is that of B and of n integers; see `skdp.kernel.pairs._counting` for the method.
        """
        A, B = as_table(A), B if B is None else as_table(B)
        if B is not None and A.shape[1] != B.shape[1]:
            raise ValueError(
                f"A and B must have the same columns. Got {A.shape[1]} and {B.shape[1]} columns."
            )
        with np.errstate(all="ignore"):
            return count_within(A, self) if B is None else count_between(A, B, self)
