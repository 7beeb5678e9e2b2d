"""Searches of disjoint sets of rows, side by side: what all of them ask for is one release."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.chunks import weighed_sum

__all__ = ["Ask", "Gather", "in_step"]


@dataclass(frozen=True)
class Gather:
    """A search asks for the exact sum of ``statistic`` over its rows; it is not for release.

    ``statistic`` is one for :func:`skdp.chunks.weighed_sum`: it maps some rows, an array of shape
    (m, d) where m may be 0, to an integer array of a fixed shape.
    """

    statistic: object


@dataclass(frozen=True)
class Ask:
    """A search asks for ``exact`` integers with noise; ``sensitivity`` is theirs, in l2."""

    exact: np.ndarray
    sensitivity: int
    share: Fraction
    label: str


@dataclass(frozen=True)
class Noisy:
    """The answer to an :class:`Ask`: ``value`` of its shape, ``scale`` of the noise."""

    value: np.ndarray
    scale: float


def in_step(searches, rows, curator, assign=None):
    """Run searches of disjoint sets of rows, their releases side by side.

    A search is a generator. It yields :class:`Gather` and is sent the exact integers, it yields
    :class:`Ask` and is sent :class:`Noisy`, and it returns what it found. All searches that wait
    for exact sums are served by one pass over the rows, and all that wait for noise by one release
    with the largest of their shares: searches that run together should ask for the same shares in
    the same order.

    Parameters
    ----------
    searches : list of m generators
    rows : ArrayRows
    curator : Curator
        With steps of the labels that are asked for.
    assign : callable, default=None
        Maps a block of rows to the numbers of their sets in {-1, 0, ..., m - 1}, each row by
        itself; -1 leaves a row out. None gives all rows to the only search.

    Returns
    -------
    found : list of m objects
        What the searches return.

    Notes
    -----
    **Privacy** (add or remove one row). What a search yields besides ``exact``, shapes included,
    must be a function of public numbers and of the noisy answers that it was sent. Then so is what
    is asked for at every step. The row lies in one set i at most, which it decides by itself: given
    the answers so far, it moves the integers of search i alone, by at most their sensitivity in l2,
    and no others. The concatenation of all integers therefore has the largest of the sensitivities,
    however many sets there are.
    """
    found, waiting = [None] * len(searches), {}

    def advance(i, answer):
        try:
            waiting[i] = searches[i].send(answer)
        except StopIteration as end:
            found[i] = end.value
            waiting.pop(i, None)

    for i in range(len(searches)):
        advance(i, None)
    while waiting:
        gathers = {i: ask for i, ask in waiting.items() if isinstance(ask, Gather)}
        answers = _summed(gathers, rows, assign) if gathers else _released(waiting, curator)
        for i, answer in answers.items():
            advance(i, answer)
    return found


def _summed(gathers, rows, assign):
    statistics = {i: gather.statistic for i, gather in gathers.items()}
    counting = all(hasattr(statistic, "weighed") for statistic in statistics.values())
    statistic = (_CountsOfSets if counting else _SumsOfSets)(statistics, assign)
    return dict(zip(gathers, weighed_sum(rows, statistic), strict=True))


@dataclass(frozen=True)
class _SumsOfSets:
    """The statistics of disjoint sets of rows, a list."""

    statistics: dict
    assign: object

    def __call__(self, start, block):
        sets = self._sets(block)
        return [statistic(start, block[sets(i)]) for i, statistic in self.statistics.items()]

    def _sets(self, block):
        if self.assign is None:
            return lambda i: slice(None)
        labels = self.assign(block)
        return lambda i: labels == i


class _CountsOfSets(_SumsOfSets):
    """The same, where all statistics are :class:`skdp.chunks._statistics.Counts`."""

    def weighed(self, weights, start, block):
        sets = self._sets(block)
        return [
            counts.weighed(weights[sets(i)], start, block[sets(i)])
            for i, counts in self.statistics.items()
        ]


def _released(waiting, curator):
    label = next(iter(waiting.values())).label
    asks = {i: ask for i, ask in waiting.items() if ask.label == label}
    release = curator.gaussian(
        np.concatenate([ask.exact.ravel() for ask in asks.values()]),
        sensitivity=max(ask.sensitivity for ask in asks.values()),
        share=max(ask.share for ask in asks.values()),
        label=label,
    )
    ends = np.cumsum([ask.exact.size for ask in asks.values()])[:-1]
    parts = np.split(release.value, ends)
    return {
        i: Noisy(part.reshape(ask.exact.shape), release.scale)
        for (i, ask), part in zip(asks.items(), parts, strict=True)
    }
