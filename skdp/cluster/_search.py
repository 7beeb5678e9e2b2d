"""The search of one set of rows for its clusters, by counts alone."""

from dataclasses import dataclass
from fractions import Fraction

from skdp.accounting import Step
from skdp.cluster._subspace import find_subspace, whole_space
from skdp.cluster._synopsis import Synopsis
from skdp.cluster._tree import grow, schedule
from skdp.kernel._lattice import Subspace
from skdp.kernel._places import Located

__all__ = ["FLAT", "Found", "search_cells", "search_steps"]

GRAM_SHARE, TREE_SHARE = 0.12, 0.40
FLAT = 3  # columns up to which the tree grows in all coordinates


@dataclass(frozen=True)
class Found:
    """Where the rows of one set lie. Everything is released.

    ``located``: a ball that holds them; ``synopsis``: cells in the coordinates of ``subspace``, in
    units of the radius, seen from the centre.
    """

    located: Located
    subspace: Subspace
    synopsis: Synopsis


def search_steps():
    """Return the planned steps of :func:`search_cells`, a tuple of Step."""
    return (Step("gram", at_most=GRAM_SHARE), Step("cells", at_most=TREE_SHARE, times=4))


def search_cells(located, *, n_clusters, signal, share, seed, labels=("gram", "cells")):
    """Find the cells in which the rows of a ball lie: a subspace, and a noisy tree of counts on it.

    A search for :func:`skdp.cluster._lockstep.in_step`. Searches with the same ``signal`` and
    ``share``, and for tables of one number of columns, ask for the same shares.

    Parameters
    ----------
    located : Located
        Rows beyond twice its reach are left out.
    n_clusters : int
    signal : float
        Rows of a cluster in standard deviations of the noise of a count bought with ``share``.
    share : Fraction
        Of which .52 are spent at most.
    seed : int
        Public, for k-means on released cells.
    labels : (str, str), default=("gram", "cells")
        Of what is asked for.

    Returns
    -------
    found : Found
    """
    if len(located.center) <= FLAT:
        subspace = whole_space(located.half)
    else:
        most = min(max(n_clusters - 1, 2), 2 if signal < 30 else 3 if signal < 100 else 6)
        gram_share = Fraction(GRAM_SHARE) * share
        subspace = yield from find_subspace(located, most=most, share=gram_share, label=labels[0])
    plan = schedule(signal, n_clusters, flat=subspace.W is None, p=len(subspace.half))
    synopsis = yield from grow(
        located, subspace, plan, n_clusters=n_clusters,
        share=Fraction(TREE_SHARE) * share, seed=seed, label=labels[1],
    )  # fmt: skip
    return Found(located, subspace, synopsis)
