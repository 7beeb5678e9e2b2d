"""Searches of disjoint sets of rows, side by side: what all of them ask for is one release."""

from dataclasses import dataclass
from fractions import Fraction

from skdp.accounting import Step

__all__ = ["ReleaseRequest", "run_parallel"]


@dataclass(frozen=True)
class ReleaseRequest:
    """A search asks its rows a Statistic, and is sent a Noisy."""

    statistic: object
    share: Fraction
    step: Step


def run_parallel(searches, table, rule=None):
    """Run searches of disjoint sets of rows, their releases side by side.

    A search is a generator. It yields :class:`ReleaseRequest`, is sent the answer, and returns what
    it found. All searches that wait with one step are answered by one pass over the rows and one
    release with the largest of their shares: searches that run together should ask for the same
    shares in the same order.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._parts.Parts`.
    """
    parts = table.split(rule, len(searches))
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
        label = next(iter(waiting.values())).step.label
        asks = {i: ask for i, ask in waiting.items() if ask.step.label == label}
        share = max(ask.share for ask in asks.values())
        statistics = {i: ask.statistic for i, ask in asks.items()}
        for i, answer in parts.ask(statistics, share=share, label=label).items():
            advance(i, answer)
    return found
