"""In which levels a person counts, who may have rows in several: its own rows decide."""

import numpy as np

from skdp.readers._persons import Persons


def levels_that_count(persons, numbers, most, coins):
    """Return the number of the level of each row, -1 where its person does not count.

    A person counts in ``most`` levels at most: those of most of its rows, of equally many those
    with the smallest key of a row. A row of nobody counts nowhere.

    Notes
    -----
    **Privacy**: whether a row counts is a function of the rows of its person, of their keys, and of
    public or released levels. To remove a person changes ``most`` sets of rows at most, and leaves
    the others as they are, row by row.
    """
    at, pairs, _, counts, back = _pairs(persons, numbers)
    owners = pairs // _width(numbers)
    least = np.full(len(pairs), np.iinfo(np.uint64).max)
    np.minimum.at(least, back, coins.keys(0, len(numbers), use="level of a person")[at])
    order = np.lexsort((least, -counts, owners))
    owners = owners[order]
    rank = np.arange(len(order)) - np.searchsorted(owners, owners)
    counted = np.zeros(len(order), dtype=bool)
    counted[order] = rank < most
    chosen = np.full(len(numbers), -1, dtype=np.int64)
    chosen[at] = np.where(counted[back], numbers[at], -1)
    return chosen


def homes(persons, numbers, coins):
    """Return the level in which each person counts who counts in one, without the others."""
    chosen = levels_that_count(persons, numbers, 1, coins)
    somewhere = np.flatnonzero(chosen >= 0)
    _, firsts = np.unique(persons.codes[somewhere], return_index=True)
    return chosen[somewhere[firsts]]


def first_rows(persons, numbers):
    """Return the Persons of a table in which each has one row for each of its levels."""
    at, _, firsts, _, _ = _pairs(persons, numbers)
    codes = np.full(len(numbers), -1, dtype=np.int64)
    codes[at[firsts]] = persons.codes[at[firsts]]
    return Persons(codes, persons.n)


def _pairs(persons, numbers):
    """Return rows in some level, and of pairs of person and level: key, first row, number, rows."""
    at = np.flatnonzero((persons.codes >= 0) & (numbers >= 0))
    keys = persons.codes[at].astype(np.int64) * _width(numbers) + numbers[at]
    pairs, firsts, back, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return at, pairs, firsts, counts, back


def _width(numbers):
    return int(numbers.max(initial=0)) + 1
