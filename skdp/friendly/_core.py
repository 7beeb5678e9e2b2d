"""The core of a table: rows any two of which have a common friend."""

from fractions import Fraction

import numpy as np

from skdp._private_part import Local
from skdp.accounting import Step
from skdp.friendly._filters import group_bits, group_friends, group_size, noisy_filter, tail_margin
from skdp.friendly._match import bounds_distance
from skdp.kernel._sums import Count
from skdp.kernel._table import Table
from skdp.kernel.pairs._distance import whole
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import exact, log_of
from skdp.mechanisms._norms import as_table
from skdp.readers import ArrayRows, map_merge

MOST_UNSAMPLED = 20_000  # rows; above, friends are counted in random groups
COUNT = Fraction(1, 100)  # share


class LocalCore(Local):
    """The core of a table with what is proved of it: the certificate that friendly steps ask for.

    **Local and private**: not for publication, in whole or in part. Mask, predicate and bounds
    travel together and cannot be changed: noise for a core is calibrated to the very predicate that
    decided who is a friend in it.

    Parameters
    ----------
    mask : array of shape (n,), bool
        Private; so are its sum and everything computed from it, unless a Curator released it. Any
        two rows in it share a friend in the table.
    predicate : Predicate or None
        Who is whose friend. Public or released. None if no row is in the core.
    n_up : int, default=None
        Released; at least the number of finite rows outside the planned failure. None for a core
        that certifies no number.
    level : float or Fraction, default=1/2
        A core row has fewer than level * n_up non-friends.

    See Also
    --------
    friendly_core, friendly_average

    Notes
    -----
    **Privacy**: none: it is as private as the rows; friendly steps release what is computed from
    it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import DistancePredicate, LocalCore
    >>> core = LocalCore(np.array([True, True, False]), DistancePredicate(2.0), n_up=3)
    >>> core.n_up, core.predicate.radius
    (3, 2.0)
    """

    def __init__(self, mask, predicate, n_up=None, level=Fraction(1, 2)):
        mask = np.array(mask, dtype=bool)
        if predicate is None and mask.any():
            raise ValueError("a core with rows needs the predicate under which they are friends.")
        mask.flags.writeable = False
        self._proved = mask, predicate, None if n_up is None else whole(n_up), exact(level)

    @property
    def mask(self):
        """Which rows are in the core. Private."""
        return self._proved[0]

    @property
    def predicate(self):
        """Who is whose friend: what the rows of the core were certified under."""
        return self._proved[1]

    @property
    def n_up(self):
        """Released bound on the number of rows, or None."""
        return self._proved[2]

    @property
    def level(self):
        """Part of the rows, n_up of them, that a core row has fewer non-friends than."""
        return self._proved[3]

    @property
    def radius(self):
        """The radius within which any two core rows have a common friend.

        None where the predicate bounds no distance.
        """
        return self.predicate.radius if bounds_distance(self.predicate) else None


def friendly_core_plan(label="core"):
    """Return the steps and the names of the failure events of :func:`friendly_core`.

    Parameters
    ----------
    label : str, default="core"

    Returns
    -------
    steps : tuple of Step
    events : tuple of str

    See Also
    --------
    friendly_core

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.friendly import friendly_core_plan
    >>> steps, events = friendly_core_plan()
    >>> events
    ('core row count', 'core filter')
    """
    events = (f"{label} row count", f"{label} filter")
    counted, chosen = events
    return (Step(counted, of=(Count,)), Step(chosen)), events


def row_bound(X, curator, *, share=COUNT, label="core"):
    """Release an upper bound on the number of rows."""
    log_p, table = curator.fails(f"{label} row count"), Table(_rows(X), curator)
    count = table.ask(Count(), share=share, label=f"{label} row count", law="gaussian")
    return int(count.value[0]) + tail_margin(log_p, count.scale) + 1


