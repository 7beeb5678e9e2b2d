"""Tables of integers ordered at their ends alone: a tenth of the work of a sort."""

__all__ = ["STRIP", "sorted_ends"]

STRIP = 2**14  # entries that stay in the first levels of the cache
PART = 1 / 4  # of all entries: longer ends are no cheaper than a sort


def sorted_ends(s, size):
    """Order integers in place so that the smallest and the largest lie where a sort puts them.

    Shapes: s (n,); returns (k,).
    """
    n = len(s)
    if size > PART * n:
        s.sort()
        return s, s
    s.partition([size, n - 1 - size])
    lowest, highest = s[:size], s[n - size :]
    lowest.sort()
    highest.sort()
    return lowest, highest
