"""The search of one set of rows for its clusters, by counts alone."""

from dataclasses import dataclass
from fractions import Fraction

from skdp.accounting import Step
from skdp.cluster._subspace import find_subspace, whole_space
from skdp.cluster._synopsis import Synopsis
from skdp.cluster._tree import grow, schedule
from skdp.kernel._cluster_sums import LocatedGram
from skdp.kernel._clusters import GridCells
from skdp.kernel._lattice import Subspace
from skdp.kernel._places import Located

__all__ = ["FLAT", "SEARCH_STEPS", "Found", "search_cells"]

GRAM = Step("gram", at_most=0.12, of=(LocatedGram,))
CELLS = Step("cells", at_most=0.40, times=4, of=(GridCells,))
SEARCH_STEPS = GRAM, CELLS
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


def search_cells(located, *, n_clusters, signal, share, seed, steps=SEARCH_STEPS):
    """Find the cells in which the rows of a ball lie: a subspace, and a noisy tree of counts on it.

    A search for :func:`skdp.cluster._lockstep.in_step`. Searches with the same ``signal`` and
    ``share``, and for tables of one number of columns, ask for the same shares.
    """
    if len(located.center) <= FLAT:
        subspace = whole_space(located.half)
    else:
        most = min(max(n_clusters - 1, 2), 2 if signal < 30 else 3 if signal < 100 else 6)
        gram_share = Fraction(GRAM.at_most) * share
        subspace = yield from find_subspace(located, most=most, share=gram_share, step=steps[0])
    plan = schedule(signal, n_clusters, flat=subspace.W is None, p=len(subspace.half))
    synopsis = yield from grow(
        located, subspace, plan, n_clusters=n_clusters,
        share=Fraction(CELLS.at_most) * share, seed=seed, step=steps[1],
    )  # fmt: skip
    return Found(located, subspace, synopsis)
