"""Friends counted in random groups, and filters: from these numbers to a core of common friends."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.special import ndtri_exp

from skdp.kernel.pairs._distance import real, whole
from skdp.mechanisms._exact import exact, sqrt_up
from skdp.readers._loop import threaded
from skdp.readers._some_rows import takes


def group_bits(n_rows, size):
    """Return b such that 2^b groups of n_rows rows have at least ``size`` rows on average."""
    return max(0, math.floor(math.log2(max(1.0, real(n_rows) / real(size)))))


def group_friends(rows, index, keys, bits, predicate):
    """Count for every row its friends in a random group of rows that it belongs to.

    Parameters
    ----------
    rows : ArrayRows
    index : array of shape (n,), int
        The rows to be counted, all finite.
    keys : array of shape (n,), uint64
        Their secret keys, independent of everything before: the group is the top ``bits`` bits.
    bits : int
    predicate : Predicate

    Returns
    -------
    counts, sizes : ndarrays of shape (n,), int64
        Friends in the group, the row itself included, and rows of the group.

    See Also
    --------
    noisy_filter, friendly_core, skdp.mechanisms.RowKeys

    Notes
    -----
    **Privacy** (add or remove a row; common rows keep their keys). The new row changes the counts
    and sizes of its own group alone, of each row there by one at most. The others of that group
    number Bin(n - 1, 2^-bits). Groups are counted apart from each other, on the threads that
    ``n_jobs`` asks for. Given the key of a row, each other row is in its group with
    probability 2^-bits, independently: the group is a Poisson sample of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows
    >>> from skdp.friendly import DistancePredicate, group_friends
    >>> rows, keys = ArrayRows(np.array([[0.0], [0.5], [9.0]])), np.zeros(3, dtype=np.uint64)
    >>> counts, sizes = group_friends(rows, np.arange(3), keys, 1, DistancePredicate(1.0))
    >>> counts.tolist(), sizes.tolist()
    ([2, 2, 1], [3, 3, 3])
    """
    bits = whole(bits)
    counts, sizes = np.empty((2, len(index)), dtype=np.int64)
    if bits == 0:
        counts[:], sizes[:] = predicate.friends(rows.take(index)), len(index)
        return counts, sizes
    labels = (keys >> np.uint64(64 - bits)).astype(np.uint32)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels, minlength=2**bits))[:-1])
    groups = [group for group in groups if group.size]
    gathered = takes(rows, (index[group] for group in groups))
    friends = threaded(partial(predicate.friends, X) for X in gathered)
    for group, found in zip(groups, friends, strict=True):
        counts[group], sizes[group] = found, group.size
    return counts, sizes


def binomial_bound(n, q, log_p):
    """Return an integer k with P(Bin(n, q) > k) <= e^log_p, for q <= 1.

    With mean m = n q and k = (1 + x) m, Bennett's inequality bounds the probability by
    exp(-m ((1 + x) log(1 + x) - x)).
    """
    if q >= 1:
        return n
    mean, low, high = n * q, 0.0, 1.0
    enough = -log_p * (1 + 1e-9) / mean

    def exponent(x):
        return (1 + x) * math.log1p(x) - x

    while exponent(high) < enough:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if exponent(middle) < enough else (low, middle)
    return min(n, math.ceil(mean * (1 + high) * (1 + 1e-9)))


def tail_margin(log_probability, scale):
    """Return an integer k with P(round(scale Z) > k) <= the probability, Z standard normal."""
    return max(0, math.ceil(-float(ndtri_exp(log_probability)) * scale * (1 + 1e-9)))


def certain_count(curator, n, *, share, label, event, law="gaussian"):
    """Release a private number, less a margin: larger than the number in the planned event alone.

    **Privacy**: one row, or element, moves the number by 1, which is the sensitivity. Of the
    numbers of two neighbours the larger is exceeded with at most the planned probability.
    """
    log_p = curator.fails(event)
    draw = curator.gaussian if law == "gaussian" else curator.laplace
    count = draw([n], sensitivity=1, share=share, label=label)
    if law == "gaussian":
        return int(count.value[0]) - tail_margin(log_p, count.scale)
    margin = math.ceil((-log_p - math.log(2)) * count.scale * (1 + 1e-9))
    return int(count.value[0]) - max(0, margin)


def noisy_filter(
    counts, sizes, *, n_up, curator, share, label, event, rows=None, level=Fraction(1, 2), q=1
):
    """Keep rows whose number of friends is certainly above (1 - level) n.

    Parameters
    ----------
    counts : array of shape (n,), int
        Friends of the rows in the table, or in random groups, see
        :func:`skdp.friendly.group_friends`.
    sizes : int or array of shape (n,), int
        Private: rows of the table, or of the groups.
    n_up : int
        Released; at least the number of rows of the larger neighbour outside a planned failure.
    curator, share, label, event
        The planned Gaussian step and the failure event "a bad row is kept".
    rows : array of shape (n,), int, default=None
        The numbers of the rows in the table, None for all in order.
    level : float or Fraction in (0, 1/2]
        Kept rows have fewer than level * n non-friends in the larger neighbour.
    q : float, default=1
        Public probability that a row is in the group of another.

    Returns
    -------
    core : ndarray of bool
        Private. Any two kept rows share a friend.

    See Also
    --------
    friendly_core, replace_one_filter

    Notes
    -----
    **Privacy** (add or remove a row x_j; D the larger table, n its rows). Released inside the
    engine, row by row, are the integers 2 c_i - n. One row moves those of the others by 1:
    sensitivity sqrt(n_up - 1). Couple with ideal runs that overwrite the entries of *bad* rows,
    those with c_i <= (1 - level) n in D, the same for both runs, by "dropped". Whether x_j itself
    is kept is decided by noise of its own, hence mixes the later releases on the core with x_j and
    on the core without. Real and ideal runs differ with at most the planned probability: a bad row
    shows at most (1 - 2 level) n on D, one more on D', and at most n_up rows are bad.

    **In groups** the integers are 2 c_i - n_i, the rows of the group of i. One row moves those of
    its own group, by 1: the square of the sensitivity is a bound on its size that fails with at
    most half of the planned probability, for reasons that neither table has a part in: its coins.
    A bad row shows itself and a Poisson sample of the other rows, on D or on D': its integer v has
    ln E e^(tv) <= t + q n ((1 - level) (e^t - 1) + level (e^-t - 1)). Chernoff's bound with the
    Gaussian noise gives the threshold, for any t > 0, at the other half of the probability. (One
    sample of the table for all rows would be wrong with the sensitivity of groups: with
    probability q a row moves all counts.)

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.friendly import noisy_filter
    >>> budget = Budget.gaussian(1.0, 1e-6)
    >>> plan = Plan(budget, (Step("filter"),), (("bad row", budget.failure),))
    >>> counts = np.repeat([4990, 10], [4990, 10])  # of friends
    >>> core = noisy_filter(counts, 5000, n_up=5100, curator=CannedCurator(plan, "noise"), share=1,
    ...                     label="filter", event="bad row")
    >>> bool(core[:4990].all()), bool(core[4990:].any())
    (True, False)
    """
    n_up, q = whole(n_up), real(q)
    if n_up < 1:
        return np.zeros(len(counts), dtype=bool)
    level, grouped = _level(level), q < 1
    log_p = curator.fails(event) - (math.log(2) + 1e-9) * grouped
    moved = binomial_bound(n_up - 1, q, log_p)
    values = 2 * np.asarray(counts, dtype=np.int64) - np.asarray(sizes, dtype=np.int64)
    release = curator.gaussian(
        values,
        sensitivity=sqrt_up(max(1, moved)),
        share=share,
        label=label,
        rows=np.arange(len(values)) if rows is None else rows,
    )
    return release.value > filter_threshold(log_p, release.scale, n_up, level, q)


def filter_threshold(log_p, scale, n_up, level, q=1):
    """Return what the noisy integer of a bad row exceeds with at most e^log_p.

    All rows together.
    """
    n_up, q, scale = whole(n_up), real(q), real(scale)
    log_p = real(log_p) - math.log(n_up) - 1e-9
    if q >= 1:
        return math.floor((1 - 2 * _level(level)) * n_up) + 1 + tail_margin(log_p, scale)
    return _chernoff(log_p, n_up * q, float(level), scale) + 1


def group_size(n_up, cost, log_p, *, level=Fraction(1, 2), least=1000, most):
    """Return the least average size of groups in which rows with many friends are kept.

    Rows count as many that have 4/5 of what tells a complete group from a bad row.
    """
    n_up, cost, size = whole(n_up), real(cost), whole(least)
    while size < most:
        scale = math.sqrt(binomial_bound(n_up, min(1.0, size / n_up), log_p) / cost)
        top = filter_threshold(log_p, scale, n_up, level, min(size / n_up, 0.5))
        if top + 3 * math.hypot(scale, math.sqrt(size)) <= (1 - 0.4 * float(level)) * size:
            break
        size = math.ceil(size * 1.2)
    return min(size, most)


def replace_one_filter(counts, *, size, curator, share, label, event, least=Fraction(1, 2)):
    """Keep elements with certainly more than least (m + 1) friends; neighbours replace one.

    Parameters
    ----------
    counts : array of shape (m,), int
        m <= size; m may be private.
    size : int
        Public bound.
    curator, share, label, event
        The planned Gaussian step and the failure event "a bad element is kept".
    least : Fraction, default=1/2
        At 1/2 any two kept elements share a friend, at 2/3 any three.

    Returns
    -------
    core : ndarray of bool
        Private.

    See Also
    --------
    noisy_filter, friendly_tuples

    Notes
    -----
    **Privacy** (replace, add or remove one element). With least = a / b the integers
    b c_i - a (m + 1) move by at most b each: sensitivity b sqrt(size - 1); the replaced element
    mixes. Bad are those with at most least |U| friends in the union U of both tables, |U| <= m + 1,
    on either table: their integers are <= 0. (Judging in the union, which both runs share, spares
    the added 1 of a judgement in one of the two tables.) Each is kept with at most the planned
    probability / size; all others are certified in U, whichever run keeps them.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.friendly import replace_one_filter
    >>> budget = Budget.gaussian(4.0, 1e-6)
    >>> plan = Plan(budget, (Step("filter"),), (("bad element", budget.failure),))
    >>> public = {"size": 5000, "share": 1, "label": "filter", "event": "bad element"}
    >>> counts = np.repeat([4990, 10], [4990, 10])  # of friends
    >>> core = replace_one_filter(counts, curator=CannedCurator(plan, "noise"), **public)
    >>> bool(core[:4990].all()), bool(core[4990:].any())
    (True, False)
    """
    least, counts = exact(least), np.asarray(counts, dtype=np.int64)
    a, b, size = least.numerator, least.denominator, whole(size)
    if not Fraction(1, 2) <= least < 1 or not len(counts) <= size:
        raise ValueError("replace_one_filter needs 1/2 <= least < 1 and at most `size` counts.")
    if b * (size + 1) >= 2**62:
        raise ValueError(
            "replace_one_filter computes with the denominator of `least`, which must be small. "
            "Pass a Fraction: Fraction(2, 3) for two thirds."
        )
    log_p = curator.fails(event) - math.log(max(1, size)) - 1e-9
    release = curator.gaussian(
        b * counts - a * (len(counts) + 1),
        sensitivity=b * Fraction(sqrt_up(max(1, size - 1))),
        share=share,
        label=label,
        parts=np.arange(len(counts)),
    )
    return release.value > tail_margin(log_p, release.scale)


def _level(level):
    level = exact(level)
    if not 0 < level <= Fraction(1, 2):
        raise ValueError(f"level must be in (0, 1/2]. Got {float(level)!r}.")
    return level


def _chernoff(log_p, expected, level, scale):
    """Return an integer that a bad row's sampled value plus noise exceeds with at most e^log_p."""
    t = np.geomspace(1e-9, 20, 2000)  # every t gives a bound
    growth = expected * ((1 - level) * np.expm1(t) + level * np.expm1(-t))
    return math.ceil(float(np.min((-log_p + growth + (t * scale) ** 2 / 2) / t)) * (1 + 1e-9) + 1)