def friendly_core(
    X,
    predicate,
    curator,
    *,
    share=None,
    n_up=None,
    label="core",
    level=Fraction(1, 2),
    most=MOST_UNSAMPLED,
):
    """Find rows any two of which have a common friend in the table.

    Parameters
    ----------
    X : array of shape (n, d) or ArrayRows
        Rows with NaN or infinity are as if absent.
    predicate : Predicate
        For instance :class:`DistancePredicate`.
    curator : Curator
        Its plan holds what :func:`friendly_core_plan` names.
    share : float or Fraction, default=None
        Of the filter. None takes, from the released row count, as much as keeps a core that all
        rows are friends in: 3 % to 50 % of the budget, 10 % at least above ``most`` rows.
    n_up : int, default=None
        What :func:`row_bound` has released in this fit under the same label; None calls it, for 1 %
        of the budget.
    label : str, default="core"
    level : float or Fraction in (0, 1/2], default=1/2
        Core rows have fewer than level * n non-friends.
    most : int, default=20000
        With more rows (as released) friends are counted in random groups of 1000 rows to ``most``
        rows, as many as the noise of the filter asks for. The time is linear in the rows.

    Returns
    -------
    core : LocalCore

    See Also
    --------
    friendly_core_plan, friendly_average, skdp.FriendlyCoreFilter

    Notes
    -----
    **Privacy** (add or remove a row). The row count is a Gaussian step; n_up, raised by its margin
    and by 1, is at least the number of rows of the larger neighbour, seen from either. For the
    rest see :func:`noisy_filter`. The core itself is not released. A friendly algorithm after
    it is one whose privacy is proved for neighbours in whose union any two rows share a friend;
    its steps and the filter's add up.

    Examples
    --------
    A friendly median of every column: core rows are within 2 r of each other, so a grid of
    width r / 4 around a released centre needs few cells, and a noisy histogram tells the median.

    >>> import numpy as np
    >>> from skdp.gate._curator import make_curator
    >>> from skdp.accounting import Budget, Plan, Step
    >>> from skdp.mechanisms import make_entropy
    >>> from skdp.friendly import DistancePredicate
    >>> from skdp.friendly import friendly_average
    >>> X, r = np.random.default_rng(0).normal(size=(2000, 2)) + 1e6, 6.0
    >>> steps, events = friendly_core_plan()
    >>> budget = Budget.gaussian(2.0, 1e-6)
    >>> names = (*events, "size")
    >>> plan = Plan(
    ...     budget,
    ...     (*steps, Step("size"), Step("centre"), Step("histogram")),
    ...     tuple((name, budget.failure / 3) for name in names),
    ... )
    >>> curator = make_curator(plan, make_entropy(0))
    >>> core = friendly_core(X, DistancePredicate(r), curator, share=0.3)
    >>> centre = friendly_average(
    ...     X, core, curator=curator, count_share=0.05, share=0.3,
    ...     labels=("size", "centre"), event="size")
    >>> cells = np.clip((X[core.mask] - centre.value) / (r / 4), -16, 15)  # each row by itself
    >>> cells = np.floor(cells).astype(int) + 16
    >>> counts = [np.bincount(column, minlength=32) for column in cells.T]
    >>> histogram = curator.gaussian(  # a row is in one cell of each of two columns
    ...     counts, sensitivity=1.5, share=0.3, label="histogram").value
    >>> halves = histogram.sum(axis=1) / 2
    >>> place = [np.searchsorted(np.cumsum(h), half) for h, half in zip(histogram, halves)]
    >>> median = centre.value + (np.array(place) - 15.5) * (r / 4)
    >>> bool(np.all(np.abs(median - 1e6) < 2))
    True
    """
    rows, level, most = _rows(X), exact(level), whole(most)
    n_up = row_bound(rows, curator, label=label) if n_up is None else whole(n_up)
    index = map_merge(rows, _finite_index, lambda a, b: np.concatenate([a, b]))
    kept = np.zeros(len(rows), dtype=bool)
    if n_up < 1:
        curator.doubt("too few rows: the core is empty. Use a larger epsilon or more rows")
        return LocalCore(kept, predicate, 0, level)
    strength = float(curator.budget.amount) * (1 if curator.budget.measure == "gdp" else 2)  # mu^2
    if share is None:
        counted = min(n_up, most / 2)
        least = 0.03 if n_up <= most else 0.1  # a larger share takes smaller groups, less time
        wanted = min(max(60 / (counted * strength * float(level) ** 2), least), 0.5)
        share = Fraction(min(Fraction(wanted), curator.remaining / 2))
    bits, keys = 0, None
    if n_up > most:
        log_p = log_of(curator.budget.failure) if curator.budget.failure else -700.0
        size = group_size(n_up, strength * float(share), log_p, level=level, most=most)
        bits = group_bits(n_up, size)
        keys = curator.coins.keys(0, len(rows), use=f"{label} groups")[index]
    counts, sizes = group_friends(rows, index, keys, bits, predicate)
    kept[index] = noisy_filter(
        counts,
        sizes,
        n_up=n_up,
        curator=curator,
        share=share,
        label=f"{label} filter",
        event=f"{label} filter",
        rows=index,
        level=level,
        q=2.0**-bits,
    )
    return LocalCore(kept, predicate, n_up, level)


def _rows(X):
    return X if hasattr(X, "map_merge") else ArrayRows(as_table(X))


def _finite_index(start, block):
    return start + np.flatnonzero(finite_rows(block))
