"""Bins of about equal mass, made of neighbouring cells whose masses are known."""

import math

import numpy as np

__all__ = ["bin_numbers", "bin_sizes"]

TAIL, THIN = 8.0, 1 / 16  # how fast bins grow with the part of the rows beyond, and the finest
APART = 2.0  # noises in a bin beside a cell that is a bin of its own


def bin_sizes(mass, fixed, *, n_bins, least, tails):
    """Return how much a bin should hold, at each cell, and which cells are bins of their own.

    A cell that cannot be divided and holds as much as a bin is one; the others share the rest of
    the bins.
    """
    own, shape = np.zeros(len(mass), dtype=bool), np.ones(len(mass))
    if tails:
        part = (np.cumsum(mass) - mass / 2) / max(mass.sum(), 1.0)
        shape = np.clip(TAIL * np.minimum(part, 1 - part), THIN, 1.0)
    while True:
        bins = max(n_bins - np.count_nonzero(own), 1)
        size = np.maximum((mass / shape)[~own].sum() / bins * shape, max(least, 1.0))
        more = fixed & ~own & (mass >= size)
        if not more.any():
            return size, own
        own |= more


def bin_numbers(mass, size, own, clear):
    """Return for every cell the number of its bin; the numbers rise."""
    numbers, at = np.zeros(len(mass), dtype=int), -1
    starts = np.flatnonzero(np.append(True, own[1:] | own[:-1]))
    for first, stop in zip(starts, [*starts[1:], len(mass)], strict=True):
        wanted = mass[first:stop] / size[first:stop]
        parts = math.floor(wanted.sum() + 0.5)
        if own[first] or (not parts and own.any() and clear(first, stop)):
            parts = 1
        inside = 0
        if parts > 1:
            middle = np.cumsum(wanted) - wanted / 2
            inside = np.minimum(middle * parts // wanted.sum(), parts - 1)
        numbers[first:stop] = at + bool(parts) + inside
        at += parts
    return np.maximum(numbers, 0)
