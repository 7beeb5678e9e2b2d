"""Values of levels: numbers inside their bins, from released or uniform laws. Post-processing."""

import math
from itertools import pairwise

import numpy as np

from skdp.utils._public import public_words

__all__ = ["cdf_at", "laws_of", "laws_of_intervals", "spread"]

RANK = np.uint64(40)  # bits of a word that decide on the order of rows of one level


def spread(codes, *key):
    """Return for every row a number in (0, 1), evenly spread among the rows of its level."""
    words = public_words(len(codes), "values", *key)
    order = np.argsort((codes.astype(np.uint64) << RANK) | (words >> (np.uint64(64) - RANK)))
    counts = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    parts = np.empty(len(codes))
    parts[order] = (rank + 0.5) / np.repeat(counts, counts)
    return parts


def cdf_at(law, parts, *, whole):
    """Return the numbers below which these parts of a law are."""
    low, high, weight = map(np.array, law)
    share = weight / weight.sum()
    upto = np.cumsum(share)
    cell = np.minimum(np.searchsorted(upto, parts), len(upto) - 1)
    inside = np.clip((parts - upto[cell] + share[cell]) / share[cell], 0.0, 1.0)
    low, high = low[cell], high[cell]
    numbers = low * (1 - inside) + high * inside
    if whole:
        return np.clip(np.ceil(numbers), low + 1, high)
    return np.clip(numbers, np.nextafter(low, np.inf), high)


def laws_of(edges, laws, *, whole):
    """Return the laws of all bins between edges, none of them empty, as tuples.

    A bin of which nothing is known has a uniform law; an open one the number beside its edge.
    """
    ends, found = [-math.inf, *edges, math.inf], []
    for low, high, law in zip(ends[:-1], ends[1:], laws, strict=True):
        bottom, top, weight = (np.asarray(part, dtype=np.float64) for part in law)
        if not weight.size:
            bottom, top, weight = (np.array([x]) for x in (*_ends_of_cell(low, high, whole), 1.0))
        if whole:
            bottom, top = np.floor(bottom), np.floor(top)
            some = top > bottom
            if not some.any():  # whole numbers are elsewhere: the nearest one below
                bottom, some = top - 1, weight == weight.max()
            bottom, top, weight = bottom[some], top[some], weight[some]
        found.append(tuple(tuple(part.tolist()) for part in (bottom, top, weight)))
    return tuple(found)


def _ends_of_cell(low, high, whole):
    """Return the ends of a cell ``(low, high]``, those of the number at its edge if it is open."""
    if math.isinf(low):
        high = math.floor(high) if whole else high
        return high - 1.0 if whole else math.nextafter(high, -math.inf), high
    if math.isinf(high):
        low = math.floor(low) if whole else low
        return low, low + 1.0 if whole else math.nextafter(low, math.inf)
    return low, high


def laws_of_intervals(edges, *, whole):
    """Return uniform laws of public bins, closed on the left, the last one on both sides.

    A bin with an infinite end is as wide as the bin beside it; without one, it is a single number.
    """
    ends = list(edges) if len(edges) > 2 or any(map(math.isfinite, edges)) else [0.0, 0.0]
    if math.isinf(ends[0]):
        width = ends[2] - ends[1] if len(ends) > 2 else 0.0
        ends[0] = ends[1] - width if math.isfinite(width) else ends[1]
    if math.isinf(ends[-1]):
        width = ends[-2] - ends[-3] if len(ends) > 2 else 0.0
        ends[-1] = ends[-2] + width if math.isfinite(width) else ends[-2]
    laws = []
    for i, (low, high) in enumerate(pairwise(ends)):
        last = i == len(ends) - 2
        if whole:
            bottom, top = math.ceil(low) - 1, math.floor(high) if last else math.ceil(high) - 1
        else:
            bottom = math.nextafter(low, -math.inf)
            top = high if last else math.nextafter(high, -math.inf)
        if not top > bottom:
            bottom = top - 1.0 if whole else math.nextafter(top, -math.inf)
        laws.append(((float(bottom),), (float(top),), (1.0,)))
    return tuple(laws)
