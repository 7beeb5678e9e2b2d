"""Ordered statistics with a few levels of individual sensitivities, exactly."""

from functools import cache

__all__ = ["bounded_groups"]

MOST_STATES = 2**21


def bounded_groups(groups, function, *, sensitivities, center):
    """Return the preprocessed value of a database-ordered statistic of groups of integers.

    Parameters
    ----------
    groups : sequence of K sequences of int
        Entries of the rows with the first sensitivity, the second, ...
    function : callable
        Maps a non-empty sorted list of ints to an int; database-ordered as in
        :mod:`skdp.sensitivity._windows`.
    sensitivities : sequence of K ints, >= 0
    center : int
        Value for no rows, public.

    Returns
    -------
    g : int
        Private.

    Raises
    ------
    ValueError
        If the product over groups of (n_k + 1)(n_k + 2) / 2 exceeds 2^21. That tells about the
        sizes: for teaching, or where they are public. Else see :func:`personal_statistic`.

    Notes
    -----
    **Privacy** (add or remove one row): a row of group k moves g by at most ``sensitivities[k]``,
    exactly: g is the value of the general recursion. By induction over the size of S,
    g(S + x) <= g(S + y) for x <= y of one group, since f and all terms of the limits are ordered so
    and clip is monotone. So of a group only the smallest and the largest can bind, and what is left
    of every group is a window. Windows of the joint data would give wrong values.
    """
    groups = tuple(tuple(sorted(int(x) for x in group)) for group in groups)
    D = [int(d) for d in sensitivities]
    if len(D) != len(groups) or any(d < 0 for d in D):
        raise ValueError(
            f"one sensitivity >= 0 per group is needed. Got {len(D)} of {len(groups)}."
        )
    states = 1
    for group in groups:
        states *= (len(group) + 1) * (len(group) + 2) // 2
    if states > MOST_STATES:
        raise ValueError(
            f"the groups have more than {MOST_STATES} sets of windows: use personal_statistic, "
            "which takes groups of any size."
        )

    @cache
    def g(windows):
        entries = sorted(x for (i, j), s in zip(windows, groups, strict=True) for x in s[i:j])
        if not entries:
            return int(center)
        low, high = [], []
        for k, (i, j) in enumerate(windows):
            if i < j:
                low.append(g((*windows[:k], _window(i + 1, j), *windows[k + 1 :])) - D[k])
                high.append(g((*windows[:k], _window(i, j - 1), *windows[k + 1 :])) + D[k])
        return min(max(function(entries), *low), *high)

    return g(tuple(_window(0, len(group)) for group in groups))


def _window(i, j):
    return (i, j) if i < j else (0, 0)
